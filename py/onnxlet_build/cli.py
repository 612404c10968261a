"""The command line. The only file here that reads the environment's settings."""

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from onnxlet.errors import OnnxletError

from . import paths

__all__ = ["main"]

COMMANDS = ("build", "serve", "check", "export", "quantize", "compare")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns: the exit status: 0 done, 1 failed with a sentence on stderr, 2 wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given.pop(0) if given and given[0] in COMMANDS else "build"
    command = import_module(f".commands.{name}", __package__)
    parser = argparse.ArgumentParser(
        prog="build.py" if name == "build" else f"build.py {name}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    parser.set_defaults(chromium=os.environ.get("ONNXLET_CHROMIUM", ""), given=given)
    command.describe(parser)
    options = parser.parse_args(given)
    if folder := os.environ.get("ONNXLET_CACHE"):
        paths.use_cache(Path(folder))
    try:
        with _heeding_termination():
            return int(command.run(options))
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


@contextmanager
def _heeding_termination() -> Iterator[None]:
    """Let SIGTERM, which ends a cancelled job, clean up as Ctrl-C does. Signals come to the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _fail(error: Exception, text: str, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    print(f"error: {text}", file=sys.stderr)
    return 1
