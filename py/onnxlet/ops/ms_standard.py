"""com.microsoft: operators that later became ai.onnx's.

Spec of all: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import numpy as np

from ..dtypes import Array
from .generating import Range
from .indexing import GatherND
from .joining import Pad, Trilu
from .registry import op
from .sampling import GridSample
from .selecting import Unique

__all__: list[str] = []

# The same as ai.onnx's.
op("GatherND", domain="com.microsoft")(GatherND)
op("GridSample", domain="com.microsoft")(GridSample)
op("Trilu", domain="com.microsoft")(Trilu)


@op("Unique", domain="com.microsoft")
def MsUnique(x: Array) -> tuple[Array, Array, Array]:
    """Distinct elements of a vector in order of first appearance; each element's place among them; their counts."""
    values, _, places, counts = Unique(x, sorted=0)
    return values, places, counts


@op("Range", domain="com.microsoft")
def MsRange(start: Array, limit: Array, delta: Array | None = None) -> Array:
    """ai.onnx's Range with a delta of 1 by default."""
    return Range(start, limit, np.ones(1, start.dtype) if delta is None else delta)


@op("Pad", domain="com.microsoft")
def MsPad(data: Array, pads: Array, value: Array | None = None, *, mode: str = "constant") -> Array:
    """ai.onnx's Pad over all axes; pads may be [1, 2 * rank]."""
    return Pad(data, pads.reshape(-1), value, mode=mode)
