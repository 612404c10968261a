"""Variants proven in Chromium: right ones with their figures, wrong ones refused, and one that hangs survived."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlet.errors import BuildError
from onnxlet_build import browser
from onnxlet_build.accuracy import Budget
from onnxlet_build.choose import choose
from onnxlet_build.inspect_app import inspect_app
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime
from onnxlet_build.samples import Samples
from onnxlet_build.variants import ORIGINAL
from tests.browser import proving
from tests.browser.conftest import ROOT
from tests.browser.proving import candidate, proven, proven_network
from tests.build.conftest import heed_ctrl_c


def test_every_backend_is_proven_with_what_really_ran() -> None:
    found = proven_network()
    ran = {"wasm": "CPUExecutionProvider", "webgpu": "WebGpuExecutionProvider", "python": "NumpyExecutionProvider"}
    assert {(p.variant, p.backend) for p in found.proofs} == {(v, b) for v in (ORIGINAL, "int8") for b in ran}
    for proof in found.proofs:
        assert proof.fault == "", proof
        assert proof.provider == ran[proof.backend]
        assert proof.accuracy
        assert 1 <= proof.accuracy.samples <= len(found.samples)
        assert proof.accuracy.top1 == 1
        assert proof.peak_bytes > 16_000_000, "Python alone takes as much"
    assert all(proof.accuracy.snr_db > 100 for proof in found.proofs if proof.variant == ORIGINAL and proof.accuracy)


def test_int8_keeps_its_error_in_every_backend_and_its_kernels_on_the_processor() -> None:
    found = proven_network()
    errors = [p.accuracy.snr_db for p in found.proofs if p.variant == "int8" and p.accuracy]
    assert 25 < min(errors) <= max(errors) < 60
    assert found.proof("int8", "webgpu").placement == {"on_cpu": ["DynamicQuantizeLinear", "MatMulInteger"]}
    assert found.proof(ORIGINAL, "webgpu").placement == {}, "all of it is on the GPU"


def test_the_adapter_is_named_and_an_emulated_one_decides_no_times() -> None:
    found = proven_network()
    proof = found.proof(ORIGINAL, "webgpu")
    assert "swiftshader" in proof.adapter
    assert (proof.emulated, proof.f16) == (True, False)
    choice = choose(found.candidates, found.proofs, Budget())
    assert choice.by_class["webgpu"] == ORIGINAL, "the smaller one computes on the processor"
    assert "its times mean nothing" in choice.reasons["webgpu"]


def test_times_are_measured_cold_and_warm() -> None:
    proof = proven_network().proof(ORIGINAL, "wasm")
    assert proof.cold_ms > proof.warm_ms > 0


def test_one_that_hangs_is_refused_and_the_rest_is_proven(tmp_path: Path) -> None:
    """A loop without an end blocks its worker for good. After it comes NaN, which WebGPU's Relu is known to lose."""
    nodes = [helper.make_node("Log", ["x"], ["l"], "log"), helper.make_node("Relu", ["l"], ["y"], "relu")]
    shapes = ({"x": ["n"]}, {"y": ["n"]})
    original, endless = tmp_path / "nan.onnx", tmp_path / "endless.onnx"
    original.write_bytes(proving.model(nodes, *shapes))
    endless.write_bytes(proving.model([*nodes[:1], *forever("l", "y")], *shapes))
    samples = Samples.write(tmp_path / "samples", [{"x": np.array([-1, 2, 3], np.float32)}])
    candidates = [candidate("endless", endless), candidate(ORIGINAL, original)]
    hung, wrong = proven(candidates, original, samples, ["webgpu"], limit_s=12)
    assert hung.fault == "gave no answer within 12 s"
    assert hung.accuracy is None
    assert wrong.fault == 'output "y" has NaN or infinity where the original has none, or the other way round'
    assert "webgpu" not in choose(candidates, [hung, wrong], Budget()).by_class


def test_what_a_provider_is_known_to_get_wrong_runs_in_python_and_is_right(tmp_path: Path) -> None:
    """ONNX Runtime Web's Conv on WebGPU gives noise where it reads channels by threes (providers/faults.py)."""
    weight = numpy_helper.from_array(np.random.default_rng(0).standard_normal((8, 9, 3, 3)).astype(np.float32), "w")
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], "conv"), helper.make_node("Relu", ["c"], ["y"], "relu")]
    path = tmp_path / "threes.onnx"
    path.write_bytes(proving.model(nodes, {"x": [1, 9, 12, 12]}, {"y": [1, 8, 10, 10]}, [weight]))
    rows = np.random.default_rng(1).standard_normal((1, 9, 12, 12)).astype(np.float32)
    samples = Samples.write(tmp_path / "samples", [{"x": rows}])
    (proof,) = proven([candidate(ORIGINAL, path)], path, samples, ["webgpu"])
    assert proof.fault == "", proof
    assert proof.accuracy
    assert proof.accuracy.snr_db > 100
    assert [part["nodes"] for part in proof.placement["parts"]] == [["conv"], ["relu"]]  # type: ignore[attr-defined]


