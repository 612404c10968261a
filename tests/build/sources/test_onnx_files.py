"""ONNX itself passes through untouched; and the comparison that every other source goes through."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlet.errors import BuildError
from onnxlet_build import sources
from onnxlet_build.sources import verify

from ..conftest import DATA


def linear(weight: Any, *, quantized: bool = False) -> onnx.ModelProto:
    """y = x @ weight, the weight stored as int8 if quantized."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    constants = [numpy_helper.from_array(np.asarray(weight, np.float32), "w")]
    if quantized:
        nodes.insert(0, helper.make_node("DequantizeLinear", ["q", "scale"], ["w"]))
        codes = np.rint(np.asarray(weight) * 100).astype(np.int8)
        constants = [numpy_helper.from_array(codes, "q"), numpy_helper.from_array(np.float32(0.01), "scale")]
    rows, columns = np.shape(weight)
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", rows])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", columns])],
        constants,
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


@pytest.mark.parametrize("form", [lambda p: p, str, lambda p: p.read_bytes(), lambda p: onnx.load(p)])
def test_a_file_its_path_its_bytes_and_its_proto_pass_unchanged(form: Any) -> None:
    path = DATA / "T09_int_input.onnx"
    made = sources.export(form(path), "tree.onnx")
    assert made.data == path.read_bytes()
    assert (made.verified, made.notes) == ("is the source itself, unchanged", ())


def test_weights_in_other_files_are_merged_and_a_missing_one_is_named(tmp_path: Path) -> None:
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    path = tmp_path / "net.onnx"
    onnx.save(linear(weight), path, save_as_external_data=True, location="net.weights", size_threshold=0)
    made = sources.export(path, "net.onnx")
    assert "merged the weights in net.weights into the model" in made.notes[0]
    alone = onnx.load_model_from_string(made.data)
    assert np.array_equal(numpy_helper.to_array(alone.graph.initializer[0]), weight)
    (tmp_path / "net.weights").unlink()
    with pytest.raises(BuildError, match=r'net\.onnx.*"net\.weights", which is not beside the model: put it there'):
        sources.export(path, "net.onnx")


def test_a_quantized_model_passes_untouched() -> None:
    proto = linear([[0.5, -1.0]], quantized=True)
    made = sources.export(proto, "q.onnx")
    assert made.data == proto.SerializeToString()
    assert made.notes == ("is quantized already (1 nodes) and stays as it is",)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (None, r"m\.onnx: is made of nothing \(None: does the function lack a `return`\?\); expected a fitted"),
        (3.5, r"m\.onnx: is made of float; expected a fitted"),
        (object, r"m\.onnx: is made of type"),
        (b"no model at all", r"m\.onnx: "),
        ("gone.onnx", r"gone\.onnx: is not there; check the path"),
        (DATA / "I05_grey.jpg", r"is no model that the build reads; expected \.onnx, \.pt2"),
        (DATA / "H04_truncated.onnx", r"the file was cut, 11,185 of at least"),
    ],
)
def test_what_is_no_model_is_refused_with_a_sentence(thing: Any, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        sources.export(thing, "m.onnx")


# ---- verify ----------------------------------------------------------------------------------------------------

WEIGHT = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)
LINEAR = linear(WEIGHT).SerializeToString()
X = np.array([[1.0, 10.0], [2.0, 20.0]], np.float32)


def test_agreement_is_a_sentence_with_the_number() -> None:
    kinds = {"name": "m.onnx", "source": "NumPy 2"}
    assert verify(LINEAR, [{"x": X}], [[X @ WEIGHT]], **kinds) == "agrees with NumPy 2 on 1 input (equal)"
    said = verify(LINEAR, [{"x": X}] * 2, [[(X @ WEIGHT).astype(np.float64) * (1 + 1e-6)]] * 2, **kinds)
    assert said == "agrees with NumPy 2 on 2 inputs (120 dB, largest difference 1.3e-04)"


@pytest.mark.parametrize(
    ("expected", "tolerance", "message"),
    [
        (
            [X @ WEIGHT + [[0, 0, 0], [0, 7, 0]]],
            {},
            r'output "y".* on input 1 of 1: expected 111\.0, got 104\.0 at \[1, 1',
        ),
        ([X @ WEIGHT * 1.01], {}, r"6 of 6 differ, 40 dB; allowed: 80 dB\); look closer"),
        ([X @ WEIGHT * [[1, 1, 1.01], [1, 1, 1]]], {"rtol": 1e-3}, r"\[0, 2\] \(1 of 6 differ.*difference of 0\.001"),
        ([(X @ WEIGHT)[:1]], {}, r"expected float32\[1, 3\], got float32\[2, 3\]"),
        ([(X @ WEIGHT).astype(int)], {}, r"expected int64\[2, 3\], got float32\[2, 3\]"),
        ([np.full((2, 3), np.nan)], {}, r"expected nan, got 41\.0 at \[0, 0\]"),
        ([X @ WEIGHT, X], {}, "its export has 1 outputs, NumPy gives 2"),
    ],
)
def test_an_output_that_differs_is_named_with_what_was_expected(expected: Any, tolerance: Any, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        verify(LINEAR, [{"x": X}], [expected], name="m.onnx", source="NumPy", remedy="look closer", **tolerance)


def test_an_export_that_does_not_load_or_run_is_an_error_of_the_build() -> None:
    with pytest.raises(BuildError, match=r"m\.onnx: ONNX Runtime does not load it"):
        verify(b"junk", [], [], name="m.onnx", source="NumPy")
    with pytest.raises(BuildError, match=r"m\.onnx: its export fails on x float32\[1, 5\]"):
        verify(LINEAR, [{"x": np.zeros((1, 5), np.float32)}], [[X]], name="m.onnx", source="NumPy")
