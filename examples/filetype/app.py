"""What kind of file is this? Magika's model, asked as the magika package asks it (PREDICTION mode: high confidence)."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np

from onnxlet import App, Field, File, InferenceSession, Labels, Text

HERE = Path(__file__).parent
RULES = json.loads((HERE / "magika.json").read_text(encoding="utf-8"))  # sizes, labels, thresholds
KINDS = json.loads((HERE / "kinds.json").read_text(encoding="utf-8"))  # label -> description, MIME type, is_text

session = InferenceSession(HERE / "magika.onnx")


def tokens(data: bytes) -> np.ndarray | None:
    """What the model reads: the first and the last kilobyte without white space around them, int32 [1, 2048].

    Returns: None where too few bytes are left to tell anything.
    """
    begin_size, end_size, padding = RULES["beg_size"], RULES["end_size"], RULES["padding_token"]
    begin = data[: RULES["block_size"]].lstrip()[:begin_size]
    end = data[-RULES["block_size"] :].rstrip()[-end_size:]
    if len(data) < RULES["min_file_size_for_dl"] or len(begin) < RULES["min_file_size_for_dl"]:
        return None
    row = np.full(begin_size + end_size, padding, np.int32)
    row[: len(begin)] = np.frombuffer(begin, np.uint8)
    row[begin_size + end_size - len(end) :] = np.frombuffer(end, np.uint8)
    return row[None]


def label_without_model(data: bytes) -> str:
    """The label of a file that is empty or too short for the model."""
    if not data:
        return "empty"
    try:
        data[: RULES["block_size"]].decode()
    except UnicodeDecodeError:
        return "unknown"
    return "txt"


def label_of(guess: str, score: float) -> str:
    """The label that Magika answers for the model's best guess: a general one where the model is not sure."""
    label = RULES["overwrite_map"].get(guess, guess)
    if score >= RULES["thresholds"].get(guess, RULES["medium_confidence_threshold"]):
        return label
    return "txt" if KINDS[label]["is_text"] else "unknown"


def identify(
    file: File,
) -> tuple[Annotated[str, Text(label="Magika says")], Annotated[Labels, Field(label="What the model sees")]]:
    """Drop any file: a small model reads its first and last kilobyte and says what it is."""
    row = tokens(file.data)
    if row is None:
        label = label_without_model(file.data)
        return describe(label), Labels([(label, 1.0)])
    (scores,) = session.run(["target_label"], {"bytes": row})
    labels = Labels.from_scores(scores[0], names=RULES["target_labels_space"])
    return describe(label_of(*labels.items[0])), labels


def describe(label: str) -> str:
    """Label, description and MIME type in one line."""
    kind = KINDS[label]
    return f"{label}: {kind['description'] or label} ({kind['mime_type'] or 'application/octet-stream'})"


app = App(identify, title="File type", examples=["picture.png", "tone.wav", "primes.py"])
