"""Constants of a model as arrays, and arrays of narrow types as bits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .dtypes import Array, DataType, Narrow, from_numpy
from .errors import InvalidInput, InvalidModel
from .model import SparseTensor, Tensor
from .ops.narrow import decode, encode

__all__ = ["from_array", "from_bits", "from_packed", "pack", "to_array", "to_bits", "to_dense", "to_packed", "unpack"]

DENSE_LIMIT_BYTES = 2**31  # of a sparse tensor written out: what a page can hold at most


def to_array(tensor: Tensor) -> Array | Narrow:
    """A tensor's elements, without a copy where the file's bytes can be used as they lie (then read-only).

    Returns: an array of ``tensor.dims`` in the numpy dtype, strings as objects; a `Narrow` where numpy lacks the type.
    Raises: InvalidModel: the elements lie in another file and were not fetched, or a string is not UTF-8.
    """
    if tensor.external and not len(tensor.data) and 0 not in tensor.dims:
        raise InvalidModel(
            f'tensor "{tensor.name}": its elements lie in "{tensor.external.location}", which was not read: '
            "open the model by its path, or give the folder as base"
        )
    if tensor.data_type == DataType.STRING:
        return _strings(tensor)
    if tensor.data_type.is_narrow:
        return from_packed(tensor.data_type, tensor.data, tensor.dims)
    dtype = tensor.data_type.numpy
    if dtype == np.bool_:
        return (np.frombuffer(tensor.data, np.uint8) != 0).reshape(tensor.dims)
    array = np.frombuffer(tensor.data, dtype.newbyteorder("<"))
    if not array.flags.aligned:
        array = array.copy()  # once, instead of in every operation on it
    return array.reshape(tensor.dims)


def _strings(tensor: Tensor) -> Array:
    array = np.empty(len(tensor.strings), object)
    for i, string in enumerate(tensor.strings):
        try:
            array[i] = string.decode()
        except UnicodeDecodeError as error:
            raise InvalidModel(f'tensor "{tensor.name}": string {i} is not UTF-8: {error.reason}') from None
    return array.reshape(tensor.dims)


def from_array(name: str, value: Array | Narrow) -> Tensor:
    """The inverse of `to_array`; the tensor has the array's memory where that is contiguous.

    Raises: InvalidInput: ONNX has no type for the array's dtype.
    """
    if isinstance(value, Narrow):
        return Tensor(name=name, data_type=value.data_type, dims=value.shape, data=to_packed(value))
    value = np.asarray(value)
    data_type = from_numpy(value.dtype)
    if data_type == DataType.UNDEFINED:
        raise InvalidInput(f'array "{name}" has dtype {value.dtype}, which ONNX does not have')
    if data_type == DataType.STRING:
        strings = tuple(v if isinstance(v, bytes) else str(v).encode() for v in value.reshape(-1).tolist())
        return Tensor(name=name, data_type=data_type, dims=value.shape, strings=strings)
    array = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
    data = array.reshape(-1).view(np.uint8).data if array.size else b""
    return Tensor(name=name, data_type=data_type, dims=value.shape, data=data)


def to_dense(sparse: SparseTensor) -> Array | Narrow:
    """A sparse tensor with its zeros (empty strings) written out.

    Raises: InvalidModel: an index is out of range, given twice or out of order, or the result is over 2 GiB.
    """
    flat = flat_indices(sparse)
    size = math.prod(sparse.dims)
    data_type = sparse.values.data_type
    if size * data_type.numpy.itemsize > DENSE_LIMIT_BYTES:
        raise InvalidModel(
            f'sparse tensor "{sparse.name}": with its zeros it has {size} elements (dims {list(sparse.dims)}), '
            f"over {DENSE_LIMIT_BYTES} bytes"
        )
    values = to_array(sparse.values)
    dense = np.full(size, "", object) if data_type == DataType.STRING else np.zeros(size, data_type.numpy)
    dense[flat] = values.values if isinstance(values, Narrow) else values
    dense = dense.reshape(sparse.dims)
    return Narrow(data_type, dense) if data_type.is_narrow else dense


def flat_indices(sparse: SparseTensor) -> Array:
    """Positions of a sparse tensor's values in the flattened dense one: int64 [nnz], ascending.

    Raises: InvalidModel: an index is out of range, given twice or out of order.
    """
    where = f'sparse tensor "{sparse.name}"'
    if math.prod(sparse.dims) >= 2**63:
        raise InvalidModel(f"{where}: dims {list(sparse.dims)} have more elements than fit 63 bits")
    indices = to_array(sparse.indices)
    assert isinstance(indices, np.ndarray), "the reader checked that indices are INT64"
    if indices.ndim == 1:
        flat, limits = indices, np.array([math.prod(sparse.dims)])
    else:
        limits = np.array(sparse.dims, np.int64)
        strides = [math.prod(sparse.dims[i + 1 :]) for i in range(len(sparse.dims))]
        flat = indices @ np.array(strides, np.int64)
    if indices.size and ((indices < 0) | (indices.reshape(len(indices), -1) >= limits).reshape(indices.shape)).any():
        raise InvalidModel(f"{where}: an index is outside of dims {list(sparse.dims)}")
    if (np.diff(flat) <= 0).any():
        raise InvalidModel(f"{where}: its indices are not in ascending order, or one stands twice")
    return flat


def to_bits(value: Narrow) -> Array:
    """Each element's bits, [*shape]: uint16 for bfloat16, uint8 for float8 and float4.

    Integers of 2 and 4 bits are their values, in int8 or uint8.
    """
    if _is_integer(value.data_type):
        return value.values
    return encode(value.values, value.data_type)


def from_bits(data_type: DataType, bits: Array) -> Narrow:
    """The inverse of `to_bits`.

    Raises: InvalidInput: a value does not fit the type's bits.
    """
    if _is_integer(data_type):
        low, high = (0, (1 << data_type.bits) - 1)
        if data_type.numpy.kind == "i":
            low, high = -(1 << (data_type.bits - 1)), (1 << (data_type.bits - 1)) - 1
        if bits.size and (bits.min() < low or bits.max() > high):
            raise InvalidInput(f"{data_type.name}: values from {bits.min()} to {bits.max()}, expected {low} to {high}")
        return Narrow(data_type, bits.astype(data_type.numpy))
    if bits.size and int(bits.max()) >> data_type.bits:
        raise InvalidInput(f"{data_type.name}: bits up to {int(bits.max()):#x}, expected {data_type.bits} bits each")
    return Narrow(data_type, decode(bits, data_type))


def to_packed(value: Narrow) -> bytes:
    """Elements as in TensorProto.raw_data: little-endian, those under 8 bits packed from the lowest bit up."""
    codes = encode(value.values, value.data_type).reshape(-1)
    return (
        pack(codes, value.data_type.bits) if value.data_type.bits < 8 else codes.astype(f"<u{codes.itemsize}").tobytes()
    )


def from_packed(data_type: DataType, data: bytes | memoryview, shape: Sequence[int]) -> Narrow:
    """The inverse of `to_packed`; `data` has as many bytes as `shape` asks for."""
    if data_type.bits < 8:
        codes = unpack(data, data_type.bits, math.prod(shape))
    else:
        codes = np.frombuffer(data, f"<u{data_type.bits // 8}")
    return Narrow(data_type, decode(codes, data_type).reshape(shape))


def pack(codes: Array, bits: int) -> bytes:
    """Codes of 2 or 4 bits, uint8 [n], in whole bytes; the first in the lowest bits, the rest of the last byte zero."""
    per_byte = 8 // bits
    padded = np.zeros(-(-codes.size // per_byte) * per_byte, np.uint8)
    padded[: codes.size] = codes
    groups = padded.reshape(-1, per_byte) << (np.arange(per_byte, dtype=np.uint8) * bits)
    return np.bitwise_or.reduce(groups, axis=1).tobytes()


def unpack(data: bytes | memoryview, bits: int, count: int) -> Array:
    """The inverse of `pack`: uint8 [count]."""
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    codes = np.frombuffer(data, np.uint8)[:, None] >> shifts & np.uint8((1 << bits) - 1)
    return codes.reshape(-1)[:count]


def _is_integer(data_type: DataType) -> bool:
    return data_type.is_narrow and data_type.numpy.kind in "iu"
