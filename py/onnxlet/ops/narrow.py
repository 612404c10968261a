"""Arithmetic for the types that numpy lacks: bfloat16, float8, float4, and integers of 2 and 4 bits.

Every format of 8 bits or fewer is a table of its values by code; rounding is a search in it.
Sources: OCP 8-bit Floating Point Specification 1.0; OCP Microscaling Formats 1.0; arXiv:2206.02915 for FNUZ;
https://onnx.ai/onnx/technical/float8.html for what saturates to what.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ..dtypes import Array, DataType, Narrow, from_numpy

__all__ = ["FLOATS", "call_widened", "decode", "encode", "narrowed", "round_to", "type_of", "widened"]

# Exponent bits, mantissa bits, bias of the small floats with a sign.
_LAYOUT = {
    DataType.FLOAT8E4M3FN: (4, 3, 7),
    DataType.FLOAT8E4M3FNUZ: (4, 3, 8),
    DataType.FLOAT8E5M2: (5, 2, 15),
    DataType.FLOAT8E5M2FNUZ: (5, 2, 16),
    DataType.FLOAT4E2M1: (2, 1, 1),
}
_FNUZ = (DataType.FLOAT8E4M3FNUZ, DataType.FLOAT8E5M2FNUZ)  # no infinity, no minus zero; code 0x80 is NaN

FLOATS = frozenset({DataType.BFLOAT16, DataType.FLOAT8E8M0, *_LAYOUT})


@cache
def _table(data_type: DataType) -> Array:
    """float32 [2 ** bits]: the value of every code."""
    codes = np.arange(1 << data_type.bits)
    if data_type == DataType.FLOAT8E8M0:
        values = np.ldexp(np.float32(1), codes - 127).astype(np.float32)
        values[255] = np.nan
        return values
    exponent_bits, mantissa_bits, bias = _LAYOUT[data_type]
    mantissa = codes & ((1 << mantissa_bits) - 1)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    normal = exponent > 0
    fraction = (mantissa + np.where(normal, 1 << mantissa_bits, 0)).astype(np.float32)
    values = np.ldexp(fraction, np.where(normal, exponent, 1) - bias - mantissa_bits).astype(np.float32)
    values[codes >= len(codes) // 2] *= -1
    if data_type == DataType.FLOAT8E4M3FN:
        values[[0x7F, 0xFF]] = np.nan
    elif data_type in _FNUZ:
        values[0x80] = np.nan
    elif data_type == DataType.FLOAT8E5M2:
        top = exponent == 31
        values[top] = np.where(mantissa[top] == 0, np.copysign(np.inf, values[top]), np.nan)
    return values


@cache
def _magnitudes(data_type: DataType) -> Array:
    """The finite values from zero up, in order; their position is their code."""
    table = _table(data_type)[: 1 << (data_type.bits - 1)]
    return table[np.isfinite(table)].astype(np.float64)


def decode(codes: Array, data_type: DataType) -> Array:
    """Values in ``data_type.numpy``, for codes in an unsigned integer (2- and 4-bit codes one a byte)."""
    if data_type == DataType.BFLOAT16:
        return (codes.astype(np.uint32) << 16).view(np.float32)
    if data_type in FLOATS:
        return _table(data_type)[codes]
    if data_type in (DataType.INT4, DataType.INT2):
        half = 1 << (data_type.bits - 1)
        return ((codes.astype(np.int8) ^ half) - half).astype(np.int8)
    return codes.astype(data_type.numpy)


def encode(values: Array, data_type: DataType) -> Array:
    """The inverse of `decode`: uint16 for bfloat16, else uint8; values are exactly representable already."""
    if data_type == DataType.BFLOAT16:
        return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16).reshape(values.shape)
    if data_type == DataType.FLOAT8E8M0:
        return np.where(np.isnan(values), 255, np.frexp(values)[1] + 126).astype(np.uint8)
    if data_type not in FLOATS:
        return values.astype(np.uint8) & ((1 << data_type.bits) - 1)
    magnitudes = _magnitudes(data_type)
    half = 1 << (data_type.bits - 1)
    codes = np.searchsorted(magnitudes, np.abs(values))  # infinity finds the code after the greatest
    negative = np.signbit(values) & ((codes > 0) | (data_type not in _FNUZ))
    codes = codes + np.where(negative, half, 0)
    nan = 0x80 if data_type in _FNUZ else half - 1
    return np.where(np.isnan(values), nan, codes).astype(np.uint8)


def round_to(values: Array, data_type: DataType, *, saturate: bool = True, round_mode: str = "up") -> Array:
    """The nearest representable values, ties to even.

    Args:
        values: any real dtype.
        saturate: float8: what is too large becomes the greatest finite value instead of infinity or NaN.
        round_mode: FLOAT8E8M0 only: "up", "down" or "nearest" (ties up), as Cast's attribute.
    Returns: an array in ``data_type.numpy``. Integers are cut to their low bits after truncation, as numpy's cast does.
    """
    if data_type == DataType.BFLOAT16:
        bits = np.array(values, np.float32, order="C").view(np.uint32)
        rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
        return np.where(np.isnan(bits.view(np.float32)), np.float32(np.nan), rounded.view(np.float32))
    if data_type not in FLOATS:
        return decode(values.astype(np.int64).astype(np.uint8) & ((1 << data_type.bits) - 1), data_type)
    if data_type == DataType.FLOAT8E8M0:
        return _round_power_of_two(np.asarray(values, np.float32), saturate, round_mode)
    return _round_small(np.asarray(values, np.float64), data_type, saturate)


def _round_small(values: Array, data_type: DataType, saturate: bool) -> Array:
    finite = _magnitudes(data_type)
    greatest = finite[-1]
    beyond = greatest + (greatest - finite[-2])  # where the next value would be, if the format had one
    magnitudes = np.append(finite, beyond)
    size = np.abs(values)
    above = np.searchsorted(magnitudes, size).clip(1, len(magnitudes) - 1)
    low, high = magnitudes[above - 1], magnitudes[above]
    up = (size - low > high - size) | ((size - low == high - size) & (above % 2 == 0))
    rounded = np.where(up, high, low)
    saturates = saturate or data_type == DataType.FLOAT4E2M1
    overflow = greatest if saturates else (np.inf if data_type == DataType.FLOAT8E5M2 else np.nan)
    result = np.copysign(np.where(rounded > greatest, overflow, rounded), values)
    if data_type in _FNUZ:
        result = result + 0.0  # minus zero does not exist
    if data_type == DataType.FLOAT4E2M1:
        return np.where(np.isnan(values), 0, result).astype(np.float32)  # it has no NaN
    return np.where(np.isnan(values), np.nan, result).astype(np.float32)


def _round_power_of_two(values: Array, saturate: bool, round_mode: str) -> Array:
    mantissa, exponent = np.frexp(
        np.abs(values).astype(np.float64)
    )  # value = mantissa * 2**exponent, mantissa in [.5, 1)
    power = exponent - 1
    if round_mode == "up":
        power = power + (mantissa > 0.5)
    elif round_mode == "nearest":
        power = power + (mantissa >= 0.75)
    power = np.where(values == 0, -127 if saturate else -128, power)  # there is no zero
    result = np.ldexp(1.0, power.clip(-127, 127))
    if not saturate:
        result = np.where((power > 127) | (power < -127), np.nan, result)
    result = np.where(np.isinf(values), 2.0**127 if saturate else np.nan, result)
    return np.where(np.isnan(values), np.nan, result).astype(np.float32)


def type_of(value: Any) -> DataType:
    """The ONNX type of an array."""
    return value.data_type if isinstance(value, Narrow) else from_numpy(value.dtype)


def widened(value: Any) -> Any:
    """A `Narrow` as its values, in lists too; anything else as it is."""
    if isinstance(value, Narrow):
        return value.values
    return [widened(item) for item in value] if isinstance(value, list) else value


def narrowed(value: Any, data_type: DataType) -> Any:
    """An array of the dtype that stands in for `data_type`, rounded to it; anything else as it is."""
    if isinstance(value, list):
        return [narrowed(item, data_type) for item in value]
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.dtype == data_type.numpy:
        return Narrow(data_type, round_to(value, data_type))
    return value


def call_widened(function: Callable[..., Any], *inputs: Any, **attributes: Any) -> Any:
    """Call an operator that knows nothing of narrow types.

    Outputs of the dtype that stands in for the first narrow input's type are rounded to that type; comparisons and
    indices have other dtypes and stay.
    """
    data_type = next((t for t in map(_narrow_type, inputs) if t is not None), None)
    if data_type is None:
        return function(*inputs, **attributes)
    result = function(*map(widened, inputs), **attributes)
    if isinstance(result, tuple):
        return tuple(narrowed(item, data_type) for item in result)
    return narrowed(result, data_type)


def _narrow_type(value: Any) -> DataType | None:
    if isinstance(value, list):
        return next((t for t in map(_narrow_type, value) if t is not None), None)
    return value.data_type if isinstance(value, Narrow) else None
