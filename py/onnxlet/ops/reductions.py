"""Reductions: sums, means, norms and extremes along axes.

Until opset 17 (ReduceSum: 12) axes are an attribute, later an input. Every function here computes one reduction;
`_reduction` registers it under both conventions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import Array
from .registry import op
from .support import axes_in_range, axis_in_range, exact_or_truncated, restore, wide

__all__: list[str] = []

Reduction = Callable[..., Array]


def _reduction(name: str, *, axes_are_input_since: int = 18) -> Callable[[Reduction], Reduction]:
    """Register a reduction ``f(x, axis=tuple, keepdims=bool)`` under ONNX's two conventions.

    No axes, or an empty list, means all; with noop_with_empty_axes it means none: each element is then reduced alone,
    so that ReduceLogSum gives the logarithm and ReduceSum gives x (as opset 28 says for all of them).
    """

    def register(function: Reduction) -> Reduction:
        def compute(data: Array, axes: Any, keepdims: int, noop: int) -> Array:
            chosen: tuple[int, ...] = () if axes is None else axes_in_range(axes, data.ndim)
            if not chosen and not noop:
                chosen = tuple(range(data.ndim))
            return restore(function(wide(data), axis=chosen, keepdims=bool(keepdims)), data)

        @op(name, since=1)
        def with_attribute(data: Array, *, axes: tuple[int, ...] | None = None, keepdims: int = 1) -> Array:
            return compute(data, axes, keepdims, 0)

        @op(name, since=axes_are_input_since)
        def with_input(
            data: Array, axes: Array | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
        ) -> Array:
            return compute(data, axes, keepdims, noop_with_empty_axes)

        with_attribute.__doc__ = with_input.__doc__ = function.__doc__
        return function

    return register


@_reduction("ReduceSum", axes_are_input_since=13)
def ReduceSum(x: Array, **along: Any) -> Array:
    """Sum; 0 of nothing. Spec: https://onnx.ai/onnx/operators/onnx__ReduceSum.html, opset 1+."""
    return np.sum(x, dtype=x.dtype, **along)


@_reduction("ReduceMean")
def ReduceMean(x: Array, **along: Any) -> Array:
    """Mean, rounded toward zero for integers; NaN of nothing.

    Spec: https://onnx.ai/onnx/operators/onnx__ReduceMean.html, opset 1+.
    """
    if x.dtype.kind == "f":
        return np.sum(x, dtype=x.dtype, **along) / math.prod(x.shape[a] for a in along["axis"])
    total = np.sum(x, dtype=np.uint64 if x.dtype.kind == "u" else np.int64, **along)
    return exact_or_truncated(total, total.dtype.type(math.prod(x.shape[a] for a in along["axis"])))


@_reduction("ReduceProd")
def ReduceProd(x: Array, **along: Any) -> Array:
    """Product; 1 of nothing. Spec: https://onnx.ai/onnx/operators/onnx__ReduceProd.html, opset 1+."""
    return np.prod(x, dtype=x.dtype, **along)


@_reduction("ReduceMax")
def ReduceMax(x: Array, **along: Any) -> Array:
    """Maximum; NaN wins; the lowest value of the dtype of nothing.

    Spec: https://onnx.ai/onnx/operators/onnx__ReduceMax.html, opset 1+; bool from 20.
    """
    return np.max(x, initial=_extremes(x.dtype)[0], **along)


@_reduction("ReduceMin")
def ReduceMin(x: Array, **along: Any) -> Array:
    """Minimum; NaN wins; the highest value of the dtype of nothing.

    Spec: https://onnx.ai/onnx/operators/onnx__ReduceMin.html, opset 1+; bool from 20.
    """
    return np.min(x, initial=_extremes(x.dtype)[1], **along)


def _extremes(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    if dtype.kind == "f":
        return -np.inf, np.inf
    if dtype.kind == "b":
        return False, True
    return np.iinfo(dtype).min, np.iinfo(dtype).max


@_reduction("ReduceL1")
def ReduceL1(x: Array, **along: Any) -> Array:
    """Sum of absolute values. Spec: https://onnx.ai/onnx/operators/onnx__ReduceL1.html, opset 1+."""
    return np.sum(np.abs(x), dtype=x.dtype, **along)


@_reduction("ReduceL2")
def ReduceL2(x: Array, **along: Any) -> Array:
    """Square root of the sum of squares. Spec: https://onnx.ai/onnx/operators/onnx__ReduceL2.html, opset 1+."""
    return np.sqrt(ReduceSumSquare(x, **along))


@_reduction("ReduceSumSquare")
def ReduceSumSquare(x: Array, **along: Any) -> Array:
    """Sum of squares. Spec: https://onnx.ai/onnx/operators/onnx__ReduceSumSquare.html, opset 1+."""
    return np.sum(np.square(x), dtype=x.dtype, **along)


@_reduction("ReduceLogSum")
def ReduceLogSum(x: Array, **along: Any) -> Array:
    """Logarithm of the sum; -inf of nothing.

    Spec: https://onnx.ai/onnx/operators/onnx__ReduceLogSum.html, opset 1+.
    """
    return np.log(np.sum(x, dtype=x.dtype, **along))


@_reduction("ReduceLogSumExp")
def ReduceLogSumExp(x: Array, **along: Any) -> Array:
    """Logarithm of the sum of exponentials; -inf of nothing. The maximum is taken out first, against overflow.

    Spec: https://onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html, opset 1+.
    """
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    top = np.max(x, axis=along["axis"], keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)  # an infinite maximum would give inf - inf
    total = np.log(np.sum(np.exp(x - top), **along))
    return total + (top if along["keepdims"] else np.squeeze(top, axis=along["axis"]))


@op("ArgMax", since=1)
def ArgMax(data: Array, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Array:
    """Where the maximum stands along an axis: its first place, or the last. A NaN counts as the maximum.

    Spec: https://onnx.ai/onnx/operators/onnx__ArgMax.html, opset 1+; select_last_index from 12.
    Returns: int64.
    """
    return _place(np.argmax, data, axis, keepdims, select_last_index)


@op("ArgMin", since=1)
def ArgMin(data: Array, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0) -> Array:
    """Where the minimum stands along an axis: its first place, or the last. A NaN counts as the minimum.

    Spec: https://onnx.ai/onnx/operators/onnx__ArgMin.html, opset 1+; select_last_index from 12.
    Returns: int64.
    """
    return _place(np.argmin, data, axis, keepdims, select_last_index)


def _place(find: Callable[..., Any], data: Array, axis: int, keepdims: int, last: int) -> Array:
    at = axis_in_range(axis, data.ndim)
    if last:
        result = data.shape[at] - 1 - find(np.flip(data, at), axis=at, keepdims=bool(keepdims))
    else:
        result = find(data, axis=at, keepdims=bool(keepdims))
    return np.asarray(result, dtype=np.int64)
