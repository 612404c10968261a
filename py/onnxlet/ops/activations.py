"""Activation functions: what a layer ends in. NaN goes through every one of them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .functions import erf
from .registry import op
from .support import axis_in_range, restore, wide

__all__ = ["sigmoid", "softmax"]


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)) in the dtype of x; the exponential of -|x| cannot overflow, nor lose small results."""
    t = wide(x)
    decay = np.exp(-np.abs(t))
    return restore(np.where(t < 0, decay, 1) / (1 + decay), x)


@op("Relu", since=6)
def Relu(x: Array) -> Array:
    """max(x, 0). Spec: https://onnx.ai/onnx/operators/onnx__Relu.html, opset 6+; integers from 14."""
    return np.maximum(x, x.dtype.type(0))


@op("LeakyRelu", since=6)
def LeakyRelu(x: Array, *, alpha: float = 0.01) -> Array:
    """x, or alpha x below zero. Spec: https://onnx.ai/onnx/operators/onnx__LeakyRelu.html, opset 6+."""
    return np.where(x < 0, x * alpha, x)


@op("PRelu", since=7)
def PRelu(x: Array, slope: Array) -> Array:
    """x, or slope x below zero; slope broadcasts to x.

    Spec: https://onnx.ai/onnx/operators/onnx__PRelu.html, opset 7+.
    """
    return np.where(x < 0, x * slope, x)


@op("ThresholdedRelu", since=10)
def ThresholdedRelu(x: Array, *, alpha: float = 1.0) -> Array:
    """x, or 0 up to alpha. Spec: https://onnx.ai/onnx/operators/onnx__ThresholdedRelu.html, opset 10+."""
    return np.where(x <= alpha, x.dtype.type(0), x)


@op("Elu", since=6)
def Elu(x: Array, *, alpha: float = 1.0) -> Array:
    """x, or alpha (exp(x) - 1) below zero. Spec: https://onnx.ai/onnx/operators/onnx__Elu.html, opset 6+."""
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


@op("Selu", since=6)
def Selu(x: Array, *, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805) -> Array:
    """gamma Elu(x). Spec: https://onnx.ai/onnx/operators/onnx__Selu.html, opset 6+."""
    return gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


@op("Celu", since=12)
def Celu(x: Array, *, alpha: float = 1.0) -> Array:
    """x, or alpha (exp(x / alpha) - 1) below zero.

    Spec: https://onnx.ai/onnx/operators/onnx__Celu.html, opset 12+; other floats than float32 from 28.
    """
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha))


@op("Gelu", since=20)
def Gelu(x: Array, *, approximate: str = "none") -> Array:
    """x times the normal distribution's cumulative probability of x.

    Spec: https://onnx.ai/onnx/operators/onnx__Gelu.html, opset 20+.

    Args:
        approximate: "none", or "tanh" for the formula of Hendrycks & Gimpel, arXiv:1606.08415.
    """
    t = wide(x)
    if approximate == "tanh":
        return restore(0.5 * t * (1 + np.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t * t * t))), x)
    if approximate == "none":
        return restore(0.5 * t * (1 + erf(t * math.sqrt(0.5))), x)
    raise InvalidInput(f'approximate is "{approximate}", expected none or tanh')


@op("Sigmoid", since=6)
def Sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)). Spec: https://onnx.ai/onnx/operators/onnx__Sigmoid.html, opset 6+."""
    return sigmoid(x)


@op("HardSigmoid", since=6)
def HardSigmoid(x: Array, *, alpha: float = 0.2, beta: float = 0.5) -> Array:
    """alpha x + beta within [0, 1]. Spec: https://onnx.ai/onnx/operators/onnx__HardSigmoid.html, opset 6+."""
    return np.minimum(np.maximum(x * alpha + beta, 0), 1)


@op("HardSwish", since=14)
def HardSwish(x: Array) -> Array:
    """x HardSigmoid(x; 1/6, 1/2). Spec: https://onnx.ai/onnx/operators/onnx__HardSwish.html, opset 14+."""
    return x * HardSigmoid(x, alpha=1 / 6, beta=0.5)


@op("Swish", since=24)
def Swish(x: Array, *, alpha: float = 1.0) -> Array:
    """x Sigmoid(alpha x). Spec: https://onnx.ai/onnx/operators/onnx__Swish.html, opset 24+."""
    t = wide(x)
    return restore(t * sigmoid(alpha * t), x)


@op("SwiGLU", since=28)
def SwiGLU(a: Array, b: Array, *, alpha: float = 1.0) -> Array:
    """Swish(a; alpha) b: the gate a opens for the value b.

    Spec: https://onnx.ai/onnx/operators/onnx__SwiGLU.html, opset 28+.
    """
    if a.shape != b.shape:
        raise InvalidInput(f"A has shape {a.shape}, B {b.shape}; SwiGLU does not broadcast, make them equal")
    return Swish(a, alpha=alpha) * b


