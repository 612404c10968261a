"""``build.py check MODEL ...``: will the page take a model, where does each node run, and what suits it."""

import argparse
from pathlib import Path

from rich.console import Console

__all__ = ["describe", "run"]


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = "Say whether a page can run a model, what runs where, and what to do about the rest."
    parser.epilog = "The exit status is 1 where a page cannot run a model, or, with --strict, on any warning."
    parser.add_argument(
        "models", nargs="+", type=Path, metavar="MODEL", help="an .onnx file; others are exported first"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--strict", action="store_true", help="fail on warnings too")


def run(options: argparse.Namespace) -> int:
    """Check."""
    from ..check import check, print_checked, to_json

    console = Console(highlight=False)
    checked = [check(path) for path in options.models]
    if options.json:
        print(to_json(checked))
    else:
        for one in checked:
            print_checked(one, console)
    passes = all(one.ok for one in checked)
    warned = any(finding.level == "warning" for one in checked for finding in one.findings)
    return 0 if passes and not (options.strict and warned) else 1
