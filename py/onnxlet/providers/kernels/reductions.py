"""Sums, means, extremes along axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...ops.windows import Geometry
from .convolution import pool_mean
from .elementwise import unary
from .lowering import Unfit, known_numbers, rule
from .program import Builder, Held, Value
from .shapes import transpose

KINDS = ["Sum", "Mean", "Max", "Min", "Prod", "SumSquare", "L1"]  # in reduce_f32.c's order


def _register(kind: str) -> None:
    @rule(f"Reduce{kind}")
    def lower(
        builder: Builder,
        x: Value,
        axes: Value | Sequence[int] | None = None,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
    ) -> Value:
        return _reduced(builder, x, axes, kind, bool(keepdims), bool(noop_with_empty_axes))


for _kind in KINDS:
    _register(_kind)


@rule("ReduceL2")
def reduce_l2(
    builder: Builder,
    x: Value,
    axes: Value | Sequence[int] | None = None,
    *,
    keepdims: int = 1,
    noop_with_empty_axes: int = 0,
) -> Value:
    """The root of the sum of squares."""
    return unary(builder, _reduced(builder, x, axes, "SumSquare", bool(keepdims), bool(noop_with_empty_axes)), "Sqrt")


def _reduced(
    builder: Builder, x: Value, axes: Value | Sequence[int] | None, kind: str, keepdims: bool, noop: bool
) -> Value:
    if x.dtype != np.float32 or not isinstance(x, Held) or 0 in x.shape:
        raise Unfit(f"{x.dtype} of shape {x.shape}, expected float32 and at least one element")
    rank = len(x.shape)
    along = sorted(int(a) % rank for a in known_numbers(axes)) if axes is not None else []
    if not along:
        if noop:
            raise Unfit("no axes")
        along = list(range(rank))
    kept = [axis for axis in range(rank) if axis not in along]
    shape = [1 if axis in along else size for axis, size in enumerate(x.shape)]
    last = shape if keepdims else [x.shape[axis] for axis in kept]
    if x.blocked and kind == "Mean" and along == list(range(2, rank)):
        return builder.view(pool_mean(builder, x, Geometry.of(x.shape[2:], x.shape[2:])), last)
    if along != list(range(along[0], along[-1] + 1)):
        x = transpose(builder, x, perm=[*kept, *along])
        along = list(range(len(kept), rank))
    y = builder.new(last)
    sizes = [math.prod(x.shape[: along[0]]), math.prod(x.shape[a] for a in along), math.prod(x.shape[along[-1] + 1 :])]
    builder.emit("reduce_f32", [builder.held(x), y], [KINDS.index(kind), *sizes])
    return y
