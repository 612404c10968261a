"""Changing the type of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import Array, DataType, Narrow
from ..errors import InvalidInput
from .narrow import decode, encode, round_to, type_of
from .registry import op

__all__ = ["cast"]


def cast(x: Any, to: DataType, *, saturate: bool = True, round_mode: str = "up") -> Any:
    """An array of any type as an array of another (see Cast for the rules).

    Raises: InvalidInput: a string is no number.
    """
    values = x.values if isinstance(x, Narrow) else x
    if to == DataType.STRING:
        return _to_strings(values)
    if values.dtype == object:
        values = _from_strings(values, to)
    if to.is_narrow:
        return Narrow(to, round_to(values, to, saturate=saturate, round_mode=round_mode))
    if values.dtype.kind == "f" and to.numpy.kind == "u":
        # Through int64, so that a small negative number wraps as two's complement on every machine.
        values = np.where(np.abs(values) < 2.0**63, values.astype(np.int64).astype(to.numpy), values.astype(to.numpy))
    return values.astype(to.numpy)


@op("Cast", since=6, narrow=True)
def Cast(x: Any, *, to: int, saturate: int = 1, round_mode: str = "up") -> Any:
    """Elements in another type: floats are cut to whole numbers, integers to their low bits, both to true if not 0.

    Spec: https://onnx.ai/onnx/operators/onnx__Cast.html, opset 6+ (saturate from 19, round_mode from 24).

    Args:
        to: a `DataType`.
        saturate: float8: what is too large becomes the greatest finite value, else infinity or NaN.
        round_mode: for FLOAT8E8M0.
    """
    return cast(x, _data_type(to), saturate=bool(saturate), round_mode=round_mode)


@op("CastLike", since=15, narrow=True)
def CastLike(x: Any, target_type: Any, *, saturate: int = 1, round_mode: str = "up") -> Any:
    """Cast to the type of another tensor. Spec: https://onnx.ai/onnx/operators/onnx__CastLike.html, opset 15+."""
    return cast(x, type_of(target_type), saturate=bool(saturate), round_mode=round_mode)


@op("BitCast", since=26, narrow=True)
def BitCast(x: Any, *, to: int) -> Any:
    """The same bits read as another type of the same width.

    Spec: https://onnx.ai/onnx/operators/onnx__BitCast.html, opset 26+.
    """
    source, target = type_of(x), _data_type(to)
    if source.bits != target.bits or DataType.STRING in (source, target):
        raise InvalidInput(
            f"{source.name} has {source.bits} bits, {target.name} {target.bits}; expected the same width"
        )
    codes = encode(x.values, source) if isinstance(x, Narrow) else x
    if target.is_narrow:
        unsigned = codes.view(f"u{codes.dtype.itemsize}") & ((1 << target.bits) - 1)
        return Narrow(target, decode(unsigned, target))
    return codes.view(target.numpy)


def _data_type(number: int) -> DataType:
    try:
        return DataType(number)
    except ValueError:
        raise InvalidInput(f"there is no element type {number}") from None


def _to_strings(values: Array) -> Array:
    result = np.empty(values.size, object)
    result[:] = [_text(v) for v in values.reshape(-1)]
    return result.reshape(values.shape)


def _text(value: Any) -> str:
    """A number as onnxruntime writes it: 8 digits, for float64 too; NaN and INF spelled out."""
    if isinstance(value, str):
        return value
    if isinstance(value, np.bool_):
        return str(int(value))
    if isinstance(value, np.floating):
        if np.isnan(value):
            return "NaN"
        if np.isinf(value):
            return "INF" if value > 0 else "-INF"
        return f"{value:.8g}"
    return str(value)


def _from_strings(values: Array, to: DataType) -> Array:
    integer = to.numpy.kind in "iu" and not to.is_narrow
    numbers = np.empty(values.shape, to.numpy if integer else np.float64)
    for place in np.ndindex(values.shape):
        try:
            numbers[place] = _whole(str(values[place])) if integer else float(str(values[place]))
        except (ValueError, OverflowError):
            raise InvalidInput(f"element {list(place)} is {values[place]!r}, expected a number in text") from None
    return numbers


def _whole(text: str) -> int:
    try:
        return int(text)  # every digit of an int64 counts
    except ValueError:
        return int(float(text))
