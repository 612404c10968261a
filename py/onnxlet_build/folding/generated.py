"""Inputs in wire form that nobody wrote into the app: by them a folded function is compared with Python as well."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.form import Function, Param

__all__ = ["Inputs", "generated"]

Inputs = tuple[list[dict[str, Any] | None], list[bytes]]  # wire values and their buffers

# (width, height): odd, tiny, wide, tall, no multiple of anything, and larger than what most models read
_SIZES = ((1, 1), (2, 1), (1, 7), (33, 2), (97, 61), (60, 224), (224, 224), (301, 500), (640, 41), (700, 480))
_ROWS = 24
_STROKES = 6


def generated(function: Function, seed: int = 0) -> Iterator[Inputs]:
    """Inputs of a function whose parameters are a picture or a drawing, or numbers and choices."""
    rng = np.random.default_rng(seed)
    if any(param.kind in ("image", "drawing") for param in function.inputs):
        for picture in _pictures(rng, function.inputs[0]):
            yield _wire(picture)
    else:
        yield [None] * len(function.inputs), []
        for number in range(_ROWS):
            yield [_cell(param, number, rng) for param in function.inputs], []


def _pictures(rng: np.random.Generator, param: Param) -> Iterator[Array]:
    """uint8 [H, W, 4]: noise, which no rounding error survives; smooth colours; grey; transparent; and blank sheets."""
    for number, (width, height) in enumerate(_SIZES):
        noise = rng.integers(0, 256, (height, width, 4), np.uint8)
        if number % 3 == 0:
            noise[..., 3] = 255
        yield noise
    y, x = np.mgrid[0:200, 0:320]
    smooth = [127.5 + 127.5 * np.sin(x / a + y / b) for a, b in ((31, 17), (11, 90), (70, 23))]
    yield np.dstack([*smooth, np.full_like(smooth[0], 255)]).astype(np.uint8)
    yield np.repeat((x + y)[..., None] // 3 % 256, 4, axis=2).astype(np.uint8)
    for level in (0, 255):
        yield np.full((40, 50, 4), level, np.uint8)
    yield np.dstack([np.zeros((50, 40, 3), np.uint8), np.full((50, 40), 255, np.uint8)])
    if param.kind == "drawing":
        yield from _drawings(rng, param)


def _drawings(rng: np.random.Generator, param: Param) -> Iterator[Array]:
    """What a pen leaves on the pad, as the page hands it over."""
    from onnxlet.values import Drawing

    width, height, size = (param.options[name] for name in ("width", "height", "stroke"))
    for number in range(_STROKES):
        points = (rng.random(2 * (1 + 3 * number)) * np.resize([width, height], 2 * (1 + 3 * number))).tolist()
        strokes = [{"size": size, "points": points}]
        drawn = Drawing.from_strokes(strokes, width, height, param.options["ink"], param.options["paper"])
        yield drawn.rgba


def _wire(picture: Array) -> Inputs:
    height, width = picture.shape[:2]
    wire = {"kind": "image", "width": width, "height": height, "encoding": "rgba", "buffer": 0}
    return [wire], [np.ascontiguousarray(picture).tobytes()]


def _cell(param: Param, number: int, rng: np.random.Generator) -> dict[str, Any] | None:
    """The lowest of each, the highest of each, then others; now and then nothing, where there is a default."""
    if number > 1 and not param.required and rng.random() < 0.1:
        return None
    if param.kind == "choice":
        choices = list(param.members)
        return {"kind": "choice", "value": choices[(0, -1)[number] if number < 2 else rng.integers(len(choices))]}
    low, high = (float(param.options.get(name, default)) for name, default in (("min", -1e6), ("max", 1e6)))
    value = (low, high)[number] if number < 2 else low + (high - low) * rng.random()
    return {"kind": "number", "value": math.floor(value) if param.options.get("integer") else value}
