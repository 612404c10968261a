"""Resize pictures in numpy, to the level as Pillow does it.

Training pipelines in Python resize with Pillow or imitate it, so preprocessing that differs from it shifts every
answer of the model. Each axis is a convolution whose kernel is widened by the scale when shrinking (antialias).
Source of the method: Pillow's documentation of filters, https://pillow.readthedocs.io/en/stable/handbook/concepts.html#filters,
and its behaviour (weights in 22-bit fixed point, the horizontal pass first and rounded to 8 bits).
"""

from collections.abc import Callable

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..records import dataclass

__all__ = ["METHODS", "resize"]

_FIXED_BITS = 22  # 8 bits of level, 22 of weight and 2 to spare for negative lobes fill an int32
_BLOCK = 1 << 16  # values worked on at once: they stay in the cache


@dataclass(frozen=True, slots=True)
class _Kernel:
    support: float
    weight: Callable[[Array], Array]


def _triangle(x: Array) -> Array:
    return np.maximum(1.0 - np.abs(x), 0.0)


def _cubic(x: Array) -> Array:
    """Keys' cubic convolution with a = -0.5, doi:10.1109/TASSP.1981.1163711."""
    a = -0.5
    x = np.abs(x)
    near = ((a + 2.0) * x - (a + 3.0)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1.0, near, np.where(x < 2.0, far, 0.0))


def _lanczos3(x: Array) -> Array:
    return np.where((x >= -3.0) & (x < 3.0), np.sinc(x) * np.sinc(x / 3), 0.0)


_KERNELS = {
    "bilinear": _Kernel(1.0, _triangle),
    "bicubic": _Kernel(2.0, _cubic),
    "lanczos": _Kernel(3.0, _lanczos3),
}
METHODS = ("nearest", *_KERNELS)


def resize(array: Array, width: int, height: int, method: str = "bilinear", antialias: bool = True) -> Array:
    """Resample a picture to another size.

    Args:
        array: uint8 or floating [H, W] or [H, W, C]; H and W at least 1.
        width, height: the new size in pixels, at least 1.
        method: "nearest", "bilinear", "bicubic" or "lanczos".
        antialias: widen the kernel when shrinking, as Pillow always does; without, it samples points, as
            ``torch.nn.functional.interpolate`` does by default. "nearest" samples points either way.
    Returns: [height, width] or [height, width, C] in the dtype of array; equal to Pillow's for uint8.
    Raises: InvalidInput: an unknown method, a size below 1, an empty array, or another dtype or rank.
    """
    if array.ndim not in (2, 3) or 0 in array.shape or not (array.dtype == np.uint8 or array.dtype.kind == "f"):
        raise InvalidInput(
            f"resize: expected uint8 or float [H, W] or [H, W, C] with pixels, got {array.dtype} {list(array.shape)}"
        )
    array = np.ascontiguousarray(array)
    if width < 1 or height < 1:
        raise InvalidInput(f"resize: expected a size of at least 1 x 1, got {width} x {height}")
    if method not in METHODS:
        raise InvalidInput(f"resize: expected a method of {', '.join(METHODS)}, got {method!r}")
    if method == "nearest":
        return array[_nearest(array.shape[0], height)[:, None], _nearest(array.shape[1], width)]
    kernel = _KERNELS[method]
    rows, columns = array.shape[:2]
    shape = (height, width, *array.shape[2:])
    if shape == array.shape:
        return array.copy()
    if rows > 100 * columns and height < rows:  # Pillow shortens such a strip first
        array = _convolve(array.reshape(1, rows, -1), height, kernel, antialias).reshape(height, *array.shape[1:])
        rows = height
    if width != columns:
        array = _convolve(array.reshape(rows, columns, -1), width, kernel, antialias)
    if height != rows:
        array = _convolve(array.reshape(1, rows, -1), height, kernel, antialias)
    return array.reshape(shape)


def _nearest(size: int, new_size: int) -> Array:
    """The source index under each new pixel's centre; summed step by step, so that ties fall as Pillow's do."""
    step = size / new_size
    steps = np.full(new_size, step)
    steps[0] = step * 0.5
    return np.minimum(np.cumsum(steps).astype(np.intp), size - 1)


def _taps(size: int, new_size: int, kernel: _Kernel, antialias: bool) -> tuple[Array, Array]:
    """Where each new pixel reads and how much: indices [new_size, T] and weights [new_size, T] that sum to 1."""
    scale = size / new_size
    stretch = max(scale, 1.0) if antialias else 1.0
    support = kernel.support * stretch
    centre = (np.arange(new_size) + 0.5) * scale
    first = np.maximum((centre - support + 0.5).astype(np.intp), 0)
    last = np.minimum((centre + support + 0.5).astype(np.intp), size)
    index = first[:, None] + np.arange(int((last - first).max()))
    weight = kernel.weight((index - centre[:, None] + 0.5) / stretch)
    weight[index >= last[:, None]] = 0.0
    weight /= weight.sum(axis=1, keepdims=True)
    return np.minimum(index, size - 1), weight


def _convolve(array: Array, new_size: int, kernel: _Kernel, antialias: bool) -> Array:
    """Resample the middle axis of [O, S, I]: in fixed point for uint8, in float64 for floats."""
    index, weight = _taps(array.shape[1], new_size, kernel, antialias)
    exact = array.dtype == np.uint8
    if exact:
        weight = np.trunc(weight * (1 << _FIXED_BITS) + np.copysign(0.5, weight)).astype(np.int32)
    out = np.empty((array.shape[0], new_size, array.shape[2]), array.dtype)
    columns = min(new_size, max(1, _BLOCK // array.shape[2]))
    rows = max(1, _BLOCK // (columns * array.shape[2]))
    for row in range(0, array.shape[0], rows):
        block = array[row : row + rows]
        for column in range(0, new_size, columns):
            part = slice(column, column + columns)
            total: Array = np.zeros(1, weight.dtype)
            for i, w in zip(index[part].T, weight[part].T, strict=True):
                total = total + block.take(i, axis=1) * w[:, None]
            if exact:
                total = ((total + (1 << (_FIXED_BITS - 1))) >> _FIXED_BITS).clip(0, 255)
            out[row : row + rows, part] = total
    return out
