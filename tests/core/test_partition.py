"""Cutting graphs: every node once, in order, on its side, in the fewest parts."""

from collections import deque

import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from onnxlet import partition, protobuf
from onnxlet.check_graph import reads
from onnxlet.dtypes import DataType
from onnxlet.model import Model, TensorType
from tests.core.test_hostile import RICH, sparse


def model_of(nodes, inputs=("x",), outputs=("y",), opset=21, **fields) -> Model:
    infos = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in names] for names in (inputs, outputs)]
    graph = helper.make_graph(list(nodes), "g", *infos, **fields)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.acme", 1)]
    return protobuf.load(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())


def chain(sides: str) -> tuple[Model, set[int]]:
    """A chain of nodes; "p" runs on the provider, "n" is refused."""
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(len(sides))]
    return model_of(nodes, ["v0"], [f"v{len(sides)}"]), {i for i, side in enumerate(sides) if side == "n"}


@st.composite
def graphs(draw):
    """A random graph, and its refused nodes."""
    count = draw(st.integers(1, 8))
    nodes = []
    for i in range(count):
        names = draw(st.lists(st.sampled_from(["x", *(f"v{k}" for k in range(i))]), min_size=1, max_size=3))
        nodes.append(helper.make_node("Sum", names, [f"v{i}"]))
    outputs = draw(st.lists(st.sampled_from([f"v{k}" for k in range(count)]), min_size=1, max_size=3, unique=True))
    refused = draw(st.sets(st.integers(0, count - 1)))
    return model_of(nodes, outputs=outputs), refused


def fewest_parts(model: Model, refused: set[int]) -> int:
    """By trying every order of the nodes (0-1 breadth-first search over the sets of finished nodes)."""
    nodes = model.graph.nodes
    producer = {name: i for i, node in enumerate(nodes) for name in node.outputs}
    waits = [{producer[name] for name in reads(node) if name in producer} for node in nodes]
    start = (frozenset(), None)
    cost, queue = {start: 0}, deque([start])
    while queue:
        state = queue.popleft()
        done, side = state
        if len(done) == len(nodes):
            return cost[state]
        for i in set(range(len(nodes))) - done:
            if waits[i] <= done:
                change = (i in refused) != side
                following = (done | {i}, i in refused)
                if cost[state] + change < cost.get(following, 99):
                    cost[following] = cost[state] + change
                    (queue.append if change else queue.appendleft)(following)
    raise AssertionError("the graph has a circle")


@settings(max_examples=300, deadline=None)
@given(graphs())
def test_a_cut_has_every_node_once_in_order_and_the_fewest_parts(case):
    model, refused = case
    plan = partition.cut(model, refused)
    assert sorted(i for part in plan.parts for i in part.nodes) == list(range(len(model.graph.nodes)))
    known = {"x"}
    for part in plan.parts:
        assert {i in refused for i in part.nodes} == {not part.on_provider}
        assert set(part.inputs) <= known
        for i in part.nodes:
            assert reads(model.graph.nodes[i]) <= known | {
                n for k in part.nodes if k < i for n in model.graph.nodes[k].outputs
            }
        known.update(part.outputs)
    assert {v.name for v in model.graph.outputs} <= known
    assert len(plan.parts) == fewest_parts(model, refused)


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_nothing_crosses_that_nobody_reads(case):
    model, refused = case
    plan = partition.cut(model, refused)
    outputs = {v.name for v in model.graph.outputs}
    for k, part in enumerate(plan.parts):
        later = {name for other in plan.parts[k + 1 :] for name in other.inputs}
        assert set(part.outputs) <= later | outputs


@pytest.mark.parametrize(("sides", "parts"), [("p", 1), ("n", 1), ("pppp", 1), ("ppnp", 3), ("npn", 3), ("pnpn", 4)])
def test_a_chain_is_cut_where_the_side_changes(sides, parts):
    model, refused = chain(sides)
    assert len(partition.cut(model, refused).parts) == parts


def test_branches_on_one_side_share_a_part():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Odd", ["a"], ["b"], domain="com.acme"),
        helper.make_node("Relu", ["x"], ["c"]),
        helper.make_node("Odd", ["c"], ["d"], domain="com.acme"),
        helper.make_node("Add", ["b", "d"], ["y"]),
    ]
    plan = partition.cut(model_of(nodes), {1, 3})
    assert [part.nodes for part in plan.parts] == [(0, 2), (1, 3), (4,)]
    assert plan.crossing == {"a", "b", "c", "d"}


