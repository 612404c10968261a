"""com.microsoft: normalizations fused with the sums before them, and embeddings.

Spec of all: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .activations import sigmoid
from .indexing import in_bounds
from .norm import standardized
from .quantize import dequantized
from .registry import op
from .support import axis_in_range, restore, wide

__all__ = ["rms_normalized"]


def rms_normalized(x: Array, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Array]:
    """x over its root mean square along axes, and the reciprocal of that root."""
    inverse = 1 / np.sqrt(np.square(x).mean(axis=axes, keepdims=True) + epsilon)
    return x * inverse, inverse


@op("SimplifiedLayerNormalization", domain="com.microsoft")
@op("SimplifiedLayerNormalization")
def SimplifiedLayerNormalization(
    x: Array, scale: Array, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> tuple[Array, Array]:
    """RMSNormalization under the name that onnxruntime's optimizer writes, in ai.onnx too.

    Returns: the result, and the reciprocal of the root mean square.
    """
    axes = tuple(range(axis_in_range(axis, x.ndim), x.ndim))
    y, inverse = rms_normalized(wide(x), axes, epsilon)
    return restore(y * wide(scale), x), inverse


def _summed(x: Array, skip: Array, bias: Array | None) -> Array:
    total = wide(x) + wide(skip)
    return total if bias is None else total + wide(bias)


@op("SkipLayerNormalization", domain="com.microsoft")
def SkipLayerNormalization(
    x: Array, skip: Array, gamma: Array, beta: Array | None = None, bias: Array | None = None, *, epsilon: float = 1e-12
) -> tuple[Array, Array, Array, Array]:
    """LayerNormalization of x + skip + bias over the last axis.

    Returns: the result, mean, reciprocal standard deviation, and the sum.
    """
    total = _summed(x, skip, bias)
    y, mean, inverse = standardized(total, (x.ndim - 1,), epsilon)
    y = y * wide(gamma)
    return restore(y if beta is None else y + wide(beta), x), mean, inverse, restore(total, x)


@op("SkipSimplifiedLayerNormalization", domain="com.microsoft")
def SkipSimplifiedLayerNormalization(
    x: Array, skip: Array, gamma: Array, bias: Array | None = None, *, epsilon: float = 1e-12
) -> tuple[Array, Array, Array, Array]:
    """RMSNormalization of x + skip + bias over the last axis.

    Returns: the result, zeros, the reciprocal of the root mean square, and the sum.
    """
    total = _summed(x, skip, bias)
    y, inverse = rms_normalized(total, (x.ndim - 1,), epsilon)
    return restore(y * wide(gamma), x), np.zeros_like(inverse), inverse, restore(total, x)


@op("EmbedLayerNormalization", domain="com.microsoft")
def EmbedLayerNormalization(
    input_ids: Array,
    segment_ids: Array | None,
    word_embedding: Array,
    position_embedding: Array,
    segment_embedding: Array | None,
    gamma: Array,
    beta: Array,
    mask: Array | None = None,
    position_ids: Array | None = None,
    *,
    epsilon: float = 1e-12,
    mask_index_type: int = 0,
) -> tuple[Array, Array, Array]:
    """BERT's first layer: word, position and segment embeddings, summed and normalized.

    Args:
        input_ids, segment_ids, mask: int32 [batch, sequence].
        position_ids: int32 [batch or 1, sequence]; default 0, 1, ...
    Returns: [batch, sequence, hidden]; how many places of each row the mask keeps, int32 [batch]; the sum.
    """
    batch, length = input_ids.shape
    places = np.arange(length)[None] if position_ids is None else position_ids
    total = word_embedding[in_bounds(input_ids, len(word_embedding), what="input_ids")]
    total = total + position_embedding[in_bounds(places, len(position_embedding), what="position_ids")]
    if segment_embedding is not None and segment_ids is not None:
        total = total + segment_embedding[in_bounds(segment_ids, len(segment_embedding), what="segment_ids")]
    y, _, _ = standardized(wide(total), (2,), epsilon)
    kept = np.zeros(batch, np.int32) if mask is None else (mask == 1).sum(axis=1).astype(np.int32)
    return restore(y * wide(gamma) + wide(beta), total), kept, total


@op("QEmbedLayerNormalization", domain="com.microsoft")
def QEmbedLayerNormalization(
    input_ids: Array,
    segment_ids: Array | None,
    word_embedding: Array,
    position_embedding: Array,
    segment_embedding: Array | None,
    gamma: Array,
    beta: Array,
    mask: Array | None,
    word_scale: Array,
    position_scale: Array,
    segment_scale: Array | None,
    gamma_scale: Array,
    beta_scale: Array,
    word_zero_point: Array,
    position_zero_point: Array,
    segment_zero_point: Array | None,
    gamma_zero_point: Array,
    beta_zero_point: Array,
    *,
    epsilon: float = 1e-12,
) -> tuple[Array, Array]:
    """EmbedLayerNormalization with 8-bit tables, gamma and beta; each has one scale and one zero point."""
    segments = None
    if segment_embedding is not None and segment_scale is not None and segment_zero_point is not None:
        segments = dequantized(segment_embedding, segment_scale, segment_zero_point)
    y, kept, _ = EmbedLayerNormalization(
        input_ids,
        segment_ids,
        dequantized(word_embedding, word_scale, word_zero_point),
        dequantized(position_embedding, position_scale, position_zero_point),
        segments,
        dequantized(gamma, gamma_scale, gamma_zero_point),
        dequantized(beta, beta_scale, beta_zero_point),
        mask,
        epsilon=epsilon,
    )
    return y, kept


@op("GroupNorm", domain="com.microsoft")
def GroupNorm(
    x: Array, gamma: Array, beta: Array, *, activation: int, channels_last: int = 1, epsilon: float = 1e-5, groups: int
) -> Array:
    """Normalize groups of channels; ``activation`` 1 adds SiLU. x is [N, H, W, C], or [N, C, H, W]."""
    channels_first = np.moveaxis(x, -1, 1) if channels_last else x
    n, c = channels_first.shape[:2]
    if c % groups:
        raise InvalidInput(f"x has {c} channels, expected a multiple of groups {groups}")
    grouped = wide(channels_first).reshape(n, groups, -1)
    y = standardized(grouped, (2,), epsilon)[0].reshape(channels_first.shape)
    shape = (1, c, *[1] * (x.ndim - 2))
    y = y * wide(gamma).reshape(shape) + wide(beta).reshape(shape)
    y = y * sigmoid(y) if activation else y
    return restore(np.moveaxis(y, 1, -1) if channels_last else y, x)


@op("SkipGroupNorm", domain="com.microsoft")
def SkipGroupNorm(
    x: Array,
    gamma: Array,
    beta: Array,
    skip: Array,
    bias: Array | None = None,
    *,
    activation: int,
    channels_last: int = 1,
    epsilon: float = 1e-5,
    groups: int,
) -> tuple[Array, Array]:
    """GroupNorm of x + skip + bias, and that sum; skip is x's shape, [N, C] or [N, 1, 1, C]."""
    per_channel = skip.reshape(skip.shape[0], *[1] * (x.ndim - 2), -1) if skip.ndim == 2 else skip
    total = x + per_channel if bias is None else x + per_channel + bias
    y = GroupNorm(
        total, gamma, beta, activation=activation, channels_last=channels_last, epsilon=epsilon, groups=groups
    )
    return y, total
