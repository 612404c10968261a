"""The table of a model's nodes, what a node gave, and how that is summed up: equal to what numpy says."""

import asyncio
import base64
import itertools
import json
from collections.abc import Iterator

import numpy as np
import pytest
from onnx import TensorProto, helper

import onnxlet
from onnxlet import last_calls, node_table
from onnxlet import session as onnxlet_session
from onnxlet.dtypes import DataType, Narrow
from onnxlet.value_summary import BINS, FEW, SIDE, UNFIT, summarize
from tests.core.test_inside import model as inside_model

CPU, NUMPY = "CPUExecutionProvider", "NumpyExecutionProvider"
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(autouse=True)
def _watched() -> Iterator[None]:
    before = list(onnxlet_session.observers)
    last_calls.watch()
    yield
    onnxlet_session.observers[:] = before


def ran(data: bytes, feeds: dict[str, np.ndarray], provider: str = CPU) -> onnxlet.InferenceSession:
    session = onnxlet.InferenceSession(data, providers=[provider])
    session.run(None, feeds)
    return session


def built(nodes: list, ends: dict[str, int], opset: int = 17) -> bytes:
    """A model from "x" to the named outputs."""
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])]
    graph = helper.make_graph(nodes, "g", given, [helper.make_tensor_value_info(n, t, None) for n, t in ends.items()])
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def test_the_table_says_where_every_node_runs_before_anything_is_measured() -> None:
    session = onnxlet.InferenceSession(inside_model(), providers=[CPU])
    table = asyncio.run(node_table.nodes(session.number))
    assert not table["ran"]
    session.run(None, {"x": X})
    table = asyncio.run(node_table.nodes(session.number))
    assert table["ran"]
    assert [(row["node"], row["operator"], row["provider"]) for row in table["nodes"]] == [
        ("exp", "Exp", CPU),
        ("neg", "Neg", CPU),
        ("half", "Half", NUMPY),
        ("tanh", "Tanh", CPU),
    ]
    assert table["nodes"][2]["domain"] == "test.inside"
    assert table["nodes"][3]["outputs"] == [{"name": "y", "type": "float", "shape": None}]
    assert table["inputs"] == [{"name": "x", "type": "float", "shape": ["n", 4]}]


def test_a_measurement_gives_each_value_its_type_and_shape_and_each_node_its_time() -> None:
    session = ran(inside_model(), {"x": X})
    found = asyncio.run(node_table.measure(session.number))
    assert found["values"] == {name: {"type": "float32", "shape": [3, 4]} for name in "enhy"}
    assert "half" in found["times"]
    assert all(row["ms"] >= 0 for row in found["times"].values())
    assert found["total_ms"] > 0
    assert json.loads(json.dumps(found)) == found


def test_values_are_fetched_in_batches_and_all_of_them_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_table, "FIRST_BATCH", 3)
    names = ["x", *(f"v{i}" for i in range(10))]
    nodes = [helper.make_node("Neg", [a], [b], b) for a, b in itertools.pairwise(names)]
    session = ran(built(nodes, {"v9": TensorProto.FLOAT}), {"x": X})
    found = asyncio.run(node_table.measure(session.number))
    assert list(found["values"]) == names[1:]


@pytest.mark.parametrize("provider", [CPU, NUMPY])
def test_what_a_node_gave_has_the_statistics_that_numpy_gives(provider: str) -> None:
    session = ran(inside_model(), {"x": X}, provider)
    summary = asyncio.run(node_table.value(session.number, "n"))
    expected = -np.exp(X)
    assert summary["shape"] == [3, 4]
    assert summary["type"] == "float32"
    got = [summary[key] for key in ("min", "max", "mean", "std")]
    wide = expected.astype(np.float64)
    np.testing.assert_allclose(got, [wide.min(), wide.max(), wide.mean(), wide.std()], rtol=1e-6)
    assert sum(summary["histogram"]["counts"]) == 12
    assert session.run(None, {"x": X})[0].shape == (3, 4), "the app's own session goes on"


def test_a_fed_value_can_be_looked_at_too_and_an_unknown_one_is_named() -> None:
    session = ran(inside_model(), {"x": X})
    assert asyncio.run(node_table.value(session.number, "x"))["max"] == 2
    with pytest.raises(onnxlet.InvalidInput, match="no node gives a value 'z'"):
        asyncio.run(node_table.value(session.number, "z"))


