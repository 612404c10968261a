"""Linear algebra: products of matrices and tensors, determinants."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .registry import op
from .support import product, restore, wide

__all__: list[str] = []


@op("MatMul", since=1)
def MatMul(a: Array, b: Array) -> Array:
    """Matrix product as numpy.matmul defines it; halves are summed in float32.

    Spec: https://onnx.ai/onnx/operators/onnx__MatMul.html, opset 1+.

    Args:
        a: [..., M, K] or [K].
        b: [..., K, N] or [K].
    """
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[max(b.ndim - 2, 0)]:
        raise InvalidInput(f"cannot multiply shapes {a.shape} and {b.shape}: K differs")
    if a.ndim > 2 and b.ndim == 2:  # one large product instead of one a batch: up to twice as fast
        rows = product(wide(a).reshape(math.prod(a.shape[:-1]), a.shape[-1]), wide(b))
        return restore(rows.reshape(*a.shape[:-1], b.shape[1]), a)
    return restore(product(wide(a), wide(b)), a)


@op("Gemm", since=7)
def Gemm(
    A: Array,
    B: Array,
    C: Array | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    """alpha A' B' + beta C.

    Spec: https://onnx.ai/onnx/operators/onnx__Gemm.html, opset 7+; C may be left out from 11.

    Args:
        A: [M, K], or [K, M] with transA.
        B: [K, N], or [N, K] with transB.
        C: broadcastable to [M, N].
    """
    a = wide(A.T if transA else A)
    b = wide(B.T if transB else B)
    if a.shape[-1] != b.shape[0]:
        raise InvalidInput(f"A has K = {a.shape[-1]}, B has K = {b.shape[0]}; check transA and transB")
    y = product(a, b)
    if alpha != 1:
        y = y * alpha
    if C is not None and beta != 0:
        y = y + (wide(C) if beta == 1 else wide(C) * beta)
    return restore(y, A)


@op("Einsum", since=12)
def Einsum(*operands: Array, equation: str) -> Array:
    """Einstein summation. Spec: https://onnx.ai/onnx/operators/onnx__Einsum.html, opset 12+."""
    return restore(np.einsum(equation, *map(wide, operands), optimize=len(operands) > 1), operands[0])


@op("Det", since=11)
def Det(x: Array) -> Array:
    """Determinant of every matrix in [..., M, M]. Spec: https://onnx.ai/onnx/operators/onnx__Det.html, opset 11+."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidInput(f"expected square matrices [..., M, M], got shape {x.shape}")
    return restore(np.linalg.det(wide(x)), x)
