"""Looking into a session: where its nodes run, what each takes, and which one is wrong."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import onnxlet
from onnxlet import inside, last_calls, partition, protobuf
from onnxlet import session as onnxlet_session

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
CPU, NUMPY = "CPUExecutionProvider", "NumpyExecutionProvider"


def halved(x):
    return x / 2


def halved_type(x, *, into="same"):
    return x if into == "same" else onnxlet.TensorType(onnxlet.DataType.DOUBLE)


onnxlet.op("Half", domain="test.inside", infer=halved_type)(lambda x, *, into="same": halved(x))


def model(outputs: dict[str, int] | None = None, **attributes: str) -> bytes:
    """Exp and Neg on the provider, Half in Python, then Tanh."""
    nodes = [
        helper.make_node("Exp", ["x"], ["e"], "exp"),
        helper.make_node("Neg", ["e"], ["n"], "neg"),
        helper.make_node("Half", ["n"], ["h"], "half", domain="test.inside", **attributes),
        helper.make_node("Tanh", ["h"], ["y"], "tanh"),
    ]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("test.inside", 1)]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4])]
    wanted = [helper.make_tensor_value_info(n, t, None) for n, t in (outputs or {"y": TensorProto.FLOAT}).items()]
    graph = helper.make_graph(nodes, "inside", given, wanted)
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


@pytest.fixture
def watched() -> Iterator[None]:
    before = list(onnxlet_session.observers)
    last_calls.watch()
    yield
    onnxlet_session.observers[:] = before


@pytest.fixture
def session(watched: None) -> onnxlet.InferenceSession:
    session = onnxlet.InferenceSession(model(), providers=[CPU])
    session.run(None, {"x": X})
    return session


def placement_of(session: onnxlet.InferenceSession) -> dict:
    return next(p for p in asyncio.run(inside.placements()) if p["session"] == session.number)


def test_the_placement_names_every_node_in_order_with_what_crosses(session):
    placement = placement_of(session)
    assert [(part["provider"], part["nodes"]) for part in placement["parts"]] == [
        (CPU, [["exp", "Exp"], ["neg", "Neg"]]),
        (NUMPY, [["half", "Half"]]),
        (CPU, [["tanh", "Tanh"]]),
    ]
    assert dict(placement["crossing"]) == {"n": 48, "h": 48}
    assert "Half" in placement["reason"]
    assert placement["ran"]


@pytest.mark.parametrize("provider", [CPU, NUMPY])
def test_a_model_in_one_part_names_its_nodes_too(watched, provider: str):
    parts = [helper.make_node("Neg", ["x"], ["y"], "only")]
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"])] for n in "xy"]
    data = helper.make_model(helper.make_graph(parts, "g", *ends), ir_version=8).SerializeToString()
    session = onnxlet.InferenceSession(data, providers=[provider])
    placement = placement_of(session)
    assert placement["parts"] == [{"provider": provider, "nodes": [["only", "Neg"]]}]
    assert not placement["ran"]


def test_every_node_has_its_time_wherever_it_ran(session):
    times = asyncio.run(inside.times(session.number))
    where = {row["node"]: row["provider"] for row in times["nodes"]}
    assert where == {"exp": CPU, "neg": CPU, "half": NUMPY, "tanh": CPU}
    assert all(row["runs"] == 1 for row in times["nodes"]), "of two runs one counts"
    assert sum(row["ms"] for row in times["nodes"]) + times["other_ms"] == pytest.approx(times["total_ms"], rel=1e-6)
    assert [row["ms"] for row in times["nodes"]] == sorted((row["ms"] for row in times["nodes"]), reverse=True)


def test_looking_leaves_no_session_and_no_file_behind(session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    before = set(onnxlet_session.sessions)
    asyncio.run(inside.times(session.number))
    asyncio.run(inside.compare(session.number))
    assert set(onnxlet_session.sessions) == before
    assert list(tmp_path.iterdir()) == []


def test_the_trace_of_parts_is_one_clock_and_has_onnxruntimes_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    options = onnxlet.SessionOptions()
    options.enable_profiling = True
    session = onnxlet.InferenceSession(model(), options, providers=[CPU])
    for _ in range(3):
        session.run(None, {"x": X})
    name = session.end_profiling()
    assert [path.name for path in tmp_path.iterdir()] == [name]
    nodes = [event for event in json.loads(Path(name).read_text()) if event["cat"] == "Node"]
    order = [event["name"].removesuffix("_kernel_time") for event in nodes]
    assert order == ["exp", "neg", "half", "tanh"] * 3, "sorted by time, the parts of a run follow each other"
    native, ours = nodes[0], nodes[2]
    assert ours["args"]["provider"] == NUMPY
    assert set(ours) == set(native)
    assert set(native["args"]) > set(ours["args"]), "onnxruntime also tells of its allocator"
    assert set(ours["args"]) > {"op_name", "provider", "node_index", "activation_size", "output_size"}
    assert ours["args"]["input_type_shape"] == native["args"]["input_type_shape"] == [{"float": [3, 4]}]


def test_gpu_times_count_where_the_gpu_measured_and_handing_over_is_called_so():
    def node(name: str, ts: int, dur: int) -> dict:
        args = {"op_name": name.title(), "provider": "WebGpuExecutionProvider"}
        return {"cat": "Node", "tid": 0, "name": f"{name}_kernel_time", "ts": ts, "dur": dur, "args": args}

    def kernel(name: str, ts: int, dur: int) -> dict:
        return {"cat": "Api", "tid": 1, "name": f"{name}&Op&Kernel", "ts": ts, "dur": dur, "args": {}}

    events = [node("a", 0, 9000), kernel("a", 1, 5000), kernel("a", 2, 6000), node("b", 3, 100)]
    events += [node("a", 50, 90), kernel("a", 41, 700), kernel("a", 42, 800), node("b", 60, 10)]
    a, b = inside.node_times(events, 45)
    assert (a["node"], a["ms"], a["clock"], a["runs"]) == ("a", 1.5, "gpu", 1)
    assert (b["node"], b["ms"], b["clock"]) == ("b", 0.01, "queued")


def test_the_comparison_is_plain_json_and_right(session):
    found = asyncio.run(inside.compare(session.number))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert (found["a"], found["b"], found["tensors"], found["bad"], found["first"]) == (CPU, NUMPY, 4, 0, None)
    assert {row["node"] for row in found["worst"]} == {"exp", "neg", "half", "tanh"}
    assert all(row["equal"] or row["snr_db"] > 100 for row in found["worst"])


def test_what_cannot_be_looked_at_says_why(watched):
    session = onnxlet.InferenceSession(model(), providers=[CPU])
    with pytest.raises(onnxlet.InvalidInput, match="has not run yet; run the app once"):
        asyncio.run(inside.times(session.number))
    with pytest.raises(onnxlet.InvalidInput, match="there is no session 0"):
        asyncio.run(inside.compare(0))


def test_a_custom_operator_tells_the_type_of_its_output_before_anything_runs():
    for attributes, expected in [({}, onnxlet.DataType.FLOAT), ({"into": "wide"}, onnxlet.DataType.DOUBLE)]:
        parsed = protobuf.load(model(**attributes))
        types = partition.declared_types(parsed) | {"n": onnxlet.TensorType(onnxlet.DataType.FLOAT)}
        partition.infer_types(parsed, types)
        assert types["h"].elem_type == expected


@pytest.mark.parametrize(
    ("infer", "message"),
    [(lambda x: 1 / 0, "its infer failed: ZeroDivisionError"), (lambda x: "float", "expected an onnxlet.TensorType")],
)
def test_an_infer_that_is_wrong_is_named_with_its_node(infer, message: str):
    onnxlet.op("Odd", domain="test.inside", infer=infer)(lambda x: x)
    node = helper.make_node("Odd", ["x"], ["y"], "odd one", domain="test.inside")
    ends = [[helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])], [helper.make_empty_tensor_value_info("y")]]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("test.inside", 1)]
    graph = helper.make_graph([node], "g", *ends)
    data = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    with pytest.raises(onnxlet.InvalidModel, match=f'"odd_one".*{message}'):
        partition.infer_types(partition.name_nodes(protobuf.load(data)), {})
