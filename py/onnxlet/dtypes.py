"""ONNX element types, and what numpy and onnxruntime call them.

Numpy has no bfloat16, float8 or sub-byte integers. An array of such a type is a `Narrow`: its values in the
nearest wider numpy dtype (bfloat16 and float8 in float32, 2- and 4-bit integers in int8 or uint8), plus the type.
Source of the numbers: onnx.proto, TensorProto.DataType.
"""

from enum import IntEnum
from typing import Any

import numpy as np

from .records import dataclass

__all__ = ["Array", "DataType", "Narrow", "from_numpy", "from_ort_type"]

Array = np.ndarray[Any, Any]


class DataType(IntEnum):
    """TensorProto.DataType, by the spec's names and numbers."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26

    @property
    def numpy(self) -> np.dtype[Any]:
        """The dtype that holds one value of this type; for a narrow type the wider one (see `Narrow`)."""
        return np.dtype(_NUMPY[self])

    @property
    def bits(self) -> int:
        """Bits of one element in a file; 0 for strings, whose length varies."""
        return _BITS.get(self, 0 if self == DataType.STRING else self.numpy.itemsize * 8)

    @property
    def is_narrow(self) -> bool:
        """Whether numpy lacks this type, so that arrays of it are `Narrow`."""
        return self in _BITS

    @property
    def ort_type(self) -> str:
        """What onnxruntime's ``NodeArg.type`` says, such as ``tensor(float)``."""
        return f"tensor({_ORT_NAME.get(self, self.name.lower())})"


_NUMPY: dict[DataType, Any] = {
    DataType.FLOAT: np.float32,
    DataType.UINT8: np.uint8,
    DataType.INT8: np.int8,
    DataType.UINT16: np.uint16,
    DataType.INT16: np.int16,
    DataType.INT32: np.int32,
    DataType.INT64: np.int64,
    DataType.STRING: object,
    DataType.BOOL: np.bool_,
    DataType.FLOAT16: np.float16,
    DataType.DOUBLE: np.float64,
    DataType.UINT32: np.uint32,
    DataType.UINT64: np.uint64,
    DataType.COMPLEX64: np.complex64,
    DataType.COMPLEX128: np.complex128,
    DataType.BFLOAT16: np.float32,
    DataType.FLOAT8E4M3FN: np.float32,
    DataType.FLOAT8E4M3FNUZ: np.float32,
    DataType.FLOAT8E5M2: np.float32,
    DataType.FLOAT8E5M2FNUZ: np.float32,
    DataType.FLOAT8E8M0: np.float32,
    DataType.FLOAT4E2M1: np.float32,
    DataType.UINT4: np.uint8,
    DataType.INT4: np.int8,
    DataType.UINT2: np.uint8,
    DataType.INT2: np.int8,
}

_BITS: dict[DataType, int] = {
    DataType.BFLOAT16: 16,
    DataType.FLOAT8E4M3FN: 8,
    DataType.FLOAT8E4M3FNUZ: 8,
    DataType.FLOAT8E5M2: 8,
    DataType.FLOAT8E5M2FNUZ: 8,
    DataType.FLOAT8E8M0: 8,
    DataType.FLOAT4E2M1: 4,
    DataType.UINT4: 4,
    DataType.INT4: 4,
    DataType.UINT2: 2,
    DataType.INT2: 2,
}

_ORT_NAME = {DataType.FLOAT: "float", DataType.DOUBLE: "double"}

_FROM_NUMPY = {
    np.dtype(_NUMPY[t]): t for t in DataType if t not in _BITS and t not in (DataType.UNDEFINED, DataType.STRING)
}


@dataclass(frozen=True, slots=True, eq=False)
class Narrow:
    """An array of a type that numpy lacks.

    Args:
        data_type: the ONNX type.
        values: every element already exactly representable in it, held in ``data_type.numpy``.
    """

    data_type: DataType
    values: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape


def from_numpy(dtype: np.dtype[Any]) -> DataType:
    """The ONNX type of a numpy dtype, whatever its byte order; strings (U, S, O, T) are STRING.

    Returns: UNDEFINED where ONNX has no such type (datetimes, structures).
    """
    if dtype.kind in "USOT":
        return DataType.STRING
    return _FROM_NUMPY.get(dtype.newbyteorder("="), DataType.UNDEFINED)


def from_ort_type(name: str) -> DataType:
    """The inverse of ``DataType.ort_type``; UNDEFINED for anything but a tensor type."""
    return _FROM_ORT.get(name, DataType.UNDEFINED)


_FROM_ORT = {t.ort_type: t for t in DataType if t != DataType.UNDEFINED}
