"""com.microsoft: what optimizers fuse: activations with a bias, products and convolutions with an activation.

Spec of all: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import UnsupportedOp
from .activations import Elu, Gelu, HardSigmoid, LeakyRelu, Relu, Selu, Sigmoid, Softplus, Softsign, ThresholdedRelu
from .activations import softmax as _softmax
from .conv import Conv
from .linear import Gemm
from .pool import MaxPool
from .registry import op
from .support import product, restore, wide

__all__ = ["activated", "channels_first", "channels_last"]


@op("Gelu", domain="com.microsoft")
def MsGelu(x: Array) -> Array:
    """x times the normal distribution function."""
    return Gelu(x)


@op("BiasGelu", domain="com.microsoft")
def BiasGelu(a: Array, b: Array) -> Array:
    """Gelu of a + b, with b along the last axis."""
    return Gelu(a + b)


@op("FastGelu", domain="com.microsoft")
def FastGelu(x: Array, bias: Array | None = None) -> Array:
    """Gelu by its tanh approximation, of x + bias."""
    return Gelu(x if bias is None else x + bias, approximate="tanh")


@op("QuickGelu", domain="com.microsoft")
def QuickGelu(x: Array, *, alpha: float = 1.702) -> Array:
    """x * sigmoid(alpha * x)."""
    return x * Sigmoid(x.dtype.type(alpha) * x)


@op("BiasSplitGelu", domain="com.microsoft")
def BiasSplitGelu(x: Array, bias: Array) -> Array:
    """Of x + bias, the first half of the last axis times the Gelu of the second."""
    left, right = np.split(x + bias, 2, axis=-1)
    return left * Gelu(right)


@op("BiasAdd", domain="com.microsoft")
def BiasAdd(x: Array, bias: Array, skip: Array) -> Array:
    """x + bias + skip."""
    return x + bias + skip


@op("BiasSoftmax", domain="com.microsoft")
def BiasSoftmax(data: Array, bias: Array, *, axis: int = 1, is_inner_broadcast: int) -> Array:
    """Softmax of data + bias over the axes from ``axis`` on, taken together.

    Args:
        is_inner_broadcast: 1: bias [batch, 1, ..., last axes] has data's leading axes; 0: it has its last ones.
    """
    axis %= data.ndim
    rows = data.reshape(math.prod(data.shape[:axis]), -1)
    if is_inner_broadcast:
        batches = bias.size // rows.shape[1]
        rows = (rows.reshape(batches, -1, rows.shape[1]) + bias.reshape(batches, 1, -1)).reshape(rows.shape)
    else:
        inner = bias.reshape(-1, rows.shape[1])
        rows = (rows.reshape(-1, *inner.shape) + inner).reshape(rows.shape)
    return _softmax(rows, 1).reshape(data.shape)


def activated(y: Array, activation: str, alpha: float | None = None, beta: float | None = None) -> Array:
    """An activation by its operator's name, "" for none; alpha and beta default to the operator's own.

    Raises: UnsupportedOp: no fusion uses it.
    """
    given = {k: v for k, v in (("alpha", alpha), ("beta", beta)) if v is not None}
    if activation == "Clip":
        return np.clip(y, -np.inf if alpha is None else alpha, np.inf if beta is None else beta)
    if activation == "HardSwish":
        return y * HardSigmoid(y, alpha=1 / 6, beta=0.5)
    if activation not in _ACTIVATIONS:
        raise UnsupportedOp(f'activation "{activation}" is unknown; known: {", ".join(sorted(_ACTIVATIONS))}')
    return _ACTIVATIONS[activation](y, **given)


_ACTIVATIONS: dict[str, Callable[..., Array]] = {
    "": lambda y: y,
    "Elu": Elu,
    "Gelu": Gelu,
    "HardSigmoid": HardSigmoid,
    "LeakyRelu": LeakyRelu,
    "Relu": Relu,
    "Selu": Selu,
    "Sigmoid": Sigmoid,
    "Softplus": Softplus,
    "Softsign": Softsign,
    "Tanh": np.tanh,
    "ThresholdedRelu": ThresholdedRelu,
}


@op("TransposeMatMul", domain="com.microsoft")
@op("FusedMatMul", domain="com.microsoft")
def FusedMatMul(
    a: Array,
    b: Array,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Array:
    """alpha * a @ b, each transposed first.

    Args:
        transA, transB: swap the last two axes.
        transBatchA, transBatchB: before that, the stored order is [M or K, batch..., K or N].
    """
    left, right = _arranged(a, transA, transBatchA), _arranged(b, transB, transBatchB)
    y = product(wide(left), wide(right))
    return restore(y if alpha == 1 else np.float32(alpha) * y, a)


def _arranged(x: Array, transpose: int, batch: int) -> Array:
    if batch and x.ndim > 2:
        x = np.moveaxis(x, 0, -2)
    return x.swapaxes(-1, -2) if transpose and x.ndim > 1 else x


@op("FusedMatMulActivation", domain="com.microsoft")
def FusedMatMulActivation(
    a: Array,
    b: Array,
    *,
    activation: str,
    activation_alpha: float | None = None,
    activation_axis: int = -1,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Array:
    """FusedMatMul and an activation."""
    y = FusedMatMul(a, b, alpha=alpha, transA=transA, transB=transB, transBatchA=transBatchA, transBatchB=transBatchB)
    return (
        _softmax(y, activation_axis)
        if activation == "Softmax"
        else activated(y, activation, activation_alpha, activation_beta)
    )


@op("FusedGemm", domain="com.microsoft")
def FusedGemm(
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    activation: str = "",
    activation_alpha: float | None = None,
    activation_beta: float | None = None,
    activation_gamma: float | None = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    """Gemm and an activation."""
    y = Gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    return activated(y, activation, activation_alpha, activation_beta)


@op("FusedConv", domain="com.microsoft")
def FusedConv(
    x: Array,
    w: Array,
    b: Array | None = None,
    z: Array | None = None,
    *,
    activation: str = "",
    activation_params: Sequence[float] = (),
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """An activation of Conv + z."""
    y = Conv(
        x,
        w,
        b,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    return activated(y if z is None else y + z, activation, *activation_params)


def channels_first(x: Array) -> Array:
    """[N, D1, ..., C] -> [N, C, D1, ...]."""
    return np.moveaxis(x, -1, 1)


def channels_last(x: Array) -> Array:
    """[N, C, D1, ...] -> [N, D1, ..., C]."""
    return np.moveaxis(x, 1, -1)


@op("NhwcFusedConv", domain="com.microsoft")
@op("NhwcConv", domain="com.microsoft")
def NhwcFusedConv(
    x: Array,
    w: Array,
    b: Array | None = None,
    z: Array | None = None,
    *,
    activation: str = "",
    activation_params: Sequence[float] = (),
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """FusedConv with channels last in x, z and the result, [N, H, W, C]; w stays [M, C / group, kH, kW]."""
    y = FusedConv(
        channels_first(x),
        w,
        b,
        None if z is None else channels_first(z),
        activation=activation,
        activation_params=activation_params,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        pads=pads,
        strides=strides,
    )
    return channels_last(y)


@op("NhwcMaxPool", domain="com.microsoft")
def NhwcMaxPool(x: Array, *, kernel_shape: Sequence[int], **attributes: Any) -> Array:
    """MaxPool with channels last; attributes are MaxPool's."""
    return channels_last(np.asarray(MaxPool(channels_first(x), kernel_shape=kernel_shape, **attributes)))


