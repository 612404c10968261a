"""Convolutions of any rank.

All are sums of matrix products: the windows of a block of the input are copied side by side (im2col) and multiplied
by the weights. A block's copy is held under `BLOCK_BYTES`, so that memory does not grow with the picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .activations import sigmoid
from .registry import op
from .support import product, restore, wide
from .windows import Geometry, both_pads, patches

__all__ = ["convolve"]

BLOCK_BYTES = (
    16 << 20
)  # a few times a second-level cache: larger blocks were no faster, smaller ones call BLAS too often


def convolve(x: Array, w: Array, g: Geometry, *, group: int = 1, pad_value: float = 0) -> Array:
    """Correlate windows of x with w.

    Args:
        x: [N, C, *size], any numeric dtype; sums are kept in that dtype.
        w: [M, C / group, *kernel], dtype of x.
        g: where the windows lie.
    Returns: [N, M, *out].
    Raises: InvalidInput: channels that do not divide into groups, or differ from the weights'.
    """
    N, C = x.shape[:2]
    M, per_group = w.shape[:2]
    if group < 1 or C % group or M % group or C // group != per_group:
        raise InvalidInput(
            f"W has {per_group} input channels, expected {C / max(group, 1):g} (X channels / group), "
            f"and X's {C} and W's {M} channels must both divide by group {group}"
        )
    x = g.padded(x, pad_value)
    if per_group == 1 and group > 1:
        return _depthwise(x, w, g)
    K = per_group * math.prod(g.kernel)
    weights = w.reshape(group, M // group, K)
    rows, row = g.out[0] if g.out else 1, math.prod(g.out[1:])
    y = np.empty((N, group, M // group, rows, row), dtype=x.dtype)
    windows = patches(x, g)
    if not g.out:  # no spatial axes: one window
        windows = windows[..., None]
    leading = (slice(None),) * (1 + len(g.kernel))
    for samples in _blocks(N, C * math.prod(g.kernel) * rows * row * x.itemsize):
        count = samples.stop - samples.start
        for some in _blocks(rows, count * C * math.prod(g.kernel) * row * x.itemsize):
            height = some.stop - some.start
            columns = windows[(samples, *leading, some)].reshape(count, group, K, height * row)
            block = product(weights, columns)
            y[samples, :, :, some] = block.reshape(count, group, M // group, height, row)
    return y.reshape(N, M, *g.out)


def _depthwise(x: Array, w: Array, g: Geometry) -> Array:
    """One channel a group: too little for a matrix product, so one multiplication for each place of the window."""
    N, C = x.shape[:2]
    M = w.shape[0]
    y = np.zeros((N, C, M // C, *g.out), dtype=x.dtype)
    scaled = np.empty_like(y)
    weights = w.reshape(C, M // C, *g.kernel)
    for offset in g.offsets():
        place: tuple[Any, ...] = (slice(None), slice(None), *offset)
        scale = weights[place].reshape(C, M // C, *(1,) * len(g.out))
        y += np.multiply(x[g.at(offset)][:, :, None], scale, out=scaled)
    return y.reshape(N, M, *g.out)


def _blocks(count: int, bytes_each: int) -> Iterator[slice]:
    """Slices that cover range(count), each of as many as fit into `BLOCK_BYTES`, at least one."""
    step = max(1, BLOCK_BYTES // max(bytes_each, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def _with_bias(y: Array, bias: Array | None) -> Array:
    return y if bias is None else y + wide(bias).reshape(1, -1, *(1,) * (y.ndim - 2))


@op("Conv", since=1)
def Conv(
    X: Array,
    W: Array,
    B: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Convolution; halves are summed in float32.

    Spec: https://onnx.ai/onnx/operators/onnx__Conv.html, opset 1+.

    Args:
        X: [N, C, D1, D2, ...].
        W: [M, C / group, k1, k2, ...].
        B: [M].
        pads: begin of every axis, then end of every axis.
    Returns: [N, M, ...].
    """
    _check_kernel(kernel_shape, W)
    g = Geometry.of(X.shape[2:], W.shape[2:], strides=strides, dilations=dilations, pads=pads, auto_pad=auto_pad)
    return restore(_with_bias(convolve(wide(X), wide(W), g, group=group), B), X)


