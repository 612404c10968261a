"""Tensors from nothing but attributes and shapes: constants, ranges, random numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import Array, DataType, Narrow
from ..errors import InvalidInput, InvalidModel
from .casting import cast
from .narrow import type_of
from .registry import op
from .support import affordable

__all__ = ["Range"]


@op("Constant", narrow=True)
def Constant(
    *,
    value: Any = None,
    sparse_value: Any = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
    value_string: str | None = None,
    value_strings: Sequence[str] | None = None,
) -> Any:
    """The one attribute given, as a tensor.

    Spec: https://onnx.ai/onnx/operators/onnx__Constant.html, opset 1+ (all but ``value`` from 11 and 12).
    """
    if value is not None or sparse_value is not None:
        return value if value is not None else sparse_value
    for given, dtype in (
        (value_float, np.float32),
        (value_floats, np.float32),
        (value_int, np.int64),
        (value_ints, np.int64),
        (value_string, object),
        (value_strings, object),
    ):
        if given is not None:
            return np.array(given, dtype)
    raise InvalidModel("has no attribute that holds its value")


@op("ConstantOfShape", since=9, narrow=True)
def ConstantOfShape(shape: Array, *, value: Any = None) -> Any:
    """One value everywhere, float32 0 by default.

    Spec: https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html, opset 9+.
    """
    kind = np.dtype(np.float32) if value is None else (value.values if isinstance(value, Narrow) else value).dtype
    sizes = affordable(shape.reshape(-1), kind.itemsize)
    if value is None:
        return np.zeros(sizes, np.float32)
    if isinstance(value, Narrow):
        return Narrow(value.data_type, np.full(sizes, value.values.reshape(-1)[0]))
    return np.full(sizes, value.reshape(-1)[0], value.dtype)


@op("Range", since=11)
def Range(start: Array, limit: Array, delta: Array, *, stash_type: int = 1) -> Array:
    """start, start + delta, ... up to but without limit.

    Spec: https://onnx.ai/onnx/operators/onnx__Range.html, opset 11+ (stash_type, float16 from 27).

    Args:
        stash_type: float16 only: the `DataType` to compute in.
    """
    dtype = start.dtype
    first, end, step = (v.reshape(-1)[0] for v in (start, limit, delta))
    if dtype == np.float16 and stash_type == DataType.FLOAT:
        first, end, step = np.float32(first), np.float32(end), np.float32(step)
    if step == 0:
        raise InvalidInput("delta is 0")
    if dtype.kind == "f":
        count = max(math.ceil((end - first) / step), 0)
    else:
        count = max(-((int(first) - int(end)) // int(step)), 0)
    affordable([count], dtype.itemsize)
    return (first + np.arange(count, dtype=first.dtype) * step).astype(dtype)


@op("EyeLike", since=9, narrow=True)
def EyeLike(x: Any, *, dtype: int | None = None, k: int = 0) -> Any:
    """Ones on the k-th diagonal of a matrix of the input's shape.

    Spec: https://onnx.ai/onnx/operators/onnx__EyeLike.html, opset 9+.
    """
    if len(x.shape) != 2:
        raise InvalidInput(f"x has shape {list(x.shape)}, expected a matrix")
    return cast(np.eye(x.shape[0], x.shape[1], k), type_of(x) if dtype is None else DataType(dtype))


def _generator(seed: float | None) -> np.random.Generator:
    """Numbers that repeat with a seed, and differ in every run without one."""
    return np.random.default_rng(None if seed is None else abs(hash(float(seed))))


@op("RandomNormal")
def RandomNormal(
    *, shape: Sequence[int], dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> Any:
    """Normally distributed numbers. Spec: https://onnx.ai/onnx/operators/onnx__RandomNormal.html, opset 1+."""
    return cast(_generator(seed).normal(mean, scale, affordable(shape, 8)), DataType(dtype))


@op("RandomUniform")
def RandomUniform(
    *, shape: Sequence[int], dtype: int = 1, high: float = 1.0, low: float = 0.0, seed: float | None = None
) -> Any:
    """Uniform numbers in [low, high). Spec: https://onnx.ai/onnx/operators/onnx__RandomUniform.html, opset 1+."""
    return cast(_generator(seed).uniform(low, high, affordable(shape, 8)), DataType(dtype))


@op("RandomNormalLike", narrow=True)
def RandomNormalLike(
    x: Any, *, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> Any:
    """RandomNormal in the shape, and by default the type, of a tensor.

    Spec: https://onnx.ai/onnx/operators/onnx__RandomNormalLike.html, opset 1+.
    """
    kind = type_of(x) if dtype is None else DataType(dtype)
    return RandomNormal(shape=x.shape, dtype=kind, mean=mean, scale=scale, seed=seed)


@op("RandomUniformLike", narrow=True)
def RandomUniformLike(
    x: Any, *, dtype: int | None = None, high: float = 1.0, low: float = 0.0, seed: float | None = None
) -> Any:
    """RandomUniform in the shape, and by default the type, of a tensor.

    Spec: https://onnx.ai/onnx/operators/onnx__RandomUniformLike.html, opset 1+.
    """
    kind = type_of(x) if dtype is None else DataType(dtype)
    return RandomUniform(shape=x.shape, dtype=kind, high=high, low=low, seed=seed)


@op("Bernoulli", since=15, narrow=True)
def Bernoulli(x: Any, *, dtype: int | None = None, seed: float | None = None) -> Any:
    """1 with the probability that each element says, else 0.

    Spec: https://onnx.ai/onnx/operators/onnx__Bernoulli.html, opset 15+.
    """
    chances = x.values if isinstance(x, Narrow) else x
    kind = type_of(x) if dtype is None else DataType(dtype)
    return cast(_generator(seed).random(chances.shape) < chances, kind)


@op("Multinomial", since=7)
def Multinomial(x: Array, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> Any:
    """Classes drawn with unnormalized log-probabilities.

    Spec: https://onnx.ai/onnx/operators/onnx__Multinomial.html, opset 7+.

    Args:
        x: float [batch, classes].
    Returns: int32 or int64 [batch, sample_size].
    """
    weights = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    steps = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
    draws = _generator(seed).random((len(x), sample_size))
    picked = [
        np.searchsorted(row, draw, side="right").clip(0, x.shape[1] - 1) for row, draw in zip(steps, draws, strict=True)
    ]
    return cast(np.array(picked, np.int64).reshape(len(x), sample_size), DataType(dtype))
