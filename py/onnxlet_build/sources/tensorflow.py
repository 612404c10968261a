"""TensorFlow SavedModels, through tf2onnx in an environment of its own.

Keras models take the same way (`keras.py`): Keras exports ONNX through tf2onnx as well. With its torch backend it
would need no TensorFlow, but then writes every open dimension as 1, the batch included.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from ..isolated import Environment, run
from ..samples import load_feeds
from .exported import Export, portable, verify

__all__ = ["ENVIRONMENT", "SavedModel", "convert", "export", "open_file", "takes", "takes_file"]

ENVIRONMENT = Environment(
    "tensorflow",
    (
        'tensorflow-cpu==2.21.0; platform_system == "Linux" and platform_machine == "x86_64"',
        'tensorflow==2.21.0; platform_system != "Linux" or platform_machine != "x86_64"',
        "keras==3.15.1",
        "tf2onnx==1.17.0",
        "onnx==1.23.2",
        "protobuf==7.36.2",
        "numpy==2.4.6",
        # What these import, without what they only name: libclang, grpc's and pasta's tools.
        "absl-py==2.5.1",
        "astunparse==1.6.3",
        "certifi==2026.10.19.post1",
        "charset-normalizer==3.5.3",
        "flatbuffers==25.12.19",
        "gast==0.7.0",
        "grpcio==1.85.3",
        "h5py==3.14.0",
        "idna==3.20",
        "markdown-it-py==4.3.0",
        "mdurl==0.1.2",
        "ml_dtypes==0.6.0",
        "namex==0.1.0",
        "opt_einsum==3.4.0",
        "optree==0.20.0",
        "packaging==26.4",
        "Pygments==2.21.0",
        "requests==2.34.2",
        "rich==15.0.0",
        "six==1.17.0",
        "termcolor==3.3.0",
        "typing_extensions==4.16.0",
        "urllib3==2.8.0",
        "wrapt==2.5.2",
    ),
    "TensorFlow 2.21 and tf2onnx (some 300 MB to fetch, 1.4 GB on disk)",
)
_CHILD = Path(__file__).with_name("tensorflow_child.py")


@dataclass(frozen=True, slots=True)
class SavedModel:
    """The folder that ``tf.saved_model.save`` or Keras's ``model.export`` wrote."""

    path: Path


def takes(thing: object) -> bool:
    """A `SavedModel`."""
    return isinstance(thing, SavedModel)


def takes_file(path: Path) -> bool:
    """A folder with a saved_model.pb."""
    return (path / "saved_model.pb").is_file()


def open_file(path: Path) -> SavedModel:
    """The folder, known for what it is."""
    return SavedModel(path)


def export(thing: SavedModel, name: str) -> Export:
    """Convert the serving signature and compare it with TensorFlow.

    Raises: BuildError: it cannot be converted, or the export answers otherwise.
    """
    return convert("saved_model", thing.path, name, "TensorFlow 2.21.0")


def convert(kind: str, path: Path, name: str, source: str) -> Export:
    """Convert in the environment.

    Args:
        kind: "keras" or "saved_model".
        source: whose answers are compared with, for messages.
    """
    with tempfile.TemporaryDirectory(prefix="onnxlet-") as temporary:
        out = Path(temporary)
        try:
            run(ENVIRONMENT, _CHILD, [kind, str(path.resolve()), str(out)])
        except BuildError as error:
            raise BuildError(f"{name} from {path}: {error}") from error
        data = portable(onnx.load(out / "model.onnx"), name)
        feeds = [load_feeds(file) for file in sorted(out.glob("feeds_*.npz"))]
        answers = [_answers(file) for file in sorted(out.glob("answers_*.npz"))]
    return Export(data, verify(data, feeds, answers, name=name, source=source), samples=tuple(feeds))


def _answers(path: Path) -> list[Array]:
    with np.load(path) as stored:
        return [stored[str(number)] for number in range(len(stored.files))]
