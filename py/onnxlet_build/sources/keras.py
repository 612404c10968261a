"""Keras 3: a model that model.py returns, whichever backend it was made on, and .keras files."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxlet.errors import BuildError

from . import tensorflow
from .exported import Export, library_roots

__all__ = ["KerasFile", "export", "open_file", "takes", "takes_file"]

_SOURCE = "Keras 3.15.1 on TensorFlow 2.21.0"


@dataclass(frozen=True, slots=True)
class KerasFile:
    """What ``model.save("model.keras")`` wrote."""

    path: Path


def takes(thing: Any) -> bool:
    """A keras.Model, or a `KerasFile`."""
    return isinstance(thing, KerasFile) or "keras" in library_roots(thing)


def takes_file(path: Path) -> bool:
    """A .keras file; .h5 ones are refused with the remedy when they are opened."""
    return path.is_file() and path.suffix in (".keras", ".h5", ".hdf5")


def open_file(path: Path) -> KerasFile:
    """The file, known for what it is. Raises: BuildError: it is in Keras's old format."""
    if path.suffix != ".keras":
        raise BuildError(f"{path}: is in Keras's old format; load it with Keras 3 and save it as a .keras file")
    return KerasFile(path)


def export(thing: Any, name: str) -> Export:
    """Convert a model and compare it with Keras's own answers; open dimensions stay open.

    Raises: BuildError: it cannot be saved or converted, or the export answers otherwise.
    """
    if isinstance(thing, KerasFile):
        return tensorflow.convert("keras", thing.path, name, _SOURCE)
    with tempfile.TemporaryDirectory(prefix="onnxlet-") as folder:
        path = Path(folder) / "model.keras"
        try:
            thing.save(path)
        except Exception as error:  # Keras raises what its layers' get_config raises
            raise BuildError(
                f"{name}: Keras cannot save this {type(thing).__name__} ({error}); "
                "call it once on data, or export a SavedModel: model.export(folder)"
            ) from error
        return tensorflow.convert("keras", path, name, _SOURCE)
