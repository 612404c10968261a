"""Pooling: one number for every window, and MaxUnpool, which puts maxima back.

A maximum or a sum over a box is a maximum or a sum along each axis in turn, so a window of k x k costs 2 k passes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .registry import op
from .support import restore, wide
from .windows import Geometry

__all__: list[str] = []


def _reduced(combine: Callable[..., Any], x: Array, g: Geometry) -> Array:
    """combine over every window of a padded tensor, axis by axis: [N, C, *reach] -> [N, C, *out]."""
    for axis, places in enumerate(g.kernel):
        at: list[Any] = [slice(None)] * x.ndim
        at[2 + axis] = g.along(axis, 0)
        y = x[tuple(at)].copy()
        for place in range(1, places):
            at[2 + axis] = g.along(axis, place)
            combine(y, x[tuple(at)], out=y)
        x = y
    return x


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@op("MaxPool", since=1)
def MaxPool(
    X: Array,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    storage_order: int = 0,
    strides: Sequence[int] | None = None,
    n_outputs: int = 1,
) -> Array | tuple[Array, Array]:
    """The maximum of every window, and where it stands.

    Spec: https://onnx.ai/onnx/operators/onnx__MaxPool.html, opset 1+; indices from 8, ceil_mode and dilations from 10.

    Args:
        X: [N, C, D1, D2, ...]; float, int8 or uint8. Padding never wins; NaN does.
        storage_order: 1 counts the indices' spatial part with the first axis fastest.
    Returns: [N, C, o1, o2, ...], and if asked for the int64 indices into the flattened X, of the same shape.
    """
    g = Geometry.of(
        X.shape[2:],
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    padded = g.padded(X, _lowest(X.dtype))
    if n_outputs < 2:
        return _reduced(np.maximum, padded, g)
    return _with_places(padded, g, storage_order)


def _with_places(padded: Array, g: Geometry, storage_order: int) -> tuple[Array, Array]:
    """The maximum of every window and its place; of equal ones the first in the window's order."""
    N, C = padded.shape[:2]
    best = np.full((N, C, *g.out), _lowest(padded.dtype), dtype=padded.dtype)
    place = np.full(best.shape, -1, dtype=np.int64)
    steps = _strides(g.size, storage_order)
    coordinates = [g.sources(axis) for axis in range(len(g.size))]
    for offset in g.offsets():
        inside, flat = np.ones(g.out, dtype=bool), np.zeros(g.out, dtype=np.int64)
        for axis, at in enumerate(offset):
            shape = [1] * len(g.out)
            shape[axis] = -1
            coordinate = coordinates[axis][at].reshape(shape)
            inside = inside & (coordinate >= 0) & (coordinate < g.size[axis])
            flat = flat + coordinate * steps[axis]
        values = padded[g.at(offset)]
        better = (values > best) | (place < 0)
        if values.dtype.kind == "f":
            better |= np.isnan(values) & ~np.isnan(best)
        better &= inside
        np.copyto(best, values, where=better)
        np.copyto(place, flat, where=better)
    planes = np.arange(N * C, dtype=np.int64).reshape(N, C, *(1,) * len(g.out)) * math.prod(g.size)
    return best, place + planes


def _strides(size: Sequence[int], storage_order: int) -> list[int]:
    """Elements between neighbours along every axis: the last axis fastest, or the first with storage_order 1."""
    if storage_order:
        return [math.prod(size[:axis]) for axis in range(len(size))]
    return [math.prod(size[axis + 1 :]) for axis in range(len(size))]


