"""Normalization: by batch, instance, layer, group, neighbourhood or norm.

Everything is computed in float32 at least and rounded to the input's dtype once, at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import Array, DataType
from ..errors import InvalidInput
from .registry import op
from .support import axes_in_range, axis_in_range, restore, wide

__all__ = ["standardized"]


def standardized(x: Array, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Array, Array]:
    """x with mean 0 and variance 1 along axes; the variance divides by N, not N - 1.

    Returns: normalized x, the mean, and the reciprocal of the standard deviation (both with kept axes of size 1).
    """
    mean = x.mean(axis=axes, keepdims=True)
    centred = x - mean
    inverse = 1 / np.sqrt(np.square(centred).mean(axis=axes, keepdims=True) + epsilon)
    return centred * inverse, mean, inverse


def _per_channel(values: Array, rank: int) -> Array:
    """[C] as [C, 1, ...], to broadcast over [N, C, D1, ...]."""
    return wide(values).reshape(-1, *(1,) * (rank - 2))


@op("BatchNormalization", since=7)
def BatchNormalization_7(
    X: Array,
    scale: Array,
    B: Array,
    mean: Array,
    var: Array,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    spatial: int = 1,
) -> Array:
    """Normalize with the given statistics, a channel or (spatial 0) an element of [C, D1, ...] each.

    Spec: https://onnx.ai/onnx/operators/onnx__BatchNormalization.html, opset 7 to 13, inference; spatial until 8.
    """
    if spatial:
        return BatchNormalization(X, scale, B, mean, var, epsilon=epsilon, momentum=momentum)
    y = (wide(X) - wide(mean)) / np.sqrt(wide(var) + epsilon) * wide(scale) + wide(B)
    return restore(y, X)


@op("BatchNormalization", since=14)
def BatchNormalization(
    X: Array,
    scale: Array,
    B: Array,
    input_mean: Array,
    input_var: Array,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    training_mode: int = 0,
) -> Any:
    """Normalize every channel with the given statistics, or in training with the batch's own.

    Spec: https://onnx.ai/onnx/operators/onnx__BatchNormalization.html, opset 14+.

    Args:
        X: [N, C, D1, ...], or [N] with C = 1.
        scale, B, input_mean, input_var: [C].
    Returns: Y; in training also the running mean and variance [C], momentum times old plus the rest times new.
    """
    x = wide(X) if X.ndim > 1 else wide(X)[:, None]
    rank = x.ndim
    mean, var = _per_channel(input_mean, rank), _per_channel(input_var, rank)
    if not training_mode:
        y = (x - mean) * (_per_channel(scale, rank) / np.sqrt(var + epsilon)) + _per_channel(B, rank)
        return restore(y.reshape(X.shape), X)
    axes = (0, *range(2, rank))
    y, batch_mean, _ = standardized(x, axes, epsilon)
    batch_var = x.var(axis=axes)
    running_mean = wide(input_mean) * momentum + batch_mean.reshape(-1) * (1 - momentum)
    running_var = wide(input_var) * momentum + batch_var * (1 - momentum)
    y = y * _per_channel(scale, rank) + _per_channel(B, rank)
    return restore(y.reshape(X.shape), X), restore(running_mean, input_mean), restore(running_var, input_var)


@op("InstanceNormalization", since=6)
def InstanceNormalization(X: Array, scale: Array, B: Array, *, epsilon: float = 1e-5) -> Array:
    """Normalize every channel of every sample. Source: arXiv:1607.08022.

    Spec: https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html, opset 6+.

    Args:
        X: [N, C, D1, ...].
        scale, B: [C].
    """
    y, _, _ = standardized(wide(X), tuple(range(2, X.ndim)), epsilon)
    return restore(y * _per_channel(scale, X.ndim) + _per_channel(B, X.ndim), X)


@op("LayerNormalization", since=17)
def LayerNormalization(
    X: Array, Scale: Array, B: Array | None = None, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Array, Array, Array]:
    """Normalize over the axes from `axis` on. Source: arXiv:1607.06450.

    Spec: https://onnx.ai/onnx/operators/onnx__LayerNormalization.html, opset 17+.

    Args:
        Scale, B: broadcastable to X.
        stash_type: the type of the second and third output.
    Returns: Y, Mean and InvStdDev, the latter two with size 1 along the normalized axes.
    """
    axes = tuple(range(axis_in_range(axis, X.ndim), X.ndim))
    y, mean, inverse = standardized(wide(X), axes, epsilon)
    y = y * wide(Scale)
    if B is not None:
        y = y + wide(B)
    stash = DataType(stash_type).numpy
    return restore(y, X), mean.astype(stash, copy=False), inverse.astype(stash, copy=False)


@op("RMSNormalization", since=23)
def RMSNormalization(X: Array, scale: Array, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1) -> Array:
    """Divide by the root mean square over the axes from `axis` on. Source: arXiv:1910.07467.

    Spec: https://onnx.ai/onnx/operators/onnx__RMSNormalization.html, opset 23+.

    Args:
        scale: broadcastable to X; its dtype is the result's.
        stash_type: the spec's precision of the first stage; here never less than float32.
    """
    axes = tuple(range(axis_in_range(axis, X.ndim), X.ndim))
    x = wide(X)
    y = x / np.sqrt(np.square(x).mean(axis=axes, keepdims=True) + epsilon)
    return restore(y * wide(scale), scale)


def _grouped(X: Array, num_groups: int, epsilon: float) -> Array:
    """X [N, C, D1, ...] standardized over groups of channels, in float32 at least."""
    N, C = X.shape[:2]
    if num_groups < 1 or C % num_groups:
        raise InvalidInput(f"{C} channels do not divide into num_groups = {num_groups}")
    y, _, _ = standardized(
        wide(X).reshape(N, num_groups, C // num_groups, *X.shape[2:]), tuple(range(2, X.ndim + 1)), epsilon
    )
    return y


@op("GroupNormalization", since=18)
def GroupNormalization_18(X: Array, scale: Array, bias: Array, *, epsilon: float = 1e-5, num_groups: int) -> Array:
    """Normalize groups of channels; scale and bias are [num_groups]. Source: arXiv:1803.08494.

    Spec: https://onnx.ai/onnx/operators/onnx__GroupNormalization.html, opset 18 to 20.
    """
    y = _grouped(X, num_groups, epsilon)
    y = y * _per_channel(scale, X.ndim + 1) + _per_channel(bias, X.ndim + 1)
    return restore(y.reshape(X.shape), X)


@op("GroupNormalization", since=21)
def GroupNormalization(
    X: Array, scale: Array, bias: Array, *, epsilon: float = 1e-5, num_groups: int, stash_type: int = 1
) -> Array:
    """Normalize groups of channels; scale and bias are [C]. Source: arXiv:1803.08494.

    Spec: https://onnx.ai/onnx/operators/onnx__GroupNormalization.html, opset 21+.

    Args:
        X: [N, C, D1, ...].
        stash_type: the spec's precision of the first stage; here never less than float32.
    """
    y = _grouped(X, num_groups, epsilon).reshape(X.shape)
    return restore(y * _per_channel(scale, X.ndim) + _per_channel(bias, X.ndim), X)


@op("LRN", since=1)
def LRN(X: Array, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: int) -> Array:
    """Divide by a power of the sum of squares over `size` neighbouring channels (local response normalization).

    Spec: https://onnx.ai/onnx/operators/onnx__LRN.html, opset 1+. Source: Krizhevsky et al. 2012.

    Args:
        X: [N, C, D1, ...].
    """
    x = wide(X)
    C = X.shape[1]
    before = (size - 1) // 2
    padding = [(0, 0)] * X.ndim
    padding[1] = (before, size - 1 - before)
    squares = np.pad(np.square(x), padding)
    total = np.zeros_like(x)
    for i in range(size):
        total += squares[:, i : i + C]
    return restore(x / (bias + alpha / size * total) ** beta, X)


@op("LpNormalization", since=1)
def LpNormalization(x: Array, *, axis: int = -1, p: int = 2) -> Array:
    """Divide by the L1 or L2 norm along an axis; zeros stay zeros.

    Spec: https://onnx.ai/onnx/operators/onnx__LpNormalization.html, opset 1+.
    """
    if p not in (1, 2):
        raise InvalidInput(f"p is {p}, expected 1 or 2")
    at = axis_in_range(axis, x.ndim)
    t = wide(x)
    norm = np.abs(t).sum(axis=at, keepdims=True) if p == 1 else np.sqrt(np.square(t).sum(axis=at, keepdims=True))
    return restore(t / np.where(norm == 0, 1, norm), x)


@op("MeanVarianceNormalization", since=9)
def MeanVarianceNormalization(X: Array, *, axes: Sequence[int] = (0, 2, 3)) -> Array:
    """Mean 0 and variance 1 along axes.

    Spec: https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html, opset 9+.
    """
    x = wide(X)
    along = axes_in_range(axes, X.ndim)
    centred = x - x.mean(axis=along, keepdims=True)
    # 1e-9: the constant of the function body in the spec, which keeps a constant channel finite
    return restore(centred / (np.sqrt(np.square(centred).mean(axis=along, keepdims=True)) + 1e-9), X)
