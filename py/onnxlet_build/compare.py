"""Compare two ways of running a model from the command line, on given or random inputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import onnxlet
from onnxlet.dtypes import from_ort_type
from onnxlet.errors import BuildError
from onnxlet.source import ModelSource, NodeArg

__all__ = ["compare", "feeds_for", "given_feeds"]

SEED = 0


def compare(
    model: Path, side: str, against: str, inputs: Sequence[str], tolerance_db: float, dims: Sequence[str] = ()
) -> onnxlet.Comparison:
    """Compare `side` with `against`, each a provider's name or a variant's path.

    Args:
        inputs: NAME=FILE.npy, or FILE.npy where the model has one input; inputs that are not given are random.
        dims: NAME=SIZE of symbolic dimensions; 1 where nobody says.
    Raises: BuildError: an argument does not fit the model; else what the comparison raises.
    """
    source = ModelSource(str(model.resolve()))
    args = source.signature().inputs
    sizes = {}
    for text in dims:
        name, _, size = text.partition("=")
        if not size.isdecimal():
            raise BuildError(f"--dim {text}: expected NAME=SIZE, such as batch=4")
        sizes[name] = int(size)
    feeds = feeds_for(args, sizes) | given_feeds([arg.name for arg in args], inputs)
    return onnxlet.compare(source, feeds, _side(side), _side(against), tolerance_db=tolerance_db)


def _side(text: str) -> str:
    return text if text.endswith("ExecutionProvider") else str(Path(text).resolve())


def given_feeds(names: Sequence[str], inputs: Sequence[str]) -> dict[str, Any]:
    """Arrays by input name. Raises: BuildError: an input or a file does not exist."""
    feeds = {}
    for text in inputs:
        name, equals, path = text.partition("=")
        if not equals:
            name, path = names[0] if len(names) == 1 else "", text
        if name not in names:
            raise BuildError(f"--input {text}: expected NAME=FILE.npy with one of the inputs {', '.join(names)}")
        try:
            feeds[name] = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise BuildError(f"--input {text}: is no .npy file ({error})") from error
    return feeds


def feeds_for(args: Sequence[NodeArg], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Random inputs: normal floats, integers 0 and 1 (which most indices may be), always the same ones."""
    random = np.random.default_rng(SEED)
    feeds: dict[str, Any] = {}
    for arg in args:
        kind = from_ort_type(arg.type)
        if kind is None or kind.is_narrow:
            raise BuildError(f'input "{arg.name}" is a {arg.type}, for which no random value is made; give --input')
        shape = [size if isinstance(size, int) else sizes.get(str(size), 1) for size in arg.shape]
        if kind.numpy.kind in "fc":
            feeds[arg.name] = random.normal(size=shape).astype(kind.numpy)
        elif kind.numpy.kind == "O":
            feeds[arg.name] = np.full(shape, "a", dtype=object)
        else:
            feeds[arg.name] = random.integers(0, 2, shape).astype(kind.numpy)
    return feeds
