"""The messages of onnx.proto that describe values: tensors, sparse tensors and types.

Each message has one function that reads it and one that writes it, with the field numbers in both.
Source: onnx.proto of onnx 1.23.2 (IR version 14).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

import numpy as np

from .dtypes import DataType
from .model import (
    Dim,
    ExternalData,
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensor,
    SparseTensorType,
    Tensor,
    TensorType,
    Type,
    ValueInfo,
)
from .wire_format import Bytes, Message, Writer

__all__ = [
    "read_metadata",
    "read_sparse_tensor",
    "read_tensor",
    "read_type",
    "read_value_info",
    "write_all",
    "write_metadata",
    "write_sparse_tensor",
    "write_tensor",
    "write_type",
    "write_value_info",
]

T = TypeVar("T")
EXTERNAL = 1  # TensorProto.DataLocation
MAX_RANK = 64  # numpy's
MAX_ELEMENTS = 2**59  # of 16 bytes; numpy counts dims this way even where another one is 0


def read_metadata(m: Message, number: int) -> dict[str, str]:
    """StringStringEntryProto entries; of a key that stands twice, the last counts."""
    return dict(m.messages(number, "metadata", lambda e: (e.prose(1), e.prose(2))))


def write_metadata(out: Writer, number: int, metadata: Mapping[str, str]) -> None:
    for key, value in metadata.items():
        entry = Writer()
        entry.string(1, key)
        entry.string(2, value)
        out.message(number, entry)


def write_all(out: Writer, number: int, values: Iterable[T], write: Callable[[T], Writer]) -> None:
    for value in values:
        out.message(number, write(value))


# TensorProto, SparseTensorProto


def read_tensor(m: Message) -> Tensor:
    """A tensor whose data has the length that its type and dims ask for."""
    name = m.string(8)
    m.label += f' "{name}"' if name else ""
    data_type = _data_type(m, 2)
    if data_type == DataType.UNDEFINED:
        raise m.error("has no element type")
    dims = _dims(m, 1)
    count = math.prod(dims)

    data: Bytes = b""
    strings: tuple[bytes, ...] = ()
    external = None
    if m.integer(14) == EXTERNAL:
        external = _read_external(m)
        if m.context is not None:
            data = m.context.fetch(m, external, size_bytes(data_type, count))
    elif data_type == DataType.STRING:
        strings = tuple(bytes(b) for b in m.blobs(6))
        if len(strings) != count:
            raise m.error(f"has {len(strings)} strings, expected {count} for dims {list(dims)}")
    else:
        data = m.blob(9) if m.has(9) else _typed_data(m, data_type)
        if len(data) != size_bytes(data_type, count):
            raise m.error(
                f"has {len(data)} bytes of data, expected {size_bytes(data_type, count)} "
                f"({data_type.name}, dims {list(dims)})"
            )
    return Tensor(
        name=name,
        data_type=data_type,
        dims=dims,
        data=data,
        strings=strings,
        external=external,
        doc=m.prose(12),
        metadata=read_metadata(m, 16),
        unknown=m.rest(),
    )


def size_bytes(data_type: DataType, count: int) -> int:
    """Bytes of `count` packed elements; sub-byte types fill whole bytes."""
    return -(-count * data_type.bits // 8)


def _dims(m: Message, number: int) -> tuple[int, ...]:
    dims = m.varints(number).view(np.int64)
    if dims.size > MAX_RANK:
        raise m.error(f"has {dims.size} dims, expected at most {MAX_RANK}")
    if (dims < 0).any():
        raise m.error(f"has dims {dims.tolist()}, expected none below 0")
    if math.prod(d for d in dims.tolist() if d) > MAX_ELEMENTS:
        raise m.error(f"has dims {dims.tolist()}, more elements than can be addressed")
    return tuple(dims.tolist())


def _typed_data(m: Message, data_type: DataType) -> Bytes:
    """float_data, int32_data ... as raw_data would have it."""
    match data_type:
        case DataType.FLOAT | DataType.COMPLEX64:
            return m.fixed(4, np.dtype("<f4"))
        case DataType.DOUBLE | DataType.COMPLEX128:
            return m.fixed(10, np.dtype("<f8"))
        case DataType.INT64:
            return m.varints(7).tobytes()
        case DataType.UINT32 | DataType.UINT64:
            return m.varints(11).astype(f"<u{data_type.bits // 8}").tobytes()
        case _:  # one number an element, as bits; below 8 bits one number for each byte of packed elements
            return m.varints(5).astype(f"<u{max(data_type.bits, 8) // 8}").tobytes()


def _read_external(m: Message) -> ExternalData:
    entries = read_metadata(m, 13)
    location = entries.get("location", "")
    if not location:
        raise m.error("is stored in another file, but does not say in which (external_data has no location)")
    try:
        offset = int(entries.get("offset", "0"))
        length = int(entries["length"]) if "length" in entries else None
    except ValueError:
        raise m.error(f"external_data has an offset or a length that is no number: {entries}") from None
    if offset < 0 or (length or 0) < 0:
        raise m.error(f"external_data has offset {offset} and length {length}, expected none below 0")
    return ExternalData(location=location, offset=offset, length=length, checksum=entries.get("checksum", ""))


def write_tensor(tensor: Tensor) -> Writer:
    """Elements that are at hand are written; else where they lie."""
    out = Writer()
    out.integers(1, tensor.dims)
    out.integer(2, tensor.data_type)
    for string in tensor.strings:
        out.blob(6, string, keep_empty=True)
    out.string(8, tensor.name)
    out.blob(9, tensor.data)
    out.string(12, tensor.doc)
    if tensor.external and not len(tensor.data):
        where = tensor.external
        entries = {"location": where.location, "offset": str(where.offset)}
        if where.length is not None:
            entries["length"] = str(where.length)
        if where.checksum:
            entries["checksum"] = where.checksum
        write_metadata(out, 13, entries)
        out.integer(14, EXTERNAL)
    write_metadata(out, 16, tensor.metadata)
    out.raw(tensor.unknown)
    return out


def read_sparse_tensor(m: Message) -> SparseTensor:
    """A sparse tensor whose parts fit each other; that its indices are in range is checked with the graph."""
    values = m.message(1, "values", read_tensor)
    if values is None:
        raise m.error("has no values")
    m.label += f' "{values.name}"' if values.name else ""
    indices = m.message(2, "indices", read_tensor)
    if indices is None:
        indices = Tensor(name="", data_type=DataType.INT64, dims=(0,))
    dims = _dims(m, 3)
    if len(values.dims) != 1:
        raise m.error(f"values have dims {list(values.dims)}, expected one dim")
    nnz = values.dims[0]
    if indices.data_type != DataType.INT64 or indices.dims not in ((nnz,), (nnz, len(dims))):
        raise m.error(
            f"indices are {indices.data_type.name} {list(indices.dims)}, expected INT64 [{nnz}] or [{nnz}, {len(dims)}]"
        )
    m.rest()
    return SparseTensor(values=values, indices=indices, dims=dims)


def write_sparse_tensor(sparse: SparseTensor) -> Writer:
    out = Writer()
    out.message(1, write_tensor(sparse.values))
    out.message(2, write_tensor(sparse.indices))
    out.integers(3, sparse.dims)
    return out


# ValueInfoProto, TypeProto, TensorShapeProto


def read_value_info(m: Message) -> ValueInfo:
    name = m.string(1)
    if not name:
        raise m.error("has no name")
    m.label += f' "{name}"'
    return ValueInfo(
        name=name,
        type=m.message(2, "type", read_type),
        doc=m.prose(3),
        metadata=read_metadata(m, 4),
        unknown=m.rest(),
    )


def write_value_info(value: ValueInfo) -> Writer:
    out = Writer()
    out.string(1, value.name, keep_empty=True)
    if value.type is not None:
        out.message(2, write_type(value.type))
    out.string(3, value.doc)
    write_metadata(out, 4, value.metadata)
    out.raw(value.unknown)
    return out


def read_type(m: Message) -> Type | None:
    """None where the message says nothing."""
    tensor = m.message(1, "tensor_type", _tensor_parts)
    sparse = m.message(8, "sparse_tensor_type", _tensor_parts)
    sequence = m.message(4, "sequence_type", _element)
    optional = m.message(9, "optional_type", _element)
    mapping = m.message(5, "map_type", lambda t: (_data_type(t, 1), t.message(2, "value_type", read_type)))
    opaque = m.message(7, "opaque_type", lambda t: (t.string(1), t.string(2)))
    rest = m.rest()
    if tensor:
        return TensorType(*tensor, unknown=rest)
    if sparse:
        return SparseTensorType(*sparse, unknown=rest)
    if sequence:
        return SequenceType(*sequence, unknown=rest)
    if optional:
        return OptionalType(*optional, unknown=rest)
    if mapping:
        return MapType(*mapping, unknown=rest)
    return OpaqueType(*opaque, unknown=rest) if opaque else None


def write_type(type_: Type) -> Writer:
    out, inner = Writer(), Writer()
    match type_:
        case TensorType() | SparseTensorType():
            inner.integer(1, type_.elem_type)
            if type_.shape is not None:
                inner.message(2, _write_shape(type_.shape, type_.denotations))
            out.message(1 if isinstance(type_, TensorType) else 8, inner)
        case SequenceType() | OptionalType():
            if type_.elem_type is not None:
                inner.message(1, write_type(type_.elem_type))
            out.message(4 if isinstance(type_, SequenceType) else 9, inner)
        case MapType():
            inner.integer(1, type_.key_type)
            if type_.value_type is not None:
                inner.message(2, write_type(type_.value_type))
            out.message(5, inner)
        case OpaqueType():
            inner.string(1, type_.domain)
            inner.string(2, type_.name)
            out.message(7, inner)
    out.raw(type_.unknown)
    return out


def _data_type(m: Message, number: int) -> DataType:
    value = m.integer(number)
    try:
        return DataType(value)
    except ValueError:
        raise m.error(
            f"has element type {value}, expected one of 0 to {max(DataType)} (TensorProto.DataType)"
        ) from None


def _tensor_parts(m: Message) -> tuple[DataType, tuple[Dim, ...] | None, tuple[str, ...]]:
    shape, denotations = m.message(2, "shape", _read_shape) or (None, ())
    return _data_type(m, 1), shape, denotations


def _element(m: Message) -> tuple[Type | None]:
    return (m.message(1, "elem_type", read_type),)


def _read_shape(m: Message) -> tuple[tuple[Dim, ...], tuple[str, ...]]:
    dims = m.messages(1, "dim", _read_dim)
    denotations = tuple(d for _, d in dims)
    return tuple(d for d, _ in dims), denotations if any(denotations) else ()


def _read_dim(m: Message) -> tuple[Dim, str]:
    denotation = m.string(3)
    if not m.has(1):
        return m.string(2) or None, denotation
    size = m.integer(1)
    if size < -1:
        raise m.error(f"is {size}, expected 0 or more")
    return None if size == -1 else size, denotation  # old exporters write -1 for an unknown size


def _write_shape(shape: tuple[Dim, ...], denotations: tuple[str, ...]) -> Writer:
    out = Writer()
    for i, size in enumerate(shape):
        dim = Writer()
        if isinstance(size, int):
            dim.integer(1, size, keep_zero=True)
        elif size:
            dim.string(2, size)
        if denotations:
            dim.string(3, denotations[i])
        out.message(1, dim)
    return out
