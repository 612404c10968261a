"""Putting tensors together, cutting them apart, and adding edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .registry import op
from .support import affordable, axes_in_range, axis_in_range

__all__ = ["Concat", "Pad", "Slice", "split_sizes"]


@op("Concat", since=4)
def Concat(*inputs: Array, axis: int) -> Array:
    """Join along one axis; the other sizes agree. Spec: https://onnx.ai/onnx/operators/onnx__Concat.html, opset 4+."""
    axis = axis_in_range(axis, inputs[0].ndim)
    sizes = [x.shape[:axis] + x.shape[axis + 1 :] for x in inputs]
    for position, x in enumerate(inputs):
        if x.ndim != inputs[0].ndim or sizes[position] != sizes[0]:
            raise InvalidInput(
                f"input {position} is {list(x.shape)}, expected {list(inputs[0].shape)} except along axis {axis}"
            )
    return np.concatenate(inputs, axis=axis)


def split_sizes(size: int, parts: int) -> list[int]:
    """Sizes of `parts` equal parts of `size`, the last one smaller where it does not divide."""
    step = math.ceil(size / parts)
    return [step] * (parts - 1) + [size - step * (parts - 1)]


def _split(x: Array, sizes: Sequence[int], axis: int) -> tuple[Array, ...]:
    axis = axis_in_range(axis, x.ndim)
    if sum(sizes) != x.shape[axis] or min(sizes, default=0) < 0:
        raise InvalidInput(f"split is {list(sizes)}, expected sizes that sum to {x.shape[axis]} (axis {axis})")
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis=axis))


@op("Split", since=2)
def Split_2(x: Array, *, axis: int = 0, split: Sequence[int] | None = None, n_outputs: int) -> tuple[Array, ...]:
    """Cut along an axis. Spec: https://onnx.ai/onnx/operators/onnx__Split.html, opset 2 to 12."""
    return _split(x, split or _equal_parts(x, axis, n_outputs), axis)


@op("Split", since=13)
def Split_13(x: Array, split: Array | None = None, *, axis: int = 0, n_outputs: int) -> tuple[Array, ...]:
    """Cut along an axis; sizes are an input. Spec: https://onnx.ai/onnx/operators/onnx__Split.html, opset 13 to 17."""
    return _split(x, _equal_parts(x, axis, n_outputs) if split is None else split.tolist(), axis)


@op("Split", since=18)
def Split(
    x: Array, split: Array | None = None, *, axis: int = 0, num_outputs: int | None = None, n_outputs: int
) -> tuple[Array, ...]:
    """Cut along an axis, into parts of given sizes or into ``num_outputs`` equal parts (the last may be smaller).

    Spec: https://onnx.ai/onnx/operators/onnx__Split.html, opset 18+.
    """
    size = x.shape[axis_in_range(axis, x.ndim)]
    return _split(x, split_sizes(size, num_outputs or n_outputs) if split is None else split.tolist(), axis)


