"""Finding the node where two ways of running a model part."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from onnx import TensorProto, helper

import onnxlet
from onnxlet import protobuf
from onnxlet.comparison import snr_db
from onnxlet.tensors import from_array, to_array

LAYERS = 6


def encoder(seed: int = 0) -> bytes:
    """Six layers of MatMul, Add and Tanh on f32 [batch, 16]."""
    rng = np.random.default_rng(seed)
    nodes, weights, value = [], [], "x"
    for i in range(LAYERS):
        weights.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT, [16, 16], rng.normal(0, 0.4, 256)))
        weights.append(helper.make_tensor(f"b{i}", TensorProto.FLOAT, [16], rng.normal(0, 0.1, 16)))
        nodes += [
            helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"], f"matmul{i}"),
            helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], f"add{i}"),
            helper.make_node("Tanh", [f"a{i}"], [f"t{i}"], f"tanh{i}"),
        ]
        value = f"t{i}"
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 16]) for n in ("x", value)]
    graph = helper.make_graph(nodes, "encoder", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def with_error_in(model: bytes, name: str) -> bytes:
    """The model with the first number of one weight replaced."""
    parsed = protobuf.load(model)

    def planted(tensor):
        if tensor.name != name:
            return tensor
        array = to_array(tensor).copy()
        array.flat[0] += 3
        return from_array(name, array)

    initializers = tuple(map(planted, parsed.graph.initializers))
    return protobuf.dump(replace(parsed, graph=replace(parsed.graph, initializers=initializers)))


FEEDS = {"x": np.random.default_rng(1).normal(size=(3, 16)).astype("float32")}


def test_two_right_providers_agree_on_every_tensor():
    result = onnxlet.compare(encoder(), FEEDS)
    assert result.first is None
    assert len(result.rows) == 3 * LAYERS
    assert min(row.snr_db for row in result.rows) > 100
    assert "0 under 60 dB" in str(result)


@pytest.mark.parametrize("weight", ["w0", "w3", "w5"])
def test_a_planted_error_is_found_as_the_first_bad_node(weight):
    model = encoder()
    result = onnxlet.compare(model, FEEDS, model, with_error_in(model, weight))
    assert result.first is not None
    assert result.first.node == f"matmul{weight[1]}"
    assert "first below the tolerance" in str(result).splitlines()[2]


def test_the_definition_finds_the_error_of_a_variant_on_another_provider():
    model = encoder()
    result = onnxlet.compare(model, FEEDS, "NumpyExecutionProvider", with_error_in(model, "b2"))
    assert result.first is not None
    assert result.first.node == "add2"


def test_worst_rows_come_first():
    model = encoder()
    ratios = [row.snr_db for row in onnxlet.compare(model, FEEDS, model, with_error_in(model, "w1")).worst(5)]
    assert ratios == sorted(ratios)
    assert len(ratios) == 5


def test_models_without_a_common_tensor_are_refused():
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["other"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 16])],
        [helper.make_tensor_value_info("other", TensorProto.FLOAT, [None, 16])],
    )
    other = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    with pytest.raises(onnxlet.InvalidInput, match="no tensor name in common"):
        onnxlet.compare(encoder(), FEEDS, encoder(), other)


def test_nan_on_one_side_is_named():
    model = encoder()
    broken = protobuf.load(with_error_in(model, "w2"))
    tensors = tuple(
        from_array(t.name, np.full(t.dims, np.nan, "float32")) if t.name == "b2" else t
        for t in broken.graph.initializers
    )
    spoiled = protobuf.dump(replace(broken, graph=replace(broken.graph, initializers=tensors)))
    result = onnxlet.compare(model, FEEDS, model, spoiled)
    assert "NaN or infinite on one side only" in next(row.note for row in result.rows if row.node == "add2")


def test_an_awaited_comparison_says_the_same():
    model = encoder()
    awaited = asyncio.run(onnxlet.acompare(model, FEEDS, model, with_error_in(model, "w4")))
    assert awaited.first is not None
    assert awaited.first.node == "matmul4"


def test_signal_to_noise_is_in_decibels():
    signal = np.ones(100)
    assert snr_db(signal, signal * 1.1) == pytest.approx(20)
    assert snr_db(signal, signal) == np.inf
    assert snr_db(np.zeros(4), signal[:4]) == -np.inf


def test_values_are_fetched_in_batches_of_a_size(monkeypatch):
    asked = []
    run = onnxlet.InferenceSession.run

    def counted(self, names, feeds, *args):
        asked.append(list(names))
        return run(self, names, feeds, *args)

    monkeypatch.setattr("onnxlet.comparison.FIRST_BATCH", 2)
    monkeypatch.setattr("onnxlet.comparison.BATCH_BYTES", 5 * 3 * 16 * 4)  # five tensors of [3, 16]
    monkeypatch.setattr(onnxlet.InferenceSession, "run", counted)
    feeds = {"x": np.ones((3, 16), np.float32)}
    batched = onnxlet.compare(encoder(), feeds, "NumpyExecutionProvider", with_error_in(encoder(), "w3"))
    assert max(map(len, asked)) == 5
    monkeypatch.undo()
    assert batched == onnxlet.compare(encoder(), feeds, "NumpyExecutionProvider", with_error_in(encoder(), "w3"))


def test_a_side_that_its_provider_does_not_take_is_called_by_what_ran(recwarn):
    node = helper.make_node("Nothing", ["x"], ["y"], "nothing", domain="test.comparison")
    onnxlet.op("Nothing", domain="test.comparison")(lambda x: x)
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"])] for n in "xy"]
    model = helper.make_model(
        helper.make_graph([node], "g", *ends),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("test.comparison", 1)],
        ir_version=8,
    )
    found = onnxlet.compare(model.SerializeToString(), {"x": np.ones(2, np.float32)})
    assert found.a == "NumpyExecutionProvider (CPUExecutionProvider did not take it)"
    assert found.first is None
