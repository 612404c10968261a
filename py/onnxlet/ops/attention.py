"""Attention and what stands around it: rotary positions, gates with a recurrent state."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import Array, DataType
from ..errors import InvalidInput
from .registry import op
from .support import product, restore, wide

__all__ = ["join_heads", "masked_softmax", "rotated", "split_heads"]


def split_heads(x: Array, heads: int) -> Array:
    """[B, S, heads * D] -> [B, heads, S, D]."""
    if heads < 1 or x.shape[-1] % heads:
        raise InvalidInput(f"the last axis of shape {x.shape} does not divide into {heads} heads")
    return x.reshape(*x.shape[:2], heads, x.shape[-1] // heads).transpose(0, 2, 1, 3)


def join_heads(x: Array) -> Array:
    """[B, heads, S, D] -> [B, S, heads * D]."""
    B, H, S, D = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, S, H * D)


def masked_softmax(scores: Array) -> Array:
    """Softmax over the last axis; a row of -inf only, which attends to nothing, gives zeros. NaN stays NaN."""
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(scores - np.where(top == -np.inf, 0, top))
    total = e.sum(axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def _repeated(x: Array, heads: int) -> Array:
    """Keys or values [B, H, T, D] for `heads` query heads: neighbours share one."""
    if heads % x.shape[1]:
        raise InvalidInput(f"{heads} query heads do not divide by {x.shape[1]} key and value heads")
    return x if heads == x.shape[1] else np.repeat(x, heads // x.shape[1], axis=1)


def _allowed(
    shape: tuple[int, ...], offset: Array, nonpad: Array | None, causal: int, left: int, right: int
) -> Array | None:
    """Which query sees which key, bool broadcastable to [B, 1, S, T]; None where every one sees all.

    Args:
        shape: of the scores, [B, H, S, T].
        offset: int [B or 1], valid keys before the first query.
        nonpad: int [B], valid keys.
    """
    S, T = shape[-2:]
    keys = np.arange(T)
    at = offset.reshape(-1, 1, 1, 1) + np.arange(S)[:, None]
    rules = []
    if nonpad is not None:
        rules.append(keys < nonpad.reshape(-1, 1, 1, 1))
    if causal:
        rules.append(keys <= at)
    if left >= 0:
        rules.append(keys >= at - left)
    if right >= 0:
        rules.append(keys <= at + right)
    result = None
    for rule in rules:
        result = rule if result is None else result & rule
    return result


@op("Attention", since=23)
def Attention(
    Q: Array,
    K: Array,
    V: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int = 0,
    left_window_size: int = -1,
    q_num_heads: int = 0,
    qk_matmul_output_mode: int = 0,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Scaled dot product attention with shared key heads, a cache, masks and windows.

    Spec: https://onnx.ai/onnx/operators/onnx__Attention.html, opset 23+; nonpad_kv_seqlen from 24, windows from 25.

    Args:
        Q: [B, Hq, S, D], or [B, S, Hq * D] with q_num_heads.
        K, V: [B, Hkv, T, D or Dv], or [B, T, Hkv * ...] with kv_num_heads.
        attn_mask: broadcastable to [B, Hq, S, T]; bool (True: attend) or a number to add. A shorter last axis hides
            the keys behind it.
        past_key, past_value: [B, Hkv, P, ...], put before K and V.
        nonpad_kv_seqlen: int64 [B], how many keys are no padding.
        scale: 1 / sqrt(D) when left out.
    Returns: Y in the layout of Q, present key and value [B, Hkv, P + T, ...], and the scores [B, Hq, S, P + T] of the
        stage that qk_matmul_output_mode names: 0 raw, 1 after softcap, 2 after masks, 3 after softmax.
    """
    packed = Q.ndim == 3
    q = split_heads(Q, q_num_heads) if packed else Q
    k = split_heads(K, kv_num_heads) if K.ndim == 3 else K
    v = split_heads(V, kv_num_heads) if V.ndim == 3 else V
    past = 0
    if past_key is not None and past_value is not None:
        past = past_key.shape[2]
        k = np.concatenate([past_key, k], axis=2)
        v = np.concatenate([past_value, v], axis=2)
    root = math.sqrt(1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = product(wide(q) * root, _repeated(wide(k) * root, q.shape[1]).swapaxes(-1, -2))
    stages = [scores]
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    stages.append(scores)
    offset = np.array([past])
    if nonpad_kv_seqlen is not None and past_key is None:
        offset = nonpad_kv_seqlen - q.shape[2]
    allowed = _allowed(scores.shape, offset, nonpad_kv_seqlen, is_causal, left_window_size, right_window_size)
    if attn_mask is not None:
        scores = scores + _bias(attn_mask, scores.shape[-1], scores.dtype)
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf).astype(scores.dtype, copy=False)
    stages.append(scores)
    double = softmax_precision == DataType.DOUBLE
    probabilities = masked_softmax(scores.astype(np.float64) if double else scores).astype(scores.dtype, copy=False)
    stages.append(probabilities)
    y = restore(product(probabilities, _repeated(wide(v), q.shape[1])), Q)
    return join_heads(y) if packed else y, k, v, restore(stages[qk_matmul_output_mode], Q)