def _equal_parts(x: Array, axis: int, parts: int) -> list[int]:
    size = x.shape[axis_in_range(axis, x.ndim)]
    if size % parts:
        raise InvalidInput(f"cannot split axis {axis} of {list(x.shape)} into {parts} equal parts")
    return [size // parts] * parts


@op("Slice")
def Slice_1(data: Array, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None) -> Array:
    """Cut a box out. Spec: https://onnx.ai/onnx/operators/onnx__Slice.html, opset 1 to 9."""
    return Slice(data, np.asarray(starts), np.asarray(ends), None if axes is None else np.asarray(axes))


@op("Slice", since=10)
def Slice(data: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None) -> Array:
    """Python's slicing: places count from the end when negative and are cut to the tensor.

    Spec: https://onnx.ai/onnx/operators/onnx__Slice.html, opset 10+.

    Args:
        starts, ends, axes, steps: int32 or int64 [k]; axes default to the first k, steps to 1.
    Raises: InvalidInput: a step is 0.
    """
    count = starts.size
    named = axes_in_range(range(count) if axes is None else axes, data.ndim)
    strides = [1] * count if steps is None else steps.reshape(-1).tolist()
    if 0 in strides:
        raise InvalidInput("steps holds 0")
    box = [slice(None)] * data.ndim
    for axis, start, end, step in zip(
        named, starts.reshape(-1).tolist(), ends.reshape(-1).tolist(), strides, strict=True
    ):
        box[axis] = _python_slice(start, end, step, data.shape[axis])
    return data[tuple(box)]


def _python_slice(start: int, end: int, step: int, size: int) -> slice:
    """Bounds cut as the spec says: a negative step may end before the first element, which Python spells None."""
    start, end = (n + size if n < 0 else n for n in (start, end))
    if step > 0:
        return slice(min(max(start, 0), size), min(max(end, 0), size), step)
    end = min(max(end, -1), size - 1)
    return slice(min(max(start, 0), size - 1), None if end < 0 else end, step) if size else slice(0, 0)


@op("Pad", since=2)
def Pad_2(data: Array, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> Array:
    """Add edges. Spec: https://onnx.ai/onnx/operators/onnx__Pad.html, opset 2 to 10."""
    return Pad(data, np.asarray(pads, np.int64), np.asarray(value, data.dtype), mode=mode)


@op("Pad", since=11)
def Pad(
    data: Array, pads: Array, constant_value: Array | None = None, axes: Array | None = None, *, mode: str = "constant"
) -> Array:
    """Add edges, or cut them off where a pad is negative.

    Spec: https://onnx.ai/onnx/operators/onnx__Pad.html, opset 11+ (``axes`` from 18, mode "wrap" from 19).

    Args:
        pads: int64 [2 * k]: all beginnings, then all ends, for the k named axes (default: every axis).
        constant_value: one element of data's type; default 0, "" or false.
        mode: "constant", "reflect" (the edge itself not repeated), "edge" or "wrap".
    """
    named = axes_in_range(range(data.ndim) if axes is None else axes, data.ndim)
    if pads.size != 2 * len(named):
        raise InvalidInput(f"pads has {pads.size} elements, expected {2 * len(named)} (two an axis)")
    before, after = [0] * data.ndim, [0] * data.ndim
    for position, axis in enumerate(named):
        before[axis], after[axis] = int(pads.reshape(-1)[position]), int(pads.reshape(-1)[position + len(named)])
    cut = tuple(slice(max(-b, 0), n - max(-a, 0)) for b, a, n in zip(before, after, data.shape, strict=True))
    widths = [(max(b, 0), max(a, 0)) for b, a in zip(before, after, strict=True)]
    kept = data[cut]
    affordable([n + b + a for n, (b, a) in zip(kept.shape, widths, strict=True)], data.itemsize)
    if mode == "constant":
        fill: Any = "" if data.dtype == object else 0
        if constant_value is not None and constant_value.size:
            fill = constant_value.reshape(-1)[0]
        result = np.full([n + b + a for n, (b, a) in zip(kept.shape, widths, strict=True)], fill, data.dtype)
        result[tuple(slice(b, b + n) for n, (b, _) in zip(kept.shape, widths, strict=True))] = kept
        return result
    if mode not in ("reflect", "edge", "wrap"):
        raise InvalidInput(f'mode is "{mode}", expected constant, reflect, edge or wrap')
    return np.pad(kept, widths, mode=mode)  # type: ignore[call-overload]


@op("CenterCropPad", since=18)
def CenterCropPad(data: Array, shape: Array, *, axes: Sequence[int] | None = None) -> Array:
    """Cut or pad with zeros around the middle, to given sizes.

    Spec: https://onnx.ai/onnx/operators/onnx__CenterCropPad.html, opset 18+.
    """
    box, place = [slice(None)] * data.ndim, [slice(None)] * data.ndim
    sizes = list(data.shape)
    for axis, wanted in zip(axes_in_range(range(data.ndim) if axes is None else axes, data.ndim), shape, strict=True):
        size, sizes[axis] = data.shape[axis], int(wanted)
        if size > wanted:
            start = (size - int(wanted)) // 2
            box[axis] = slice(start, start + int(wanted))
        else:
            start = (int(wanted) - size) // 2
            place[axis] = slice(start, start + size)
    result = np.full(affordable(sizes, data.itemsize), "" if data.dtype == object else 0, data.dtype)
    result[tuple(place)] = data[tuple(box)]
    return result


@op("Trilu", since=14)
def Trilu(x: Array, k: Array | None = None, *, upper: int = 1) -> Array:
    """The upper or lower triangle of the last two axes, from the k-th diagonal; zeros elsewhere.

    Spec: https://onnx.ai/onnx/operators/onnx__Trilu.html, opset 14+.
    """
    diagonal = 0 if k is None else int(k.reshape(-1)[0])
    return np.triu(x, diagonal) if upper else np.tril(x, diagonal)


@op("Col2Im", since=18)
def Col2Im(
    x: Array,
    image_shape: Array,
    block_shape: Array,
    *,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Add blocks up to the image that they were cut from.

    Spec: https://onnx.ai/onnx/operators/onnx__Col2Im.html, opset 18+.

    Args:
        x: [N, C * product(block_shape), L]; L blocks in the order of their places.
        image_shape, block_shape: int64 [spatial rank].
    Returns: [N, C, *image_shape].
    """
    image, block = image_shape.tolist(), block_shape.tolist()
    rank = len(image)
    dilations, strides, pads = dilations or [1] * rank, strides or [1] * rank, pads or [0] * 2 * rank
    padded = [n + pads[i] + pads[i + rank] for i, n in enumerate(image)]
    steps = [(padded[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    channels = x.shape[1] // math.prod(block)
    if x.shape[1:] != (channels * math.prod(block), math.prod(steps)):
        raise InvalidInput(f"x is {list(x.shape)}, expected [N, C * {math.prod(block)}, {math.prod(steps)}]")
    blocks = x.reshape(x.shape[0], channels, *block, *steps)
    result = np.zeros((x.shape[0], channels, *padded), x.dtype)
    for offset in np.ndindex(*block):
        place = tuple(
            slice(o * d, o * d + s * (n - 1) + 1, s)
            for o, d, s, n in zip(offset, dilations, strides, steps, strict=True)
        )
        result[(slice(None), slice(None), *place)] += blocks[(slice(None), slice(None), *offset)]
    return result[(slice(None), slice(None), *(slice(pads[i], pads[i] + n) for i, n in enumerate(image)))]
