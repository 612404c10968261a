"""What kind of file is this? Magika's model, asked as the magika package asks it."""

import json
from pathlib import Path
from typing import Annotated

from onnxlet import App, Field, File, InferenceSession, Labels, ModelCard, Text
from onnxlet.tasks import FileTypeDetector

HERE = Path(__file__).parent

detector = FileTypeDetector(
    InferenceSession(HERE / "magika.onnx"),
    rules=json.loads((HERE / "magika.json").read_text(encoding="utf-8")),
    kinds=json.loads((HERE / "kinds.json").read_text(encoding="utf-8")),
)


def identify(
    file: File,
) -> tuple[Annotated[str, Text(label="Magika says")], Annotated[Labels, Field(label="What the model sees")]]:
    """Drop any file: a small model reads its first and last kilobyte and says what it is."""
    found = detector(file)
    return str(found), found.guesses


app = App(
    identify,
    title="File type",
    description="Drop any file, and Magika says which of 200 kinds it is, whatever its name says. "
    "A small neural network reads the first and the last kilobyte; the file does not leave this computer.",
    examples=["picture.png", "tone.wav", "primes.py"],
    card=ModelCard(
        "Magika standard v3.3",
        source="magika 1.0.3 on PyPI, by Google",
        licence="Apache-2.0",
        trained_on="some 100 million files of more than 200 kinds, as its authors say",
        limits="Says what a file looks like, not whether it is harmless. Short texts pass for one another.",
    ),
)
