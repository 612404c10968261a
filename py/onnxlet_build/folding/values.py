"""Values of a graph under construction that are written down as numpy's are: ``(at + 0.5) * scale``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ..sources.graph import GraphBuilder, tensor

__all__ = ["OPSET", "Value", "arange", "concat", "summed", "where"]

OPSET = 21

_BOOL = np.dtype(bool)


class Value:
    """A value of known dtype. Numbers beside it become constants of this dtype; bounds are broadcast as numpy's.

    Args:
        graph: where it is made.
        name: in the graph.
        dtype: as numpy writes it; ``object`` for texts.
    """

    __slots__ = ("dtype", "graph", "name")

    def __init__(self, graph: GraphBuilder, name: str, dtype: Any) -> None:
        self.graph = graph
        self.name = name
        self.dtype = np.dtype(dtype)

    @classmethod
    def constant(cls, graph: GraphBuilder, value: Any, dtype: Any) -> Value:
        return cls(graph, graph.constant(value, dtype), dtype)

    def op(self, op_type: str, *others: Any, dtype: Any = None, **attributes: Any) -> Value:
        """An operator of this value and others; its result has this dtype unless another is said."""
        names = [self.name, *[self._name(other) for other in others]]
        return Value(self.graph, self.graph.op(op_type, names, **attributes), dtype or self.dtype)

    def cast(self, dtype: Any) -> Value:
        """Whole numbers of floats are cut towards 0."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        return self.op("Cast", dtype=dtype, to=helper.np_dtype_to_tensor_dtype(dtype))

    def size(self, axis: int) -> Value:
        """Of an axis, int64 []."""
        shape = self.op("Shape", dtype=np.int64, start=axis, end=axis + 1)
        return shape.op("Squeeze")

    def reshape(self, *shape: int) -> Value:
        return self.op("Reshape", np.array(shape, np.int64))

    def expand_dims(self, *axes: int) -> Value:
        return self.op("Unsqueeze", np.array(axes, np.int64))

    def transpose(self, *axes: int) -> Value:
        return self.op("Transpose", perm=axes)

    def take(self, index: Any, axis: int = 0) -> Value:
        """As numpy's."""
        return self.op("Gather", index if isinstance(index, Value) else np.asarray(index, np.int64), axis=axis)

    def part(self, first: Value, end: Value, axis: int) -> Value:
        """Of an axis, from `first` up to `end`, int64 [] each."""
        return self.op("Slice", first.reshape(1), end.reshape(1), np.array([axis], np.int64))

    def max(self, *axes: int, keepdims: bool = False) -> Value:
        return self._reduced("ReduceMax", axes, keepdims)

    def min(self, *axes: int, keepdims: bool = False) -> Value:
        return self._reduced("ReduceMin", axes, keepdims)

    def sum(self, *axes: int, keepdims: bool = False) -> Value:
        return self._reduced("ReduceSum", axes, keepdims)

    def clip(self, low: Any, high: Any) -> Value:
        return self.op("Clip", low, high)

    def at_least(self, other: Any) -> Value:
        return self.op("Max", other)

    def at_most(self, other: Any) -> Value:
        return self.op("Min", other)

    def __add__(self, other: Any) -> Value:
        return self.op("Add", other)

    def __sub__(self, other: Any) -> Value:
        return self.op("Sub", other)

    def __rsub__(self, other: float) -> Value:
        return self._constant(other).op("Sub", self)

    def __mul__(self, other: Any) -> Value:
        return self.op("Mul", other)

    def __truediv__(self, other: Any) -> Value:
        """Of whole numbers the quotient cut towards 0."""
        return self.op("Div", other)

    def __rtruediv__(self, other: float) -> Value:
        return self._constant(other).op("Div", self)

    def __neg__(self) -> Value:
        return self.op("Neg")

    def __lt__(self, other: Any) -> Value:
        return self.op("Less", other, dtype=_BOOL)

    def __gt__(self, other: Any) -> Value:
        return self.op("Greater", other, dtype=_BOOL)

    def __ge__(self, other: Any) -> Value:
        return self.op("GreaterOrEqual", other, dtype=_BOOL)

    def __and__(self, other: Value) -> Value:
        return self.op("And", other)

    def equals(self, other: Any) -> Value:
        return self.op("Equal", other, dtype=_BOOL)

    def _reduced(self, op_type: str, axes: Sequence[int], keepdims: bool) -> Value:
        return self.op(op_type, np.array(axes, np.int64), keepdims=int(keepdims))

    def _constant(self, value: Any) -> Value:
        return Value.constant(self.graph, value, self.dtype)

    def _name(self, other: Any) -> str:
        if isinstance(other, Value):
            return other.name
        return self.graph.constant(other, other.dtype if isinstance(other, np.ndarray) else self.dtype)


def where(condition: Value, yes: Value | float, no: Value | float) -> Value:
    """As numpy's; one of both is a value."""
    known = yes if isinstance(yes, Value) else no
    assert isinstance(known, Value)
    return condition.op(
        "Where", *[v if isinstance(v, Value) else known._constant(v) for v in (yes, no)], dtype=known.dtype
    )


def arange(first: Value, end: Value) -> Value:
    """int64 [end - first]."""
    return first.op("Range", end, 1)


def concat(values: Sequence[Value], axis: int = 0) -> Value:
    first, *others = values
    return first.op("Concat", *others, axis=axis) if others else first


def summed(count: Value, start: Value, term: Any) -> Value:
    """Terms added to a start, one after the other: a Loop.

    Args:
        count: how many, int64 [].
        term: gives one, of the start's shape and dtype, for its number, int64 [].
    """
    graph = start.graph
    number, going, total, going_on, result = map(graph.new_name, ("i", "going", "total", "going_on", "result"))
    with graph.apart() as nodes:
        sum_name = (Value(graph, total, start.dtype) + term(Value(graph, number, np.int64))).name
        nodes += [
            helper.make_node("Identity", [going], [going_on]),
            helper.make_node("Identity", [sum_name], [result]),
        ]
    inputs = [tensor(number, np.int64, []), tensor(going, bool, []), tensor(total, start.dtype, None)]
    outputs = [tensor(going_on, bool, []), tensor(result, start.dtype, None)]
    body: onnx.GraphProto = helper.make_graph(nodes, graph.new_name("sum"), inputs, outputs)
    return count.op("Loop", Value.constant(graph, True, bool), start, dtype=start.dtype, body=body)
