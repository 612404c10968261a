"""Between which numbers the integers of a graph lie, as far as the graph itself proves it.

Interval arithmetic, forwards over the main graph's nodes. Dimensions of tensors are below 2^31: a WebAssembly memory
holds no more elements. Of a graph's inputs nothing is known, except where they index a table with a known length.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import onnx

from onnxlet.dtypes import DataType
from onnxlet.model import TensorType

__all__ = ["MAX_DIM", "Interval", "attribute", "constants", "ranges"]

Interval = tuple[int, int]
MAX_DIM = 2**31 - 1
MAX_TERMS = 2**30  # of a sum: they have 4 bytes or more each, and a WebAssembly memory has 4 GiB
_MOVES = {"Identity", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose", "Expand", "Tile", "Slice", "Split"}
_MOVES |= {"Gather", "GatherElements", "GatherND", "ReduceMax", "ReduceMin"}
_OF_TYPE = {
    DataType.BOOL: (0, 1),
    DataType.INT8: (-128, 127),
    DataType.UINT8: (0, 255),
    DataType.INT16: (-(2**15), 2**15 - 1),
    DataType.UINT16: (0, 2**16 - 1),
    DataType.INT32: (-(2**31), 2**31 - 1),
    DataType.UINT32: (0, 2**32 - 1),
}


def constants(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """Initializers that no caller replaces, and the tensors of Constant nodes, by name."""
    inputs = {value.name for value in graph.input}
    found = {tensor.name: tensor for tensor in graph.initializer if tensor.name not in inputs}
    for node in graph.node:
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            for given in node.attribute:
                if given.name == "value":
                    found[node.output[0]] = given.t
                elif given.name in ("value_int", "value_ints"):
                    value = given.i if given.name == "value_int" else list(given.ints)
                    found[node.output[0]] = onnx.numpy_helper.from_array(np.array(value, np.int64))
    return found


def attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    """An integer attribute."""
    return next((a.i for a in node.attribute if a.name == name), default)


def ranges(graph: onnx.GraphProto, types: Mapping[str, TensorType]) -> dict[str, Interval]:
    """The interval of each integer value that has one; a value that is not there may be anything.

    Args:
        types: type and shape of the graph's values, as far as known.
    """
    known: dict[str, Interval] = {}
    for name, tensor in constants(graph).items():
        if tensor.data_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32, onnx.TensorProto.BOOL):
            values = onnx.numpy_helper.to_array(tensor)
            known[name] = (int(values.min()), int(values.max())) if values.size else (0, 0)
    shapes = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    shapes |= {name: kind.shape for name, kind in types.items() if kind.shape is not None}
    inputs = {value.name for value in graph.input}
    for node in graph.node:
        if node.op_type == "Gather" and node.input[1] in inputs and node.input[0] in shapes:
            rows = _dim(shapes[node.input[0]], attribute(node, "axis", 0))
            known[node.input[1]] = (-rows, rows - 1)  # any other index is an error
    for node in graph.node:
        if node.domain in ("", "ai.onnx"):
            found = _of_node(node, known, types, shapes)
            known |= {name: found for name in node.output if name and found is not None}
    return known


def _dim(shape: Sequence[int | str | None], axis: int) -> int:
    size = shape[axis] if -len(shape) <= axis < len(shape) else None
    return size if isinstance(size, int) else MAX_DIM


def _of_node(
    node: onnx.NodeProto,
    known: Mapping[str, Interval],
    types: Mapping[str, TensorType],
    shapes: Mapping[str, Sequence[int | str | None]],
) -> Interval | None:
    """The interval of a node's outputs."""
    first = node.input[0] if node.input else ""
    shape = shapes.get(first, ())
    given = [known.get(name) for name in node.input if name]
    match node.op_type:
        case "Shape":
            dims = [d for d in shape if isinstance(d, int)]
            return (min(dims), max(dims)) if dims and len(dims) == len(shape) else (0, MAX_DIM)
        case "ArgMax" | "ArgMin":
            return 0, _dim(shape, attribute(node, "axis", 0)) - 1
        case "NonZero":
            return 0, max((_dim(shape, axis) for axis in range(len(shape))), default=MAX_DIM) - 1
        case "Cast":
            kind = types.get(first)
            return known.get(first) or (_OF_TYPE.get(kind.elem_type) if kind else None)
        case op if op in _MOVES:
            return known.get(first)
        case "Where":
            return _hull(given[1:])
        case "Concat" | "Range":
            return _hull(given[:2] if node.op_type == "Range" else given)
        case "CumSum" | "ReduceSum":
            sizes = [_dim(shape, axis) for axis in range(len(shape))]
            # CumSum adds up along one axis, ReduceSum along one or several
            terms = (max(sizes) if node.op_type == "CumSum" else math.prod(sizes)) if sizes else MAX_TERMS
            return _scaled(known.get(first), min(max(terms, 1), MAX_TERMS))
        case "Neg":
            return (-given[0][1], -given[0][0]) if given[0] else None
        case "Abs":
            return (0, max(abs(given[0][0]), abs(given[0][1]))) if given[0] else None
    if None in given or not given:
        return None
    both = [pair for pair in given if pair is not None]
    return _ARITHMETIC[node.op_type](*both) if node.op_type in _ARITHMETIC and len(both) == 2 else None


def _hull(given: Iterable[Interval | None]) -> Interval | None:
    pairs = list(given)
    sure = [pair for pair in pairs if pair is not None]
    return (min(p[0] for p in sure), max(p[1] for p in sure)) if sure and len(sure) == len(pairs) else None


def _scaled(pair: Interval | None, terms: int) -> Interval | None:
    return (min(pair[0], pair[0] * terms), max(pair[1], pair[1] * terms)) if pair else None


def _product(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _quotient(a: Interval, b: Interval) -> Interval | None:
    return (min(a[0], 0), max(a[1], 0)) if b[0] > 0 else None


_ARITHMETIC: dict[str, Callable[[Interval, Interval], Interval | None]] = {
    "Add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "Sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "Mul": _product,
    "Div": _quotient,
    "Mod": lambda a, b: (0, b[1] - 1) if b[0] > 0 and a[0] >= 0 else None,
    "Min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "Max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
