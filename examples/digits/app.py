"""Draw a digit, and a small neural network says which one it is."""

from typing import Annotated

from ink import centered

from onnxlet import App, Drawing, Field, InferenceSession, Labels, ModelCard

session = InferenceSession("digits.onnx")


def classify(drawing: Annotated[Drawing, Field(stroke=22)]) -> Labels:
    """Which digit is this? Draw one from 0 to 9."""
    (shares,) = session.run(["probabilities"], {"x": centered(drawing)[None]})
    return Labels.from_scores(shares[0], names="0123456789")


app = App(
    classify,
    title="Digits",
    description="Draw a digit, and a small neural network says which one it is. "
    "The drawing is cut out and centred first, the way the digits were that it learned from.",
    live=True,
    examples=["three.png", "seven.png", "zero.png"],
    card=ModelCard(
        "A network of 784, 128, 64 and 10",
        source="trained by model.py with scikit-learn",
        licence="Apache-2.0",
        trained_on="1797 digits of 8 x 8 pixels (UCI, as scikit-learn has them), drawn larger in five ways each",
        limits="Sees one of ten digits in anything: letters, two digits side by side, empty paper.",
    ),
)