def _bias(mask: Array, keys: int, dtype: np.dtype[Any]) -> Array:
    """A mask as numbers to add, its last axis filled up with -inf to `keys`."""
    bias = np.where(mask, 0, -np.inf).astype(dtype) if mask.dtype == bool else mask.astype(dtype)
    missing = keys - bias.shape[-1]
    if missing > 0 and bias.shape[-1] > 1:
        bias = np.pad(bias, [(0, 0)] * (bias.ndim - 1) + [(0, missing)], constant_values=-np.inf)
    return bias


@op("FlexAttention", domain="ai.onnx.preview", since=1)
def FlexAttention(
    Q: Array,
    K: Array,
    V: Array,
    *,
    prob_mod: Callable[..., Any] | None = None,
    scale: float | None = None,
    score_mod: Callable[..., Any] | None = None,
    softmax_precision: int = 0,
) -> Array:
    """Attention with a subgraph that changes the scores, and one that changes the probabilities.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxpreview_FlexAttention.html, opset 1+.

    Args:
        Q: [B, Hq, S, D]; K: [B, Hkv, T, D]; V: [B, Hkv, T, Dv].
        score_mod, prob_mod: take and give one tensor [B, Hq, S, T] of the type softmax_precision
            (left out: float64 for double inputs, else float32).
    Returns: [B, Hq, S, Dv].
    """
    dtype = DataType(softmax_precision).numpy if softmax_precision else wide(Q).dtype
    factor = 1 / math.sqrt(Q.shape[-1]) if scale is None else scale
    keys = _repeated(wide(K), Q.shape[1]).swapaxes(-1, -2)
    scores = (product(wide(Q), keys) * factor).astype(dtype, copy=False)
    if score_mod is not None:
        (scores,) = score_mod(scores)
    probabilities = masked_softmax(scores)
    if prob_mod is not None:
        (probabilities,) = prob_mod(probabilities)
    values = _repeated(wide(V), Q.shape[1])
    return restore(product(probabilities.astype(values.dtype, copy=False), values), Q)


@op("RotaryEmbedding", since=23)
def RotaryEmbedding(
    X: Array,
    cos_cache: Array,
    sin_cache: Array,
    position_ids: Array | None = None,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
) -> Array:
    """Turn pairs of features by an angle that grows with the position. Source: arXiv:2104.09864.

    Spec: https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html, opset 23+.

    Args:
        X: [B, H, S, D], or [B, S, H * D] with num_heads.
        cos_cache, sin_cache: [P, R / 2] with position_ids, else [B, S, R / 2].
        position_ids: int64 [B, S].
        rotary_embedding_dim: R, how many of D features turn; 0 for all.
    Returns: shape of X.
    """
    packed = X.ndim == 3
    x = split_heads(X, num_heads) if packed else X
    cos, sin = (c if position_ids is None else c[position_ids] for c in (cos_cache, sin_cache))
    count = rotary_embedding_dim or x.shape[-1]
    if cos.shape[-1] != count // 2 or sin.shape[-1] != count // 2:
        raise InvalidInput(f"caches have {cos.shape[-1]} and {sin.shape[-1]} angles, expected {count // 2}")
    turned = rotated(wide(x[..., :count]), wide(cos)[:, None], wide(sin)[:, None], bool(interleaved))
    y = restore(np.concatenate([turned, wide(x[..., count:])], axis=-1), X)
    return join_heads(y) if packed else y


