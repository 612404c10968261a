"""com.microsoft: operators on quantized tensors.

Elementwise ones are float32 arithmetic between a DequantizeLinear and a QuantizeLinear, and defined as that.
Spec of all: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..records import dataclass
from .activations import LeakyRelu, Sigmoid, Softmax, Softmax_1
from .joining import Concat
from .ms_fused import channels_first
from .ms_fused import channels_last as to_channels_last
from .narrow import type_of
from .pool import AveragePool
from .quantize import DequantizeLinear as _Dequantize
from .quantize import (
    DynamicQuantizeLinear,
    QLinearConv,
    dequantized,
    integer_product,
    quantized,
    rows,
    to_int32,
)
from .quantize import QuantizeLinear as _Quantize
from .registry import op
from .rnn import LSTM

__all__: list[str] = []


def _read(x: Array, scale: Array, zero_point: Array | None) -> Array:
    return dequantized(x, scale.reshape(()), None if zero_point is None else zero_point.reshape(()))


def _written(y: Array, scale: Array, zero_point: Array | None, like: Array) -> Any:
    kind = type_of(like if zero_point is None else zero_point)
    return quantized(y, scale.reshape(()), None if zero_point is None else zero_point.reshape(()), kind)


def _mapped(
    function: Callable[[Array], Array],
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None,
    y_scale: Array,
    y_zero_point: Array | None,
) -> Any:
    return _written(function(_read(x, x_scale, x_zero_point)), y_scale, y_zero_point, x)


@op("QuantizeLinear", domain="com.microsoft", narrow=True)
def QuantizeLinear(x: Any, y_scale: Any, y_zero_point: Any = None, *, axis: int = 1) -> Any:
    """ai.onnx's QuantizeLinear, which had fewer types when this one was made."""
    return _Quantize(x, y_scale, y_zero_point, axis=axis)


@op("DequantizeLinear", domain="com.microsoft", narrow=True)
def DequantizeLinear(x: Any, x_scale: Any, x_zero_point: Any = None, *, axis: int = 1) -> Any:
    """ai.onnx's DequantizeLinear, which had fewer types when this one was made."""
    return _Dequantize(x, x_scale, x_zero_point, axis=axis)


@op("QLinearAdd", domain="com.microsoft")
def QLinearAdd(
    a: Array,
    a_scale: Array,
    a_zero_point: Array | None,
    b: Array,
    b_scale: Array,
    b_zero_point: Array | None,
    c_scale: Array,
    c_zero_point: Array | None = None,
) -> Any:
    """a + b."""
    total = _read(a, a_scale, a_zero_point) + _read(b, b_scale, b_zero_point)
    return _written(total, c_scale, c_zero_point, a)


@op("QLinearMul", domain="com.microsoft")
def QLinearMul(
    a: Array,
    a_scale: Array,
    a_zero_point: Array | None,
    b: Array,
    b_scale: Array,
    b_zero_point: Array | None,
    c_scale: Array,
    c_zero_point: Array | None = None,
) -> Any:
    """a * b."""
    product = _read(a, a_scale, a_zero_point) * _read(b, b_scale, b_zero_point)
    return _written(product, c_scale, c_zero_point, a)


@op("QLinearSigmoid", domain="com.microsoft")
def QLinearSigmoid(
    x: Array, x_scale: Array, x_zero_point: Array | None, y_scale: Array, y_zero_point: Array | None = None
) -> Any:
    """Sigmoid."""
    return _mapped(Sigmoid, x, x_scale, x_zero_point, y_scale, y_zero_point)


@op("QLinearLeakyRelu", domain="com.microsoft")
def QLinearLeakyRelu(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    alpha: float = 0.01,
) -> Any:
    """LeakyRelu."""
    return _mapped(lambda v: LeakyRelu(v, alpha=alpha), x, x_scale, x_zero_point, y_scale, y_zero_point)


@op("QLinearSoftmax", domain="com.microsoft")
def QLinearSoftmax(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None,
    y_scale: Array,
    y_zero_point: Array,
    *,
    axis: int = -1,
    opset: int,
) -> Any:
    """Softmax as of an opset: before 13 over all axes from ``axis`` on."""
    softmax = Softmax if opset >= 13 else Softmax_1
    return _mapped(lambda v: softmax(v, axis=axis), x, x_scale, x_zero_point, y_scale, y_zero_point)


