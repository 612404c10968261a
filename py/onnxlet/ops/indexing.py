"""Picking elements by index, and writing elements at indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .registry import op
from .support import axis_in_range

__all__ = ["Gather", "in_bounds"]


def in_bounds(indices: Array, size: int, *, what: str = "indices") -> Array:
    """Indices counted from the front.

    Raises: InvalidInput: one is outside [-size, size).
    """
    bad = (indices < -size) | (indices >= size)
    if bad.any():
        raise InvalidInput(f"{what} holds {indices[bad][0]}, expected values in [{-size}, {size})")
    return np.where(indices < 0, indices + size, indices)


@op("Gather")
def Gather(data: Array, indices: Array, *, axis: int = 0) -> Array:
    """Slices of ``data`` along an axis, by index. Spec: https://onnx.ai/onnx/operators/onnx__Gather.html, opset 1+.

    Returns: data's shape with ``indices.shape`` in place of the axis.
    """
    axis = axis_in_range(axis, data.ndim)
    return np.take(data, in_bounds(indices, data.shape[axis]), axis=axis)


@op("GatherElements", since=11)
def GatherElements(data: Array, indices: Array, *, axis: int = 0) -> Array:
    """One element for each index; the other coordinates are the index's own.

    Spec: https://onnx.ai/onnx/operators/onnx__GatherElements.html, opset 11+.
    """
    axis = axis_in_range(axis, data.ndim)
    return data[_coordinates(data, indices, axis)]


def _coordinates(data: Array, indices: Array, axis: int) -> tuple[Array, ...]:
    if indices.ndim != data.ndim:
        raise InvalidInput(f"indices has rank {indices.ndim}, expected {data.ndim} (the data's)")
    grid: list[Any] = list(np.ogrid[tuple(slice(0, n) for n in indices.shape)])
    grid[axis] = in_bounds(indices, data.shape[axis])
    return tuple(grid)


@op("GatherND", since=11)
def GatherND(data: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    """Slices by a vector of coordinates.

    Spec: https://onnx.ai/onnx/operators/onnx__GatherND.html, opset 11+ (``batch_dims`` from 12).

    Args:
        indices: int64 [..., k]: coordinates in the first k axes after the batch.
        batch_dims: how many leading axes the two share.
    Returns: [*indices.shape[:-1], *data.shape[batch_dims + k:]].
    """
    k = indices.shape[-1]
    if batch_dims + k > data.ndim:
        raise InvalidInput(f"indices name {k} coordinates after {batch_dims} batch axes, data has rank {data.ndim}")
    columns = [in_bounds(indices[..., i], data.shape[batch_dims + i]) for i in range(k)]
    batch = np.ogrid[tuple(slice(0, n) for n in indices.shape[:-1])][:batch_dims]
    return data[(*batch, *columns)]


@op("ScatterElements", since=11)
@op("Scatter", since=9)
def ScatterElements(data: Array, indices: Array, updates: Array, *, axis: int = 0, reduction: str = "none") -> Array:
    """A copy of ``data`` with elements replaced or combined: the inverse of GatherElements.

    Spec: https://onnx.ai/onnx/operators/onnx__ScatterElements.html, opset 11+ (``reduction`` from 16).
    """
    result = data.copy()
    _combine(result, _coordinates(data, indices, axis_in_range(axis, data.ndim)), updates, reduction)
    return result


@op("ScatterND", since=11)
def ScatterND(data: Array, indices: Array, updates: Array, *, reduction: str = "none") -> Array:
    """A copy of ``data`` with slices replaced or combined: the inverse of GatherND.

    Spec: https://onnx.ai/onnx/operators/onnx__ScatterND.html, opset 11+ (``reduction`` from 16).
    """
    columns = tuple(in_bounds(indices[..., i], data.shape[i]) for i in range(indices.shape[-1]))
    result = data.copy()
    _combine(result, columns, updates, reduction)
    return result


_COMBINE: dict[str, Callable[..., Any]] = {
    "add": np.add.at,
    "mul": np.multiply.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}


def _combine(target: Array, where: tuple[Any, ...], updates: Array, reduction: str) -> None:
    if reduction == "none":
        target[where] = updates
    elif reduction in _COMBINE:
        _COMBINE[reduction](target, where, updates)  # .at: indices may repeat
    else:
        raise InvalidInput(f'reduction is "{reduction}", expected none, add, mul, max or min')


@op("TensorScatter", since=24)
def TensorScatter(
    past_cache: Array, update: Array, write_indices: Array | None = None, *, axis: int = -2, mode: str = "linear"
) -> Array:
    """A cache with new steps written at each sample's own place.

    Spec: https://onnx.ai/onnx/operators/onnx__TensorScatter.html, opset 24+.

    Args:
        past_cache: [batch, ..., max_sequence_length, ...].
        update: the same but sequence_length along ``axis``.
        write_indices: int64 [batch]; default 0.
        mode: "linear", or "circular": places wrap around.
    """
    axis = axis_in_range(axis, past_cache.ndim)
    starts = np.zeros(len(past_cache), np.int64) if write_indices is None else write_indices
    size, steps = past_cache.shape[axis], np.arange(update.shape[axis])
    places = starts[:, None] + steps
    places = places % size if mode == "circular" else in_bounds(places, size, what="write_indices + step")
    result = past_cache.copy()
    batch = np.arange(len(past_cache))[:, None]
    np.moveaxis(result, axis, 1)[batch, places] = np.moveaxis(update, axis, 1)
    return result


@op("ArrayFeatureExtractor", domain="ai.onnx.ml")
def ArrayFeatureExtractor(x: Array, y: Array) -> Array:
    """Columns of the last axis. Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_ArrayFeatureExtractor.html, ml 1+.

    Returns: [..., len(y)]; a vector gives [1, len(y)].
    """
    picked = x[..., in_bounds(y.reshape(-1), x.shape[-1], what="Y")]
    return picked.reshape(1, -1) if x.ndim == 1 else picked
