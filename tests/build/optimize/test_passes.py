"""Graph passes, each by itself: what it removes or rewrites, what it must leave alone, and that answers stay."""

from typing import Any

import numpy as np
import onnx
import onnx.helper as h
import pytest

from onnxlet.model import TensorType
from onnxlet_build.equivalence import restore
from onnxlet_build.models import infer_types
from onnxlet_build.passes import Unsuited, dead_weight, narrow_integers, onnxruntime_offline, slim, transformer_fusions
from onnxlet_build.passes.integer_ranges import ranges

from .graphs import BOOL, FLOAT, INT64, copy, model, ops, run

RNG = np.random.default_rng(0)
W = RNG.standard_normal((8, 8)).astype(np.float32)
X = RNG.standard_normal((3, 8)).astype(np.float32)
IN, OUT = [("x", FLOAT, ["n", 8])], [("y", FLOAT, ["n", 8])]


def same(before: onnx.ModelProto, after: onnx.ModelProto, feeds: dict[str, Any]) -> None:
    for a, b in zip(run(before, feeds), run(after, feeds), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_dead_weight_goes_and_answers_stay_bit_for_bit() -> None:
    before = model(
        [
            h.make_node("Identity", ["x"], ["a"], doc_string="File model.py, line 3"),
            h.make_node("Cast", ["a"], ["b"], to=FLOAT),
            h.make_node("MatMul", ["b", "w"], ["c"]),
            h.make_node("Dropout", ["c", "ratio", "training"], ["d"]),
            h.make_node("MatMul", ["d", "copy"], ["e"]),
            h.make_node("Relu", ["a"], ["unused"]),
            h.make_node("Identity", ["e"], ["y"]),
        ],
        IN,
        OUT,
        {"w": W, "copy": W, "lost": W, "ratio": np.float32(0.5), "training": np.array(False)},
    )
    after = dead_weight.run(copy(before))
    assert ops(after) == ["MatMul", "MatMul"]
    assert [tensor.name for tensor in after.graph.initializer] == ["w"]
    assert b"model.py" not in after.SerializeToString()
    same(before, after, {"x": X})


@pytest.mark.parametrize(
    ("nodes", "constants"),
    [
        ([h.make_node("Dropout", ["x", "ratio", "on"], ["y"])], {"ratio": np.float32(0.5), "on": np.array(True)}),
        ([h.make_node("Dropout", ["x"], ["y", "mask"]), h.make_node("Cast", ["mask"], ["z"], to=FLOAT)], {}),
        ([h.make_node("Identity", ["x"], ["y"])], {}),
        ([h.make_node("Relu", ["x"], ["y"])], {"x": np.zeros((2, 8), np.float32)}),
    ],
    ids=["dropout in training", "dropout's mask", "input as output", "default of an input"],
)
def test_what_has_an_effect_stays(nodes: list[onnx.NodeProto], constants: dict[str, Any]) -> None:
    outputs = OUT + [("z", FLOAT, ["n", 8])] * (len(nodes) > 1)
    before = model(nodes, IN, outputs, constants)
    with pytest.raises(Unsuited, match="nothing unused"):
        dead_weight.run(copy(before))


def test_a_value_that_a_subgraph_reads_is_renamed_there_too() -> None:
    branch = h.make_graph(
        [h.make_node("MatMul", ["a", "copy"], ["t"])], "then", [], [h.make_tensor_value_info("t", 1, None)]
    )
    other = h.make_graph([h.make_node("Identity", ["a"], ["f"])], "else", [], [h.make_tensor_value_info("f", 1, None)])
    before = model(
        [
            h.make_node("Identity", ["x"], ["a"]),
            h.make_node("MatMul", ["a", "w"], ["m"]),
            h.make_node("If", ["c"], ["i"], then_branch=branch, else_branch=other),
            h.make_node("Add", ["m", "i"], ["y"]),
        ],
        [*IN, ("c", BOOL, [])],
        OUT,
        {"w": W, "copy": W},
    )
    after = dead_weight.run(copy(before))
    assert ops(after) == ["MatMul", "If", "Add"]
    assert len(after.graph.initializer) == 1
    for c in (True, False):
        same(before, after, {"x": X, "c": np.array(c)})


POSITIONS = [  # of the tokens that are no padding, as RoBERTa counts them
    h.make_node("Equal", ["ids", "pad"], ["is_pad"]),
    h.make_node("Not", ["is_pad"], ["real"]),
    h.make_node("Cast", ["real"], ["one"], to=INT64),
    h.make_node("CumSum", ["one", "axis"], ["count"]),
    h.make_node("Mul", ["count", "one"], ["masked"]),
    h.make_node("Add", ["masked", "pad"], ["position"]),
    h.make_node("Gather", ["table", "position"], ["y"]),
]
TABLE = {"pad": np.array(1), "axis": np.array(1), "table": RNG.standard_normal((20, 4)).astype(np.float32)}
IDS = np.array([[5, 6, 7, 1, 1], [9, 1, 1, 1, 1]])


def test_positions_are_counted_in_int32_where_the_numbers_fit() -> None:
    inputs: list[Any] = [("ids", INT64, ["n", "t"])]
    outputs: list[Any] = [("y", FLOAT, ["n", "t", 4]), ("position", INT64, ["n", "t"])]
    before = model(POSITIONS, inputs, outputs, TABLE)
    after = narrow_integers.run(copy(before))
    types = infer_types(copy(after))
    assert {types[name].elem_type.name for name in ("one", "count", "masked")} == {"INT32"}
    assert ops(after).count("Cast") == 2  # one more, to give the output its type again
    onnx.checker.check_model(after, full_check=True)
    same(before, after, {"ids": IDS})


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        (
            [h.make_node("Mul", ["ids", "ids"], ["a"]), h.make_node("Add", ["a", "ids"], ["y"])],
            "the input's range is open",
        ),
        ([h.make_node("Shape", ["ids"], ["s"]), h.make_node("Mul", ["s", "s"], ["y"])], "sizes times sizes overflow"),
        ([h.make_node("ArgMax", ["ids"], ["a"]), h.make_node("Mul", ["a", "big"], ["y"])], "the factor is large"),
    ],
)
def test_what_may_not_fit_stays_int64(nodes: list[onnx.NodeProto], why: str) -> None:
    before = model(nodes, [("ids", INT64, ["n", "t"])], [("y", INT64, None)], {"big": np.array(147_000_000_000)})
    with pytest.raises(Unsuited, match="provably"):
        narrow_integers.run(copy(before))


