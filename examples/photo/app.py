"""What is in a photo? EfficientNet-lite0 names it, out of ImageNet's 1000 classes."""

import json
from pathlib import Path

import numpy as np

from onnxlet import App, Image, InferenceSession, Labels

HERE = Path(__file__).parent
NAMES = json.loads((HERE / "names.json").read_text(encoding="utf-8"))

session = InferenceSession(HERE / "efficientnet-lite0.onnx")


def classify(photo: Image) -> Labels:
    """What is in this photo?"""
    square = photo.center_crop(min(photo.size)).resize(224, 224, "bicubic")
    pixels = (square.rgb().array.astype(np.float32) - 127) / 128
    (logits,) = session.run(None, {"inputs": pixels.transpose(2, 0, 1)[None]})
    return Labels.from_logits(logits[0], names=NAMES)


app = App(classify, title="Photo", examples=["coffee.png", "chelsea.png"])
