"""Sequences (Python lists) and optionals (None is the empty one)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..model import Type
from .joining import Concat, split_sizes
from .registry import op
from .support import axis_in_range, scalar

__all__ = ["ConcatFromSequence", "SplitToSequence"]


@op("SequenceConstruct", since=11, narrow=True)
def SequenceConstruct(*inputs: Any) -> list[Any]:
    """Tensors as a sequence. Spec: https://onnx.ai/onnx/operators/onnx__SequenceConstruct.html, opset 11+."""
    return list(inputs)


@op("SequenceEmpty", since=11)
def SequenceEmpty(*, dtype: int = 1) -> list[Any]:
    """A sequence of nothing. Spec: https://onnx.ai/onnx/operators/onnx__SequenceEmpty.html, opset 11+."""
    return []


@op("SequenceLength", since=11, narrow=True)
def SequenceLength(input_sequence: list[Any]) -> Array:
    """How many elements, int64 []. Spec: https://onnx.ai/onnx/operators/onnx__SequenceLength.html, opset 11+."""
    return np.asarray(len(input_sequence), np.int64)


def _place(position: Array, size: int) -> int:
    index = scalar(position)
    if not -size <= index < size:
        raise InvalidInput(f"position is {index}, expected a value in [{-size}, {size})")
    return index % size


@op("SequenceAt", since=11, narrow=True)
def SequenceAt(input_sequence: list[Any], position: Array) -> Any:
    """One element. Spec: https://onnx.ai/onnx/operators/onnx__SequenceAt.html, opset 11+."""
    return input_sequence[_place(position, len(input_sequence))]


@op("SequenceInsert", since=11, narrow=True)
def SequenceInsert(input_sequence: list[Any], tensor: Any, position: Array | None = None) -> list[Any]:
    """With a tensor put before a position, or at the end.

    Spec: https://onnx.ai/onnx/operators/onnx__SequenceInsert.html, opset 11+.
    """
    size = len(input_sequence)
    index = size if position is None else scalar(position)
    if not -size <= index <= size:
        raise InvalidInput(f"position is {index}, expected a value in [{-size}, {size}]")
    index = index + size if index < 0 else index
    return [*input_sequence[:index], tensor, *input_sequence[index:]]


@op("SequenceErase", since=11, narrow=True)
def SequenceErase(input_sequence: list[Any], position: Array | None = None) -> list[Any]:
    """Without one element, the last by default.

    Spec: https://onnx.ai/onnx/operators/onnx__SequenceErase.html, opset 11+.
    """
    index = _place(np.asarray(-1) if position is None else position, len(input_sequence))
    return [*input_sequence[:index], *input_sequence[index + 1 :]]


@op("SplitToSequence", since=11)
def SplitToSequence(x: Array, split: Array | None = None, *, axis: int = 0, keepdims: int = 1) -> list[Array]:
    """Pieces along an axis.

    Spec: https://onnx.ai/onnx/operators/onnx__SplitToSequence.html, opset 11+.

    Args:
        split: a scalar: the size of every piece (the last may be smaller); [n]: their sizes; None: 1 each.
        keepdims: 0: without the axis, where ``split`` is None.
    """
    axis = axis_in_range(axis, x.ndim)
    size = x.shape[axis]
    if split is None:
        pieces = np.split(x, size, axis=axis) if size else []
        return list(pieces) if keepdims else [piece.squeeze(axis) for piece in pieces]
    if split.ndim == 0:
        step = int(split)
        if step <= 0:
            raise InvalidInput(f"split is {step}, expected a size of at least 1")
        sizes = (
            split_sizes(size, max(-(-size // step), 1)) if size % step == 0 else [step] * (size // step) + [size % step]
        )
    else:
        sizes = split.tolist()
    if sum(sizes) != size:
        raise InvalidInput(f"split is {sizes}, expected sizes that sum to {size}")
    return list(np.split(x, np.cumsum(sizes)[:-1], axis=axis))


@op("ConcatFromSequence", since=11)
def ConcatFromSequence(input_sequence: list[Array], *, axis: int, new_axis: int = 0) -> Array:
    """The elements joined along an axis, or stacked along a new one.

    Spec: https://onnx.ai/onnx/operators/onnx__ConcatFromSequence.html, opset 11+.
    """
    if not input_sequence:
        raise InvalidInput("the sequence is empty, so the result has no shape")
    return np.stack(input_sequence, axis) if new_axis else Concat(*input_sequence, axis=axis)


@op("Optional", since=15, narrow=True)
def Optional(x: Any = None, *, type: Type | None = None) -> Any:
    """A value that may be absent. Spec: https://onnx.ai/onnx/operators/onnx__Optional.html, opset 15+."""
    return x


@op("OptionalHasElement", since=15, narrow=True)
def OptionalHasElement(x: Any = None) -> Array:
    """Whether a value is there. Spec: https://onnx.ai/onnx/operators/onnx__OptionalHasElement.html, opset 15+."""
    return np.asarray(x is not None)


@op("OptionalGetElement", since=15, narrow=True)
def OptionalGetElement(x: Any) -> Any:
    """The value itself. Spec: https://onnx.ai/onnx/operators/onnx__OptionalGetElement.html, opset 15+."""
    if x is None:
        raise InvalidInput("the optional is empty")
    return x
