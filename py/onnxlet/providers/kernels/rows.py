"""Over the last dimension: softmax and normalizations."""

from __future__ import annotations

import math

import numpy as np

from .lowering import Unfit, rule
from .program import Builder, Held, Value, float_param


def _softmax(builder: Builder, x: Value, axis: int, *, log: bool) -> Held:
    held = builder.held(x)
    if held.dtype != np.float32 or axis % max(len(held.shape), 1) != len(held.shape) - 1:
        raise Unfit(f"{held.dtype} along axis {axis}, expected float32 along the last one")
    y = builder.like(held)
    builder.emit("softmax_f32", [held, y], [math.prod(held.shape[:-1]), held.shape[-1], log])
    return y


@rule("Softmax", since=13)
def softmax(builder: Builder, x: Value, *, axis: int = -1) -> Held:
    """Shares along the last axis."""
    return _softmax(builder, x, axis, log=False)


@rule("LogSoftmax", since=13)
def log_softmax(builder: Builder, x: Value, *, axis: int = -1) -> Held:
    """Their logarithms."""
    return _softmax(builder, x, axis, log=True)


@rule("LayerNormalization")
def layer_normalization(
    builder: Builder,
    x: Value,
    scale: Value,
    bias: Value | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
) -> Held:
    """Mean 0 and variance 1 along the last axis, then scale and bias; stash_type means nothing in float32."""
    held = builder.held(x)
    n = held.shape[-1]
    row = all(v is None or (v.dtype == np.float32 and v.shape == (n,)) for v in (scale, bias))
    if held.dtype != np.float32 or axis % len(held.shape) != len(held.shape) - 1 or not row:
        raise Unfit("only float32 along the last axis, with rows as scale and bias")
    y = builder.like(held)
    operands = [held, builder.held(scale), None if bias is None else builder.held(bias), y]
    builder.emit("layer_norm_f32", operands, [math.prod(held.shape[:-1]), n, 1, float_param(epsilon)])
    return y
