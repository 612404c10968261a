"""A model through all passes: what is kept, that nothing a caller sees changes, and what happens where a pass fails."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as h
import pytest

import onnxlet
from onnxlet_build.optimize import _Child, optimize
from onnxlet_build.passes import PASSES
from onnxlet_build.progress import Reporter
from onnxlet_build.samples import Samples

from ..conftest import DATA
from .graphs import FLOAT, INT64, model, ops, run
from .test_passes import attention_layer

RNG = np.random.default_rng(1)
NO_SAMPLES = Samples()


def signature(data: bytes) -> Any:
    session = onnxlet.InferenceSession(data)
    sides = session.get_inputs(), session.get_outputs(), session.get_overridable_initializers()
    named = [[(arg.name, arg.type, arg.shape) for arg in side] for side in sides]
    return named, session.get_modelmeta().custom_metadata_map


def mlp() -> bytes:
    """x [n, 16] -> y [n, 4], with an Identity, a copied weight and a Dropout."""
    w = RNG.standard_normal((16, 16)).astype(np.float32)
    nodes = [
        h.make_node("Identity", ["x"], ["a"]),
        h.make_node("MatMul", ["a", "w"], ["b"]),
        h.make_node("Add", ["b", "bias"], ["c"]),
        h.make_node("Relu", ["c"], ["d"]),
        h.make_node("Dropout", ["d"], ["e"]),
        h.make_node("MatMul", ["e", "copy"], ["f"]),
        h.make_node("Add", ["f", "bias"], ["g"]),
        h.make_node("Softmax", ["g"], ["y"]),
    ]
    constants = {"w": w, "copy": w, "bias": w[0]}
    return model(nodes, [("x", FLOAT, ["n", 16])], [("y", FLOAT, ["n", 16])], constants).SerializeToString()


def test_a_model_gets_smaller_keeps_its_face_and_is_the_same_each_time(tmp_path: Path, report: Reporter) -> None:
    data = mlp()
    x = RNG.standard_normal((3, 16)).astype(np.float32)
    samples = Samples.write(tmp_path / "samples", [{"x": x}])
    found = optimize(data, samples, tmp_path / "one", report)
    assert [step.name for step in found.steps] == [one.name for one in PASSES if not one.instead]
    kept = [step for step in found.steps if step.kept]
    assert {"dead weight", "ONNX Runtime, basic"} <= {step.name for step in kept}
    assert all("fewer" in step.reason for step in kept)
    assert ops(found.data) == ["Gemm", "Relu", "Gemm", "Softmax"]
    assert len(found.data) < len(data)
    assert signature(found.data) == signature(data)
    np.testing.assert_allclose(run(data, {"x": x})[0], run(found.data, {"x": x})[0], rtol=1e-5)
    assert optimize(data, samples, tmp_path / "two", report).data == found.data


@pytest.mark.parametrize("name", ["G12_intermediate_out", "R06_local_function", "R08_default_input", "Q07_tables"])
def test_reported_models_stay_right(name: str, tmp_path: Path, report: Reporter) -> None:
    data = (DATA / f"{name}.onnx").read_bytes()
    found = optimize(data, NO_SAMPLES, tmp_path / "work", report)
    assert signature(found.data) == signature(data)
    assert not [step.reason for step in found.steps if "failed" in step.reason or "crashed" in step.reason]
    case = json.loads((DATA / f"{name}.json").read_text())
    for one in case["runs"]:
        feeds = {key: array(value) for key, value in one["inputs"].items()}
        session = onnxlet.InferenceSession(found.data, providers=["NumpyExecutionProvider"])
        answers = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds), strict=True))
        for key, value in one["expected"].items():
            np.testing.assert_allclose(answers[key], array(value), rtol=1e-4, atol=1e-5)


def array(stored: dict[str, Any]) -> Any:
    flat = np.array(stored["data"]).ravel().astype(stored["dtype"])
    return flat.reshape(stored["shape"])


def test_a_quantized_model_is_left_as_it_is(tmp_path: Path, report: Reporter) -> None:
    nodes = [
        h.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        h.make_node("MatMulInteger", ["q", "w", "z"], ["i"]),
        h.make_node("Cast", ["i"], ["y"], to=FLOAT),
    ]
    w = RNG.integers(-127, 127, (16, 4)).astype(np.int8)
    data = model(nodes, [("x", FLOAT, ["n", 16])], [("y", FLOAT, ["n", 4])], {"w": w}).SerializeToString()
    found = optimize(data, NO_SAMPLES, tmp_path, report)
    assert found.data == data
    (step,) = found.steps
    assert not step.kept
    assert step.reason == "left as it is: quantized already (DynamicQuantizeLinear, MatMulInteger)"


APP = """
import onnxlet

@onnxlet.op("Double", domain="com.acme")
def Double(x):
    return x * 2