@op("SwiGLU", domain="com.microsoft")
def SwiGLU(
    gate: Array,
    up: Array | None = None,
    *,
    activation_alpha: float = 1.0,
    activation_beta: float = 0.0,
    limit: float = 0.0,
    round_activation: int = 0,
) -> Array:
    """gate * sigmoid(alpha * gate) * (up + beta); without ``up``, the halves of the last axis."""
    left, right = (gate, up) if up is not None else np.split(gate, 2, axis=-1)
    left, right = wide(left), wide(right)
    if limit > 0:
        left, right = np.minimum(left, limit), right.clip(-limit, limit)
    swished = left * Sigmoid(np.float32(activation_alpha) * left)
    if round_activation:
        swished = wide(restore(swished, gate))
    return restore(swished * (right + np.float32(activation_beta)), gate)


@op("Inverse", domain="com.microsoft")
def Inverse(x: Array) -> Array:
    """Inverses of the matrices in the last two axes."""
    return restore(np.linalg.inv(wide(x)), x)


@op("ExpandDims", domain="com.microsoft")
def ExpandDims(x: Array, axis: Array) -> Array:
    """An axis of size 1 put in."""
    return np.expand_dims(x, int(axis.reshape(-1)[0]))


@op("CDist", domain="com.microsoft")
def CDist(a: Array, b: Array, *, metric: str = "sqeuclidean") -> Array:
    """Distances of every row of a from every row of b, "euclidean" or "sqeuclidean"."""
    if metric not in ("euclidean", "sqeuclidean"):
        raise UnsupportedOp(f'metric "{metric}" is not implemented; expected euclidean or sqeuclidean')
    squares = np.stack([np.square(row - b).sum(axis=1) for row in a]) if len(a) else a @ b.T
    return np.sqrt(squares) if metric == "euclidean" else squares


@op("IsAllFinite", domain="com.microsoft")
def IsAllFinite(*inputs: Array, isinf_only: int = 0, isnan_only: int = 0) -> Array:
    """Whether nothing is NaN or infinite in any input."""
    test = np.isinf if isinf_only else np.isnan if isnan_only else lambda x: ~np.isfinite(x)
    return np.asarray(not any(test(x).any() for x in inputs))