@op("Mish", since=18)
def Mish(x: Array) -> Array:
    """x tanh(softplus(x)). Spec: https://onnx.ai/onnx/operators/onnx__Mish.html, opset 18+."""
    t = wide(x)
    return restore(t * np.tanh(np.logaddexp(t, 0)), x)


@op("Softplus", since=1)
def Softplus(x: Array) -> Array:
    """log(1 + exp(x)), without overflow. Spec: https://onnx.ai/onnx/operators/onnx__Softplus.html, opset 1+."""
    return np.logaddexp(x, x.dtype.type(0))


@op("Softsign", since=1)
def Softsign(x: Array) -> Array:
    """x / (1 + |x|). Spec: https://onnx.ai/onnx/operators/onnx__Softsign.html, opset 1+."""
    return x / (1 + np.abs(x))


@op("Shrink", since=9)
def Shrink(x: Array, *, bias: float = 0.0, lambd: float = 0.5) -> Array:
    """x moved by bias toward zero, and zero within [-lambd, lambd]; NaN stays.

    Spec: https://onnx.ai/onnx/operators/onnx__Shrink.html, opset 9+.
    """
    within = np.where(np.isnan(x), x, 0) if x.dtype.kind == "f" else 0
    return restore(np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, within)), x)


def softmax(x: Array, axis: int) -> Array:
    """exp(x) divided by its sum along an axis, in the dtype of x; computed from x - max, so that nothing overflows."""
    t = wide(x)
    e = np.exp(t - t.max(axis=axis, keepdims=True, initial=-np.inf))
    return restore(e / e.sum(axis=axis, keepdims=True), x)


def _log_softmax(x: Array, axis: int) -> Array:
    t = wide(x)
    t = t - t.max(axis=axis, keepdims=True, initial=-np.inf)
    return restore(t - np.log(np.exp(t).sum(axis=axis, keepdims=True)), x)


def _hardmax(x: Array, axis: int) -> Array:
    y = np.zeros_like(x)
    if x.size:
        np.put_along_axis(y, np.expand_dims(x.argmax(axis=axis), axis), 1, axis=axis)
    return y


def _flattened(function: Callable[[Array, int], Array], x: Array, axis: int) -> Array:
    """function over all axes from `axis` on, taken as one: how these operators worked until opset 13."""
    at = axis_in_range(axis, x.ndim) if axis != x.ndim else axis
    rows = math.prod(x.shape[:at])
    return function(x.reshape(rows, math.prod(x.shape[at:])), 1).reshape(x.shape)


@op("Softmax", since=1)
def Softmax_1(x: Array, *, axis: int = 1) -> Array:
    """Softmax over the axes from `axis` on. Spec: https://onnx.ai/onnx/operators/onnx__Softmax.html, opset 1 to 12."""
    return _flattened(softmax, x, axis)


@op("Softmax", since=13)
def Softmax(x: Array, *, axis: int = -1) -> Array:
    """Normalize exponentials along one axis.

    Spec: https://onnx.ai/onnx/operators/onnx__Softmax.html, opset 13+.

    Args:
        x: float [..., D, ...].
        axis: in [-rank, rank).
    Returns: dtype and shape of x; sums to 1 along axis.
    Raises: InvalidInput: axis out of range.
    """
    return softmax(x, axis_in_range(axis, x.ndim))


@op("LogSoftmax", since=1)
def LogSoftmax_1(x: Array, *, axis: int = 1) -> Array:
    """log Softmax over the axes from `axis` on.

    Spec: https://onnx.ai/onnx/operators/onnx__LogSoftmax.html, opset 1 to 12.
    """
    return _flattened(_log_softmax, x, axis)


@op("LogSoftmax", since=13)
def LogSoftmax(x: Array, *, axis: int = -1) -> Array:
    """log Softmax along one axis. Spec: https://onnx.ai/onnx/operators/onnx__LogSoftmax.html, opset 13+."""
    return _log_softmax(x, axis_in_range(axis, x.ndim))


@op("Hardmax", since=1)
def Hardmax_1(x: Array, *, axis: int = 1) -> Array:
    """1 at the first maximum over the axes from `axis` on, else 0.

    Spec: https://onnx.ai/onnx/operators/onnx__Hardmax.html, opset 1 to 12.
    """
    return _flattened(_hardmax, x, axis)


@op("Hardmax", since=13)
def Hardmax(x: Array, *, axis: int = -1) -> Array:
    """1 at the first maximum along an axis, else 0.

    Spec: https://onnx.ai/onnx/operators/onnx__Hardmax.html, opset 13+.
    """
    return _hardmax(x, axis_in_range(axis, x.ndim))
