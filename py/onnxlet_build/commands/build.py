"""``build.py APP ...``: a static site from app files and models."""

import argparse
import json
import shlex
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console
from rich.markup import escape

import onnxlet

from .. import fetch
from ..apps import TASKS
from ..hosts import CODINGS, HOSTS
from . import about_model, effort

__all__ = ["describe", "run"]

_EXAMPLES = """\
examples:
  build.py examples/digits/app.py --out dist            one app, its page at the root
  build.py digits/app.py filetype/app.py --out dist     several apps, a gallery, one runtime
  build.py app.py --calibration pictures/ --max-drop 2% variants within two percent of the original
  build.py app.py --variants original --no-browser      fast: the model as it is, nothing measured
  build.py app.py --out dist --host cloudflare          no file over 24 MiB

a model without an app file:
  build.py bert-folder/                                 a Hugging Face folder says its task
  build.py yolo.onnx                                    so does a detector, by its metadata or its outputs
  build.py net.onnx --task image-classification --labels names.txt --example cat.jpg dog.jpg
  build.py minilm-folder/ --corpus facts.txt            a search among the lines of a file
  build.py trees.onnx --task tabular-classification --features train.csv --labels names.txt
  build.py det.onnx --task ocr --recognizer rec.onnx    two models
  build.py dist-apps/net                                the app that was written, when you have edited it

other commands:
  build.py serve dist                                   look at it on http://localhost:8000/
  build.py check model.onnx                             will the page take this model, and what suits it?
  build.py export model.pt2 --out model.onnx            from another library to ONNX
  build.py quantize model.onnx --calibration samples/ --out variants/      every variant as a file
  build.py compare model.onnx int8.onnx                 at which node do two variants part?

tasks, and what a visitor gives and gets:
{tasks}

Each command has a --help of its own. Downloads and proven variants are kept in the user's cache folder, or where
ONNXLET_CACHE says. The browser is Chromium, from the PATH or where ONNXLET_CHROMIUM says.
"""


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = "Build a static site from app files or models; examples and other commands are below."
    parser.epilog = _EXAMPLES.format(tasks="\n".join(f"  {name:26}{task.about}" for name, task in TASKS.items()))
    parser.add_argument("apps", nargs="+", type=Path, metavar="APP", help="an app file, the folder of one, or a model")
    parser.add_argument("--out", type=Path, default=Path("dist"), metavar="DIR", help="where to (default: dist)")
    parser.add_argument("--title", default="", help="of the page; of several apps, of the gallery (default: Demos)")
    hosts = [name for name in HOSTS if name]
    parser.add_argument(
        "--host", choices=hosts, default="", help="keep to a host's limits, and leave out what it has no use for"
    )
    parser.add_argument(
        "--precompress",
        choices=["all", *CODINGS, "none"],
        help="write .br and .gz beside the files that gain from it, for hosts that serve them and, .gz, for the page "
        "where a host compresses nothing (default: what suits the host; all)",
    )
    parser.add_argument(
        "--budget",
        default="",
        metavar="SIZE",
        help='warn when a first visit weighs more in brotli: "12MB", or of parts "model=5MB,runtime=8MB" (total, '
        "runtime, page, python, onnxruntime, packages, app, model)",
    )
    parser.add_argument("--strict", action="store_true", help="fail on warnings too, once the site is written")
    about_model.describe(parser)
    effort.describe(parser)
    parser.add_argument(
        "--prefer",
        choices=["speed", "size"],
        default="speed",
        help="of right variants, ship the smallest within 10%% of the fastest, or the smallest (default: speed)",
    )
    parser.add_argument(
        "--memory-budget",
        type=_size,
        metavar="SIZE",
        help="what the models of a page may take together, such as 900MB: one that does not fit is refused with a "
        "sentence (default: half of the device's memory, and less than WebAssembly's 4 GiB)",
    )
    parser.add_argument(
        "--start",
        choices=["auto", "speed", "size"],
        default="auto",
        help="ship a snapshot of Python's memory, which starts faster and weighs more: where a browser is there to "
        "make one, in any case, or never (default: auto)",
    )
    parser.add_argument("--no-browser", action="store_true", help="prove nothing; the report says so")
    parser.add_argument("--offline", action="store_true", help="take everything from the cache")
    parser.add_argument("--refresh", action="store_true", help="resolve packages again, and measure variants again")
    parser.add_argument("--quiet", action="store_true", help="say only what is wrong")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.add_argument("--version", action="version", version=f"onnxlet {onnxlet.__version__}")


def _size(text: str) -> int:
    """Bytes of "900MB", "1.5GB" or a plain number."""
    number = text.strip().upper().removesuffix("B")
    for unit, factor in (("K", 10**3), ("M", 10**6), ("G", 10**9)):
        if number.endswith(unit):
            return int(float(number[:-1]) * factor)
    return int(number)


def _public(argument: str) -> str:
    """An argument as the report may show it to strangers: of an absolute path, its name."""
    return Path(argument).name if Path(argument).is_absolute() else argument


def _near(path: Path) -> Path:
    """A path as a person would type it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _codings(said: str | None) -> tuple[str, ...] | None:
    """What --precompress means; None leaves it to the host."""
    if said in (None, "all", "none"):
        return {None: None, "all": CODINGS, "none": ()}[said]
    return (said,) if said else None


def run(options: argparse.Namespace) -> int:
    """Build."""
    from .. import budget
    from ..progress import Reporter
    from ..site import Options, build_site
    from ..sizes import print_visits
    from ..snapshot import Start
    from ..study import table

    fetch.offline = options.offline
    report = Reporter(quiet=options.quiet or options.json)
    settings = replace(effort.settings(options), smallest=options.prefer == "size")
    maker = settings.chromium if options.start == "speed" or not options.no_browser else None
    if options.no_browser:
        settings = replace(settings, chromium=None)
    if settings.chromium is None and not options.no_browser:
        report.warn(
            "no Chromium was found, so nothing is proven in a browser; install one, or say where it is with "
            "ONNXLET_CHROMIUM; --no-browser silences this"
        )
    with effort.executor(options) as executor:
        command = shlex.join(["python", "build.py", *map(_public, options.given)])
        chosen = Options(
            options.host,
            _codings(options.precompress),
            options.title or "Demos",
            settings,
            command,
            about_model.wanted(options),
            options.memory_budget,
            budget.parse(options.budget),
            Start(options.start, maker),
        )
        built = build_site(options.apps, options.out, chosen, report, executor, refresh=options.refresh)
    if options.json:
        summary = {
            "out": str(options.out),
            "build": built.site["build"],
            "groups": [asdict(row) for row in built.rows],
            "visits": [asdict(visit) for visit in built.visits],
            "report": str(options.out / "report.json"),
            "written": [str(_near(path)) for path in built.written],
        }
        print(json.dumps({**summary, "warnings": report.warnings}, indent=1))
    elif not options.quiet:
        console = Console(highlight=False)
        for study in built.studies:
            if len(study.candidates) > 1:
                console.print(f"\n[bold]{escape(study.name)}[/bold]")
                console.print(table(study))
        console.print()
        print_visits(built.visits, console)
        for path in built.written:
            app = _near(path)
            console.print(
                f"{app} is the app that was written: edit it, then build.py {app.parent}", markup=False, soft_wrap=True
            )
        console.print(f"{options.out} is ready; see it: build.py serve {options.out}", markup=False, soft_wrap=True)
    return 1 if options.strict and report.warnings else 0
