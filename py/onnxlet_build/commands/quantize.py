"""``build.py quantize MODEL --out DIR``: an optimized model and its variants as files, measured natively."""

import argparse
import shutil
from dataclasses import replace
from pathlib import Path

from onnxlet.errors import BuildError

from . import effort

__all__ = ["describe", "run"]


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Optimize and quantize a model and measure every variant against the original on native ONNX Runtime. "
        "Only `build.py APP` proves variants in a browser, which is what counts for a page."
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="an .onnx file")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder for the variants")
    effort.describe(parser, of_apps=False)


def run(options: argparse.Namespace) -> int:
    """Quantize."""
    from rich.console import Console

    from .. import paths
    from ..progress import Reporter
    from ..study import study_file, table

    out: Path = options.out
    if out.exists():
        raise BuildError(f"{out}: exists; choose another --out")
    report = Reporter()
    settings = replace(effort.settings(options), chromium=None)
    with paths.scratch(out.resolve().parent) as scratch, effort.executor(options) as executor:
        study = study_file(options.model, settings, scratch / "work", report, executor)
        made = scratch / "made"
        made.mkdir()
        for candidate in study.candidates:
            if candidate.path and not candidate.refused:
                shutil.copyfile(candidate.path, made / f"{options.model.stem}.{candidate.name}.onnx")
        made.rename(out)
    Console(highlight=False).print(table(study))
    return 0
