"""A value inside a model in a few figures and a small picture, as plain values for JSON."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from .dtypes import Array, Narrow
from .ops.narrow import type_of

__all__ = ["BINS", "SIDE", "UNFIT", "summarize", "type_text"]

BINS = 32
SIDE = 96  # pixels of a picture's longer side at most: a glance, not a measurement
TILES = 4  # channels that are shown of a feature map
FEW = 16  # values that are written out
UNFIT = 255  # the level of a pixel that is NaN or infinite; numbers have 0 to 254
_EXACT = 1 << 53  # whole numbers beyond it are text, because JSON's readers round them


def type_text(value: Any) -> str:
    """Such as ``float32``, ``bfloat16``, ``string``, ``list of 3``; "nothing" of an optional value that is absent."""
    if value is None:
        return "nothing"
    if isinstance(value, list | tuple | dict):
        return f"{'map' if isinstance(value, dict) else 'list'} of {len(value)}"
    if isinstance(value, Narrow):
        return type_of(value).name.lower()
    array = np.asarray(value)
    return "string" if array.dtype.kind in "OSUT" else str(array.dtype)


def summarize(value: Any) -> dict[str, Any]:
    """Statistics, histogram and picture of a value.

    Args:
        value: as a session gives it.
    Returns: ``type``, ``shape``, ``size``; of numbers (booleans count as 0 and 1, complex ones by their size) also
        ``min``, ``max``, ``mean``, ``std`` over the finite ones (the latter in float64; None where there are none),
        ``nan``, ``infinite``, ``zeros`` (counts), ``histogram`` (``low``, ``high``, ``counts``: `BINS` of them, None
        where there is nothing to count) and ``picture`` (see `_picture`; None of scalars); ``few``: the first values as
        text.
    """
    array = value.values if isinstance(value, Narrow) else value
    if not isinstance(array, np.ndarray):
        return {"type": type_text(value), "shape": None, "size": None, "few": repr(value)[:1000]}
    head: dict[str, Any] = {"type": type_text(value), "shape": list(array.shape), "size": int(array.size)}
    head["few"] = ", ".join(str(one) for one in array.ravel()[:FEW].tolist()) + (" …" if array.size > FEW else "")
    if array.dtype.kind not in "biufc":
        return head
    numbers = np.abs(array) if array.dtype.kind == "c" else array
    finite = numbers[np.isfinite(numbers)]
    wide = finite.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = (_written(wide.mean()), _written(wide.std())) if finite.size else (None, None)
    some = bool(finite.size)
    return head | {
        "min": _exact(finite.min()) if some else None,
        "max": _exact(finite.max()) if some else None,
        "mean": mean,
        "std": std,
        "nan": int(np.count_nonzero(np.isnan(numbers))),
        "infinite": int(np.count_nonzero(np.isinf(numbers))),
        "zeros": int(np.count_nonzero(numbers == 0)),
        "histogram": _histogram(wide) if some else None,
        "picture": _picture(numbers) if array.ndim and array.size else None,
    }


def _exact(number: Any) -> float | int | str:
    plain = number.item()
    if isinstance(plain, float):
        return plain
    return int(plain) if abs(int(plain)) <= _EXACT else str(plain)


def _written(number: Any) -> float | None:
    return float(number) if math.isfinite(number) else None  # the sum of float64's own extremes is not


def _histogram(wide: Array) -> dict[str, Any] | None:
    low, high = float(wide.min()), float(wide.max())
    if not math.isfinite(high - low):
        return None  # its width is beyond float64
    bins = np.minimum((_share(wide, low, high) * BINS).astype(np.intp), BINS - 1)
    return {"low": low, "high": high, "counts": np.bincount(bins, minlength=BINS).tolist()}


def _share(wide: Array, low: float, high: float) -> Array:
    """Where each number is between the least, 0, and the greatest, 1; all are 0 where nothing can be told apart."""
    return (wide - low) / (high - low) if 0 < high - low < math.inf else np.zeros(wide.shape)


def _picture(numbers: Array) -> dict[str, Any]:
    """The first sample's first channels, side by side, points sampled where they are larger than `SIDE`.

    Returns: ``width``, ``height`` of a tile, ``tiles`` (how many, from left to right), ``of`` (how many there are),
        ``pixels``: their levels one tile after the other, base64 of bytes: 0 is the least, 254 the greatest, `UNFIT`
        NaN or infinite.
    """
    planes = numbers.reshape(-1, *numbers.shape[-2:]) if numbers.ndim > 1 else numbers.reshape(1, 1, -1)
    rows, columns = (_points(length) for length in planes.shape[1:])
    shown = planes[:TILES][:, rows[:, None], columns[None, :]].astype(np.float64)
    fit = np.isfinite(shown)
    low, high = (float(shown[fit].min()), float(shown[fit].max())) if fit.any() else (0.0, 0.0)
    levels = np.full(shown.shape, UNFIT, np.uint8)
    levels[fit] = np.rint(_share(shown[fit], low, high) * 254)
    return {
        "width": int(columns.size),
        "height": int(rows.size),
        "tiles": int(shown.shape[0]),
        "of": int(planes.shape[0]),
        "pixels": base64.b64encode(levels.tobytes()).decode(),
    }


def _points(length: int) -> Array:
    return np.linspace(0, length - 1, min(length, SIDE)).round().astype(np.intp)
