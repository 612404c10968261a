"""Draw a digit, and a small neural network says which one it is."""

from typing import Annotated

from onnxlet import App, Drawing, Field, InferenceSession, ModelCard
from onnxlet.tasks import ImageClassifier, InkInput

classifier = ImageClassifier(
    InferenceSession("digits.onnx"), labels="0123456789", image=InkInput(layout="flat"), function_to_apply="none"
)

app = App(
    classifier.function("Which digit is this? Draw one from 0 to 9.", drawing=Annotated[Drawing, Field(stroke=22)]),
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
