"""Products of matrices."""

from __future__ import annotations

import math

import numpy as np

from ...dtypes import Array
from .lowering import Unfit, rule
from .program import NO_LIMITS, Builder, Held, Value

COLUMNS = 8  # of a panel, see gemm_f32.c


def packed_size(k: int, n: int) -> int:
    """Elements of a packed [k, n]."""
    return -(-n // COLUMNS) * COLUMNS * k


def pack(b: Array) -> Array:
    """[..., k, n] to [..., ceil(n / 8), k, 8], with zeros on the right: what pack_b_f32 makes at run time."""
    *batch, k, n = b.shape
    width = packed_size(1, n)
    padded = np.zeros((*batch, k, width), np.float32)
    padded[..., :n] = b
    panels = padded.reshape(*batch, k, width // COLUMNS, COLUMNS)
    return np.ascontiguousarray(np.moveaxis(panels, -2, -3))


def _packed(builder: Builder, b: Value, transposed: bool) -> Held:
    """The panels of a matrix, or of one a batch."""
    if isinstance(b, np.ndarray):
        return builder.prepared(b, ("panels", transposed), lambda a: pack(a.swapaxes(-1, -2) if transposed else a))
    held = builder.held(b)
    *batch, k, n = held.shape
    if transposed:
        k, n = n, k
    panels = builder.new((*batch, packed_size(k, n)))
    builder.emit("pack_b_f32", [held, panels], [k, n, transposed, math.prod(batch)])
    return panels


def _floats(*values: Value | None) -> None:
    for value in values:
        if value is not None and value.dtype != np.float32:
            raise Unfit(f"{value.dtype}, expected float32")


@rule("MatMul")
def matmul(builder: Builder, a: Value, b: Value) -> Value:
    """A [..., m, k] times a matrix, or one matrix a batch."""
    _floats(a, b)
    if len(a.shape) < 2 or len(b.shape) < 2:
        raise Unfit("a vector in a product")
    *batch, m, k = a.shape
    n = b.shape[-1]
    if b.shape[-2] != k:
        raise Unfit(f"cannot multiply {a.shape} and {b.shape}")
    if len(b.shape) == 2:
        product = _product(builder, a, _packed(builder, b, transposed=False), (math.prod((*batch, m)), n, k), None)
        return builder.view(product, (*batch, m, n))
    both = np.broadcast_shapes(tuple(batch), b.shape[:-2])
    own = [v.shape[:-2] if math.prod(v.shape[:-2]) > 1 else () for v in (a, b)]
    if any(lead and math.prod(lead) != math.prod(both) for lead in own):
        raise Unfit(f"batches {tuple(batch)} and {b.shape[:-2]} that repeat in part")
    panels = _packed(builder, b, transposed=False)
    y = builder.new((*both, m, n))
    steps = [int(bool(lead)) for lead in own]
    builder.emit("gemm_f32", [builder.held(a), panels, None, y], [m, n, k, math.prod(both), *steps, *NO_LIMITS])
    return y


@rule("Gemm")
def gemm(
    builder: Builder,
    a: Value,
    b: Value,
    c: Value | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Value:
    """alpha A B + beta C, with C a row that is known."""
    _floats(a, b, c)
    if transA or alpha != 1 or beta != 1:
        raise Unfit("a Gemm with transA, alpha or beta")
    m, k = a.shape
    n = b.shape[0] if transB else b.shape[1]
    bias = None
    if c is not None:
        if not isinstance(c, np.ndarray) or (c.ndim > 1 and math.prod(c.shape[:-1]) != 1) or c.size not in (1, n):
            raise Unfit(f"a Gemm with C of shape {c.shape}")
        bias = builder.prepared(
            c, ("row", n), lambda array: np.ascontiguousarray(np.broadcast_to(array.reshape(-1), (n,)))
        )
    return _product(builder, a, _packed(builder, b, bool(transB)), (m, n, k), bias)


def _product(builder: Builder, a: Value, panels: Held, sizes: tuple[int, int, int], bias: Held | None) -> Held:
    m, n, _ = sizes
    product = builder.new((m, n))
    builder.emit("gemm_f32", [builder.held(a), panels, bias, product], [*sizes, 1, 0, 0, *NO_LIMITS])
    return product
