"""The options of commands that make variants: which ones, how good, measured on what, computed where."""

import argparse
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from onnxlet.errors import BuildError

if TYPE_CHECKING:
    from ..study import Settings

__all__ = ["describe", "executor", "settings"]


def describe(parser: argparse.ArgumentParser, *, of_apps: bool = True) -> None:
    """Add the options.

    Args:
        of_apps: whether there are apps, with examples and perhaps a model.py.
    """
    metric = "of model.py's metric, else " if of_apps else ""
    others = "; or files for the app, such as pictures; else model.py's calibration(), else examples" if of_apps else ""
    parser.add_argument(
        "--variants",
        default="all",
        metavar="NAMES",
        help='"all", "original", or some of fp16, fp16-storage, int8-dynamic, int8-static, int8-weights, int4-weights',
    )
    parser.add_argument(
        "--max-drop",
        default="1%",
        metavar="LOSS",
        help=f"how much worse a variant may be: {metric}of equal best classes, else of the cosine; "
        "or a signal-to-noise ratio such as 30dB (default: 1%%)",
    )
    parser.add_argument(
        "--calibration",
        type=Path,
        metavar="DIR",
        help=f"samples: .npz files (arrays by input name) or .npy files{others}",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes that measure (default: one a processor)")
    parser.add_argument("--cluster", metavar="tcp://HOST:PORT", help="measure on a Dask cluster instead")


def settings(options: argparse.Namespace) -> "Settings":
    """What the options say.

    Raises: BuildError: one of them cannot be.
    """
    from .. import browser
    from ..accuracy import Budget
    from ..quantize import RECIPES
    from ..study import Settings

    names = [name.strip() for name in options.variants.split(",") if name.strip()]
    unknown = [name for name in names if name not in (*RECIPES, "all", "original")]
    if unknown or not names:
        raise BuildError(
            f'--variants {options.variants}: expected "all", "original", or some of {", ".join(RECIPES)}, '
            "with commas between"
        )
    wanted = tuple(RECIPES) if "all" in names else tuple(name for name in names if name != "original")
    try:
        chromium = browser.find(Path(options.chromium) if options.chromium else None)
    except BuildError as error:
        raise BuildError(f"ONNXLET_CHROMIUM: {error}") from error
    return Settings(wanted, Budget.parse(options.max_drop), options.calibration, chromium)


@contextmanager
def executor(options: argparse.Namespace) -> Iterator[Executor]:
    """Where the measuring is computed; nothing starts before it is used."""
    from ..executors import open_executor

    if options.workers is not None and options.workers < 1:
        raise BuildError(f"--workers {options.workers}: expected 1 or more")
    with open_executor(options.cluster or "", options.workers) as opened:
        yield opened
