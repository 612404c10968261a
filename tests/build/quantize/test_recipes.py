"""What each recipe does to the operators it knows, on native ONNX Runtime."""

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from onnxlet.dtypes import Array
from onnxlet_build.quantization.evaluate import variant
from onnxlet_build.quantization.graphs import Graph, prepare
from onnxlet_build.quantization.integers import affine, blocks, mean_shift, symmetric
from onnxlet_build.quantization.native import Native
from onnxlet_build.quantization.recipes import RECIPES

from .models import cnn, model
from .test_cases import ranges

RANDOM = np.random.default_rng(0)


def snr_db(a: Array, b: Array) -> float:
    return float(10 * np.log10(np.sum(a.astype(np.float64) ** 2) / np.sum((a.astype(np.float64) - b) ** 2)))


def both(data: bytes, recipe: str, feeds: dict[str, Array]) -> tuple[list[Array], list[Array], list[str]]:
    """Outputs before and after a recipe, and the operators after."""
    base = prepare(data)
    seen = ranges(base, feeds)
    after = variant(base, recipe, RECIPES[recipe].targets(Graph(base), seen), seen)
    kinds = [node.op_type for node in onnx.load_model_from_string(after).graph.node]
    return Native(data).run(feeds), Native(after).run(feeds), kinds


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
@settings(max_examples=100, deadline=None)
def test_zero_has_an_integer_of_its_own_in_every_range(a: float, b: float) -> None:
    found = affine(min(a, b), max(a, b))
    assert 0 <= int(found.zero_point) <= 255
    assert np.isfinite(found.scale)
    assert found.scale > 0
    for value in (a, b):
        near = (np.clip(np.rint(value / found.scale) + found.zero_point, 0, 255) - found.zero_point) * found.scale
        assert abs(near - value) <= found.scale * 1.01


@pytest.mark.parametrize(("bits", "least_db"), [(4, 18), (8, 42)])
@pytest.mark.parametrize("k", [1, 31, 32, 33, 100])
def test_blocks_are_what_matmulnbits_reads(bits: int, least_db: float, k: int) -> None:
    weight = RANDOM.normal(size=(5, k)).astype(np.float32)
    integers, scales, zeros = blocks(weight, bits)
    count = scales.shape[1]
    assert integers.shape == (5, count, 32 * bits // 8)
    assert zeros.shape == (5, -(-count * bits // 8))
    constants = {"q": integers, "s": scales, "z": zeros}
    graph = helper.make_graph(
        [
            helper.make_node(
                "MatMulNBits", ["x", *constants], ["y"], domain="com.microsoft", K=k, N=5, bits=bits, block_size=32
            )
        ],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [k, k])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    data = helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()
    (got,) = Native(data).run({"x": np.eye(k, dtype=np.float32)})
    assert snr_db(weight.T, got) > least_db


def test_what_rounding_adds_to_the_means_is_known() -> None:
    weight = RANDOM.normal(size=(6, 2, 3, 3)).astype(np.float32)  # two groups over four channels
    integers, scale = symmetric(weight, 0)
    means = [1.0, 2.0, 3.0, 4.0]
    error = integers * scale.reshape(-1, 1, 1, 1) - weight
    for channel in range(6):
        inputs = means[:2] if channel < 3 else means[2:]
        right = sum(float(error[channel, i].sum()) * inputs[i] for i in range(2))
        assert mean_shift(weight, integers, scale, means)[channel] == pytest.approx(right, abs=1e-5)


@pytest.mark.parametrize("recipe", ["int8-static", "int8-dynamic", "int8-weights"])
def test_the_means_of_filters_that_add_up_to_nothing_are_kept(recipe: str) -> None:
    weight = RANDOM.normal(size=(16, 32, 3, 3))
    weight -= weight.mean(axis=(1, 2, 3), keepdims=True)
    data = model([helper.make_node("Conv", ["x", "w"], ["y"])], {"x": [1, 32, 12, 12]}, ["y"], {"w": weight})
    feeds = {"x": (5 + RANDOM.normal(size=(1, 32, 12, 12)) * 0.1).astype(np.float32)}
    base = prepare(data)
    seen = ranges(base, feeds)
    targets = RECIPES[recipe].targets(Graph(base), seen)
    (right,) = Native(base).run(feeds)
    with_means, without = (
        np.abs((Native(variant(base, recipe, targets, known)).run(feeds)[0] - right).mean(axis=(2, 3))).mean()
        for known in (seen, {name: value._replace(means=()) for name, value in seen.items()})
    )
    assert with_means < without / 4


def test_an_lstm_in_both_directions_has_a_dynamic_form() -> None:
    size, width = 8, 6
    constants = {
        "w": RANDOM.normal(size=(2, 4 * size, width)) * 0.3,
        "r": RANDOM.normal(size=(2, 4 * size, size)) * 0.3,
        "b": RANDOM.normal(size=(2, 8 * size)) * 0.1,
    }
    node = helper.make_node("LSTM", ["x", *constants], ["y", "h", "c"], hidden_size=size, direction="bidirectional")
    data = model([node], {"x": [7, 2, width]}, ["y", "h", "c"], constants)
    before, after, kinds = both(data, "int8-dynamic", {"x": RANDOM.normal(size=(7, 2, width)).astype(np.float32)})
    assert kinds == ["DynamicQuantizeLSTM"]
    assert all(snr_db(a, b) > 30 for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    ("recipe", "kind", "least_db"),
    [
        ("int8-dynamic", "DequantizeLinear", 38),
        ("int8-weights", "GatherBlockQuantized", 38),
        ("int4-weights", "GatherBlockQuantized", 16),
    ],
)
def test_embeddings_are_picked_from_a_smaller_table(recipe: str, kind: str, least_db: float) -> None:
    table = RANDOM.normal(size=(50, 64)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["y"])],
        "g",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(table, "table")],
    )
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    ids = np.array([[0, 49, 7], [7, 1, 2]])
    base = prepare(data)
    after = variant(base, recipe, RECIPES[recipe].targets(Graph(base), {}), {})
    assert kind in [node.op_type for node in onnx.load_model_from_string(after).graph.node]
    assert snr_db(table[ids], Native(after).run({"ids": ids})[0]) > least_db


