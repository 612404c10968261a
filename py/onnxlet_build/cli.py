"""The command line: build, serve, check, compare. The only file here that reads the environment's settings."""

import argparse
import json
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

import onnxlet
from onnxlet.errors import OnnxletError

from . import fetch, paths
from .progress import Reporter

__all__ = ["main"]

_EXAMPLES = """\
examples:
  build.py examples/digits/app.py --out dist            one app, its page at the root
  build.py digits/app.py filetype/app.py --out dist     several apps, a gallery, one runtime
  build.py app.py --out dist --host cloudflare          no file over 24 MiB
  build.py serve dist                                   look at it on http://localhost:8000/
  build.py check model.onnx                             will the page take this model?
  build.py compare model.onnx int8.onnx                 at which node do two variants part?

Downloads are kept in the user's cache folder, or where ONNXLET_CACHE says.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns: the exit status: 0 done, 1 failed with a sentence on stderr, 2 wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    commands = {"build": _build, "serve": _serve, "check": _check, "compare": _compare}
    command = given.pop(0) if given and given[0] in commands else "build"
    options = _parser(command).parse_args(given)
    if folder := os.environ.get("ONNXLET_CACHE"):
        paths.use_cache(Path(folder))
    try:
        return commands[command](options)
    except OnnxletError as error:
        return _fail(error, str(error), options.debug)
    except KeyboardInterrupt:
        print("interrupted; nothing was changed", file=sys.stderr)
        return 130
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(error, f"{where}{error.strerror or error}; look at the disk and its permissions", options.debug)
    except Exception as error:
        say = f"a fault of onnxlet itself ({type(error).__name__}: {error}); run it again with --debug and report it"
        return _fail(error, say, options.debug)


def _fail(error: Exception, text: str, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    print(f"error: {text}", file=sys.stderr)
    return 1


def _parser(command: str) -> argparse.ArgumentParser:
    name = "build.py" if command == "build" else f"build.py {command}"
    parser = argparse.ArgumentParser(prog=name, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    if command == "build":
        parser.description = "Build a static site from app files. Also: build.py serve DIR, build.py check MODEL."
        parser.epilog = _EXAMPLES
        parser.add_argument("apps", nargs="+", type=Path, metavar="APP", help="an app file, or the folder of an app.py")
        parser.add_argument("--out", type=Path, default=Path("dist"), metavar="DIR", help="where to (default: dist)")
        parser.add_argument("--title", default="Demos", help="of the gallery page of several apps")
        parser.add_argument("--host", choices=["cloudflare"], default="", help="keep to a host's limits")
        parser.add_argument("--offline", action="store_true", help="take everything from the cache")
        parser.add_argument("--refresh", action="store_true", help="resolve packages from PyPI again")
        parser.add_argument("--quiet", action="store_true", help="say only what is wrong")
        parser.add_argument("--json", action="store_true", help="print the summary as JSON")
        parser.add_argument("--version", action="version", version=f"onnxlet {onnxlet.__version__}")
    elif command == "serve":
        parser.description = "Serve a built site, as a good static host would."
        parser.add_argument("dir", nargs="?", type=Path, default=Path("dist"), help="the site (default: dist)")
        parser.add_argument("--port", type=int, default=8000, help="0 takes a free one (default: 8000)")
        parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
        parser.add_argument("--no-isolation", action="store_true", help="send no headers, as a bare host does")
        parser.add_argument("--log", action="store_true", help="print every request")
    elif command == "compare":
        parser.description = "Run a model two ways and find the node at which they part, and the worst nodes."
        parser.add_argument("model", type=Path, metavar="MODEL", help="an .onnx file")
        parser.add_argument(
            "against",
            nargs="?",
            default="NumpyExecutionProvider",
            metavar="OTHER",
            help="a variant of it, or a provider (default: NumpyExecutionProvider)",
        )
        parser.add_argument("--on", default="CPUExecutionProvider", metavar="PROVIDER", help="what runs MODEL")
        parser.add_argument("--input", action="append", default=[], metavar="NAME=X.npy", help="else random values")
        parser.add_argument("--dim", action="append", default=[], metavar="NAME=SIZE", help="of random values, else 1")
        parser.add_argument("--tolerance", type=float, default=60, metavar="DB", help="wrong below (default: 60 dB)")
    else:
        parser.description = "Say whether a page can run a model, and what to do if not."
        parser.add_argument("models", nargs="+", type=Path, metavar="MODEL", help="an .onnx file")
        parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _build(options: argparse.Namespace) -> int:
    from .sizes import print_rows, summarize
    from .site import Options, build_site

    fetch.offline = options.offline
    report = Reporter(quiet=options.quiet or options.json)
    site = build_site(options.apps, options.out, Options(options.host, options.title), report, refresh=options.refresh)
    rows = summarize(site, options.out, report)
    if options.json:
        summary = {"out": str(options.out), "build": site["build"], "groups": [asdict(row) for row in rows]}
        print(json.dumps({**summary, "warnings": report.warnings}, indent=1))
    elif not options.quiet:
        console = Console(highlight=False)
        print_rows(rows, console)
        console.print(f"{options.out} is ready; see it: build.py serve {options.out}", markup=False, soft_wrap=True)
    return 0


def _serve(options: argparse.Namespace) -> int:
    from .serve import make_server

    isolation = not options.no_isolation
    with make_server(options.dir, options.host, options.port, isolation=isolation, log=options.log) as server:
        print(f"{options.dir}: {server.address} (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0


def _compare(options: argparse.Namespace) -> int:
    from .compare import compare

    found = compare(options.model, options.on, options.against, options.input, options.tolerance, options.dim)
    print(found)
    return 0 if found.first is None else 1


def _check(options: argparse.Namespace) -> int:
    from .check import check, print_checked, to_json

    console = Console(highlight=False)
    checked = [check(path) for path in options.models]
    if options.json:
        print(to_json(checked))
    else:
        for one in checked:
            print_checked(one, console)
    return 0 if all(one.ok for one in checked) else 1