@op("QLinearAveragePool", domain="com.microsoft")
def QLinearAveragePool(
    x: Array,
    x_scale: Array,
    x_zero_point: Array | None,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
    channels_last: int = 0,
    count_include_pad: int = 0,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Any:
    """AveragePool; channels_last: [N, H, W, C]."""

    def pool(values: Array) -> Array:
        y = AveragePool(
            channels_first(values) if channels_last else values,
            auto_pad=auto_pad,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
            kernel_shape=kernel_shape,
            pads=pads,
            strides=strides,
        )
        return to_channels_last(y) if channels_last else y

    return _mapped(pool, x, x_scale, x_zero_point, y_scale, y_zero_point)


@op("QLinearGlobalAveragePool", domain="com.microsoft")
def QLinearGlobalAveragePool(
    x: Array, x_scale: Array, x_zero_point: Array, y_scale: Array, y_zero_point: Array, *, channels_last: int = 0
) -> Any:
    """GlobalAveragePool; channels_last: [N, H, W, C]."""
    axes = tuple(range(1, x.ndim - 1) if channels_last else range(2, x.ndim))
    return _mapped(lambda v: v.mean(axis=axes, keepdims=True), x, x_scale, x_zero_point, y_scale, y_zero_point)


@op("QLinearReduceMean", domain="com.microsoft")
def QLinearReduceMean(
    data: Array,
    data_scale: Array,
    data_zero_point: Array | None,
    reduced_scale: Array,
    reduced_zero_point: Array | None = None,
    *,
    axes: Sequence[int],
    keepdims: int,
) -> Any:
    """ReduceMean."""

    def mean(values: Array) -> Array:
        return np.asarray(values.mean(axis=tuple(axes), keepdims=bool(keepdims)))

    return _mapped(mean, data, data_scale, data_zero_point, reduced_scale, reduced_zero_point)


@op("QLinearConcat", domain="com.microsoft")
def QLinearConcat(y_scale: Array, y_zero_point: Array, *inputs: Array, axis: int) -> Any:
    """Concat; inputs are triples of a tensor, its scale and its zero point."""
    parts = [_read(*inputs[i : i + 3]) for i in range(0, len(inputs), 3)]
    return _written(Concat(*parts, axis=axis), y_scale, y_zero_point, y_zero_point)


@op("QLinearWhere", domain="com.microsoft")
def QLinearWhere(
    condition: Array,
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    y: Array,
    y_scale: Array,
    y_zero_point: Array,
    z_scale: Array,
    z_zero_point: Array,
) -> Any:
    """Where."""
    chosen = np.where(condition, _read(x, x_scale, x_zero_point), _read(y, y_scale, y_zero_point))
    return _written(chosen, z_scale, z_zero_point, x)


@op("QLinearConv", domain="com.microsoft")
def MsQLinearConv(
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    b: Array | None = None,
    *,
    channels_last: int = 0,
    **attributes: Any,
) -> Any:
    """ai.onnx's QLinearConv; channels_last: x and y are [N, H, W, C]. Attributes are QLinearConv's."""
    inputs = (x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, b)
    if not channels_last:
        return QLinearConv(x, *inputs, **attributes)
    return to_channels_last(QLinearConv(channels_first(x), *inputs, **attributes))


@op("QGemm", domain="com.microsoft")
def QGemm(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    c: Array | None = None,
    y_scale: Array | None = None,
    y_zero_point: Array | None = None,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Any:
    """alpha * a @ b + c.

    Args:
        b_scale, b_zero_point: one value, or one a column of the product.
        c: int32, in steps of alpha * a_scale * b_scale.
        y_scale, y_zero_point: of the result; None: it is float32.
    """
    total = integer_product(a.T if transA else a, b.T if transB else b, a_zero_point, b_zero_point)
    if c is not None:
        total = total + c
    y = total.astype(np.float32) * (np.float32(alpha) * a_scale.reshape(()) * _one_or_all(b_scale))
    return y if y_scale is None else _written(y, y_scale, y_zero_point, a)


def _one_or_all(values: Array) -> Array:
    return values.reshape(()) if values.size == 1 else values


@op("MatMulIntegerToFloat", domain="com.microsoft")
def MatMulIntegerToFloat(
    a: Array,
    b: Array,
    a_scale: Array,
    b_scale: Array,
    a_zero_point: Array | None = None,
    b_zero_point: Array | None = None,
    bias: Array | None = None,
) -> Array:
    """MatMulInteger times both scales, plus bias, in the scales' type."""
    total = integer_product(a, b, a_zero_point, b_zero_point).astype(np.float32)
    y = total * (rows(a_scale).astype(np.float32) * _one_or_all(b_scale).astype(np.float32))
    return (y if bias is None else y + bias).astype(a_scale.dtype)


@op("DynamicQuantizeMatMul", domain="com.microsoft")
def DynamicQuantizeMatMul(
    a: Array, b: Array, b_scale: Array, b_zero_point: Array | None = None, bias: Array | None = None
) -> Array:
    """a, quantized over its own range, times b."""
    codes, a_scale, a_zero_point = DynamicQuantizeLinear(a)
    return MatMulIntegerToFloat(codes, b, a_scale, b_scale, a_zero_point, b_zero_point, bias)


@op("MatMulInteger16", domain="com.microsoft")
def MatMulInteger16(a: Array, b: Array) -> Array:
    """a @ b of 16-bit integers, int32."""
    return to_int32(integer_product(a, b, None, None))


@op("MulInteger", domain="com.microsoft")
def MulInteger(a: Array, a_zero_point: Array | None, b: Array, b_zero_point: Array | None = None) -> Array:
    """(a - a_zero_point) * (b - b_zero_point), int32."""
    left = a.astype(np.int32) - (0 if a_zero_point is None else a_zero_point.astype(np.int32))
    return left * (b.astype(np.int32) - (0 if b_zero_point is None else b_zero_point.astype(np.int32)))


@op("ReduceSumInteger", domain="com.microsoft")
def ReduceSumInteger(data: Array, *, axes: Sequence[int], keepdims: int) -> Array:
    """Sums of 8-bit integers in 32 bits."""
    wide = np.int32 if data.dtype.kind == "i" else np.uint32
    return np.asarray(data.sum(axis=tuple(axes), keepdims=bool(keepdims), dtype=wide))


@op("DynamicQuantizeLSTM", domain="com.microsoft")
def DynamicQuantizeLSTM(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    sequence_lens: Array | None,
    initial_h: Array | None,
    initial_c: Array | None,
    p: Array | None,
    w_scale: Array,
    w_zero_point: Array,
    r_scale: Array,
    r_zero_point: Array,
    **attributes: Any,
) -> tuple[Array, ...]:
    """LSTM with quantized weights; attributes are LSTM's. The inputs of each product are quantized over their range.

    Args:
        w, r: int8 or uint8 [directions, input or hidden, 4 * hidden]: transposed, unlike LSTM's.
        w_scale, r_scale, and the zero points: [directions], or [directions, 4 * hidden].
    """
    weights: Any = _Quantized.of(w, w_scale, w_zero_point)
    recurrent: Any = _Quantized.of(r, r_scale, r_zero_point)
    return LSTM(x, weights, recurrent, b, sequence_lens, initial_h, initial_c, p, **attributes)


@dataclass(frozen=True, slots=True)
class _Quantized:
    """Integer weights that stand in for float ones of `shape` where these are only multiplied with from the left.

    Args:
        codes: [directions, K, N], or [K, N] of one direction.
        scale, zero_point: [directions, 1 or N], or [1 or N].
    """

    codes: Array
    scale: Array
    zero_point: Array
    dtype = np.dtype(np.float32)
    __array_ufunc__ = None  # numpy leaves `array @ self` to __rmatmul__

    @classmethod
    def of(cls, codes: Array, scale: Array, zero_point: Array) -> _Quantized:
        return cls(codes, scale.reshape(len(codes), -1), zero_point.reshape(len(codes), -1))

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.codes.shape[:-2], self.codes.shape[-1], self.codes.shape[-2])

    @property
    def T(self) -> _Quantized:
        return self  # the codes are stored transposed already

    def __getitem__(self, direction: int) -> _Quantized:
        return _Quantized(self.codes[direction], self.scale[direction], self.zero_point[direction])

    def __rmatmul__(self, a: Array) -> Array:
        return DynamicQuantizeMatMul(a, self.codes, self.scale, self.zero_point)
