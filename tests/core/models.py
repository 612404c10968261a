"""Small models that the core's tests run, made without the onnx package, which Pyodide does not have."""

from collections.abc import Mapping, Sequence

import numpy as np

from onnxlet import protobuf
from onnxlet.dtypes import Array, DataType
from onnxlet.model import Graph, Model, Node, TensorType, ValueInfo
from onnxlet.tensors import from_array

__all__ = ["DTYPES", "identity", "model"]

Shape = Sequence[int | str | None]

DTYPES = {
    "float32": DataType.FLOAT,
    "float64": DataType.DOUBLE,
    "float16": DataType.FLOAT16,
    "int8": DataType.INT8,
    "int16": DataType.INT16,
    "int32": DataType.INT32,
    "int64": DataType.INT64,
    "uint8": DataType.UINT8,
    "uint16": DataType.UINT16,
    "uint32": DataType.UINT32,
    "uint64": DataType.UINT64,
    "bool": DataType.BOOL,
}


def model(
    nodes: Sequence[Node],
    inputs: Mapping[str, tuple[DataType, Shape]],
    outputs: Mapping[str, tuple[DataType, Shape | None]],
    initializers: Mapping[str, Array] | None = None,
    imports: Mapping[str, int] | None = None,
) -> bytes:
    """Args: inputs, outputs: (element type, shape) by name; imports: opsets by domain."""
    graph = Graph(
        name="g",
        nodes=tuple(nodes),
        inputs=tuple(_value(name, *kind) for name, kind in inputs.items()),
        outputs=tuple(_value(name, *kind) for name, kind in outputs.items()),
        initializers=tuple(from_array(name, np.asarray(value)) for name, value in (initializers or {}).items()),
    )
    return protobuf.dump(Model(graph, imports or {"": 21}, ir_version=10))


def identity(elem_type: DataType, shape: Shape = ("a", "b")) -> bytes:
    """y = x, by an operator that has kernels for every type."""
    node = Node("Identity", ("x",), ("y",), name="same")
    return model([node], {"x": (elem_type, shape)}, {"y": (elem_type, shape)})


def _value(name: str, elem_type: DataType, shape: Shape | None) -> ValueInfo:
    return ValueInfo(name, TensorType(elem_type, None if shape is None else tuple(shape)))
