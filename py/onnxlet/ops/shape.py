"""The same elements in another shape, and questions about shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .registry import op
from .support import affordable, axes_in_range, axis_in_range

__all__ = ["Flatten", "Identity", "Reshape", "Transpose"]


@op("Identity", narrow=True)
def Identity(x: Array) -> Array:
    """The input itself, of any kind. Spec: https://onnx.ai/onnx/operators/onnx__Identity.html, opset 1+."""
    return x


@op("Reshape", since=5)
def Reshape(data: Array, shape: Array, *, allowzero: int = 0) -> Array:
    """The same elements under another shape.

    Spec: https://onnx.ai/onnx/operators/onnx__Reshape.html, opset 5+ (``allowzero`` from 14).

    Args:
        shape: int64 [rank]; one -1 stands for whatever is left, 0 for the input's size at that place.
        allowzero: 1: 0 means a size of zero.
    Raises: InvalidInput: the sizes do not multiply to the input's.
    """
    sizes = [int(n) for n in shape.reshape(-1)]
    if not allowzero:
        if any(n == 0 and i >= data.ndim for i, n in enumerate(sizes)):
            raise InvalidInput(f"shape {sizes} copies a size that the input {list(data.shape)} does not have")
        sizes = [data.shape[i] if n == 0 else n for i, n in enumerate(sizes)]
    if sizes.count(-1) == 1 and 0 not in sizes and min(sizes) >= -1:
        rest = math.prod(n for n in sizes if n != -1)
        if data.size % rest == 0:
            sizes[sizes.index(-1)] = data.size // rest
    if any(n < 0 for n in sizes) or math.prod(sizes) != data.size:
        raise InvalidInput(f"cannot reshape {list(data.shape)} ({data.size} elements) to {shape.tolist()}")
    return data.reshape(sizes)


@op("Flatten")
def Flatten(x: Array, *, axis: int = 1) -> Array:
    """Two axes: those before ``axis`` together, and the rest.

    Spec: https://onnx.ai/onnx/operators/onnx__Flatten.html, opset 1+ (negative axes from 11).
    """
    if not -x.ndim <= axis <= x.ndim:
        raise InvalidInput(f"axis is {axis}, expected a value in [{-x.ndim}, {x.ndim}]")
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@op("Squeeze")
def Squeeze_1(data: Array, *, axes: Sequence[int] | None = None) -> Array:
    """Without axes of size 1. Spec: https://onnx.ai/onnx/operators/onnx__Squeeze.html, opset 1 to 12."""
    return Squeeze(data, None if axes is None else np.asarray(axes, np.int64))


@op("Squeeze", since=13)
def Squeeze(data: Array, axes: Array | None = None) -> Array:
    """Without the named axes, or all of size 1. Spec: https://onnx.ai/onnx/operators/onnx__Squeeze.html, opset 13+."""
    if axes is None:
        return data.squeeze()
    named = axes_in_range(axes, data.ndim)
    for axis in named:
        if data.shape[axis] != 1:
            raise InvalidInput(
                f"cannot squeeze axis {axis} of {list(data.shape)}: its size is {data.shape[axis]}, not 1"
            )
    return data.squeeze(axis=named)


@op("Unsqueeze")
def Unsqueeze_1(data: Array, *, axes: Sequence[int]) -> Array:
    """With axes of size 1 put in. Spec: https://onnx.ai/onnx/operators/onnx__Unsqueeze.html, opset 1 to 12."""
    return Unsqueeze(data, np.asarray(axes, np.int64))


@op("Unsqueeze", since=13)
def Unsqueeze(data: Array, axes: Array) -> Array:
    """With axes of size 1 put in; ``axes`` are places in the result, and a scalar counts as one.

    Spec: https://onnx.ai/onnx/operators/onnx__Unsqueeze.html, opset 13+.
    """
    return np.expand_dims(data, axes_in_range(axes, data.ndim + axes.size))


@op("Transpose")
def Transpose(data: Array, *, perm: Sequence[int] | None = None) -> Array:
    """Axes in another order (reversed). Spec: https://onnx.ai/onnx/operators/onnx__Transpose.html, opset 1+."""
    if perm is not None and sorted(perm) != list(range(data.ndim)):
        raise InvalidInput(f"perm is {list(perm)}, expected every axis of {list(data.shape)} once")
    return data.transpose(perm)


