"""Arithmetic, comparisons, logic and bits, one element at a time, broadcasting as numpy does."""

from __future__ import annotations

import operator
from functools import reduce

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .registry import op
from .support import exact_or_truncated, restore, wide

__all__: list[str] = []  # operators are reached through the registry


@op("Add", since=7)
def Add(a: Array, b: Array) -> Array:
    """a + b; integers wrap. Spec: https://onnx.ai/onnx/operators/onnx__Add.html, opset 7+."""
    return a + b


@op("Sub", since=7)
def Sub(a: Array, b: Array) -> Array:
    """a - b; integers wrap. Spec: https://onnx.ai/onnx/operators/onnx__Sub.html, opset 7+."""
    return a - b


@op("Mul", since=7)
def Mul(a: Array, b: Array) -> Array:
    """a * b; integers wrap. Spec: https://onnx.ai/onnx/operators/onnx__Mul.html, opset 7+."""
    return a * b


@op("Div", since=7)
def Div(a: Array, b: Array) -> Array:
    """a / b; integers round toward zero. Spec: https://onnx.ai/onnx/operators/onnx__Div.html, opset 7+."""
    return exact_or_truncated(a, b)


@op("Mod", since=10)
def Mod(a: Array, b: Array, *, fmod: int = 0) -> Array:
    """Remainder, with the sign of b (fmod 0) or of a (fmod 1).

    Spec: https://onnx.ai/onnx/operators/onnx__Mod.html, opset 10+; floats with fmod 0 from 28.
    """
    return np.fmod(a, b) if fmod else np.mod(a, b)


@op("Pow", since=7)
def Pow(x: Array, y: Array) -> Array:
    """x to the power y, in the dtype of x.

    Integers stay exact and wrap; a negative exponent of an integer rounds toward zero.
    Spec: https://onnx.ai/onnx/operators/onnx__Pow.html, opset 7+; the dtypes may differ from 12.
    """
    if x.dtype.kind not in "iu" or y.dtype.kind not in "iu":
        common = x.dtype if x.dtype == y.dtype else np.result_type(x.dtype, y.dtype, np.float32)
        return restore(np.power(x.astype(common, copy=False), y.astype(common, copy=False)), x)
    power = np.power(x, np.maximum(y, 0).astype(x.dtype))
    if y.dtype.kind == "u" or not np.any(y < 0):
        return power
    odd = (y & 1).astype(bool)
    inverse = np.where(x == 1, 1, np.where(x == -1, np.where(odd, -1, 1), 0)).astype(x.dtype)
    return np.where(y < 0, inverse, power)


@op("Max", since=6)
def Max(*xs: Array) -> Array:
    """The largest of all inputs; NaN wins. Spec: https://onnx.ai/onnx/operators/onnx__Max.html, opset 6+."""
    return reduce(np.maximum, xs)


@op("Min", since=6)
def Min(*xs: Array) -> Array:
    """The smallest of all inputs; NaN wins. Spec: https://onnx.ai/onnx/operators/onnx__Min.html, opset 6+."""
    return reduce(np.minimum, xs)


@op("Sum", since=6)
def Sum(*xs: Array) -> Array:
    """The sum of all inputs. Spec: https://onnx.ai/onnx/operators/onnx__Sum.html, opset 6+."""
    return restore(reduce(operator.add, map(wide, xs)), xs[0])


@op("Mean", since=6)
def Mean(*xs: Array) -> Array:
    """The mean of all inputs. Spec: https://onnx.ai/onnx/operators/onnx__Mean.html, opset 6+."""
    return restore(reduce(operator.add, map(wide, xs)) / len(xs), xs[0])


@op("Clip", since=6)
def Clip_6(x: Array, *, min: float = -3.4028234663852886e38, max: float = 3.4028234663852886e38) -> Array:
    """x held within [min, max]; NaN stays. Spec: https://onnx.ai/onnx/operators/onnx__Clip.html, opset 6 to 10."""
    low, high = np.array([min, max]).astype(x.dtype)
    return np.minimum(np.maximum(x, low), high)


