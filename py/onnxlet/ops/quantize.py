"""QuantizeLinear, DequantizeLinear, and the integer products of ai.onnx.

Sums of products of 8-bit integers are computed in float64, whose 53 bits hold them exactly, because numpy multiplies
integer matrices without BLAS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import Array, DataType, Narrow
from ..errors import InvalidInput
from .conv import Conv
from .narrow import FLOATS, round_to, type_of, widened
from .registry import op
from .support import axis_in_range

__all__ = ["aligned", "dequantized", "integer_product", "quantized", "rows", "saturated", "to_int32"]


def aligned(values: Array, shape: Sequence[int], axis: int, block_size: int = 0) -> Array:
    """Scales or zero points, shaped so that they broadcast with the tensor that they belong to.

    Args:
        values: one element; [shape[axis]]; or, with a block size, shape with the axis divided by it.
    Raises: InvalidInput: none of these.
    """
    if block_size:
        axis = axis_in_range(axis, len(shape))
        blocks = -(-shape[axis] // block_size)
        expected = [*shape[:axis], blocks, *shape[axis + 1 :]]
        if list(values.shape) != expected:
            raise InvalidInput(f"scale has shape {list(values.shape)}, expected {expected} (blocks of {block_size})")
        spread = np.repeat(values, block_size, axis)
        return spread[tuple(slice(0, n) for n in shape)]
    if values.size == 1:
        return values.reshape(())
    axis = axis_in_range(axis, len(shape))
    if values.shape != (shape[axis],):
        raise InvalidInput(f"scale has shape {list(values.shape)}, expected one value or [{shape[axis]}] (axis {axis})")
    return values.reshape([-1 if i == axis else 1 for i in range(len(shape))])


def limits(data_type: DataType) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    signed = data_type.numpy.kind == "i"
    return (-(1 << (data_type.bits - 1)), (1 << (data_type.bits - 1)) - 1) if signed else (0, (1 << data_type.bits) - 1)


def saturated(values: Array, data_type: DataType) -> Any:
    """Whole numbers cut to what an integer type holds, in that type; NaN becomes 0."""
    low, high = limits(data_type)
    result = np.nan_to_num(values, nan=0.0, posinf=high, neginf=low).clip(low, high).astype(data_type.numpy)
    return Narrow(data_type, result) if data_type.is_narrow else result


def quantized(x: Array, scale: Array, zero_point: Array | None, data_type: DataType, *, saturate: bool = True) -> Any:
    """round(x / scale) + zero_point in `data_type`, with scale and zero point already broadcastable."""
    ratio = x / scale
    if data_type in FLOATS:
        shifted = ratio if zero_point is None else ratio + zero_point
        return Narrow(data_type, round_to(shifted, data_type, saturate=saturate))
    whole = np.rint(ratio).astype(np.float64)  # float16 cannot count to 65535
    return saturated(whole if zero_point is None else whole + zero_point, data_type)


def dequantized(x: Array, scale: Array, zero_point: Array | None) -> Array:
    """(x - zero_point) * scale in float32 (float64 for a float64 scale)."""
    wide = np.float64 if scale.dtype == np.float64 else np.float32
    if x.dtype.kind in "iu":
        x = x.astype(np.int64)
    shifted = x if zero_point is None else x - zero_point.astype(x.dtype)
    return shifted.astype(wide) * scale.astype(wide)


@op("QuantizeLinear", since=10, narrow=True)
def QuantizeLinear(
    x: Any,
    y_scale: Any,
    y_zero_point: Any = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: int = 1,
) -> Any:
    """round(x / scale) + zero_point, halves to even, cut to the type's range.

    Spec: https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html, opset 10+ (axis from 13, saturate from 19, blocks
    and output_dtype from 21, precision from 23).

    Args:
        y_scale: one value, one for each place along ``axis``, or one a block.
        y_zero_point: shaped as the scale, of the result's type (default: output_dtype, or uint8).
        precision: the `DataType` to divide in; default the scale's.
    """
    target = type_of(y_zero_point) if y_zero_point is not None else DataType(output_dtype or DataType.UINT8)
    kind = DataType(precision or type_of(y_scale))
    kind = kind if kind in (DataType.FLOAT16, DataType.BFLOAT16, DataType.DOUBLE) else DataType.FLOAT
    shape = x.shape
    scale = aligned(widened(y_scale), shape, axis, block_size)
    zero = None if y_zero_point is None else aligned(widened(y_zero_point), shape, axis, block_size)
    values, scale = widened(x).astype(kind.numpy), scale.astype(kind.numpy)
    if kind == DataType.BFLOAT16:
        values, scale = round_to(values / scale, kind), np.ones((), np.float32)
    return quantized(values, scale, zero, target, saturate=bool(saturate))


@op("DequantizeLinear", since=10, narrow=True)
def DequantizeLinear(
    x: Any, x_scale: Any, x_zero_point: Any = None, *, axis: int = 1, block_size: int = 0, output_dtype: int = 0
) -> Any:
    """(x - zero_point) * scale, in the scale's type or ``output_dtype``.

    Spec: https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html, opset 10+ (axis from 13, blocks from 21,
    output_dtype from 23).
    """
    target = DataType(output_dtype or type_of(x_scale))
    scale = aligned(widened(x_scale), x.shape, axis, block_size)
    zero = None if x_zero_point is None else aligned(widened(x_zero_point), x.shape, axis, block_size)
    result = dequantized(widened(x), scale, zero)
    return Narrow(target, round_to(result, target)) if target.is_narrow else result.astype(target.numpy)


@op("DynamicQuantizeLinear", since=11)
def DynamicQuantizeLinear(x: Array) -> tuple[Array, Array, Array]:
    """x in uint8 over its own range, widened to hold 0; with its scale and zero point.

    Spec: https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html, opset 11+. All zeros: scale 1, as
    onnxruntime; the spec's formula divides by it.
    """
    low, high = (np.float32(min(x.min(), 0)), np.float32(max(x.max(), 0))) if x.size else (np.float32(0),) * 2
    scale = np.float32((high - low) / np.float32(255)) if high > low else np.float32(1)
    if scale == 0:
        scale = np.float32(1)  # a range so small that its 255th part is no float32
    scales, zero = np.asarray(scale), np.asarray(np.clip(np.rint(-low / scale), 0, 255), np.uint8)
    return quantized(x, scales, zero, DataType.UINT8), scales, zero


def rows(values: Array) -> Array:
    """One value for each row, [M] or [..., M, 1]: as a column that broadcasts with the rows of a matrix."""
    return values.reshape(-1, 1) if values.ndim == 1 and values.size > 1 else values


def to_int32(values: Array) -> Array:
    """Whole float64 numbers as int32; what overflows wraps, as in every runtime."""
    return values.astype(np.int64).astype(np.int32)


def integer_product(a: Array, b: Array, a_zero: Array | None, b_zero: Array | None) -> Array:
    """(a - a_zero) @ (b - b_zero), whole numbers in float64; a zero point may be one a row of a, one a column of b."""
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    if a_zero is not None:
        wide_a = wide_a - rows(a_zero)
    if b_zero is not None:
        wide_b = wide_b - (b_zero if b_zero.size > 1 else b_zero.reshape(()))
    return wide_a @ wide_b


@op("MatMulInteger", since=10)
def MatMulInteger(a: Array, b: Array, a_zero_point: Array | None = None, b_zero_point: Array | None = None) -> Array:
    """(a - a_zero_point) @ (b - b_zero_point), int32.

    Spec: https://onnx.ai/onnx/operators/onnx__MatMulInteger.html, opset 10+.
    """
    return to_int32(integer_product(a, b, a_zero_point, b_zero_point))


@op("QLinearMatMul", since=10)
def QLinearMatMul(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
) -> Array:
    """A product of quantized matrices, quantized; scales may be one a row of a, one a column of b.

    Spec: https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html, opset 10+.
    """
    total = integer_product(a, b, a_zero_point, b_zero_point)
    factor = rows(a_scale).astype(np.float32) * b_scale.astype(np.float32) / y_scale.astype(np.float32)
    if a.dtype.kind == "f":  # float8, widened; the executor rounds the result
        return (total * factor + y_zero_point).astype(np.float32)
    return saturated(
        np.rint(total.astype(np.float32) * factor) + y_zero_point.astype(np.float32), type_of(y_zero_point)
    )


def integer_conv(x: Array, w: Array, x_zero: Array | None, w_zero: Array | None, **attributes: Any) -> Array:
    """The convolution of whole numbers less their zero points, in float64; w_zero may be one an output channel."""
    wide_x, wide_w = x.astype(np.float64), w.astype(np.float64)
    if x_zero is not None:
        wide_x = wide_x - x_zero.reshape(())
    if w_zero is not None:
        wide_w = wide_w - aligned(w_zero, w.shape, 0)
    return Conv(wide_x, wide_w, **attributes)


@op("ConvInteger", since=10)
def ConvInteger(
    x: Array,
    w: Array,
    x_zero_point: Array | None = None,
    w_zero_point: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Conv of integers less their zero points, int32; padding counts as the zero point.

    Spec: https://onnx.ai/onnx/operators/onnx__ConvInteger.html, opset 10+.
    """
    attributes = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "kernel_shape": kernel_shape}
    return to_int32(integer_conv(x, w, x_zero_point, w_zero_point, pads=pads, strides=strides, **attributes))


@op("QLinearConv", since=10)
def QLinearConv(
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
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Array:
    """Conv of quantized tensors, quantized.

    Spec: https://onnx.ai/onnx/operators/onnx__QLinearConv.html, opset 10+.

    Args:
        w_scale, w_zero_point: one value, or one an output channel.
        b: int32 [M], in steps of x_scale * w_scale.
    """
    attributes = {"auto_pad": auto_pad, "dilations": dilations, "group": group, "kernel_shape": kernel_shape}
    total = integer_conv(x, w, x_zero_point, w_zero_point, pads=pads, strides=strides, **attributes)
    channels = [1, len(w), *[1] * (x.ndim - 2)]
    if b is not None:
        total = total + b.reshape(channels)
    factor = x_scale.reshape(()) * aligned(w_scale, channels, 1) / y_scale.reshape(())
    return saturated(
        np.rint(total.astype(np.float32) * factor) + y_zero_point.reshape(()).astype(np.float32), type_of(y_zero_point)
    )