def test_a_quantized_value_is_shown_as_the_integers_that_it_is() -> None:
    scale = helper.make_node("Constant", [], ["s"], value_float=0.5)
    zero = helper.make_node("Constant", [], ["z"], value=helper.make_tensor("z", TensorProto.INT8, [], [3]))
    nodes = [
        scale,
        zero,
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], "quantize"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], "dequantize"),
    ]
    session = ran(built(nodes, {"y": TensorProto.FLOAT}), {"x": X})
    summary = asyncio.run(node_table.value(session.number, "q"))
    q = np.rint(X / 0.5).astype(np.int8) + 3
    assert (summary["type"], summary["min"], summary["max"]) == ("int8", int(q.min()), int(q.max()))
    assert summary["mean"] == pytest.approx(q.astype(np.float64).mean())


def test_a_branch_counts_as_the_one_node_that_it_is() -> None:
    def branch(op: str) -> object:
        node = helper.make_node(op, ["x"], [f"{op}_out"], f"{op}_inner")
        out = helper.make_tensor_value_info(f"{op}_out", TensorProto.FLOAT, None)
        return helper.make_graph([node], op, [], [out])

    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], "sum", keepdims=0),
        helper.make_node("Cast", ["total"], ["some"], "cast", to=TensorProto.BOOL),
        helper.make_node("If", ["some"], ["y"], "if", then_branch=branch("Neg"), else_branch=branch("Exp")),
    ]
    session = ran(built(nodes, {"y": TensorProto.FLOAT}), {"x": X + 1})
    found = asyncio.run(node_table.measure(session.number))
    assert found["values"]["y"] == {"type": "float32", "shape": [3, 4]}
    assert found["values"]["some"] == {"type": "bool", "shape": []}
    assert asyncio.run(node_table.value(session.number, "y"))["min"] == -3
    assert [row["node"] for row in asyncio.run(node_table.nodes(session.number))["nodes"]] == ["sum", "cast", "if"]


def test_before_the_first_run_a_measurement_says_what_to_do() -> None:
    session = onnxlet.InferenceSession(inside_model(), providers=[CPU])
    with pytest.raises(onnxlet.InvalidInput, match="has not run yet"):
        asyncio.run(node_table.measure(session.number))


def test_what_is_not_finite_is_counted_and_left_out_of_the_rest() -> None:
    summary = summarize(np.array([1, np.nan, 3, np.inf, -np.inf, 0], np.float32))
    assert (summary["nan"], summary["infinite"], summary["zeros"]) == (1, 2, 1)
    assert (summary["min"], summary["max"]) == (0, 3)
    assert summary["mean"] == pytest.approx(4 / 3)
    pixels = base64.b64decode(summary["picture"]["pixels"])
    assert list(pixels) == [85, UNFIT, 254, UNFIT, UNFIT, 0]
    json.dumps(summary, allow_nan=False)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((0, 3), np.float32),
        np.array(2.5, np.float16),
        np.full(3, np.nan),
        np.array([np.finfo(np.float64).max, -np.finfo(np.float64).max]),
        np.array([1e300, 1e300]),
        np.array([True, False]),
        np.array([2**63 - 1, -(2**63)], np.int64),
        np.array([2**64 - 1], np.uint64),
        np.array([3 + 4j]),
        np.array(["a", "b"], object),
        np.ones((1, 2, 3, 4, 5), np.uint8),
        Narrow(DataType.BFLOAT16, np.array([1.5], np.float32)),
        [np.ones(2)],
        {"a": 1.0},
        None,
    ],
    ids=lambda value: f"{type(value).__name__}-{getattr(value, 'dtype', '')}-{getattr(value, 'shape', '')}",
)
def test_every_kind_of_value_is_summed_up_as_json_can_carry_it(array: object) -> None:
    summary = summarize(array)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    if summary.get("histogram"):
        assert len(summary["histogram"]["counts"]) == BINS
        assert sum(summary["histogram"]["counts"]) == summary["size"]


def test_big_integers_keep_every_digit() -> None:
    summary = summarize(np.array([2**63 - 1, -5], np.int64))
    assert (summary["min"], summary["max"]) == (-5, str(2**63 - 1))


def test_a_feature_map_is_drawn_as_its_first_channels_and_sampled_where_it_is_large() -> None:
    maps = np.zeros((2, 6, 200, 50), np.float32)
    maps[0, 1] = 1
    picture = summarize(maps)["picture"]
    assert (picture["height"], picture["width"], picture["tiles"], picture["of"]) == (SIDE, 50, 4, 12)
    pixels = np.frombuffer(base64.b64decode(picture["pixels"]), np.uint8).reshape(4, SIDE, 50)
    assert [int(tile.max()) for tile in pixels] == [0, 254, 0, 0]


def test_the_first_values_are_written_out() -> None:
    assert summarize(np.arange(3))["few"] == "0, 1, 2"
    assert summarize(np.arange(100))["few"].count(",") == FEW - 1
    assert summarize(np.arange(100))["few"].endswith(" …")
