"""Live input: a camera, a microphone, a drawing, and a camera whose answers grow."""

import hashlib
import time
from collections.abc import Iterator
from typing import Annotated

import numpy as np

from onnxlet import App, Audio, Drawing, Field, Image, InvalidInput, Json, Labels, Number

calls = 0
pieces: list[Audio] = []


def camera(
    frame: Image, wait: Annotated[float, Number(min=0, max=2)] = 0.0, most: Annotated[int, Number(min=0)] = 10**6
) -> tuple[Image, Labels, Json]:
    """Mirrors each frame; fails after some calls, where it is told to."""
    global calls
    calls += 1
    if calls > most:
        raise InvalidInput(f"expected at most {most} calls, this is number {calls}")
    time.sleep(wait)
    light = float(frame.gray().array.mean() / 255)
    return frame.flip(), Labels({"light": light, "dark": 1 - light}), Json({"calls": calls, "size": list(frame.size)})


def microphone(
    sound: Annotated[Audio, Field(chunk_s=0.25)], wait: Annotated[float, Number(min=0, max=2)] = 0.0
) -> Json:
    """What it has heard since the recording began."""
    if sound.start_s == 0:
        pieces.clear()
    pieces.append(sound)
    time.sleep(wait)
    heard = np.concatenate([piece.samples for piece in pieces])
    return Json(
        {
            "pieces": len(pieces),
            "samples": len(heard),
            "gapless": round(sound.start_s * sound.sample_rate_hz) + len(sound.samples) == len(heard),
            "rate": sound.sample_rate_hz,
            "sha256": hashlib.sha256(heard.tobytes()).hexdigest(),
        }
    )


def drawing(drawing: Drawing) -> Labels:
    """Which half of the pad has more ink?"""
    ink = drawing.gray().array.astype(np.float64)
    left, right = ink[:, : ink.shape[1] // 2].sum(), ink[:, ink.shape[1] // 2 :].sum()
    return Labels(sorted({"left": left, "right": right}.items(), key=lambda item: -item[1]))


def growing(frame: Image) -> Iterator[str]:
    """Three answers to each frame."""
    for step in range(3):
        time.sleep(0.1)
        yield f"step {step} of {frame.width}"


app = App(camera, microphone, drawing, growing, title="Live", live=True)
