"""What several operator modules need: axes in range, and half precision computed in single."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput

__all__ = ["affordable", "axes_in_range", "axis_in_range", "exact_or_truncated", "product", "restore", "scalar", "wide"]

# What one result may take: a quarter of WebAssembly's memory in the page, more than any real model's tensor elsewhere.
# A graph of a few bytes can ask for any size, and an operating system that grants it kills the process later.
MAX_RESULT_BYTES = (1 if sys.maxsize < 1 << 32 else 8) << 30

# Pyodide's numpy is built without BLAS: its matmul walks down the columns of b, which misses the cache.
HAS_BLAS: bool = np.show_config(mode="dicts")["Build Dependencies"]["blas"].get("found", False)


def wide(x: Array) -> Array:
    """x, in float32 where it was float16: sums of halves lose digits after a few hundred terms."""
    return x.astype(np.float32) if x.dtype == np.float16 else x


def restore(y: Any, x: Array) -> Array:
    """y in x's dtype, as an array; the counterpart of `wide`."""
    return np.asarray(y).astype(x.dtype, copy=False)


def axis_in_range(axis: Any, rank: int, *, name: str = "axis") -> int:
    """The axis counted from the front.

    Args:
        axis: int, or an integer array of one element.
        rank: of the tensor that it indexes.
    Raises: InvalidInput: not in [-rank, rank).
    """
    value = scalar(axis)
    if not -rank <= value < rank:
        raise InvalidInput(f"{name} is {value}, expected a value in [{-rank}, {rank}) for a tensor of rank {rank}")
    return value % rank


def axes_in_range(axes: Iterable[Any], rank: int) -> tuple[int, ...]:
    """Every axis counted from the front, in the given order.

    Raises: InvalidInput: one is out of range, or stands twice.
    """
    result = tuple(axis_in_range(a, rank, name="axes") for a in np.asarray(axes, dtype=np.int64).reshape(-1))
    if len(set(result)) < len(result):
        raise InvalidInput(f"axes {result} name an axis twice; name each once")
    return result


def scalar(x: Any) -> int:
    """The one integer in a scalar or one-element tensor: exporters write both where the spec says scalar."""
    values = np.asarray(x).reshape(-1)
    if values.size != 1:
        raise InvalidInput(f"expected one value, got a tensor of shape {np.shape(x)}")
    return int(values[0])


def affordable(shape: Iterable[Any], itemsize: int = 1) -> tuple[int, ...]:
    """The shape of a result that is about to be made.

    Args:
        itemsize: bytes an element.
    Raises: InvalidInput: a size is negative, or the result would take more than `MAX_RESULT_BYTES`.
    """
    sizes = tuple(int(n) for n in shape)
    if any(n < 0 for n in sizes):
        raise InvalidInput(f"the result would have shape {list(sizes)}, which is negative somewhere")
    if math.prod(sizes) * itemsize > MAX_RESULT_BYTES:
        raise InvalidInput(
            f"the result would have shape {list(sizes)} and take {math.prod(sizes) * itemsize / 2**30:.3g} GiB, "
            f"more than the {MAX_RESULT_BYTES >> 30} GiB that one value may take here"
        )
    return sizes


def exact_or_truncated(numerator: Array, denominator: Any) -> Array:
    """numerator / denominator: true division for floats, rounded toward zero for integers (C's, not Python's).

    Integer division by zero gives 0; the spec leaves it undefined.
    """
    if numerator.dtype.kind not in "iu":
        return numerator / denominator
    quotient = numerator // denominator
    if numerator.dtype.kind == "i":
        remainder = numerator - quotient * denominator
        quotient = quotient + ((remainder != 0) & ((numerator < 0) != (np.asarray(denominator) < 0))).astype(
            numerator.dtype
        )
    return quotient


def product(a: Array, b: Array) -> Array:
    """a @ b, for matrices or stacks of them; b may also be what multiplies itself (`__rmatmul__`).

    Without BLAS einsum is 1.5 to 6 times faster than matmul in Pyodide (its inner loop runs along the rows of b and is
    vectorized), except where those rows are short.
    """
    if HAS_BLAS or not isinstance(b, np.ndarray) or a.ndim < 2 or b.ndim < 2 or b.shape[-1] < 16:
        return a @ b
    return np.einsum("...mk,...kn->...mn", a, b)
