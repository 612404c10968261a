"""ONNX's backend node tests as data: the models, their inputs, and the outputs that are right.

`onnx.backend.test.loader` generates them, which takes a quarter of a minute; `load` keeps them in a file.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper

from onnxlet import protobuf
from onnxlet.dtypes import DataType, Narrow
from onnxlet.providers.reference import ReferenceExecutable

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


@dataclass(frozen=True)
class Case:
    """One model and what it must compute.

    Args:
        data_sets: pairs of inputs and outputs, in the graph's order or by name.
    """

    name: str
    model: bytes
    data_sets: Sequence[tuple[Any, Any]]
    rtol: float
    atol: float


def load(cache: Path) -> list[Case]:
    """Every case of the installed onnx, from `cache` (a folder) where it has them."""
    file = cache / f"node-cases-{onnx.__version__}.pickle"
    if not file.exists():
        from onnx.backend.test.loader import load_model_tests

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            cases = [
                Case(c.name, c.model.SerializeToString(), c.data_sets, c.rtol, c.atol)
                for c in load_model_tests(kind="node")
            ]
        partial = file.with_suffix(".partial")
        partial.write_bytes(pickle.dumps(cases))
        partial.replace(file)
    return pickle.loads(file.read_bytes())


def check(case: Case) -> None:
    """Run a case on the core's own operators.

    Raises: AssertionError: an output has another type, shape or value; or what the executor raises.
    """
    model = protobuf.load(case.model)
    executable = ReferenceExecutable(model)
    outputs = [v.name for v in model.graph.outputs]
    for given, expected in case.data_sets:
        feeds = _by_name([v.name for v in model.graph.feeds], given)
        right = _by_name(outputs, expected)
        results = executable.run(outputs, {name: to_core(value) for name, value in feeds.items()})
        for name, result in zip(outputs, results, strict=True):
            compare(result, right[name], case.rtol, case.atol)


def _by_name(names: Sequence[str], values: Any) -> dict[str, Any]:
    return dict(values) if isinstance(values, Mapping) else dict(zip(names, values, strict=False))


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
    return array


def compare(result: Any, expected: Any, rtol: float, atol: float) -> None:
    """Same kind, type and shape, and values within the tolerances; strings and sub-byte integers exactly."""
    expected = to_core(expected)
    if expected is None or isinstance(expected, list):
        assert type(result) is type(expected), f"got {type(result).__name__}, expected {type(expected).__name__}"
        assert len(result or ()) == len(expected or ())
        for item, right in zip(result or (), expected or (), strict=True):
            compare(item, right, rtol, atol)
        return
    if isinstance(expected, Narrow):
        assert isinstance(result, Narrow), f"got {type(result).__name__}, expected {expected.data_type.name}"
        assert result.data_type == expected.data_type
        if expected.data_type == DataType.BFLOAT16:
            rtol = max(rtol, 2**-6)  # two units in the last place, as onnx's own runner allows
        result, expected = result.values, expected.values
    if expected.dtype.kind in "USOT":
        assert result.dtype.kind == "O"
        np.testing.assert_array_equal(result, expected.astype(object))
        return
    assert result.dtype == expected.dtype, f"got {result.dtype}, expected {expected.dtype}"
    assert result.shape == expected.shape, f"got shape {result.shape}, expected {expected.shape}"
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)