def rotated(x: Array, cos: Array, sin: Array, interleaved: bool) -> Array:
    """Pairs of features turned: neighbours when interleaved, else feature i with i + D / 2.

    Args:
        x: [..., S, D].
        cos, sin: broadcastable to [..., S, D / 2].
    """
    half = x.shape[-1] // 2
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    real, imaginary = cos * a - sin * b, sin * a + cos * b
    if interleaved:
        return np.stack([real, imaginary], axis=-1).reshape(x.shape)
    return np.concatenate([real, imaginary], axis=-1)


@op("LinearAttention", since=27)
def LinearAttention(
    query: Array,
    key: Array,
    value: Array,
    past_state: Array | None = None,
    decay: Array | None = None,
    beta: Array | None = None,
    *,
    chunk_size: int = 64,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> tuple[Array, Array]:
    """Attention as a recurrence: a matrix of state per head takes in a key and value at every step.

    Spec: https://onnx.ai/onnx/operators/onnx__LinearAttention.html, opset 27+. Source: arXiv:2412.06464.

    Args:
        query: [B, T, Hq * dk]; key: [B, T, Hkv * dk]; value: [B, T, Hkv * dv].
        past_state: [B, Hkv, dk, dv]; zeros when left out.
        decay: logarithm of what is kept, [B, T, Hkv * dk] or [B, T, Hkv]; for the gated rules.
        beta: [B, T, Hkv] or [B, T, 1], how much is corrected; for the delta rules.
        chunk_size: a hint to parallel implementations, without effect here.
        scale: of the result; 0 for 1 / sqrt(dk).
    Returns: [B, T, Hq * dv], and the state after the last step.
    """
    if update_rule not in ("linear", "gated", "delta", "gated_delta"):
        raise InvalidInput(f'update_rule is "{update_rule}", expected linear, gated, delta or gated_delta')
    gated, delta = update_rule.startswith("gated"), update_rule.endswith("delta")
    if (gated and decay is None) or (delta and beta is None):
        raise InvalidInput(
            f'update_rule "{update_rule}" needs the input {"decay" if gated and decay is None else "beta"}'
        )
    B, T = query.shape[:2]
    H = kv_num_heads
    q, k, v = split_heads(wide(query), q_num_heads), split_heads(wide(key), H), split_heads(wide(value), H)
    q = q.reshape(B, H, q_num_heads // H, T, q.shape[-1]) * (scale or 1 / math.sqrt(q.shape[-1]))
    keep = np.exp(split_heads(wide(decay), H)) if gated and decay is not None else None
    rate = np.broadcast_to(wide(beta), (B, T, H)).transpose(0, 2, 1)[..., None] if delta and beta is not None else None
    dk, dv = k.shape[-1], v.shape[-1]
    state = np.zeros((B, H, dk, dv), dtype=q.dtype) if past_state is None else wide(past_state).astype(q.dtype)
    y = np.empty((B, H, q_num_heads // H, T, dv), dtype=q.dtype)
    for t in range(T):
        if keep is not None:
            state = state * keep[:, :, t, :, None]
        update = v[:, :, t]
        if rate is not None:
            update = rate[:, :, t] * (update - np.matmul(k[:, :, t, None, :], state)[:, :, 0])
        state = state + k[:, :, t, :, None] * update[:, :, None, :]
        y[:, :, :, t] = np.matmul(q[:, :, :, t], state)
    present = restore(state, query if past_state is None else past_state)
    return restore(join_heads(y.reshape(B, q_num_heads, T, dv)), query), present