@op("ConvTranspose", since=1)
def ConvTranspose(
    X: Array,
    W: Array,
    B: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """The transpose of Conv as a linear map: every input element lays its weighted window into the output.

    Spec: https://onnx.ai/onnx/operators/onnx__ConvTranspose.html, opset 1+.

    Args:
        X: [N, C, D1, D2, ...].
        W: [C, M / group, k1, k2, ...].
        B: [M].
        output_shape: spatial sizes; padding is then derived, and `pads` ignored.
    Returns: [N, M, ...].
    """
    _check_kernel(kernel_shape, W)
    size, kernel = X.shape[2:], W.shape[2:]
    N, C = X.shape[:2]
    if group < 1 or W.shape[0] != C or C % group:
        raise InvalidInput(f"W has {W.shape[0]} input channels, expected {C} (X channels, divisible by group {group})")
    g = Geometry.of(kernel, kernel, strides=strides, dilations=dilations, auto_pad="SAME_UPPER")
    g = Geometry(size, kernel, g.strides, g.dilations, (0,) * len(size), (0,) * len(size), size)
    full = tuple((n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(size, g.strides, kernel, g.dilations, strict=True))
    extra = tuple(output_padding) if output_padding else (0,) * len(size)
    if output_shape is None and auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        output_shape = [n * s for n, s in zip(size, g.strides, strict=True)]
    if output_shape:
        out = tuple(output_shape)[-len(size) :]  # some exporters write N and M too
        total = [max(f + e - o, 0) for f, e, o in zip(full, extra, out, strict=True)]
        begin = tuple(t // 2 if auto_pad == "SAME_UPPER" else t - t // 2 for t in total)
    else:
        begin, end = both_pads(None if auto_pad == "VALID" else pads, len(size))
        out = tuple(f + e - b - a for f, e, b, a in zip(full, extra, begin, end, strict=True))
    x = wide(X).reshape(N, group, C // group, math.prod(size))
    weights = wide(W).reshape(group, C // group, W.shape[1], *kernel)
    M = W.shape[1] * group
    y = np.zeros((N, M, *(max(f, b + o) for f, b, o in zip(full, begin, out, strict=True))), dtype=x.dtype)
    for offset in g.offsets():
        place: tuple[Any, ...] = (slice(None), slice(None), slice(None), *offset)
        taps = weights[place].swapaxes(1, 2)
        y[g.at(offset)] += product(taps, x).reshape(N, M, *size)
    inside: tuple[Any, ...] = (..., *(slice(b, b + o) for b, o in zip(begin, out, strict=True)))
    return restore(_with_bias(y[inside], B), X)


@op("DeformConv", since=19)
def DeformConv(
    X: Array,
    W: Array,
    offset: Array,
    B: Array | None = None,
    mask: Array | None = None,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Convolution whose window elements are moved by learned offsets and interpolated linearly.

    Spec: https://onnx.ai/onnx/operators/onnx__DeformConv.html, opset 19+. Source: arXiv:1703.06211, arXiv:1811.11168.

    Args:
        X: [N, C, D1, ...].
        W: [M, C / group, k1, ...].
        offset: [N, offset_group * k1 * ... * rank, o1, ...], in elements; the axis counts fastest.
        mask: [N, offset_group * k1 * ..., o1, ...], weights of the window elements.
    Returns: [N, M, o1, ...].
    """
    _check_kernel(kernel_shape, W)
    size, kernel, rank = X.shape[2:], W.shape[2:], X.ndim - 2
    g = Geometry.of(size, kernel, strides=strides, dilations=dilations, pads=pads)
    N, C = X.shape[:2]
    K, L = math.prod(kernel), math.prod(g.out)
    moved = wide(offset).reshape(N, offset_group, *kernel, rank, *g.out)
    moved = np.moveaxis(moved, 2 + rank, 0).copy()  # [rank, N, offset_group, *kernel, *out]
    for axis in range(rank):
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = kernel[axis], g.out[axis]
        moved[axis] += g.sources(axis).reshape(shape).astype(moved.dtype)
    x = wide(X).reshape(N, offset_group, C // offset_group, math.prod(size))
    columns = _interpolated(x, size, moved.reshape(rank, N, offset_group, K * L))
    if mask is not None:
        columns = columns * wide(mask).reshape(N, offset_group, 1, K * L)
    columns = columns.reshape(N, group, C // group * K, L)
    y = product(wide(W).reshape(group, W.shape[0] // group, C // group * K), columns)
    return restore(_with_bias(y.reshape(N, W.shape[0], *g.out), B), X)


def _interpolated(x: Array, size: Sequence[int], points: Array) -> Array:
    """Values between grid points, zero outside the grid.

    Args:
        x: [N, G, C, prod(size)].
        points: [rank, N, G, P] coordinates in elements.
    Returns: [N, G, C, P].
    """
    low = np.floor(points)
    fraction = points - low
    result = np.zeros((*x.shape[:3], points.shape[-1]), dtype=x.dtype)
    for corner in np.ndindex(*(2,) * len(size)):
        weight = np.ones(points.shape[1:], dtype=x.dtype)
        index = np.zeros(points.shape[1:], dtype=np.int64)
        for axis, (n, high) in enumerate(zip(size, corner, strict=True)):
            place = low[axis] + high
            weight = weight * (fraction[axis] if high else 1 - fraction[axis]) * ((place >= 0) & (place < n))
            index = index * n + np.clip(place, 0, n - 1).astype(np.int64)
        result += weight[:, :, None] * np.take_along_axis(x, index[:, :, None], axis=3)
    return result


@op("CausalConvWithState", since=27)
def CausalConvWithState(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    past_state: Array | None = None,
    *,
    activation: str = "none",
) -> tuple[Array, Array]:
    """Depthwise convolution over time that sees the past only, and hands its last inputs on.

    Spec: https://onnx.ai/onnx/operators/onnx__CausalConvWithState.html, opset 27+.

    Args:
        x: [N, C, T].
        weight: [C, 1, k].
        past_state: [N, C, k - 1], the inputs before x; zeros when left out.
        activation: "none", "silu" or "swish" (the same).
    Returns: [N, C, T], and the state for the next call [N, C, k - 1].
    """
    keep = weight.shape[2] - 1
    past = np.zeros((*x.shape[:2], keep), dtype=x.dtype) if past_state is None else past_state
    joined = np.concatenate([past, x], axis=2)
    g = Geometry.of(joined.shape[2:], weight.shape[2:])
    y = _with_bias(convolve(wide(joined), wide(weight), g, group=x.shape[1]), bias)
    if activation in ("silu", "swish"):
        y = y * sigmoid(y)
    elif activation != "none":
        raise InvalidInput(f'activation is "{activation}", expected none, silu or swish')
    return restore(y, x), joined[:, :, joined.shape[2] - keep :]


def _check_kernel(kernel_shape: Sequence[int] | None, W: Array) -> None:
    if kernel_shape and tuple(kernel_shape) != W.shape[2:]:
        raise InvalidInput(f"kernel_shape is {tuple(kernel_shape)}, W's is {W.shape[2:]}; drop the attribute")
