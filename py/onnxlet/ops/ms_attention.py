"""com.microsoft: attention as transformer exporters and onnxruntime's optimizer write it.

Shapes: B batch, S queries, T keys, P past keys, H heads, D features of a head.
Spec of all: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput, UnsupportedOp
from .attention import join_heads, split_heads
from .ms_qlinear import MatMulIntegerToFloat
from .registry import op
from .support import product, restore, wide

__all__ = ["attend"]


def attend(
    q: Array,
    k: Array,
    v: Array,
    *,
    scale: float | None,
    bias: Array | None = None,
    allowed: Array | None = None,
    softcap: float = 0.0,
    sink: Array | None = None,
) -> Array:
    """softmax(q @ k.T * scale + bias) @ v, in float32.

    Args:
        q: [B, H, S, D]; k: [B, H, T, D]; v: [B, H, T, Dv].
        bias: added to the scores, broadcastable to [B, H, S, T].
        allowed: bool, broadcastable to the same: what is false weighs nothing.
        softcap: > 0: scores are bent into (-softcap, softcap).
        sink: [H]: a score a head that takes weight but gives no value.
    Returns: [B, H, S, Dv].
    """
    scores = product(wide(q), wide(k).swapaxes(-1, -2)) * np.float32(scale or 1 / math.sqrt(q.shape[-1]))
    if softcap > 0:
        scores = np.float32(softcap) * np.tanh(scores / np.float32(softcap))
    if bias is not None:
        scores = scores + wide(bias)
    if allowed is not None:
        scores = np.where(allowed, scores, np.float32(np.finfo(np.float32).min))
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    if sink is not None:
        top = np.maximum(top, wide(sink).reshape(1, -1, 1, 1))
    weights = np.exp(scores - top)
    total = weights.sum(axis=-1, keepdims=True)
    if sink is not None:
        total = total + np.exp(wide(sink).reshape(1, -1, 1, 1) - top)
    return restore(product(weights / total, wide(v)), v)


def _padding_bias(mask: Array, batch: int, queries: int, keys: int, value: float) -> Array:
    """What a padding mask adds to the scores, broadcastable to [B, 1, S, T].

    Args:
        mask: int32 [B]: keys that count; [2 * B]: ends, then starts; [3 * B + 2]: keys that count, first; or 1 for what
            counts: [B, T], [B, S, T] or [B, 1, M, M] with M >= T.
        value: added where the mask says no.
    """
    if mask.ndim == 1:
        if mask.size not in (batch, 2 * batch, 3 * batch + 2):
            raise InvalidInput(f"mask has {mask.size} elements, expected {batch}, {2 * batch} or {3 * batch + 2}")
        place = np.arange(keys)
        keep = place < mask[:batch, None]
        if mask.size == 2 * batch:
            keep &= place >= mask[batch:, None]
        keep = keep[:, None, None, :]
    elif mask.ndim == 2:
        keep = mask[:, None, None, :keys] > 0
    elif mask.ndim == 3:
        keep = mask[:, None] > 0
    else:
        keep = mask[:, :, keys - queries : keys, :keys] > 0
    return np.where(keep, np.float32(0), np.float32(value))


def _causal(queries: int, keys: int) -> Array:
    """[S, T]: the last query sees every key."""
    return np.arange(keys) <= np.arange(queries)[:, None] + keys - queries


def _total(*biases: Array | None) -> Array | None:
    given = [wide(b) for b in biases if b is not None]
    return sum(given[1:], given[0]) if given else None


@op("Attention", domain="com.microsoft")
def MsAttention(
    x: Array,
    weights: Array,
    bias: Array | None = None,
    mask_index: Array | None = None,
    past: Array | None = None,
    attention_bias: Array | None = None,
    past_sequence_length: Array | None = None,
    *,
    do_rotary: int = 0,
    mask_filter_value: float = -10000.0,
    num_heads: int,
    past_present_share_buffer: int = 0,
    qkv_hidden_sizes: Sequence[int] | None = None,
    rotary_embedding_dim: int = 0,
    scale: float | None = None,
    unidirectional: int = 0,
) -> tuple[Array, Array]:
    """Self-attention with its input projection.

    Args:
        x: [B, S, hidden].
        weights: [hidden, Dq + Dk + Dv]; bias: [Dq + Dk + Dv]; qkv_hidden_sizes says the three, default equal.
        mask_index: see `_padding_bias`.
        past: [2, B, H, P, D], keys then values.
        unidirectional: 1: no query sees a later key.
    Returns: [B, S, Dv], and the keys and values with the past, [2, B, H, P + S, D].
    """
    if do_rotary or past_present_share_buffer:
        raise UnsupportedOp("do_rotary and past_present_share_buffer are not implemented; export without them")
    projected = product(wide(x), wide(weights))
    projected = restore(projected if bias is None else projected + wide(bias), x)
    return _self_attention(
        projected,
        mask_index,
        past,
        attention_bias,
        num_heads,
        qkv_hidden_sizes,
        scale,
        unidirectional,
        mask_filter_value,
    )


def _self_attention(
    projected: Array,
    mask_index: Array | None,
    past: Array | None,
    attention_bias: Array | None,
    num_heads: int,
    sizes: Sequence[int] | None,
    scale: float | None,
    unidirectional: int,
    mask_filter_value: float,
) -> tuple[Array, Array]:
    third = projected.shape[-1] // 3
    q_size, k_size, _ = sizes or (third, third, third)
    q, k, v = (split_heads(p, num_heads) for p in np.split(projected, [q_size, q_size + k_size], axis=-1))
    if past is not None:
        k, v = np.concatenate([past[0], k], axis=2), np.concatenate([past[1], v], axis=2)
    B, _, S, _ = q.shape
    T = k.shape[2]
    padding = None if mask_index is None else _padding_bias(mask_index, B, S, T, mask_filter_value)
    y = attend(
        q,
        k,
        v,
        scale=scale,
        bias=_total(padding, attention_bias),
        allowed=_causal(S, T) if unidirectional else None,
    )
    present = np.stack([k, v]) if k.shape == v.shape else np.empty((2, B, num_heads, T, 0), k.dtype)
    return join_heads(y), present


@op("QAttention", domain="com.microsoft")
def QAttention(
    x: Array,
    weight: Array,
    bias: Array,
    input_scale: Array,
    weight_scale: Array,
    mask_index: Array | None = None,
    input_zero_point: Array | None = None,
    weight_zero_point: Array | None = None,
    past: Array | None = None,
    *,
    do_rotary: int = 0,
    mask_filter_value: float = -10000.0,
    num_heads: int,
    past_present_share_buffer: int = 0,
    scale: float | None = None,
    unidirectional: int = 0,
) -> tuple[Array, Array]:
    """Attention whose input projection multiplies 8-bit integers."""
    if do_rotary or past_present_share_buffer:
        raise UnsupportedOp("do_rotary and past_present_share_buffer are not implemented; export without them")
    projected = MatMulIntegerToFloat(x, weight, input_scale, weight_scale, input_zero_point, weight_zero_point, bias)
    return _self_attention(projected, mask_index, past, None, num_heads, None, scale, unidirectional, mask_filter_value)


@op("MultiHeadAttention", domain="com.microsoft")
def MultiHeadAttention(
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    bias: Array | None = None,
    key_padding_mask: Array | None = None,
    attention_bias: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    past_sequence_length: Array | None = None,
    cache_indirection: Array | None = None,
    *,
    mask_filter_value: float = -10000.0,
    num_heads: int,
    scale: float | None = None,
    unidirectional: int = 0,
    n_outputs: int,
) -> tuple[Array, ...]:
    """Attention over projected queries, keys and values.

    Args:
        query: [B, S, H * D], or all three packed: [B, S, H, 3, D].
        key: [B, T, H * D]; keys and values packed: [B, T, H, 2, D]; or with heads in front: [B, H, T, D].
        value: as key.
        bias: [H * D + H * D + H * Dv], added to the three.
        key_padding_mask: see `_padding_bias`.
        past_key, past_value: [B, H, P, D], put before the keys and values.
    Returns: [B, S, H * Dv], then keys and values with the past, [B, H, P + T, D].
    """
    if past_sequence_length is not None or cache_indirection is not None or n_outputs > 3:
        raise UnsupportedOp("shared buffers, beam search and the qk output are not implemented; export without them")
    if query.ndim == 5:
        query, key, value = (query[:, :, :, i].reshape(*query.shape[:2], -1) for i in range(3))
    elif key is not None and key.ndim == 5:
        key, value = (key[:, :, :, i].reshape(*key.shape[:2], -1) for i in range(2))
    if key is None or value is None:
        raise InvalidInput(
            f"query has shape {list(query.shape)}, expected [B, S, H, 3, D] where there is no key or value"
        )
    parts = [query, key, value]
    if bias is not None:
        widths = [query.shape[-1], *(p.shape[-1] if p.ndim == 3 else p.shape[1] * p.shape[3] for p in (key, value))]
        biases = np.split(bias, np.cumsum(widths)[:-1])
        parts = [p + b if p.ndim == 3 else p for p, b in zip(parts, biases, strict=True)]
    q, k, v = (split_heads(p, num_heads) if p.ndim == 3 else p for p in parts)
    if past_key is not None and past_value is not None:
        k, v = np.concatenate([past_key, k], axis=2), np.concatenate([past_value, v], axis=2)
    B, _, S, _ = q.shape
    T = k.shape[2]
    padding = None if key_padding_mask is None else _padding_bias(key_padding_mask, B, S, T, mask_filter_value)
    allowed = _causal(S, T) if unidirectional else None
    y = attend(q, k, v, scale=scale, bias=_total(padding, attention_bias), allowed=allowed)
    return join_heads(y), k, v
