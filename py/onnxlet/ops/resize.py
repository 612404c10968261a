"""Resize and Upsample: every output element is a weighted sum of input elements, axis by axis.

An axis is described by its taps: for every output place, which input places it takes, and with what weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..records import dataclass
from .registry import op
from .support import affordable, axes_in_range, restore, wide

__all__ = ["cubic"]


def cubic(distance: Array, a: float) -> Array:
    """The cubic convolution kernel at |distance| < 2, else 0. Source: Keys 1981, doi:10.1109/TASSP.1981.1163711."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def _triangle(distance: Array) -> Array:
    return np.maximum(1 - np.abs(distance), 0)


@dataclass(frozen=True, slots=True)
class _Options:
    """Resize's attributes, by their names."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic_coeff_a: float = -0.75
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation_value: float = 0.0


def _source(out: int, size: int, scale: np.float32, roi: tuple[float, float], mode: str) -> Array:
    """Where in the input every output element lies, float32 [out].

    In single precision and in onnxruntime's order of operations: where a place falls between two elements, or just on
    one, its last bit decides which is nearest, and both runtimes should choose the same.
    """
    x: Array = np.arange(out).astype(np.float32)
    half = np.float32(0.5)
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and out > 1):
        return (x + half) / scale - half
    if mode == "pytorch_half_pixel":
        return np.zeros_like(x)
    if mode == "half_pixel_symmetric":
        adjustment = np.float32(out) / (scale * np.float32(size))
        return half * size * (1 - adjustment) + (x + half) / scale - half
    if mode == "asymmetric":
        return x / scale
    if mode == "align_corners":
        return x * (size - 1) / (out - 1) if out > 1 else np.zeros_like(x)
    if mode == "tf_half_pixel_for_nn":
        return (x + half) / scale
    if mode == "tf_crop_and_resize":
        start, end = roi
        if out > 1:
            return start * (size - 1) + x * (end - start) * (size - 1) / (out - 1)
        return np.full_like(x, 0.5 * (start + end) * (size - 1))
    raise InvalidInput(f'coordinate_transformation_mode "{mode}" is unknown')


def _nearest(x: Array, scale: float, rule: str) -> Array:
    if rule == "round_prefer_floor":
        return np.ceil(x - 0.5)
    if rule == "round_prefer_ceil":
        return np.floor(x + 0.5)
    if rule == "floor" or (rule == "simple" and scale >= 1):
        return np.floor(x)
    if rule in ("ceil", "simple"):
        return np.ceil(x)
    raise InvalidInput(f'nearest_mode is "{rule}", expected round_prefer_floor, round_prefer_ceil, floor or ceil')


def _taps(x: Array, size: int, scale: float, options: _Options) -> tuple[Array, Array]:
    """Input places [taps, out], clamped to the input, and their weights [taps, out] or none for a plain copy."""
    if options.mode == "nearest":
        return _nearest(x, scale, options.nearest).clip(0, size - 1).astype(np.int64)[None], np.ones((1, 1))
    if options.mode not in ("linear", "cubic"):
        raise InvalidInput(f'mode is "{options.mode}", expected nearest, linear or cubic')
    reach = 1 if options.mode == "linear" else 2
    shrink = min(scale, 1.0) if options.antialias else 1.0  # antialiasing stretches the kernel by 1 / scale
    first = math.floor(-reach / shrink) + 1
    base = np.floor(x)
    places = base + np.arange(first, 1 - first + 1)[:, None]
    distance = (places - x) * shrink
    weights = _triangle(distance) if options.mode == "linear" else cubic(distance, options.cubic_coeff_a)
    if options.exclude_outside:
        weights = np.where((places >= 0) & (places < size), weights, 0)
    if options.exclude_outside or options.antialias:
        weights = weights / weights.sum(axis=0)
    return places.clip(0, size - 1).astype(np.int64), weights


def _resized(
    X: Array,
    out: Sequence[int],
    scales: Sequence[np.float32],
    rois: Sequence[tuple[float, float]],
    options: _Options,
) -> Array:
    """X at the size `out`."""
    affordable(out, X.itemsize)
    if 0 in out or 0 in X.shape:
        return np.zeros(tuple(out), dtype=X.dtype)
    copies = options.mode == "nearest"
    y = X if copies else (wide(X) if X.dtype.kind == "f" else X.astype(np.float32))
    outside = []
    order = sorted(range(X.ndim), key=lambda axis: out[axis] / X.shape[axis])  # what shrinks first is cheapest
    for axis in order:
        size = X.shape[axis]
        x = _source(out[axis], size, scales[axis], rois[axis], options.coordinates)
        if options.coordinates == "tf_crop_and_resize":
            outside.append((axis, (x < 0) | (x > size - 1)))
        if out[axis] == size and np.array_equal(x, np.arange(size)):
            continue
        places, weights = _taps(x, size, float(scales[axis]), options)
        if copies:
            y = np.take(y, places[0], axis=axis)
            continue
        shape = [1] * X.ndim
        shape[axis] = -1
        total: Any = 0
        for place, weight in zip(places, weights.astype(y.dtype), strict=True):
            total = total + np.take(y, place, axis=axis) * weight.reshape(shape)
        y = total
    for axis, beyond in outside:
        if beyond.any():
            shape = [1] * X.ndim
            shape[axis] = -1
            y = np.where(beyond.reshape(shape), np.asarray(options.extrapolation_value).astype(y.dtype), y)
    if not copies and X.dtype.kind in "iu":
        limits = np.iinfo(X.dtype)
        y = np.clip(y, limits.min, limits.max)  # a cubic overshoots
        y = np.rint(y) if options.antialias else y  # else fractions are cut off: both as onnxruntime does
    return restore(y, X)


@op("Resize", since=10)
def Resize_10(X: Array, scales: Array, *, mode: str = "nearest") -> Array:
    """Resize by factors, from coordinates x / scale.

    Nearest takes the element below, or above where the axis shrinks (onnxruntime's choice; the spec says nothing).
    Spec: https://onnx.ai/onnx/operators/onnx__Resize.html, opset 10.
    """
    return _by_factors(X, scales, mode)


@op("Upsample", since=7)
def Upsample_7(X: Array, *, mode: str = "nearest", scales: Sequence[float]) -> Array:
    """Enlarge by factors. Spec: https://onnx.ai/onnx/operators/onnx__Upsample.html, opset 7 and 8."""
    return _by_factors(X, np.asarray(scales, np.float32), mode)


@op("Upsample", since=9)
def Upsample(X: Array, scales: Array, *, mode: str = "nearest") -> Array:
    """Enlarge by factors. Spec: https://onnx.ai/onnx/operators/onnx__Upsample.html, opset 9; deprecated from 10."""
    return _by_factors(X, scales, mode)


def _by_factors(X: Array, scales: Array, mode: str) -> Array:
    if len(scales) != X.ndim:
        raise InvalidInput(f"scales has {len(scales)} numbers, expected {X.ndim}, one an axis")
    out = [int(np.float32(n) * s) for n, s in zip(X.shape, scales, strict=True)]
    options = _Options(
        mode="linear" if mode in ("linear", "bilinear") else mode, coordinates="asymmetric", nearest="simple"
    )
    return _resized(X, out, list(scales), [(0.0, 1.0)] * X.ndim, options)


@op("Resize", since=11)
def Resize(
    X: Array,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Array | None = None,
    *,
    antialias: int = 0,
    axes: Sequence[int] | None = None,
    coordinate_transformation_mode: str = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: int = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: str = "stretch",
    mode: str = "nearest",
    nearest_mode: str = "round_prefer_floor",
) -> Array:
    """Resize by factors or to sizes.

    Spec: https://onnx.ai/onnx/operators/onnx__Resize.html, opset 11+; axes, antialias and keep_aspect_ratio_policy
    from 18. align_corners uses the whole number of output elements, as the text, onnxruntime and PyTorch do (the
    reference implementation uses the fraction size x scale).

    Args:
        X: any shape; any dtype for nearest, numeric for linear and cubic.
        roi: [2 * axes], starts then ends, as fractions; for tf_crop_and_resize.
        scales, sizes: one of them, [axes]; the other left out or empty.
        axes: what the inputs speak of; all when left out.
    """
    chosen = axes_in_range(axes, X.ndim) if axes is not None else tuple(range(X.ndim))
    rois = [(0.0, 1.0)] * X.ndim
    if roi is not None and roi.size and coordinate_transformation_mode == "tf_crop_and_resize":
        for i, axis in enumerate(chosen):
            rois[axis] = (float(roi[i]), float(roi[len(chosen) + i]))
    out = list(X.shape)
    factors = [np.float32(1)] * X.ndim
    given = scales if scales is not None and scales.size else sizes
    if given is None or len(given) != len(chosen):
        raise InvalidInput(f"expected {len(chosen)} scales or sizes, got {0 if given is None else len(given)}")
    if given is scales:
        for axis, scale in zip(chosen, scales, strict=True):
            start, end = rois[axis]
            out[axis] = math.floor(np.float32(X.shape[axis]) * np.float32(end - start) * scale)
            factors[axis] = scale
    else:
        wanted = _sizes([X.shape[a] for a in chosen], [int(s) for s in given], keep_aspect_ratio_policy)
        for axis, size in zip(chosen, wanted, strict=True):
            out[axis] = size
            factors[axis] = np.float32(size) / np.float32(max(X.shape[axis], 1))
    options = _Options(
        mode=mode,
        coordinates=coordinate_transformation_mode,
        nearest=nearest_mode,
        cubic_coeff_a=cubic_coeff_a,
        exclude_outside=bool(exclude_outside),
        antialias=bool(antialias),
        extrapolation_value=extrapolation_value,
    )
    return _resized(X, out, factors, rois, options)


def _sizes(current: Sequence[int], sizes: Sequence[int], policy: str) -> Sequence[int]:
    if policy == "stretch":
        return sizes
    if policy not in ("not_larger", "not_smaller"):
        raise InvalidInput(f'keep_aspect_ratio_policy is "{policy}", expected stretch, not_larger or not_smaller')
    ratios = [s / n for n, s in zip(current, sizes, strict=True)]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [math.floor(scale * n + 0.5) for n in current]
