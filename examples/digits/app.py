"""Draw a digit, and a small neural network says which one it is."""

from typing import Annotated

from ink import centered

from onnxlet import App, Drawing, Field, InferenceSession, Labels

session = InferenceSession("digits.onnx")


def classify(drawing: Annotated[Drawing, Field(stroke=22)]) -> Labels:
    """Which digit is this? Draw one from 0 to 9."""
    (shares,) = session.run(["probabilities"], {"x": centered(drawing)[None]})
    return Labels.from_scores(shares[0], names="0123456789")


app = App(classify, title="Digits", live=True, examples=["three.png", "seven.png", "zero.png"])
