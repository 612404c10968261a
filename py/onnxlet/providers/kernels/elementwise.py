"""One value at a time; what can be folded into the product that comes before is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

from ...dtypes import Array
from .lowering import Unfit, rule
from .program import NO_LIMITS, Builder, Held, Instruction, Value, float_param

# In the order of the enumerations in activations.h and elementwise.c.
UNARY = [
    "Relu", "Sigmoid", "Tanh", "Gelu", "GeluTanh", "Silu", "HardSwish", "HardSigmoid", "Exp", "Erf", "Sqrt", "Abs",
    "Neg", "Reciprocal",
]  # fmt: skip
BINARY = ["Add", "Sub", "Mul", "Div", "Max", "Min"]
_BIAS = 2  # the operand of those
_LIMITING = ("gemm_f32", "conv_f32", "depthwise_f32")  # their last two params are limits


def _floats(*values: Value) -> None:
    if any(value.dtype != np.float32 for value in values):
        raise Unfit(f"types {', '.join(str(value.dtype) for value in values)}, expected float32")


def unary(builder: Builder, x: Value, kind: str) -> Held:
    """Apply one of `UNARY`."""
    _floats(x)
    held = x if isinstance(x, Held) else builder.held(x)
    y = builder.like(held)
    builder.emit("unary_f32", [held, y], [held.stored, UNARY.index(kind)])
    return y


def _register(kind: str) -> None:
    @rule(kind)
    def lower(builder: Builder, x: Value) -> Held:
        return unary(builder, x, kind)


for _kind in ("Sigmoid", "Tanh", "HardSwish", "Exp", "Erf", "Sqrt", "Abs", "Neg", "Reciprocal"):
    _register(_kind)


@rule("Gelu")
def gelu(builder: Builder, x: Value, *, approximate: str = "none") -> Held:
    """x times the normal distribution's share below it, exactly or by tanh."""
    return unary(builder, x, "GeluTanh" if approximate == "tanh" else "Gelu")


@rule("Relu")
def relu(builder: Builder, x: Value) -> Value:
    """max(x, 0); a product's lower limit where it comes from one."""
    return _limited(builder, x, 0.0, math.inf)


@rule("Clip")
def clip(builder: Builder, x: Value, low: Value | None = None, high: Value | None = None) -> Value:
    """Limits that are known."""
    limits = [-math.inf, math.inf]
    for i, limit in enumerate((low, high)):
        if isinstance(limit, Held):
            raise Unfit("limits that are computed")
        if limit is not None:
            limits[i] = float(limit.reshape(()))
    return _limited(builder, x, *limits)


def _limited(builder: Builder, x: Value, low: float, high: float) -> Value:
    _floats(x)
    if (low, high) == (-math.inf, math.inf):
        return x
    if product := unlimited(builder, x):
        product.params[-2:] = [float_param(low), float_param(high)]
        return x
    if (low, high) == (0.0, math.inf):
        return unary(builder, x, "Relu")
    held = x if isinstance(x, Held) else builder.held(x)
    y = builder.like(held)
    for kind, limit in (("Max", low), ("Min", high)):
        if not math.isinf(limit):
            _emit_binary(builder, kind, held, builder.held(np.array([limit], np.float32)), y)
            held = y
    return y


def unlimited(builder: Builder, x: Value) -> Instruction | None:
    """The product or convolution that gives x, if biases and limits can still be folded into it."""
    writer = builder.writer(x)
    return writer if writer and writer.operator in _LIMITING and writer.params[-2:] == NO_LIMITS else None


def _register_binary(kind: str) -> None:
    @rule(kind)
    def lower(builder: Builder, a: Value, b: Value) -> Value:
        return binary(builder, kind, a, b)


for _kind in BINARY:
    _register_binary(_kind)


def binary(builder: Builder, kind: str, a: Value, b: Value) -> Value:
    """Two values, broadcast; a row that is added to a product becomes its bias."""
    _floats(a, b)
    shape = np.broadcast_shapes(a.shape, b.shape)
    if kind == "Add":
        for x, row in ((a, b), (b, a)):
            product = unlimited(builder, x)
            if product and product.operands[_BIAS] is None and _is_bias(row, x, shape):
                product.operands[_BIAS] = builder.prepared(
                    row, "row", lambda array: np.ascontiguousarray(array.reshape(-1))
                )
                return x
    alike = a.shape == b.shape and any(isinstance(v, Held) and v.blocked for v in (a, b))
    first, second = (builder.blocked(v) if alike else builder.held(v) for v in (a, b))
    same = next((v for v in (first, second) if v.shape == shape and builder.last_reader(v)), None)
    y = builder.like(same) if same else builder.new(shape, blocked=alike)
    _emit_binary(builder, kind, first, second, y)
    return y


def _is_bias(row: Value, x: Value, shape: Sequence[int]) -> TypeGuard[Array]:
    """Whether `row` is known and has one value a column of a product, or a channel of a convolution."""
    if not isinstance(row, np.ndarray) or x.shape != shape or not isinstance(x, Held):
        return False
    axis = 1 if x.blocked else len(shape) - 1
    wanted = [shape[axis] if i == axis else 1 for i in range(len(shape))]
    return row.size == shape[axis] and list(row.shape) == wanted[len(shape) - row.ndim :]


def _emit_binary(builder: Builder, kind: str, a: Held, b: Held, y: Held) -> None:
    if y.blocked:
        dims = [(y.stored, int(a.size > 1), int(b.size > 1))]
    else:
        dims = _merged(y.shape, _steps(a.shape, y.shape), _steps(b.shape, y.shape))
    if len(dims) > 8:
        raise Unfit("more than 8 dimensions")
    builder.emit("binary_f32", [a, b, y], [BINARY.index(kind), len(dims), *(p for dim in dims for p in dim)])


def _steps(shape: Sequence[int], wider: Sequence[int]) -> list[int]:
    """How far apart neighbours of each of the wider shape's dimensions lie in a smaller value; 0 where it repeats."""
    steps = [0] * len(wider)
    step = 1
    for i in range(1, len(shape) + 1):
        if shape[-i] != 1:
            steps[-i] = step
        step *= shape[-i]
    return steps


def _merged(shape: Sequence[int], a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int, int]]:
    """Dimensions as (size, step, step), neighbours joined where one loop can do the work of two."""
    dims: list[tuple[int, int, int]] = []
    for size, i, j in zip(shape, a, b, strict=True):
        if size == 1:
            continue
        if dims:
            outer, m, n = dims[-1]
            if m == i * size and n == j * size:
                dims[-1] = (outer * size, i, j)
                continue
        dims.append((size, i, j))
    return dims or [(1, 0, 0)]
