"""The table of kernels: what is known by measurement stands in it, and ONNX Runtime Web still says the same."""

import random

import pytest

from onnxlet.dtypes import DataType
from onnxlet.model import Graph, Model
from onnxlet_build.web_kernels import WAYS, Kernels, _table

from .probe_web_kernels import ask, probes, runtimes

SAMPLE = 60


def offers(operator: str, kind: DataType, opset: int = 21) -> list[str]:
    domain, _, name = operator.rpartition("::")
    opsets = {"": opset, domain: 1 if domain else opset}
    kernels = Kernels(Model(graph=Graph("g", (), (), ()), opset_imports=opsets, ir_version=10), {})
    return [way for way in WAYS if kernels.offers(way, domain, name, kind)]


@pytest.mark.parametrize(
    ("operator", "kind", "ways"),
    [
        ("Conv", DataType.FLOAT, ["wasm", "webgpu", "fallback"]),
        ("MatMulInteger", DataType.UINT8, ["wasm", "fallback"]),
        ("Add", DataType.INT64, ["wasm", "fallback"]),
        ("Add", DataType.INT32, ["wasm", "webgpu", "fallback"]),
        ("Add", DataType.DOUBLE, ["wasm"]),
        ("And", DataType.BOOL, ["wasm", "webgpu", "fallback"]),
        ("com.microsoft::MatMulNBits", DataType.FLOAT, ["wasm", "webgpu", "fallback"]),
        ("com.microsoft::FusedMatMul", DataType.FLOAT, ["wasm", "fallback"]),
        ("com.microsoft::NhwcFusedConv", DataType.FLOAT16, []),
        ("ai.onnx.ml::TreeEnsembleClassifier", DataType.FLOAT, ["wasm"]),
        ("Dropout", DataType.FLOAT, ["wasm", "webgpu", "fallback"]),
        ("NoSuchOperator", DataType.FLOAT, []),
    ],
)
def test_what_was_measured_is_in_the_table(operator: str, kind: DataType, ways: list[str]) -> None:
    assert offers(operator, kind) == ways


def test_a_version_counts_from_its_opset_on() -> None:
    assert "webgpu" in offers("LSTM", DataType.FLOAT, 14)
    assert "webgpu" not in offers("LSTM", DataType.FLOAT, 22)


@pytest.mark.browser
def test_onnx_runtime_web_says_the_same_as_the_table() -> None:
    asked = random.Random(0).sample(list(probes()), SAMPLE)
    with runtimes() as page:
        for way in WAYS:
            for one, found in zip(asked, ask(page, way, asked), strict=True):
                versions = _table()[one.operator]
                entry = versions[max(since for since in versions if since <= one.since)]
                told = one.kind.removeprefix("tensor(").removesuffix(")") in entry[way]
                assert found == told, f"{one.operator}-{one.since} {one.kind} on {way}"
