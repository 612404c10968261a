"""Models of other libraries as ONNX, one file a library, each checked against that library's own answers.

A source module has ``takes(thing)`` and ``export(thing, name)``; one whose models lie on disk also ``takes_file(path)``
and ``open_file(path)``, which gives such a thing. They are asked in the order of `ORDER`; none imports its framework
before it has said yes.
"""

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from onnxlet.errors import BuildError

from .exported import Export, library, library_roots, portable, verify

__all__ = ["Export", "export", "kind", "library", "library_roots", "open_file", "portable", "verify"]

# Whoever builds on another comes first: a LightGBM classifier is a scikit-learn estimator too, a transformer a
# torch.nn.Module, a detector an .onnx file, a folder with one often a transformers model too.
ORDER = ("onnx_folder", "yolo", "transformers", "keras", "tfjs", "tensorflow", "boosting", "sklearn", "torch", "onnx")
_TAKEN = (
    "a fitted scikit-learn, LightGBM or XGBoost estimator, (torch.nn.Module, example inputs), a torch ExportedProgram, "
    "a Keras or transformers model, an onnx.ModelProto, ONNX bytes, or a path"
)
_TAKEN_FILES = (
    ".onnx, .pt2, .keras, .joblib, a LightGBM .txt, an XGBoost .json or .ubj, a TensorFlow SavedModel, a TensorFlow.js "
    "model.json, a folder with a model, a Hugging Face id"
)


def export(thing: Any, name: str) -> Export:
    """Turn a model of any library into ONNX.

    Args:
        thing: the model, or the path of one (see `open_file`).
        name: of the .onnx file to be, for messages.
    Raises: BuildError: nothing here takes it, it cannot be exported, or the export answers otherwise than the source.
    """
    if isinstance(thing, str | os.PathLike):
        thing = open_file(thing)
    for source in _sources():
        if source.takes(thing):
            made: Export = source.export(thing, name)
            return made
    raise BuildError(f"{name}: is made of {kind(thing)}; expected {_TAKEN}")


def open_file(path: str | os.PathLike[str]) -> Any:
    """What a path stands for, as `export` takes it.

    Args:
        path: a file, a folder, or a Hugging Face id such as "owner/name".
    Raises: BuildError: it is not there, or nothing here reads it.
    """
    where = Path(path)
    for source in _sources():
        if hasattr(source, "takes_file") and source.takes_file(where):
            return source.open_file(where)
    if not where.exists():
        raise BuildError(f"{where}: is not there; check the path")
    raise BuildError(f"{where}: is no model that the build reads; expected {_TAKEN_FILES}")


def _sources() -> Iterator[ModuleType]:
    return (import_module(f".{name}", __name__) for name in ORDER)


def kind(thing: Any) -> str:
    """What a thing is, for people: the name of its class, or of the model's inside a wrapper of ours."""
    if thing is None:
        return "nothing (None: does the function lack a `return`?)"
    if isinstance(thing, tuple) and thing:
        return kind(thing[0])
    if type(thing).__module__.startswith(f"{__name__}.") and (parts := getattr(thing, "__dataclass_fields__", {})):
        return kind(getattr(thing, next(iter(parts))))
    return f"{type(thing).__module__}.{type(thing).__name__}".removeprefix("builtins.").removeprefix("__main__.")