def test_shapes_stay_int64() -> None:
    nodes = [
        h.make_node("Shape", ["x"], ["s"]),
        h.make_node("Gather", ["s", "zero"], ["n"]),
        h.make_node("Mul", ["n", "two"], ["m"]),
        h.make_node("Concat", ["m", "four"], ["to"], axis=0),
        h.make_node("Reshape", ["x", "to"], ["y"]),
    ]
    constants = {"zero": np.array([0]), "two": np.array([2]), "four": np.array([4])}
    with pytest.raises(Unsuited):
        narrow_integers.run(model(nodes, IN, [("y", FLOAT, None)], constants))


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([h.make_node("Shape", ["x"], ["y"])], (2, 5)),
        ([h.make_node("ArgMax", ["x"], ["y"], axis=1)], (0, 4)),
        ([h.make_node("ArgMax", ["x"], ["a"], axis=1), h.make_node("Sub", ["seven", "a"], ["y"])], (3, 7)),
        ([h.make_node("Greater", ["x", "x"], ["b"]), h.make_node("Cast", ["b"], ["y"], to=INT64)], (0, 1)),
        ([h.make_node("ArgMax", ["x"], ["a"], axis=1), h.make_node("Neg", ["a"], ["y"])], (-4, 0)),
        ([h.make_node("ArgMax", ["x"], ["a"], axis=1), h.make_node("CumSum", ["a", "seven"], ["y"])], (0, 8)),
        ([h.make_node("ArgMax", ["x"], ["a"], axis=1), h.make_node("Mod", ["a", "seven"], ["y"])], (0, 6)),
        ([h.make_node("Cast", ["x"], ["y"], to=INT64)], None),
    ],
)
def test_ranges_are_those_that_the_graph_proves(nodes: list[onnx.NodeProto], expected: tuple[int, int] | None) -> None:
    graph = model(nodes, [("x", FLOAT, [2, 5])], [("y", INT64, None)], {"seven": np.array(7)})
    types: dict[str, TensorType] = infer_types(copy(graph))
    found = ranges(graph.graph, types).get("y")
    assert (
        found == expected if expected is None or nodes[-1].op_type != "CumSum" else found is not None and found[1] >= 4
    )


