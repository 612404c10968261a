"""Sampling pictures at arbitrary places: GridSample, and the AffineGrid that makes its places."""

from __future__ import annotations

import itertools
import math

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .registry import op
from .resize import cubic
from .support import restore, wide

__all__: list[str] = []


@op("AffineGrid", since=20)
def AffineGrid(theta: Array, size: Array, *, align_corners: int = 0) -> Array:
    """Places to sample for a batch of affine maps; the coordinates count x first.

    Spec: https://onnx.ai/onnx/operators/onnx__AffineGrid.html, opset 20+. Source: arXiv:1506.02025.

    Args:
        theta: [N, 2, 3] or [N, 3, 4].
        size: int64, the picture's shape [N, C, H, W] or [N, C, D, H, W].
    Returns: [N, H, W, 2] or [N, D, H, W, 3], in units where the picture reaches from -1 to 1.
    """
    spatial = [int(n) for n in size[2:]]
    lines = []
    for n in spatial:
        if align_corners:
            lines.append(np.linspace(-1, 1, n) if n > 1 else np.zeros(n))
        else:
            lines.append((2 * np.arange(n) + 1) / n - 1)
    places = np.meshgrid(*lines, indexing="ij")[::-1]
    homogeneous = np.stack([*places, np.ones(spatial)], axis=-1).reshape(-1, len(spatial) + 1)
    grid = homogeneous @ theta.astype(np.float64).swapaxes(1, 2)
    return restore(grid.reshape(len(theta), *spatial, len(spatial)), theta)


@op("GridSample", since=16)
def GridSample(
    X: Array, grid: Array, *, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros"
) -> Array:
    """X at the places that a grid names.

    Spec: https://onnx.ai/onnx/operators/onnx__GridSample.html, opset 16+; until 19 the modes are called bilinear and
    bicubic, and X has two spatial axes.

    Args:
        X: [N, C, D1, ...].
        grid: [N, o1, ..., rank], coordinates from -1 to 1, last spatial axis first.
        padding_mode: what lies outside: "zeros", "border" (the nearest element) or "reflection".
    Returns: [N, C, o1, ...]; halves to even for nearest, fractions cut off for integers.
    """
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    if mode not in ("linear", "cubic", "nearest") or padding_mode not in ("zeros", "border", "reflection"):
        raise InvalidInput(f'mode "{mode}" or padding_mode "{padding_mode}" is unknown')
    size = X.shape[2:]
    N, C = X.shape[:2]
    points = wide(grid).reshape(N, math.prod(grid.shape[1:-1]), len(size))[..., ::-1]
    taps = [_axis_taps(points[..., axis], n, mode, padding_mode, bool(align_corners)) for axis, n in enumerate(size)]
    x = (wide(X) if X.dtype.kind == "f" else X.astype(np.float64)).reshape(N, C, math.prod(size))
    y = np.zeros((N, C, points.shape[1]), dtype=x.dtype)
    for combination in itertools.product(*taps):
        index, weight = np.zeros(points.shape[:2], dtype=np.int64), np.ones(points.shape[:2], dtype=points.dtype)
        for n, (place, share) in zip(size, combination, strict=True):
            index, weight = index * n + place, weight * share
        y += np.take_along_axis(x, index[:, None], axis=2) * weight[:, None].astype(x.dtype)
    return restore(y.reshape(N, C, *grid.shape[1:-1]), X)


def _axis_taps(at: Array, size: int, mode: str, padding_mode: str, align_corners: bool) -> list[tuple[Array, Array]]:
    """Which elements of one axis every point takes, and their weights: pairs of [N, P]."""
    x = (at + 1) / 2 * (size - 1) if align_corners else ((at + 1) * size - 1) / 2
    x = np.where(np.isfinite(x), x, -2)  # the spec leaves NaN open; a place outside cannot index wrongly
    if mode == "nearest":
        choices = [(np.rint(x), np.ones_like(x))]
    else:
        base = np.floor(x)
        reach = range(2) if mode == "linear" else range(-1, 3)
        kernel = (lambda d: np.maximum(1 - np.abs(d), 0)) if mode == "linear" else (lambda d: cubic(d, -0.75))
        choices = [(base + i, kernel(base + i - x)) for i in reach]
    taps = []
    for place, weight in choices:
        if padding_mode == "zeros":
            weight = weight * ((place >= 0) & (place < size))
        elif padding_mode == "reflection":
            place = _reflected(place, size, align_corners)
        taps.append((place.clip(0, size - 1).astype(np.int64), weight))
    return taps


def _reflected(place: Array, size: int, align_corners: bool) -> Array:
    """Whole places folded into [0, size): about the end elements, or about the edges half an element outside."""
    period = 2 * (size - 1) if align_corners else 2 * size
    if period == 0:
        return np.zeros_like(place)
    folded = np.mod(place, period)
    last = period if align_corners else period - 1
    return np.minimum(folded, last - folded)