@op("Shape")
def Shape(data: Array, *, start: int = 0, end: int | None = None) -> Array:
    """The shape as int64 [end - start]; both count from the end when negative, and are cut to the rank.

    Spec: https://onnx.ai/onnx/operators/onnx__Shape.html, opset 1+ (start and end from 15).
    """
    return np.asarray(data.shape[slice(start, end)], np.int64)


@op("Size")
def Size(data: Array) -> Array:
    """How many elements, int64 []. Spec: https://onnx.ai/onnx/operators/onnx__Size.html, opset 1+."""
    return np.asarray(data.size, np.int64)


@op("Expand", since=8)
def Expand(x: Array, shape: Array) -> Array:
    """Broadcast both ways: a 1 in ``shape`` keeps the input's size.

    Spec: https://onnx.ai/onnx/operators/onnx__Expand.html, opset 8+.
    """
    wanted = np.broadcast_shapes(x.shape, affordable(shape))
    return np.broadcast_to(x, affordable(wanted, x.itemsize))


@op("Tile", since=6)
def Tile(x: Array, repeats: Array) -> Array:
    """Repeat the whole tensor along each axis. Spec: https://onnx.ai/onnx/operators/onnx__Tile.html, opset 6+."""
    if repeats.shape != (x.ndim,):
        raise InvalidInput(f"repeats has shape {list(repeats.shape)}, expected [{x.ndim}] (one an axis)")
    affordable(np.multiply(x.shape, repeats, dtype=object), x.itemsize)
    return np.tile(x, repeats)


@op("DepthToSpace")
def DepthToSpace(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """Move blocks of channels into height and width.

    Spec: https://onnx.ai/onnx/operators/onnx__DepthToSpace.html, opset 1+ (``mode`` from 11).

    Args:
        x: [N, C, H, W]; C is a multiple of blocksize squared.
        mode: "DCR": channels are ordered [block, block, C']; "CRD": [C', block, block].
    Returns: [N, C / blocksize ** 2, H * blocksize, W * blocksize].
    """
    n, c, h, w = x.shape
    depth, rest = divmod(c, blocksize * blocksize)
    if rest:
        raise InvalidInput(f"x has {c} channels, expected a multiple of {blocksize * blocksize} (blocksize squared)")
    if mode == "DCR":
        blocks = x.reshape(n, blocksize, blocksize, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = x.reshape(n, depth, blocksize, blocksize, h, w).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, depth, h * blocksize, w * blocksize)


@op("SpaceToDepth")
def SpaceToDepth(x: Array, *, blocksize: int, mode: str = "DCR") -> Array:
    """The inverse of DepthToSpace.

    Spec: https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html, opset 1+ (``mode`` from 28).

    Args:
        x: [N, C, H, W]; H and W are multiples of blocksize.
    Returns: [N, C * blocksize ** 2, H / blocksize, W / blocksize].
    """
    n, c, h, w = x.shape
    if h % blocksize or w % blocksize:
        raise InvalidInput(f"x is {h} x {w}, expected multiples of blocksize {blocksize}")
    rows, columns = h // blocksize, w // blocksize
    blocks = x.reshape(n, c, rows, blocksize, columns, blocksize)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return blocks.transpose(order).reshape(n, c * blocksize * blocksize, rows, columns)


@op("ReverseSequence", since=10)
def ReverseSequence(x: Array, sequence_lens: Array, *, batch_axis: int = 1, time_axis: int = 0) -> Array:
    """Reverse the first ``sequence_lens[i]`` steps of each sequence in a batch; the rest stays.

    Spec: https://onnx.ai/onnx/operators/onnx__ReverseSequence.html, opset 10+.

    Args:
        x: rank 2 or more; one of batch_axis and time_axis is 0, the other 1.
        sequence_lens: int64 [batch].
    """
    batch_axis, time_axis = axis_in_range(batch_axis, x.ndim), axis_in_range(time_axis, x.ndim)
    steps = x.shape[time_axis]
    time = np.arange(steps)
    source = np.where(time < sequence_lens[:, None], sequence_lens[:, None] - 1 - time, time)
    shape = [1] * x.ndim
    shape[batch_axis], shape[time_axis] = len(sequence_lens), steps
    return np.take_along_axis(x, (source if batch_axis < time_axis else source.T).reshape(shape), time_axis)