def test_constant_nodes_go_where_they_are_read():
    nodes = [
        helper.make_node("Constant", [], ["k"], value=helper.make_tensor("k", TensorProto.FLOAT, [1], [2.0])),
        helper.make_node("Mul", ["x", "k"], ["a"]),
        helper.make_node("Mul", ["a", "k"], ["b"]),
        helper.make_node("Mul", ["b", "k"], ["y"]),
    ]
    plan = partition.cut(model_of(nodes), {2})
    assert [part.nodes for part in plan.parts] == [(0, 1), (0, 2), (0, 3)]
    assert plan.crossing == {"a", "b"}


def test_values_that_a_subgraph_captures_are_inputs_of_its_part():
    branch = helper.make_graph(
        [helper.make_node("Add", ["a", "w"], ["s"])],
        "b",
        [],
        [helper.make_tensor_value_info("s", TensorProto.FLOAT, [2])],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch),
    ]
    constants = [
        helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2]),
        helper.make_tensor("c", TensorProto.BOOL, [], [True]),
    ]
    model = model_of(nodes, initializer=constants)
    plan = partition.cut(model, {1})
    assert (plan.parts[1].inputs, plan.parts[0].outputs) == (("a",), ("a",))
    part = partition.part_model(model, plan.parts[1], {})
    assert [t.name for t in part.graph.initializers] == ["w", "c"]
    assert [t.name for t in partition.part_model(model, plan.parts[0], {}).graph.initializers] == []


def test_a_default_that_may_be_replaced_is_an_input_of_the_parts():
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "w"], ["y"])]
    model = model_of(nodes, ["x", "w"], initializer=[helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])])
    plan = partition.cut(model, {1})
    assert [part.inputs for part in plan.parts] == [("w", "x"), ("a", "w")]


def test_every_part_is_a_model_that_onnxruntime_takes():
    model = protobuf.load(RICH)
    types = partition.declared_types(model)
    z = TensorType(DataType.FLOAT, (2,))
    for refused in ({0}, {1}, {2}, {0, 2}):
        plan = partition.cut(model, refused)
        for part in plan.parts:
            data = protobuf.dump(partition.part_model(model, part, {**types, "z": z}))
            protobuf.load(data)
            onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def test_parts_carry_only_the_functions_and_opsets_that_they_use():
    model = protobuf.load(RICH)
    first, *_, last = partition.cut(model, {1}).parts
    assert [f.name for f in partition.part_model(model, first, {}).functions] == []
    assert partition.part_model(model, last, {}).opset_imports == {"": 21}
    middle = partition.part_model(model, partition.cut(model, {1}).parts[1], {})
    assert ([f.name for f in middle.functions], middle.opset_imports) == (["Twice"], {"": 21, "mine": 1})


def test_sparse_constants_are_written_out_for_providers():
    model = model_of([helper.make_node("MatMul", ["x", "s"], ["y"])], sparse_initializer=[sparse()])
    (part,) = partition.cut(model, set()).parts
    assert [t.dims for t in partition.part_model(model, part, {}).graph.initializers] == [(2, 2)]
    assert partition.part_model(model, part, {}, keep_sparse=True).graph.sparse_initializers[0].name == "s"


def test_every_node_gets_a_name_of_its_own():
    branch = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["s"], name="n")], "b", [], [helper.make_empty_tensor_value_info("s")]
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="n"),
        helper.make_node("Relu", ["a"], ["c"], name='with space, "and" quote\'s'),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("If", ["d"], ["y"], then_branch=branch, else_branch=branch),
    ]
    named = partition.name_nodes(model_of(nodes))
    inner = [g.value.nodes[0].name for g in named.graph.nodes[3].attributes.values()]
    names = [node.name for node in named.graph.nodes] + inner
    assert len(set(names)) == 6
    assert names[:2] == ["n", "with_space___and__quote_s"]
    assert all(names)


def test_a_refusal_finds_nodes_by_their_own_name_or_by_what_is_within_them():
    model = partition.name_nodes(protobuf.load(RICH))
    everything = partition.Part(True, (0, 1, 2), (), ())
    branch = model.graph.nodes[0].attributes["then_branch"].value.nodes[0].name
    body = model.functions[0].nodes[0].name
    for names, found in [
        (["mm"], {2}),
        ([branch], {0}),
        ([body], {1}),
        (["mine:Twice"], {1}),
        (["t"], {1}),
        (["s"], {2}),
    ]:
        assert partition.find_nodes(model, everything, names) == found


def test_nodes_whose_meaning_a_newer_opset_changed_are_known():
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Softmax", ["a"], ["y"])]
    assert partition.changed_since(model_of(nodes, opset=13), 12) == {1}
    assert partition.changed_since(model_of(nodes, opset=13), 13) == set()
