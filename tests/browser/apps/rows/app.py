"""Rows of features, a number and a class out: tasks whose model reads a text, an integer and a number by name."""

from onnxlet import App, InferenceSession
from onnxlet.tasks import Feature, TabularPredictor

FEATURES = [
    Feature("size", choices=("S", "M", "L"), default="M"),
    Feature("age", 0, 120, 30, integer=True),
    Feature("share", -1, 1, 0.25),
]

price = TabularPredictor(InferenceSession("price.onnx"), features=FEATURES)
kind = TabularPredictor(InferenceSession("kind.onnx"), features=FEATURES)

app = App(
    *price.functions("price", "prices"),
    *kind.functions("kind", "kinds", shown=["share", "size"]),
    title="Rows",
    examples={"price": {"large": ("L", 7, 0.1)}, "kind": {"small": (-0.5, "S")}},
)