"""


def test_an_operator_of_the_app_survives_and_runs_where_the_app_is_given(tmp_path: Path, report: Reporter) -> None:
    nodes = [
        h.make_node("Identity", ["x"], ["a"]),
        h.make_node("Double", ["a"], ["b"], domain="com.acme"),
        h.make_node("Relu", ["b"], ["y"]),
    ]
    value: Any = [FLOAT, ["n", 4]]
    data = model(nodes, [("x", *value)], [("y", *value)], domains=["com.acme"]).SerializeToString()
    (step,) = optimize(data, NO_SAMPLES, tmp_path / "without", report).steps
    assert "com.acme::Double is not implemented" in step.reason
    (tmp_path / "app.py").write_text(APP)
    found = optimize(data, NO_SAMPLES, tmp_path / "with", report, tmp_path / "app.py")
    assert ops(found.data) == ["Double", "Relu"]
    assert next(step for step in found.steps if step.kept).name == "dead weight"
    assert "does not know the operators of com.acme" in " ".join(step.reason for step in found.steps)


def test_a_model_that_answers_at_random_is_left_as_it_is(tmp_path: Path, report: Reporter) -> None:
    nodes = [h.make_node("RandomNormalLike", ["x"], ["r"]), h.make_node("Identity", ["r"], ["y"])]
    data = model(nodes, [("x", FLOAT, ["n"])], [("y", FLOAT, ["n"])]).SerializeToString()
    found = optimize(data, NO_SAMPLES, tmp_path, report)
    assert found.data == data
    assert "answers differently each time" in found.steps[0].reason


def test_a_model_without_a_sample_that_runs_is_left_as_it_is(tmp_path: Path, report: Reporter) -> None:
    nodes = [h.make_node("Reshape", ["x", "to"], ["y"])]
    constants = {"to": np.array([7, 11, 13])}
    data = model(nodes, [("x", FLOAT, ["n"])], [("y", FLOAT, [7, 11, 13])], constants).SerializeToString()
    found = optimize(data, NO_SAMPLES, tmp_path, report)
    assert found.data == data
    assert found.steps[0].reason.endswith("give the app an example")
    x = np.zeros(7 * 11 * 13, np.float32)
    with_sample = optimize(data, Samples.write(tmp_path / "s", [{"x": x}]), tmp_path / "again", report)
    assert len(with_sample.steps) > 1


def test_integers_have_to_be_equal_and_large_ones_are(tmp_path: Path, report: Reporter) -> None:
    nodes = [
        h.make_node("ArgMax", ["x"], ["i"], axis=1, keepdims=0),
        h.make_node("Gather", ["codes", "i"], ["a"]),
        h.make_node("Identity", ["a"], ["code"]),
    ]
    codes = np.array([147_000_000_000, 3, -147_000_000_000, 5])
    made = model(nodes, [("x", FLOAT, ["n", 4])], [("code", INT64, ["n"])], {"codes": codes})
    found = optimize(made.SerializeToString(), NO_SAMPLES, tmp_path, report)
    x = np.eye(4, dtype=np.float32)
    assert run(found.data, {"x": x})[0].tolist() == codes.tolist()


def test_a_fusion_that_loses_the_mask_of_attention_is_dropped_and_the_rest_is_kept(
    tmp_path: Path, report: Reporter
) -> None:
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
    x = RNG.standard_normal((2, 4, 32)).astype(np.float32)
    before = attention_layer(masked=True).SerializeToString()
    found = optimize(before, Samples.write(tmp_path / "s", [{"x": x, "mask": mask}]), tmp_path / "w", report)
    steps = {step.name: step for step in found.steps}
    assert not steps["transformer fusions"].kept
    assert "outputs differ" in steps["transformer fusions"].reason
    assert steps["transformer fusions, no attention"].kept
    feeds = {"x": x, "mask": mask}
    np.testing.assert_allclose(run(before, feeds)[0], run(found.data, feeds)[0], rtol=1e-3, atol=1e-4)


def test_a_pass_that_ends_its_process_is_a_dropped_step_and_the_next_one_runs(tmp_path: Path) -> None:
    original = tmp_path / "m.onnx"
    original.write_bytes(mlp())
    request = {"step": 0, "model": str(original), "target": str(tmp_path / "out.onnx")}
    with _Child(original, NO_SAMPLES, None) as child:
        assert child.refusal == ""
        assert child.ask({"step": 0}) == {"ended": "it crashed (exit status 1)"}
        assert child.ask(request)["kept"]
        assert child._process
        os.kill(child._process.pid, signal.SIGKILL)
        assert child.ask(request) == {"ended": "it crashed (signal SIGKILL)"}
        assert child.ask(request)["kept"]
    assert onnx.load(tmp_path / "out.onnx").graph.node