@op("AveragePool", since=1)
def AveragePool(
    X: Array,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """The mean of every window.

    Spec: https://onnx.ai/onnx/operators/onnx__AveragePool.html, opset 1+; count_include_pad from 7, ceil_mode from 10,
    dilations from 19.

    Args:
        X: [N, C, D1, D2, ...].
        count_include_pad: whether the padding's zeros count in the mean; what ceil_mode adds behind it never does.
    Returns: [N, C, o1, o2, ...].
    """
    g = Geometry.of(
        X.shape[2:],
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    y = _reduced(np.add, g.padded(wide(X), 0), g)
    for axis, n in enumerate(g.size):
        at = g.sources(axis)
        low, high = (-g.begin[axis], n + g.end[axis]) if count_include_pad else (0, n)
        count = ((at >= low) & (at < high)).sum(axis=0)
        shape = [1] * y.ndim
        shape[2 + axis] = -1
        y = y / count.reshape(shape).astype(y.dtype)
    return restore(y, X)


@op("LpPool", since=2)
def LpPool(
    X: Array,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    dilations: Sequence[int] | None = None,
    kernel_shape: Sequence[int],
    p: int = 2,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """The Lp norm of every window.

    Spec: https://onnx.ai/onnx/operators/onnx__LpPool.html, opset 2+; ceil_mode and dilations from 18.

    Args:
        X: [N, C, D1, D2, ...].
    Returns: [N, C, o1, o2, ...].
    """
    g = Geometry.of(
        X.shape[2:],
        kernel_shape,
        strides=strides,
        dilations=dilations,
        pads=pads,
        auto_pad=auto_pad,
        ceil_mode=ceil_mode,
    )
    powers = _reduced(np.add, g.padded(np.abs(wide(X)) ** p, 0), g)
    return restore(powers ** (1 / p), X)


def _spatial(X: Array) -> tuple[int, ...]:
    return tuple(range(2, X.ndim))


@op("GlobalAveragePool", since=1)
def GlobalAveragePool(X: Array) -> Array:
    """The mean of every channel, [N, C, ...] -> [N, C, 1, ...].

    Spec: https://onnx.ai/onnx/operators/onnx__GlobalAveragePool.html, opset 1+.
    """
    return restore(np.mean(wide(X), axis=_spatial(X), keepdims=True), X)


@op("GlobalMaxPool", since=1)
def GlobalMaxPool(X: Array) -> Array:
    """The maximum of every channel, [N, C, ...] -> [N, C, 1, ...].

    Spec: https://onnx.ai/onnx/operators/onnx__GlobalMaxPool.html, opset 1+.
    """
    return np.max(X, axis=_spatial(X), keepdims=True, initial=_lowest(X.dtype))


@op("GlobalLpPool", since=2)
def GlobalLpPool(X: Array, *, p: int = 2) -> Array:
    """The Lp norm of every channel, [N, C, ...] -> [N, C, 1, ...].

    Spec: https://onnx.ai/onnx/operators/onnx__GlobalLpPool.html, opset 2+.
    """
    return restore(np.sum(np.abs(wide(X)) ** p, axis=_spatial(X), keepdims=True) ** (1 / p), X)


@op("MaxUnpool", since=9)
def MaxUnpool(
    X: Array,
    indices: Array,
    output_shape: Array | None = None,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Maxima put back where MaxPool found them, zeros elsewhere.

    Spec: https://onnx.ai/onnx/operators/onnx__MaxUnpool.html, opset 9+.

    Args:
        X: [N, C, o1, o2, ...].
        indices: int64, shape of X, into the flattened tensor of the size that the attributes imply.
        output_shape: int64 [rank]; a larger tensor that this one is laid into, at its beginning.
    """
    rank = X.ndim - 2
    steps = tuple(strides) if strides else (1,) * rank
    padding = tuple(pads) if pads else (0,) * (2 * rank)
    size = tuple(
        (n - 1) * s + k - padding[i] - padding[rank + i]
        for i, (n, s, k) in enumerate(zip(X.shape[2:], steps, kernel_shape, strict=True))
    )
    shape = (*X.shape[:2], *size)
    total = math.prod(shape)
    if indices.size and not 0 <= indices.min() <= indices.max() < total:
        raise InvalidInput(f"indices reach from {indices.min()} to {indices.max()}, expected within [0, {total})")
    y = np.zeros(total, dtype=X.dtype)
    y[indices.reshape(-1)] = X.reshape(-1)
    y = y.reshape(shape)
    if output_shape is None or tuple(output_shape) == shape:
        return y
    larger = np.zeros(tuple(output_shape), dtype=X.dtype)
    common = tuple(slice(0, min(a, b)) for a, b in zip(shape, larger.shape, strict=True))
    larger[common] = y[common]
    return larger
