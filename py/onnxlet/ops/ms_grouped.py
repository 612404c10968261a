"""com.microsoft: attention with groups of query heads and a cache, and rotary embeddings, as generative models use.

Shapes: B batch, S queries, T keys, P past keys, H query heads, Hkv key and value heads, D features of a head.
Spec of all: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput, UnsupportedOp
from .attention import join_heads, rotated, split_heads
from .indexing import in_bounds
from .ms_attention import attend
from .ms_norm import rms_normalized
from .registry import op
from .support import restore, wide

__all__: list[str] = []


@op("GroupQueryAttention", domain="com.microsoft")
def GroupQueryAttention(
    query: Array,
    key: Array | None,
    value: Array | None,
    past_key: Array | None,
    past_value: Array | None,
    seqlens_k: Array,
    total_sequence_length: Array,
    cos_cache: Array | None = None,
    sin_cache: Array | None = None,
    position_ids: Array | None = None,
    attention_bias: Array | None = None,
    head_sink: Array | None = None,
    k_scale: Array | None = None,
    v_scale: Array | None = None,
    q_norm_weight: Array | None = None,
    k_norm_weight: Array | None = None,
    query_seqlens: Array | None = None,
    *,
    causal: int = 1,
    do_rotary: int = 0,
    k_norm_epsilon: float | None = None,
    kv_num_heads: int,
    local_window_size: int = -1,
    num_heads: int,
    q_norm_epsilon: float | None = None,
    qk_norm_epsilon: float = 1e-6,
    rotary_interleaved: int = 0,
    scale: float | None = None,
    smooth_softmax: int = -1,
    softcap: float = 0.0,
    n_outputs: int,
    **more: Any,
) -> tuple[Array, Array, Array]:
    """Attention where groups of query heads share a key and value head, with a cache.

    Args:
        query: [B, S, H * D], or with keys and values packed behind: [B, S, (H + 2 * Hkv) * D].
        key, value: [B, S, Hkv * D].
        past_key, past_value: [B, Hkv, P, D].
        seqlens_k: int32 [B]: valid keys of each sample, the new ones included, less 1.
        total_sequence_length: int32: the most of them; equal to S: a prompt without a past.
        cos_cache, sin_cache: [positions, D / 2], for do_rotary.
        attention_bias: [B or 1, H or 1, S, T].
        head_sink: [H]; smooth_softmax 1 is one of zeros.
        local_window_size: a query sees so many keys, its own the last; -1: all before it.
    Returns: [B, S, H * D], and the caches [B, Hkv, max(P, total), D].
    """
    quantized = any(more.get(k, "NONE") != "NONE" for k in ("k_quant_type", "v_quant_type"))
    if quantized or more.get("sliding_window_cache") or query_seqlens is not None or n_outputs > 3:
        raise UnsupportedOp("quantized or sliding caches, ragged queries and output_qk are not implemented")
    if key is None or value is None:
        head = query.shape[-1] // (num_heads + 2 * kv_num_heads)
        query, key, value = np.split(query, [num_heads * head, (num_heads + kv_num_heads) * head], axis=-1)
    q, k, v = split_heads(query, num_heads), split_heads(key, kv_num_heads), split_heads(value, kv_num_heads)
    B, _, S, _ = q.shape
    total = int(total_sequence_length.reshape(-1)[0])
    ends = seqlens_k.reshape(-1).astype(np.int64) + 1
    starts = np.zeros(B, np.int64) if total == S else ends - S
    if q_norm_weight is not None and k_norm_weight is not None:
        q = _head_norm(q, q_norm_weight, q_norm_epsilon or qk_norm_epsilon)
        k = _head_norm(k, k_norm_weight, k_norm_epsilon or qk_norm_epsilon)
    places = starts[:, None] + np.arange(S)
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise InvalidInput("do_rotary needs cos_cache and sin_cache")
        at = np.broadcast_to(position_ids, (B, S)) if position_ids is not None else places
        q = _rotate(q, at, cos_cache, sin_cache, rotary_interleaved)
        k = _rotate(k, at, cos_cache, sin_cache, rotary_interleaved)
    keys = _appended(past_key, k, starts, total)
    values = _appended(past_value, v, starts, total)
    seen = np.arange(total)
    allowed = np.ones((B, 1, S, total), bool) if not causal else seen <= places[:, None, :, None]
    if not causal:
        allowed &= seen < ends[:, None, None, None]
    if local_window_size > 0:
        allowed = allowed & (seen > places[:, None, :, None] - local_window_size)
    sink = np.zeros(num_heads, np.float32) if smooth_softmax > 0 and head_sink is None else head_sink
    groups = num_heads // kv_num_heads
    y = attend(
        q,
        np.repeat(keys[:, :, :total], groups, axis=1),
        np.repeat(values[:, :, :total], groups, axis=1),
        scale=scale,
        bias=None if attention_bias is None else attention_bias[..., :total],
        allowed=allowed,
        softcap=softcap,
        sink=sink,
    )
    return join_heads(y), keys, values


def _head_norm(x: Array, weight: Array, epsilon: float) -> Array:
    return restore(rms_normalized(wide(x), (3,), epsilon)[0] * wide(weight), x)


def _appended(past: Array | None, new: Array, starts: Array, total: int) -> Array:
    """A cache of at least `total` places with the new ones written from each sample's start."""
    B, H, S, D = new.shape
    cache = np.zeros((B, H, max(total, 0 if past is None else past.shape[2]), D), new.dtype)
    for sample, start in enumerate(starts):
        if past is not None:
            cache[sample, :, :start] = past[sample, :, :start]
        cache[sample, :, start : start + S] = new[sample]
    return cache


def _rotate(x: Array, places: Array, cos_cache: Array, sin_cache: Array, interleaved: int) -> Array:
    """Rotary embedding of the first 2 * cos_cache.shape[1] features of [B, H, S, D], at places [B, S]."""
    rows = in_bounds(places, len(cos_cache), what="positions")
    cos, sin = wide(cos_cache)[rows][:, None], wide(sin_cache)[rows][:, None]
    turned = 2 * cos_cache.shape[1]
    head, rest = x[..., :turned], x[..., turned:]
    return np.concatenate([restore(rotated(wide(head), cos, sin, bool(interleaved)), x), rest], axis=-1)


@op("RotaryEmbedding", domain="com.microsoft")
def MsRotaryEmbedding(
    x: Array,
    position_ids: Array,
    cos_cache: Array,
    sin_cache: Array,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Array:
    """Positions as rotations of pairs of features. Source: arXiv:2104.09864.

    Args:
        x: [B, S, H * D] or [B, H, S, D].
        position_ids: int64 [B, S], or [1]: where the first one stands.
        cos_cache, sin_cache: [positions, rotated features / 2].
        rotary_embedding_dim: rotated features where not all are; needs num_heads.
    """
    flat = x.ndim == 3
    if flat:
        heads = num_heads or x.shape[-1] // (2 * cos_cache.shape[1])
        x = split_heads(x, heads)
    B, _, S, _ = x.shape
    places = position_ids.reshape(-1, 1) + np.arange(S) if position_ids.size == 1 else position_ids
    y = _rotate(x, np.broadcast_to(places, (B, S)), cos_cache, sin_cache, interleaved)
    return join_heads(y) if flat else y
