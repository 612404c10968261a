"""Models: what is said of good and broken ones, and what is converted so that the page can load it."""

import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnx.helper as h
import pytest

import onnxlet
from onnxlet.errors import BuildError
from onnxlet_build.check import Checked, check
from onnxlet_build.cli import main
from onnxlet_build.convert import prepare, snr_db

from .conftest import DATA

FLOAT = onnx.TensorProto.FLOAT
WEIGHTS = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)


def write(path: Path, nodes: list[onnx.NodeProto], opset: int = 20, ir: int = 10, domain: str = "") -> Path:
    """A model x [n, 8] -> z with the initializer w [8, 4]."""
    x = h.make_tensor_value_info("x", FLOAT, ["n", 8])
    z = h.make_tensor_value_info("z", FLOAT, None)
    graph = h.make_graph(nodes, "g", [x], [z], [onnx.numpy_helper.from_array(WEIGHTS, "w")])
    opsets = [h.make_opsetid("", opset), *([h.make_opsetid(domain, 1)] if domain else [])]
    onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=ir), path)
    return path


def texts(checked: Checked, level: str) -> str:
    return "\n".join(f"{f.text}; {f.remedy}" for f in checked.findings if f.level == level)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("H04_truncated", r"11,185 of at least 16,772 bytes are there: get it again"),
        ("H04_truncated_tail7", r"16,771 of at least 16,772 bytes are there: get it again"),
        ("H04_zero", r"0 bytes"),
        ("H04_gzip_without_header", r"gzip"),
        ("H04_crlf_damaged", r"carriage return"),
    ],
)
def test_a_damaged_model_is_named_with_the_reason(name: str, reason: str) -> None:
    path = DATA / f"{name}.onnx"
    with pytest.raises(BuildError, match=reason) as caught:
        prepare(path)
    assert str(caught.value).startswith(str(path))
    checked = check(path)
    assert not checked.ok
    assert name in texts(checked, "error")


def test_a_web_page_in_place_of_a_model_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_text("<!DOCTYPE html><title>404</title>")
    with pytest.raises(BuildError, match=r"m.onnx: .*web page"):
        prepare(tmp_path / "m.onnx")


def test_a_good_model_stays_byte_for_byte() -> None:
    prepared = prepare(DATA / "P_add1.onnx")
    assert prepared.data == (DATA / "P_add1.onnx").read_bytes()
    assert prepared.changes == []


@pytest.mark.parametrize(("opset", "ir"), [(28, 14), (27, 14), (20, 14)])
def test_a_model_newer_than_the_web_runtime_is_converted_and_still_right(tmp_path: Path, opset: int, ir: int) -> None:
    nodes = [h.make_node("MatMul", ["x", "w"], ["y"]), h.make_node("Softmax", ["y"], ["z"])]
    prepared = prepare(write(tmp_path / "m.onnx", nodes, opset, ir))
    assert prepared.model.ir_version <= 13
    assert prepared.model.opset_imports[""] <= 26
    assert "converted from IR version 14 (the page takes 13)" in prepared.changes[0]
    x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    (z,) = onnxlet.InferenceSession(prepared.data).run(None, {"x": x})
    y = np.exp(x @ WEIGHTS)
    np.testing.assert_allclose(z, y / y.sum(1, keepdims=True), rtol=1e-5)


def test_a_model_that_cannot_be_converted_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", [h.make_node("NoSuchOperator", ["x", "w"], ["z"], name="odd")], 28, 14)
    with pytest.raises(BuildError, match=r"opset 28 \(the page takes 26\).* cannot be converted down .*NoSuchOperator"):
        prepare(path)