def conv_net() -> onnx.ModelProto:
    kernel = RNG.standard_normal((4, 8, 1)).astype(np.float32)
    ones = np.abs(RNG.standard_normal((4, 4))).astype(np.float32)
    return model(
        [
            h.make_node("Conv", ["x", "k"], ["a"]),
            h.make_node("BatchNormalization", ["a", "scale", "bias", "mean", "var"], ["b"]),
            h.make_node("Relu", ["b"], ["y"]),
        ],
        [("x", FLOAT, ["n", 8, "t"])],
        [("y", FLOAT, ["n", 4, "t"])],
        {"k": kernel, "scale": ones[0], "bias": ones[1], "mean": ones[2], "var": ones[3]},
    )


@pytest.mark.parametrize(
    "level", [onnxruntime_offline.basic, onnxruntime_offline.extended, onnxruntime_offline.everything]
)
def test_onnxruntime_folds_batch_norm_and_fuses_nothing_that_cannot_be_quantized(level: Any) -> None:
    before = conv_net()
    after = level(copy(before))
    assert ops(after) == ["Conv", "Relu"]
    x = RNG.standard_normal((2, 8, 5)).astype(np.float32)
    np.testing.assert_allclose(run(before, {"x": x})[0], run(after, {"x": x})[0], rtol=1e-4, atol=1e-5)


def test_onnxruntime_is_not_asked_about_operators_that_it_does_not_know() -> None:
    custom = model([h.make_node("Swish6", ["x"], ["y"], domain="com.acme")], IN, OUT, domains=["com.acme"])
    with pytest.raises(Unsuited, match=r"com\.acme"):
        onnxruntime_offline.basic(custom)


def test_weights_that_are_stored_in_fewer_bits_are_not_folded() -> None:
    half = RNG.standard_normal((64, 64)).astype(np.float16)
    before = model(
        [h.make_node("Cast", ["half"], ["w"], to=FLOAT), h.make_node("MatMul", ["x", "w"], ["y"])],
        [("x", FLOAT, ["n", 64])],
        [("y", FLOAT, ["n", 64])],
        {"half": half},
    )
    for run_pass in (slim.run, onnxruntime_offline.basic):
        assert run_pass(copy(before)).ByteSize() < before.ByteSize() + 1000


def test_onnxslim_does_not_freeze_an_input_that_has_a_default() -> None:
    with pytest.raises(Unsuited, match="defaults"):
        slim.run(model([h.make_node("MatMul", ["x", "w"], ["y"])], [*IN, ("w", FLOAT, [8, 8])], OUT, {"w": W}))


def transformer_layer() -> onnx.ModelProto:
    """Attention with one head, a skip connection, and a layer normalization written out."""
    n = h.make_node
    nodes = [
        n("MatMul", ["x", "wq"], ["q"]),
        n("MatMul", ["x", "wk"], ["k"]),
        n("MatMul", ["x", "wv"], ["v"]),
        n("Transpose", ["k"], ["kt"], perm=[0, 2, 1]),
        n("MatMul", ["q", "kt"], ["s"]),
        n("Softmax", ["s"], ["p"], axis=-1),
        n("MatMul", ["p", "v"], ["c"]),
        n("Add", ["c", "x"], ["r"]),
        n("ReduceMean", ["r", "last"], ["mean"], keepdims=1),
        n("Sub", ["r", "mean"], ["d"]),
        n("Pow", ["d", "two"], ["d2"]),
        n("ReduceMean", ["d2", "last"], ["var"], keepdims=1),
        n("Add", ["var", "eps"], ["ve"]),
        n("Sqrt", ["ve"], ["std"]),
        n("Div", ["d", "std"], ["norm"]),
        n("Mul", ["norm", "gamma"], ["scaled"]),
        n("Add", ["scaled", "beta"], ["y"]),
    ]
    weights = {name: RNG.standard_normal((8, 8)).astype(np.float32) for name in ("wq", "wk", "wv")}
    small = {"last": np.array([-1]), "two": np.float32(2), "eps": np.float32(1e-5)}
    rows = {"gamma": np.ones(8, np.float32), "beta": np.zeros(8, np.float32)}
    return model(
        nodes, [("x", FLOAT, ["b", "t", 8])], [("y", FLOAT, ["b", "t", 8])], {**weights, **small, **rows}, opset=18
    )


