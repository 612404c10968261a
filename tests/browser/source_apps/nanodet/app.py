"""Find things in a picture with NanoDet."""

from pathlib import Path

from onnxlet import App, Boxes, Image, InferenceSession
from onnxlet.tasks import ObjectDetector

HERE = Path(__file__).parent
NAMES = (HERE / "coco.txt").read_text(encoding="utf-8").splitlines()
detector = ObjectDetector(InferenceSession(HERE / "nanodet.onnx"), names=NAMES)


def detect(picture: Image) -> Boxes:
    """Which things are there?"""
    return detector(picture, threshold=0.35, iou_threshold=0.5)


app = App(detect, title="NanoDet", examples=["chelsea.png"])
