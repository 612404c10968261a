"""Makes ONNX's backend node tests with the installed onnx package, and keeps them in a file."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

from onnxlet import protobuf
from onnxlet.dtypes import DataType, Narrow

from .node_cases import Case

__all__ = ["FORMAT", "ML_DTYPES", "load", "to_core"]

FORMAT = 3  # of the file: change it with Case

# Numpy's extension types, by which the onnx package writes what numpy lacks.
ML_DTYPES = {
    DataType.BFLOAT16: ml_dtypes.bfloat16,
    DataType.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    DataType.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    DataType.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    DataType.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    DataType.FLOAT8E8M0: ml_dtypes.float8_e8m0fnu,
    DataType.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
    DataType.UINT4: ml_dtypes.uint4,
    DataType.INT4: ml_dtypes.int4,
    DataType.UINT2: ml_dtypes.uint2,
    DataType.INT2: ml_dtypes.int2,
}
_NARROW = {np.dtype(v): k for k, v in ML_DTYPES.items()}


def load(cache: Path) -> list[Case]:
    """Every case of the installed onnx (a quarter of a minute), from a file in `cache` where it has been made before.

    The file is a pickle of `Case`s, whose values are numpy's and the core's: onnx is not needed to read it.
    """
    file = cache / f"node-cases-{onnx.__version__}-{FORMAT}.pickle"
    if not file.exists():
        partial = file.with_suffix(f".{os.getpid()}")  # another worker may make it too
        partial.write_bytes(pickle.dumps(_generate()))
        partial.replace(file)
    return pickle.loads(file.read_bytes())


def _generate() -> list[Case]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [_case(test) for test in load_model_tests(kind="node")]


def _case(test: Any) -> Case:
    model = test.model.SerializeToString()
    graph = protobuf.load(model).graph
    inputs, outputs = [v.name for v in graph.feeds], [v.name for v in graph.outputs]
    data_sets = [(_by_name(inputs, given), _by_name(outputs, expected)) for given, expected in test.data_sets]
    return Case(test.name, model, data_sets, test.rtol, test.atol)


def _by_name(names: Sequence[str], values: Any) -> dict[str, Any]:
    pairs = values.items() if isinstance(values, Mapping) else zip(names, values, strict=False)
    return {name: to_core(value) for name, value in pairs}


def to_core(value: Any) -> Any:
    """A value of the onnx package as the core has it."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    if value is None or isinstance(value, list | tuple):
        return None if value is None else [to_core(item) for item in value]
    array = np.asarray(value)
    if array.dtype in _NARROW:
        data_type = _NARROW[array.dtype]
        return Narrow(data_type, array.astype(data_type.numpy))
    return array.astype(object) if array.dtype.kind in "US" else array
