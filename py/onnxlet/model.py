"""An ONNX model in memory: frozen values that know nothing of files.

The classes and fields are those of onnx.proto, in Python's spelling. `protobuf.py` reads and writes them.
Weights are not copied: `Tensor.data` is a slice of the file's bytes until somebody asks for an array.
`unknown` keeps the encoded fields that have no name here (training information, device placement, fields of a later
ONNX), so that a file can be written back with them. Types are equal when they mean the same; all else by identity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .dtypes import DataType
from .records import dataclass, field

__all__ = [
    "Attribute",
    "Dim",
    "ExternalData",
    "Function",
    "Graph",
    "MapType",
    "Model",
    "Node",
    "OpaqueType",
    "OptionalType",
    "SequenceType",
    "SparseTensor",
    "SparseTensorType",
    "Tensor",
    "TensorType",
    "Type",
    "ValueInfo",
]

Dim = int | str | None  # a size, a symbol ("batch"), or unknown


@dataclass(frozen=True, slots=True)
class TensorType:
    """Type of a tensor value. ``shape`` is None where even the rank is unknown; ``denotations`` is one text a dim."""

    elem_type: DataType
    shape: tuple[Dim, ...] | None = None
    denotations: tuple[str, ...] = field(default=(), compare=False)
    unknown: bytes = field(default=b"", compare=False)


@dataclass(frozen=True, slots=True)
class SparseTensorType:
    """Type of a sparse tensor value."""

    elem_type: DataType
    shape: tuple[Dim, ...] | None = None
    denotations: tuple[str, ...] = field(default=(), compare=False)
    unknown: bytes = field(default=b"", compare=False)


@dataclass(frozen=True, slots=True)
class SequenceType:
    """Type of a list of values of one type."""

    elem_type: Type | None
    unknown: bytes = field(default=b"", compare=False)


@dataclass(frozen=True, slots=True)
class OptionalType:
    """Type of a value that may be absent."""

    elem_type: Type | None
    unknown: bytes = field(default=b"", compare=False)


@dataclass(frozen=True, slots=True)
class MapType:
    """Type of a dictionary (ai.onnx.ml)."""

    key_type: DataType
    value_type: Type | None
    unknown: bytes = field(default=b"", compare=False)


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type that only custom operators understand."""

    domain: str
    name: str
    unknown: bytes = field(default=b"", compare=False)


Type = TensorType | SparseTensorType | SequenceType | OptionalType | MapType | OpaqueType


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """A named value's declared type; ``type`` is None where nothing was declared."""

    name: str
    type: Type | None = None
    doc: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    unknown: bytes = b""


@dataclass(frozen=True, slots=True)
class ExternalData:
    """Where a tensor's bytes lie outside the model file; ``location`` is relative to the model's folder."""

    location: str
    offset: int = 0
    length: int | None = None
    checksum: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A constant.

    Args:
        data: little-endian packed elements, as in TensorProto.raw_data, whatever field the file used;
            empty where ``strings`` holds them, or where ``external`` says where they are and nobody fetched them.
        strings: elements of a STRING tensor.
        external: where the elements lay; ``data`` holds them too once they were fetched.
    """

    name: str
    data_type: DataType
    dims: tuple[int, ...]
    data: memoryview | bytes = b""
    strings: tuple[bytes, ...] = ()
    external: ExternalData | None = None
    doc: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    unknown: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class SparseTensor:
    """A constant in coordinate form: ``indices`` is [nnz] (linear) or [nnz, rank], int64, sorted."""

    values: Tensor
    indices: Tensor
    dims: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.values.name


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A node's attribute.

    Args:
        type: AttributeProto.AttributeType's number (FLOAT 1, INT 2, STRING 3, TENSOR 4, GRAPH 5, FLOATS 6, INTS 7,
            STRINGS 8, TENSORS 9, GRAPHS 10, SPARSE_TENSOR 11, SPARSE_TENSORS 12, TYPE_PROTO 13, TYPE_PROTOS 14).
        value: float, int, bytes, Tensor, Graph, SparseTensor, Type, or a tuple of one of them.
        ref_attr_name: inside a function, the name of the function's attribute that stands here; else "".
    """

    name: str
    type: int
    value: Any = None
    ref_attr_name: str = ""
    doc: str = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One operation. "" in ``inputs`` or ``outputs`` is an optional one left out."""

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    name: str = ""
    domain: str = ""
    overload: str = ""
    doc: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    unknown: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Nodes in topological order, with what goes in, what comes out and what is constant."""

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    initializers: tuple[Tensor, ...] = ()
    sparse_initializers: tuple[SparseTensor, ...] = ()
    value_info: tuple[ValueInfo, ...] = ()
    doc: str = ""
    quantization_annotation: tuple[tuple[str, Mapping[str, str]], ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    unknown: bytes = b""

    @property
    def feeds(self) -> tuple[ValueInfo, ...]:
        """Inputs that a caller must give: those without an initializer of the same name."""
        given = {t.name for t in self.initializers} | {t.name for t in self.sparse_initializers}
        return tuple(v for v in self.inputs if v.name not in given)


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A model-local function: an operator defined by nodes."""

    name: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[Node, ...]
    attributes: tuple[str, ...] = ()
    attribute_defaults: Mapping[str, Attribute] = field(default_factory=dict)
    opset_imports: Mapping[str, int] = field(default_factory=dict)
    overload: str = ""
    value_info: tuple[ValueInfo, ...] = ()
    doc: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    unknown: bytes = b""


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A whole ONNX file. The default domain is "" in ``opset_imports``, never "ai.onnx"."""

    graph: Graph
    opset_imports: Mapping[str, int]
    ir_version: int
    functions: Sequence[Function] = ()
    producer_name: str = ""
    producer_version: str = ""
    domain: str = ""
    model_version: int = 0
    doc: str = ""
    metadata: Mapping[str, str] = field(default_factory=dict)
    unknown: bytes = b""
