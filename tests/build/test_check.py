"""Models: what is said of good and broken ones, and what is converted so that the page can load it."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.helper as h
import pytest

import onnxlet
from onnxlet.errors import BuildError
from onnxlet_build.check import Checked, check
from onnxlet_build.cli import main
from onnxlet_build.convert import prepare, snr_db
from onnxlet_build.places import Place

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


def tensor(array: Any, name: str) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def save(
    path: Path,
    nodes: list[onnx.NodeProto],
    inputs: list[tuple[str, int, Any]],
    weights: list[onnx.TensorProto],
    outputs: tuple[str, ...] = ("z",),
) -> Path:
    """A model at opset 21, also with ai.onnx.ml."""
    infos = [h.make_tensor_value_info(*one) for one in inputs]
    graph = h.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name=name) for name in outputs], weights)
    opsets = [h.make_opsetid("", 21), h.make_opsetid("ai.onnx.ml", 3), h.make_opsetid("com.acme", 1)]
    onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def place(checked: Checked, backend: str) -> Place:
    return next(one for one in checked.places if one.backend == backend)


def test_each_node_is_counted_where_it_runs(tmp_path: Path) -> None:
    nodes = [
        h.make_node("Add", ["ids", "ids"], ["twice"], name="add"),
        h.make_node("Swish6", ["x"], ["s"], domain="com.acme", name="swish"),
        h.make_node("Relu", ["x"], ["r"], name="relu"),
        h.make_node("Shape", ["x"], ["shape"], name="shape"),
        h.make_node("Mul", ["shape", "shape"], ["larger"], name="mul"),
        h.make_node("Expand", ["r", "shape"], ["e"], name="expand"),
        h.make_node("Reshape", ["s", "larger"], ["z"], name="reshape"),
    ]
    inputs = [("ids", onnx.TensorProto.INT64, ["n"]), ("x", FLOAT, ["n"])]
    checked = check(save(tmp_path / "m.onnx", nodes, inputs, [], ("z", "twice", "e")))
    gpu, wasm, python = (place(checked, name) for name in ("webgpu", "wasm", "python"))
    assert (gpu.nodes, gpu.total, gpu.cpu, gpu.shapes) == (4, 7, {"Add (int64)": 1}, 1)
    assert gpu.python == wasm.python == {"com.acme::Swish6": 1}
    assert (wasm.nodes, python.nodes) == (6, 7)
    assert "1 of 7 nodes, Add (int64) 1" in texts(checked, "note")


def test_an_operator_that_runs_nowhere_is_an_error(tmp_path: Path) -> None:
    checked = check(save(tmp_path / "m.onnx", [h.make_node("NoSuch", ["x"], ["z"])], [("x", FLOAT, [1])], []))
    assert not checked.ok
    assert "NoSuch runs nowhere" in texts(checked, "error")
    assert checked.findings[0].level == "error"


def test_float64_is_named_with_what_it_costs_and_what_to_do(tmp_path: Path) -> None:
    weights = [tensor(np.ones((8, 4)), "w")]
    inputs = [("x", onnx.TensorProto.DOUBLE, ["n", 8])]
    checked = check(save(tmp_path / "m.onnx", [h.make_node("MatMul", ["x", "w"], ["z"])], inputs, weights))
    assert re.search(r"float64 \(1 weight of 256 bytes; input 'x'\).*model.float\(\)", texts(checked, "warning"))
    assert place(checked, "webgpu").refused


def test_whole_numbers_beyond_int32_are_named_unless_they_only_say_how_far_to_slice(tmp_path: Path) -> None:
    end = [tensor([0], "zero"), tensor([2**63 - 1], "end")]
    nodes = [h.make_node("Slice", ["codes", "zero", "end"], ["c"]), h.make_node("Gather", ["c", "i"], ["z"])]
    inputs = [("i", onnx.TensorProto.INT64, ["n"])]
    checked = check(save(tmp_path / "m.onnx", nodes, inputs, [tensor([147_000_000_000, 3], "codes"), *end]))
    assert texts(checked, "warning").count("beyond int32") == 1
    assert 'initializer "codes" has whole numbers beyond int32' in texts(checked, "warning")


@pytest.mark.parametrize(
    ("value", "level", "text"),
    [
        (np.nan, "warning", 'initializer "w": NaN'),
        (-np.inf, "note", 'initializer "w": infinity'),
        (1e-41, "note", "below 1.2e-38"),
        (1e6, "note", "beyond 65504"),
    ],
)
def test_numbers_that_a_runtime_or_a_format_spoils_are_named(
    tmp_path: Path, value: float, level: str, text: str
) -> None:
    w = np.ones((8, 4), np.float32)
    w[3, 2] = value
    checked = check(
        save(tmp_path / "m.onnx", [h.make_node("MatMul", ["x", "w"], ["z"])], [("x", FLOAT, [1, 8])], [tensor(w, "w")])
    )
    assert text in texts(checked, level)


def test_what_is_unused_doubled_or_without_a_name_is_counted(tmp_path: Path) -> None:
    weights = [tensor(WEIGHTS, name) for name in ("w", "copy", "lost")]
    nodes = [h.make_node("MatMul", ["x", "w"], ["a"], name="a"), h.make_node("MatMul", ["x", "copy"], ["z"])]
    checked = check(save(tmp_path / "m.onnx", nodes, [("x", FLOAT, [1, 8])], weights, ("z", "a")))
    said = texts(checked, "note")
    assert 'initializer "lost" unused (128 bytes)' in said
    assert '2 initializers ("copy", "lost") copies of others (256 bytes)' in said
    assert "1 node without a name" in said


def test_a_model_in_training_mode_and_one_that_draws_are_told_apart(tmp_path: Path) -> None:
    nodes = [
        h.make_node("Dropout", ["x", "ratio", "on"], ["d"], name="drop"),
        h.make_node("RandomNormalLike", ["d"], ["z"], name="draw"),
    ]
    weights = [tensor(np.float32(0.5), "ratio"), tensor(np.array(True), "on")]
    checked = check(save(tmp_path / "m.onnx", nodes, [("x", FLOAT, [4])], weights))
    assert 'Dropout "drop" is in training mode; call model.eval()' in texts(checked, "warning")
    assert "RandomNormalLike: answers differ" in texts(checked, "note")


def test_an_output_that_is_no_tensor_is_named_with_the_remedy(tmp_path: Path) -> None:
    node = h.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1])
    path = save(tmp_path / "m.onnx", [node], [("x", FLOAT, ["n", 2])], [])
    proto = onnx.load(path)
    score = h.make_tensor_type_proto(FLOAT, [])
    proto.graph.output[0].type.CopyFrom(
        h.make_sequence_type_proto(h.make_map_type_proto(onnx.TensorProto.INT64, score))
    )
    onnx.save(proto, path)
    assert re.search(r'output "z" is seq\(map.*zipmap=False', texts(check(path), "warning"))


@pytest.mark.parametrize(
    ("nodes", "weight", "advice"),
    [
        ([h.make_node("MatMul", ["x", "w"], ["z"])], np.ones((256, 256), np.float32), "--variants int8-dynamic"),
        ([h.make_node("Conv", ["x", "w"], ["z"])], np.ones((64, 64, 3, 3), np.float32), "--variants int8-static"),
        ([h.make_node("MatMul", ["x", "w"], ["z"])], np.ones((16, 16), np.float32), ""),
        ([h.make_node("MatMulInteger", ["x", "w"], ["z"])], np.ones((256, 256), np.uint8), "quantized already"),
    ],
)
def test_the_recipe_that_suits_a_model_is_named(tmp_path: Path, nodes: Any, weight: Any, advice: str) -> None:
    kind = onnx.TensorProto.UINT8 if weight.dtype == np.uint8 else FLOAT
    inputs = [("x", kind, [1, *weight.shape[1:]] if weight.ndim == 4 else [1, weight.shape[0]])]
    said = texts(check(save(tmp_path / "m.onnx", nodes, inputs, [tensor(weight, "w")])), "note")
    assert advice in said
    assert advice or "--variants" not in said


def test_memory_is_weights_and_what_is_alive_at_once(tmp_path: Path) -> None:
    chain = [h.make_node("Relu", [a], [b], name=b) for a, b in itertools.pairwise(["x", "a", "b", "c", "z"])]
    footprint = check(save(tmp_path / "m.onnx", chain, [("x", FLOAT, [1000])], [])).footprint
    assert footprint is not None
    assert footprint.activations == 2 * 4000  # one value in, one out
    assert footprint.weights == 0
    assert footprint.download["webgpu"] > footprint.download["wasm"] > footprint.file_gzip


def test_open_dimensions_that_make_every_run_compute_shapes_are_named(tmp_path: Path) -> None:
    nodes, last = [], "x"
    for step in range(6):
        nodes += [h.make_node("Shape", [last], [f"s{step}"]), h.make_node("Mul", [f"s{step}", "one"], [f"m{step}"])]
        nodes += [h.make_node("Reshape", [last, f"m{step}"], [f"r{step}"])]
        last = f"r{step}"
    checked = check(save(tmp_path / "m.onnx", nodes, [("x", FLOAT, ["n", "height"])], [tensor([1, 1], "one")], (last,)))
    assert "height open in the inputs, so that 12 nodes compute shapes" in texts(checked, "note")
    assert "--dim_param height --dim_value SIZE" in texts(checked, "note")


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
    assert good["places"][0]["backend"] == "webgpu"
    assert good["footprint"]["file"] == (DATA / "P_add1.onnx").stat().st_size
    assert main(["check", "no-such.onnx"]) == 1
    assert capsys.readouterr().err.startswith("error: no-such.onnx: is not there; check the path")


def test_strict_fails_on_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = h.make_node("Swish6", ["x"], ["z"], domain="com.acme")
    path = str(write(tmp_path / "m.onnx", [node], domain="com.acme"))
    assert main(["check", path]) == 0
    assert "WebAssembly" in capsys.readouterr().out
    assert main(["check", "--strict", path]) == 1


def test_wrong_usage_exits_with_2() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["check"])
    assert caught.value.code == 2