@pytest.mark.parametrize("recipe", ["int8-dynamic", "int8-static", "int8-weights", "int4-weights"])
@pytest.mark.parametrize(
    "attributes",
    [{"transB": 1}, {"transB": 0, "alpha": 0.5, "beta": 2.0}, {"transA": 1, "transB": 1}],
    ids=["transB", "alpha and beta", "transA"],
)
def test_a_gemm_is_a_product_whatever_its_attributes(recipe: str, attributes: dict[str, float]) -> None:
    weight = RANDOM.normal(size=(64, 64))
    constants = {"w": weight, "b": RANDOM.normal(size=64)}
    node = helper.make_node("Gemm", ["x", "w", "b"], ["y"], name="layer", **attributes)
    data = model([node], {"x": [64, 64]}, ["y"], constants)
    feeds = {"x": RANDOM.normal(size=(64, 64)).astype(np.float32)}
    if "transA" in attributes:
        assert RECIPES[recipe].targets(Graph(prepare(data)), {}) == []  # left in float
        return
    before, after, _ = both(data, recipe, feeds)
    assert snr_db(before[0], after[0]) > (15 if recipe == "int4-weights" else 30)


def test_layers_that_share_a_weight_share_its_integers() -> None:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("MatMul", ["h", "w"], ["y"])]
    data = model(nodes, {"x": [2, 64]}, ["y"], {"w": RANDOM.normal(size=(64, 64)) / 8})
    for recipe in ("int8-dynamic", "int8-static", "int8-weights", "fp16", "fp16-storage"):
        base = prepare(data)
        seen = ranges(base, {"x": RANDOM.normal(size=(2, 64)).astype(np.float32)})
        after = variant(base, recipe, RECIPES[recipe].targets(Graph(base), seen), seen)
        large = [t for t in onnx.load_model_from_string(after).graph.initializer if np.prod(t.dims) >= 64 * 64]
        assert len(large) == 1, recipe


def test_branches_keep_reading_what_became_float16_outside() -> None:
    branch = helper.make_graph(
        [helper.make_node("Add", ["h", "h"], ["twice"])],
        "b",
        [],
        [helper.make_tensor_value_info("twice", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch),
    ]
    proto = onnx.load_model_from_string(model(nodes, {"x": [2, 8]}, ["y"], {"w": RANDOM.normal(size=(8, 8))}))
    proto.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
    feeds = {"x": RANDOM.normal(size=(2, 8)).astype(np.float32)}
    before, after, _ = both(proto.SerializeToString(), "fp16", feeds)
    assert snr_db(before[0], after[0]) > 45


def test_a_prepared_model_answers_as_before_and_every_node_has_a_name_of_its_own() -> None:
    nodes = [
        helper.make_node("Constant", [], ["two"], value_float=2.0),
        helper.make_node("Mul", ["x", "two"], ["h"], name="same"),
        helper.make_node("Add", ["h", "x"], ["y"], name="same"),
    ]
    data = model(nodes, {"x": [2]}, ["y"], {}, opset=12)
    base = prepare(data)
    graph = Graph(base)
    assert graph.opset("") == 13
    assert graph.constant("two") == 2
    assert len({node.name for node in graph.nodes}) == 2
    x = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(Native(base).run({"x": x})[0], 3 * x)


def test_static_models_keep_to_operators_that_the_page_reads() -> None:
    base = prepare(cnn())
    proto = onnx.load_model_from_string(base)
    assert proto.ir_version <= 13
    assert all(imported.version <= 26 for imported in proto.opset_import)


def test_convolutions_of_few_products_stay_in_float_in_the_static_form() -> None:
    targets = RECIPES["int8-static"].targets(Graph(prepare(cnn())), {})
    assert {"project0", "project1", "head"} <= set(targets)
    assert not {"stem", "depth0", "expand0"} & set(targets)
