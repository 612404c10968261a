"""``build.py compare MODEL [OTHER]``: the node at which two ways of running a model part."""

import argparse
from pathlib import Path

__all__ = ["describe", "run"]


def describe(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
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


def run(options: argparse.Namespace) -> int:
    """Compare."""
    from ..compare import compare

    found = compare(options.model, options.on, options.against, options.input, options.tolerance, options.dim)
    print(found)
    return 0 if found.first is None else 1