def test_weights_outside_the_file_are_merged_and_missing_ones_named(tmp_path: Path) -> None:
    path = write(tmp_path / "m.onnx", [h.make_node("MatMul", ["x", "w"], ["z"])])
    x = np.ones((1, 8), np.float32)
    onnx.save_model(
        onnx.load(path), path, save_as_external_data=True, location="m.bin", size_threshold=0, convert_attribute=True
    )
    prepared = prepare(path)
    assert "merged the weights" in prepared.changes[0]
    (z,) = onnxlet.InferenceSession(prepared.data).run(None, {"x": x})
    np.testing.assert_allclose(z, x @ WEIGHTS, rtol=1e-5)
    (tmp_path / "m.bin").unlink()
    with pytest.raises(BuildError, match=r'm.onnx: .*"m.bin", which is not beside the model: put it there'):
        prepare(path)


def test_a_custom_operator_is_named_with_what_to_write(tmp_path: Path) -> None:
    checked = check(
        write(tmp_path / "m.onnx", [h.make_node("Swish6", ["x"], ["z"], domain="com.acme")], domain="com.acme")
    )
    assert checked.ok
    assert '@onnxlet.op("Swish6", domain="com.acme")' in texts(checked, "warning")


def test_shapes_that_do_not_fit_are_a_warning(tmp_path: Path) -> None:
    checked = check(write(tmp_path / "m.onnx", [h.make_node("MatMul", ["w", "w"], ["z"])]))
    assert "Incompatible dimensions" in texts(checked, "warning")


@pytest.mark.parametrize(
    ("node", "first", "reason"),
    [
        (h.make_node("MatMul", ["x", "w"], ["z"]), "wasm", "too small"),
        (h.make_node("Cast", ["x"], ["z"], to=onnx.TensorProto.DOUBLE), "wasm", "WebAssembly only: .* DOUBLE"),
        (h.make_node("Scaler", ["x"], ["z"], domain="ai.onnx.ml", scale=[1.0], offset=[0.0]), "wasm", "lack Scaler"),
    ],
)
def test_the_backend_to_try_first_comes_with_its_reason(
    tmp_path: Path, node: onnx.NodeProto, first: str, reason: str
) -> None:
    checked = check(write(tmp_path / "m.onnx", [node], domain=node.domain))
    assert checked.prefer[0] == first
    assert checked.prefer[-1] == "python"
    assert re.search(reason, checked.reason), checked.reason


def test_a_large_model_is_tried_on_the_gpu_first(tmp_path: Path) -> None:
    w = onnx.numpy_helper.from_array(np.ones((512, 256, 3, 3), np.float32), "w")
    x = h.make_tensor_value_info("x", FLOAT, [1, 256, 32, 32])
    z = h.make_tensor_value_info("z", FLOAT, None)
    graph = h.make_graph([h.make_node("Conv", ["x", "w"], ["z"])], "g", [x], [z], [w])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10), tmp_path / "m.onnx")
    checked = check(tmp_path / "m.onnx")
    assert checked.prefer == ["webgpu", "wasm", "python"]
    assert checked.flop == 2 * 512 * 30 * 30 * 256 * 9


def test_signal_to_noise_is_in_decibels_and_knows_nan() -> None:
    a = np.array([1.0, np.nan, 2.0], np.float32)
    assert snr_db(a, a.copy()) == np.inf
    assert snr_db(a, np.array([1.0, 0.0, 2.0], np.float32)) == -np.inf
    assert snr_db(np.array([3, 4.0]), np.array([3, 4.0 + 5e-3])) == pytest.approx(60)
    assert snr_db(np.array(["a"], object), np.array(["b"], object)) == -np.inf


def test_the_command_prints_json_and_fails_for_a_model_that_cannot_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(DATA / "P_add1.onnx")]) == 0
    assert "ok: the page can run it" in capsys.readouterr().out
    assert main(["check", "--json", str(DATA / "P_add1.onnx"), str(DATA / "H04_zero.onnx")]) == 1
    good, bad = json.loads(capsys.readouterr().out)
    assert (good["ok"], bad["ok"]) == (True, False)
    assert good["operators"] == {"Add": 1, "ReduceSum": 1}
    assert main(["check", "no-such.onnx"]) == 1
    assert capsys.readouterr().err.startswith("error: no-such.onnx: is not a file")


def test_wrong_usage_exits_with_2() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check"])
    assert caught.value.code == 2
