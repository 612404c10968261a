"""Choosing elements by what they are: conditions, order, repetition."""

from __future__ import annotations

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .registry import op
from .support import affordable, axis_in_range, scalar

__all__ = ["TopK"]


@op("Where", since=9)
def Where(condition: Array, x: Array, y: Array) -> Array:
    """x where the condition holds, else y. Spec: https://onnx.ai/onnx/operators/onnx__Where.html, opset 9+."""
    return np.where(condition, x, y)


@op("NonZero", since=9)
def NonZero(x: Array) -> Array:
    """Coordinates of what is not zero, int64 [rank, n], in row-major order.

    Spec: https://onnx.ai/onnx/operators/onnx__NonZero.html, opset 9+.
    """
    if x.ndim == 0:
        return np.zeros((0, int(bool(x))), np.int64)
    return np.asarray(np.nonzero(x), np.int64)


@op("Compress", since=9)
def Compress(x: Array, condition: Array, *, axis: int | None = None) -> Array:
    """Slices where the condition holds; without an axis, elements of the flattened tensor.

    Spec: https://onnx.ai/onnx/operators/onnx__Compress.html, opset 9+.
    """
    return np.compress(condition, x, axis=None if axis is None else axis_in_range(axis, x.ndim))


@op("OneHot", since=9)
def OneHot(indices: Array, depth: Array, values: Array, *, axis: int = -1) -> Array:
    """A new axis of ``depth`` with the on value at each index; all off where the index is out of range.

    Spec: https://onnx.ai/onnx/operators/onnx__OneHot.html, opset 9+ (negative indices count from the end from 11).

    Args:
        indices: any number; floats are cut to whole numbers.
        values: [2]: off, on.
    """
    count = scalar(depth)
    rank = indices.ndim + 1
    axis = axis_in_range(axis, rank)
    affordable([*indices.shape, count], 8)
    whole = np.expand_dims(np.trunc(indices).astype(np.int64), axis)
    classes = np.arange(count).reshape([-1 if i == axis else 1 for i in range(rank)])
    on = (whole == classes) | (whole + count == classes)
    return np.where(on, values[1], values[0]).astype(values.dtype, copy=False)


@op("TopK")
def TopK_1(x: Array, *, k: int, axis: int = -1) -> tuple[Array, Array]:
    """The k largest. Spec: https://onnx.ai/onnx/operators/onnx__TopK.html, opset 1 to 9."""
    return TopK(x, np.asarray([k]), axis=axis)


@op("TopK", since=10)
def TopK(x: Array, k: Array, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> tuple[Array, Array]:
    """The k largest or smallest elements along an axis, and their int64 indices; of equals, the lower index first.

    Spec: https://onnx.ai/onnx/operators/onnx__TopK.html, opset 10+ (largest, sorted from 11). NaN counts as largest.
    """
    count, axis = scalar(k), axis_in_range(axis, x.ndim)
    if not 0 <= count <= x.shape[axis]:
        raise InvalidInput(f"k is {count}, expected 0 to {x.shape[axis]} (the size of axis {axis})")
    if largest:  # a stable ascending sort of the reversed axis, read backwards, keeps lower indices first
        order = np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    indices = np.take(order, np.arange(count), axis=axis)
    return np.take_along_axis(x, indices, axis), indices.astype(np.int64, copy=False)


@op("Unique", since=11)
def Unique(x: Array, *, axis: int | None = None, sorted: int = 1) -> tuple[Array, Array, Array, Array]:
    """Distinct elements, or distinct slices along an axis.

    Spec: https://onnx.ai/onnx/operators/onnx__Unique.html, opset 11+.

    Args:
        sorted: 0: in order of first appearance.
    Returns: the distinct values; for each, its first index; for each input, its place among them; how often each is.
    """
    slices = x.reshape(-1) if axis is None else np.moveaxis(x, axis_in_range(axis, x.ndim), 0)
    _, first, inverse, counts = np.unique(
        slices, axis=0 if axis is not None else None, return_index=True, return_inverse=True, return_counts=True
    )
    inverse = inverse.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        first, counts, inverse = first[order], counts[order], place[inverse]
    values = slices[first]
    if axis is not None:
        values = np.moveaxis(values, 0, axis_in_range(axis, x.ndim))
    return values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)