@op("Clip", since=11)
def Clip(x: Array, min: Array | None = None, max: Array | None = None) -> Array:
    """x held within [min, max]; max wins where they cross, NaN stays.

    Spec: https://onnx.ai/onnx/operators/onnx__Clip.html, opset 11+.
    """
    if min is not None:
        x = np.maximum(x, np.reshape(min, ()))
    if max is not None:
        x = np.minimum(x, np.reshape(max, ()))
    return x


@op("Equal", since=7)
def Equal(a: Array, b: Array) -> Array:
    """a == b, strings too. Spec: https://onnx.ai/onnx/operators/onnx__Equal.html, opset 7+."""
    return np.asarray(np.equal(a, b), dtype=bool)


@op("Greater", since=7)
def Greater(a: Array, b: Array) -> Array:
    """a > b. Spec: https://onnx.ai/onnx/operators/onnx__Greater.html, opset 7+."""
    return np.greater(a, b)


@op("GreaterOrEqual", since=12)
def GreaterOrEqual(a: Array, b: Array) -> Array:
    """a >= b. Spec: https://onnx.ai/onnx/operators/onnx__GreaterOrEqual.html, opset 12+."""
    return np.greater_equal(a, b)


@op("Less", since=7)
def Less(a: Array, b: Array) -> Array:
    """a < b. Spec: https://onnx.ai/onnx/operators/onnx__Less.html, opset 7+."""
    return np.less(a, b)


@op("LessOrEqual", since=12)
def LessOrEqual(a: Array, b: Array) -> Array:
    """a <= b. Spec: https://onnx.ai/onnx/operators/onnx__LessOrEqual.html, opset 12+."""
    return np.less_equal(a, b)


@op("And", since=7)
def And(a: Array, b: Array) -> Array:
    """Both. Spec: https://onnx.ai/onnx/operators/onnx__And.html, opset 7+."""
    return np.logical_and(a, b)


@op("Or", since=7)
def Or(a: Array, b: Array) -> Array:
    """Either. Spec: https://onnx.ai/onnx/operators/onnx__Or.html, opset 7+."""
    return np.logical_or(a, b)


@op("Xor", since=7)
def Xor(a: Array, b: Array) -> Array:
    """One and not the other. Spec: https://onnx.ai/onnx/operators/onnx__Xor.html, opset 7+."""
    return np.logical_xor(a, b)


@op("Not", since=1)
def Not(x: Array) -> Array:
    """The contrary. Spec: https://onnx.ai/onnx/operators/onnx__Not.html, opset 1+."""
    return np.logical_not(x)


@op("BitwiseAnd", since=18)
def BitwiseAnd(a: Array, b: Array) -> Array:
    """a & b. Spec: https://onnx.ai/onnx/operators/onnx__BitwiseAnd.html, opset 18+."""
    return a & b


@op("BitwiseOr", since=18)
def BitwiseOr(a: Array, b: Array) -> Array:
    """a | b. Spec: https://onnx.ai/onnx/operators/onnx__BitwiseOr.html, opset 18+."""
    return a | b


@op("BitwiseXor", since=18)
def BitwiseXor(a: Array, b: Array) -> Array:
    """a ^ b. Spec: https://onnx.ai/onnx/operators/onnx__BitwiseXor.html, opset 18+."""
    return a ^ b


@op("BitwiseNot", since=18)
def BitwiseNot(x: Array) -> Array:
    """~x. Spec: https://onnx.ai/onnx/operators/onnx__BitwiseNot.html, opset 18+."""
    return ~x


@op("BitShift", since=11)
def BitShift(x: Array, y: Array, *, direction: str) -> Array:
    """x shifted by y bits; a right shift of a signed number keeps its sign.

    numpy defines shifts by a negative count, or by at least the width, as opset 28 does: every bit is shifted out.
    Spec: https://onnx.ai/onnx/operators/onnx__BitShift.html, opset 11+; signed from 28.
    """
    if direction == "LEFT":
        return np.left_shift(x, y)
    if direction == "RIGHT":
        return np.right_shift(x, y)
    raise InvalidInput(f'direction is "{direction}", expected LEFT or RIGHT')