def test_a_persons_own_operator_is_proven_with_her_app(tmp_path: Path) -> None:
    report = Reporter(quiet=True)
    app = inspect_app(ROOT / "examples" / "count" / "app.py", tmp_path / "app", report, Runtime(report))
    model = app.models["count.onnx"]
    grey = np.random.default_rng(0).random((1, 1, 40, 50), np.float32)
    feeds = {"grey": grey, "sign": np.float32(1), "contrast": np.float32(0.05)}
    samples = Samples.write(tmp_path / "samples", [feeds])
    (proof,) = proven([candidate(ORIGINAL, model)], model, samples, ["wasm"], app=app)
    assert proof.fault == "", proof
    parts = proof.placement["parts"]
    assert isinstance(parts, list)
    assert "NumpyExecutionProvider" in [part["provider"] for part in parts]


def test_without_the_app_a_model_of_her_operators_is_not_proven(tmp_path: Path) -> None:
    node = helper.make_node("Twice", ["x"], ["y"], domain="com.acme")
    proto = onnx.load_model_from_string(proving.model([node], {"x": ["n"]}, {"y": ["n"]}))
    proto.opset_import.append(helper.make_opsetid("com.acme", 1))
    path = tmp_path / "twice.onnx"
    onnx.save(proto, path)
    samples = Samples.write(tmp_path / "samples", [{"x": np.ones(2, np.float32)}])
    (proof,) = proven([candidate(ORIGINAL, path)], path, samples, ["wasm"])
    assert proof.fault == "not proven: its operators of com.acme come with an app, and none was given"


def test_without_a_sample_nothing_can_be_proven() -> None:
    path, int8, _ = proving.network()
    with pytest.raises(BuildError, match="no sample to prove the variants on"):
        proven([candidate("int8", int8)], path, Samples(), ["wasm"])


def test_a_browser_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="/nowhere/chromium: is no program"):
        browser.find(Path("/nowhere/chromium"))
    script = tmp_path / "chromium"
    script.write_text("#!/bin/sh\nexit 3\n")
    script.chmod(0o755)

    async def start() -> None:
        async with browser.launched(script, software=True):
            pass

    with pytest.raises(BuildError, match="does not start as a browser"):
        browser.run_apart(start())


def test_work_apart_runs_where_a_loop_runs_already_and_hands_its_failure_over() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 3

    async def failing() -> None:
        raise ValueError("as it was")

    async def caller() -> int:
        return browser.run_apart(work())

    assert browser.run_apart(caller()) == 3
    with pytest.raises(ValueError, match="as it was"):
        browser.run_apart(failing())


def test_ctrl_c_ends_work_apart_once_it_has_cleaned_up() -> None:
    command, pipe = [sys.executable, "-c", SLEEPING], subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_ctrl_c)
    assert process.stdout
    assert process.stdout.readline() == "working\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert output == "cleaned up\n"
    assert "KeyboardInterrupt" in errors


SLEEPING = """
import asyncio
from onnxlet_build.browser import run_apart

async def work():
    try:
        print("working", flush=True)
        await asyncio.sleep(600)
    finally:
        await asyncio.sleep(0.1)
        print("cleaned up", flush=True)

run_apart(work())
"""


def forever(source: str, target: str) -> list[onnx.NodeProto]:
    """A Loop that never ends."""
    ends = [helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("on", "still")]
    count = helper.make_tensor_value_info("i", TensorProto.INT64, [])
    inner = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("v", "w")]
    nodes = [helper.make_node("Identity", ["on"], ["still"]), helper.make_node("Abs", ["v"], ["w"])]
    body = helper.make_graph(nodes, "body", [count, ends[0], inner[0]], [ends[1], inner[1]])
    yes = helper.make_tensor("yes", TensorProto.BOOL, [], [True])
    return [
        helper.make_node("Constant", [], ["go"], value=yes),
        helper.make_node("Loop", ["", "go", source], [target], "forever", body=body),
    ]