def test_a_layer_normalization_of_a_transformer_becomes_one_node() -> None:
    before = transformer_layer()
    after = transformer_fusions.run(copy(before))
    assert len(ops(after)) <= 9
    assert {"LayerNormalization", "SkipLayerNormalization"} & set(ops(after))
    assert "ReduceMean" not in ops(after)


def attention_layer(masked: bool) -> onnx.ModelProto:
    """Four heads of eight, as exporters write BERT's; with a mask, -10000 is added where it is 0."""
    n = h.make_node
    nodes = [n("LayerNormalization", ["x", "g", "b"], ["in"], axis=-1)]
    constants: dict[str, Any] = {"g": np.ones(32, np.float32), "b": np.zeros(32, np.float32)}
    for name in ("q", "k", "v", "o"):
        constants[f"w{name}"] = (RNG.standard_normal((32, 32)) / 6).astype(np.float32)
        constants[f"b{name}"] = RNG.standard_normal(32).astype(np.float32)
    for name, perm in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [n("MatMul", ["in", f"w{name}"], [f"{name}1"]), n("Add", [f"b{name}", f"{name}1"], [f"{name}2"])]
        nodes += [
            n("Reshape", [f"{name}2", "split"], [f"{name}3"]),
            n("Transpose", [f"{name}3"], [f"{name}4"], perm=perm),
        ]
    constants |= {"split": np.array([0, 0, 4, 8]), "join": np.array([0, 0, 32]), "root": np.float32(8**0.5)}
    nodes += [n("MatMul", ["q4", "k4"], ["s"]), n("Div", ["s", "root"], ["scores"])]
    inputs: list[Any] = [("x", FLOAT, ["n", "t", 32])]
    if masked:
        inputs.append(("mask", INT64, ["n", "t"]))
        constants |= {"rows": np.array([1]), "heads": np.array([2]), "one": np.float32(1), "low": np.float32(-10000)}
        nodes += [n("Unsqueeze", ["mask", "rows"], ["m0"]), n("Unsqueeze", ["m0", "heads"], ["m1"])]
        nodes += [n("Cast", ["m1"], ["m2"], to=FLOAT)]
        nodes += [
            n("Sub", ["one", "m2"], ["m3"]),
            n("Mul", ["m3", "low"], ["m4"]),
            n("Add", ["scores", "m4"], ["masked"]),
        ]
    nodes += [n("Softmax", ["masked" if masked else "scores"], ["p"], axis=-1), n("MatMul", ["p", "v4"], ["c1"])]
    nodes += [n("Transpose", ["c1"], ["c2"], perm=[0, 2, 1, 3]), n("Reshape", ["c2", "join"], ["c3"])]
    nodes += [n("MatMul", ["c3", "wo"], ["o1"]), n("Add", ["bo", "o1"], ["o2"]), n("Add", ["o2", "in"], ["r"])]
    nodes += [n("LayerNormalization", ["r", "g", "b"], ["y"], axis=-1)]
    return model(nodes, inputs, [("y", FLOAT, ["n", "t", 32])], constants, opset=17)


def test_attention_becomes_one_node_and_keeps_its_matrices_for_the_quantizer() -> None:
    before = attention_layer(masked=False)
    after = restore(transformer_fusions.run(copy(before)), before)
    assert sorted(ops(after)) == [
        "LayerNormalization",
        *["MatMul"] * 4,
        "MultiHeadAttention",
        "SkipLayerNormalization",
    ]
    x = RNG.standard_normal((2, 5, 32)).astype(np.float32)
    np.testing.assert_allclose(run(before, {"x": x})[0], run(after, {"x": x})[0], rtol=1e-3, atol=1e-4)
    without = restore(transformer_fusions.without_attention(copy(before)), before)
    assert "MultiHeadAttention" not in ops(without)
    assert "SkipLayerNormalization" in ops(without)


def test_what_is_no_transformer_is_left_to_others() -> None:
    with pytest.raises(Unsuited, match="no transformer"):
        transformer_fusions.run(conv_net())
