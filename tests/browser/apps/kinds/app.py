"""Every kind of input and output, without a model: what tests of the page look at."""

import time
from typing import Annotated, Literal

import numpy as np

from onnxlet import App, Audio, Boxes, Drawing, Field, File, Image, Json, Labels, Mask, Number, Table, Text


def sketch(drawing: Drawing) -> Labels:
    """Which half of the pad has more ink?"""
    ink = drawing.gray().array.astype("float64")
    left, right = ink[:, : ink.shape[1] // 2].sum(), ink[:, ink.shape[1] // 2 :].sum()
    total = left + right
    return Labels(sorted({"left": left / total, "right": right / total}.items(), key=lambda item: -item[1]))


def picture(picture: Image) -> tuple[Image, Boxes, Mask]:
    """Mirror it, find its bright half, and lay a mask over it."""
    grey = picture.gray().array
    bright = Boxes([("left half", 0.75, (0, 0, picture.width / 2, picture.height))], picture)
    return picture.flip(), bright, Mask(grey > 127, picture)


def entries(
    line: Annotated[str, Text(lines=1)],
    note: Annotated[str, Text(lines=3)] = "",
    whole: int = 3,
    share: Annotated[float, Number(min=0, max=1, step=0.05, slider=True)] = 0.5,
    sure: bool = False,
    size: Literal["small", "medium", "large"] = "medium",
    colour: Literal["red", "green", "blue", "black", "white"] = "blue",
) -> dict:
    """Say it back."""
    return {"line": line, "note": note, "whole": whole, "share": share, "sure": sure, "size": size, "colour": colour}


def files(
    anything: Annotated[File, Field(max_bytes=1000)] = None,
    sound: Audio = None,
    rows: Table = None,
    tensor: np.ndarray = None,
) -> tuple[Json, Audio, Table, np.ndarray]:
    """Say back what was in the files."""
    given = None if anything is None else {"name": anything.name, "bytes": len(anything)}
    return Json(given), sound, rows, tensor


def words(text: str) -> Text:
    """The same text."""
    return text


def fail(text: str) -> Text:
    """An error with the text in it."""
    raise ValueError(f"no use for {text}")


def slow(seconds: float = 30.0) -> Text:
    """Take so long."""
    time.sleep(seconds)
    return "done"


app = App(
    sketch,
    picture,
    entries,
    files,
    words,
    fail,
    slow,
    title="Kinds",
    description="Every kind of input and output.",
    examples={"sketch": ["left.png"], "words": ["<b>bold</b>"]},
)
