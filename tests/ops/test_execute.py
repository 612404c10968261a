"""The executor: scopes, functions, lifetimes, errors, what it reports."""

import asyncio
import gc
import weakref

import numpy as np
import pytest

import onnxlet.ops as ops
from onnxlet.dtypes import DataType, Narrow
from onnxlet.errors import InvalidInput, InvalidModel, ProviderError, UnsupportedOp
from onnxlet.model import Function, TensorType

from .graphs import attribute, bfloat16, compiled, data_type, graph, node, ref, run, run_op

BOOL, INT64 = TensorType(DataType.BOOL), TensorType(DataType.INT64)
ONE = np.ones((2, 3), np.float32)


def test_any_value_of_the_main_graph_can_be_fetched_by_name():
    it = compiled(graph([node("Neg", "x", "a"), node("Exp", "a", "y")], "x", "y"))
    a, y = it.run(["a", "y"], {"x": ONE})
    np.testing.assert_array_equal(a, -ONE)
    np.testing.assert_allclose(y, np.exp(-1), rtol=1e-6)


def test_only_nodes_that_a_fetch_needs_run():
    it = compiled(graph([node("Neg", "x", "a"), node("Reshape", "x shape", "y")], "x", "y", shape=np.array([7])))
    assert it.run(["a"], {"x": ONE})[0].shape == (2, 3)
    with pytest.raises(InvalidInput, match="cannot reshape"):
        it.run(["y"], {"x": ONE})


def test_a_fetch_that_does_not_exist_is_named_with_what_does():
    with pytest.raises(InvalidInput, match=r"nothing in the graph is named \['z'\]; its outputs are \['y'\]"):
        compiled(graph([node("Neg", "x", "y")], "x", "y")).run(["z"], {"x": ONE})


def test_values_are_freed_after_their_last_use(monkeypatch):
    alive, seen = [], []

    @ops.op("Watch", domain="test")
    def watch(x):
        gc.collect()
        seen.append(sum(w() is not None for w in alive))
        result = x + 1
        alive.append(weakref.ref(result))
        return result

    chain = [node("Watch", f"v{i}", f"v{i + 1}", domain="test") for i in range(5)]
    compiled(graph(chain, "v0", "v5"), test=1).run(["v5"], {"v0": ONE})
    assert max(seen) == 1  # at each node only the previous one's output is left


def test_outputs_are_the_callers_own():
    weights = np.ones((2, 3), np.float32)
    it = compiled(graph([node("Identity", "x", "a"), node("Identity", "w", "b")], "x", "a b", w=weights))
    x = np.zeros((2, 3), np.float32)
    for _ in range(2):
        a, b = it.run(["a", "b"], {"x": x})
        assert a.sum() == 0
        assert b.sum() == 6
        a[:], b[:] = 5, 5
    assert x.sum() == 0


def test_an_operator_that_writes_into_its_input_fails_instead_of_changing_a_feed():
    @ops.op("Scribble", domain="test")
    def scribble(x):
        x += 1
        return x

    with pytest.raises(ProviderError, match=r'node "it" \(test::Scribble\): ValueError: .*read-only'):
        run_op("Scribble", ONE.copy(), domain="test")


def test_an_initializer_that_is_an_input_too_is_a_default():
    it = compiled(graph([node("Add", "x bias", "y")], "x bias", "y", bias=np.float32([10])))
    assert it.run(["y"], {"x": np.float32([1])})[0] == 11
    assert it.run(["y"], {"x": np.float32([1]), "bias": np.float32([20])})[0] == 21


def test_branches_see_the_values_around_them():
    then = graph([node("Add", "x outer", "t")], "", "t")
    other = graph([], "", "outer")  # an output that is an outer value itself
    main = graph(
        [node("Neg", "x", "outer"), node("If", "c", "y", then_branch=then, else_branch=other)],
        "x c",
        "y",
        types={"c": BOOL},
    )
    assert run(main, ONE, np.array(True))[0].sum() == 0
    assert run(main, ONE, np.array(False))[0].sum() == -6


def test_a_loop_in_a_branch_sees_two_scopes_up():
    body = graph(
        [node("Add", "acc x", "next"), node("Identity", "go", "still"), node("Identity", "next", "each")],
        "i go acc",
        "still next each",
        types={"i": INT64, "go": BOOL, "still": BOOL},
    )
    then = graph([node("Loop", "n - x", "last all", body=body)], "", "last all")
    other = graph([node("Identity", "x", "p"), node("Identity", "x", "q")], "", "p q")
    main = graph([node("If", "c", "y z", then_branch=then, else_branch=other)], "x c n", "y z")
    last, everything = run(main, np.float32([1]), np.array(True), np.array(3))
    assert last == 4
    np.testing.assert_array_equal(everything, [[2], [3], [4]])


def test_a_loop_of_no_rounds_gives_empty_scans_of_the_declared_type():
    body = graph(
        [node("Identity", "go", "still"), node("Shape", "x", "each")],
        "i go",
        "still each",
        types={"i": INT64, "go": BOOL, "still": BOOL, "each": TensorType(DataType.INT64, (2,))},
    )
    (scan,) = run(graph([node("Loop", "n - ", "y", body=body)], "x n", "y"), ONE, np.array(0))
    assert scan.dtype == np.int64
    assert scan.shape == (0, 2)


def test_scan_carries_a_state_and_reads_backward():
    body = graph([node("Add", "s x", "t"), node("Identity", "t", "u")], "s x", "t u")
    main = graph(
        [node("Scan", "s0 xs", "last sums", body=body, num_scan_inputs=1, scan_input_directions=[1])],
        "s0 xs",
        "last sums",
    )
    last, sums = run(main, np.float32([0]), np.float32([[1], [2], [3]]))
    assert last == 6
    np.testing.assert_array_equal(sums, [[3], [5], [6]])


def leaky(alpha: float, **more) -> Function:
    """LeakyRelu twice, its slope an attribute of the function with a default."""
    return Function(
        "Twice",
        "acme",
        ("x", "extra"),
        ("y", "z"),
        (
            node("LeakyRelu", "x", "a", alpha=ref("alpha", "slope")),
            node("LeakyRelu", "a", "y", alpha=ref("alpha", "slope")),
            node("Identity", "extra", "z"),
        ),
        attribute_defaults={"slope": attribute("slope", alpha)},
        opset_imports={"": 21},
        **more,
    )


def test_a_function_takes_attributes_and_their_defaults_and_optional_inputs():
    main = graph(
        [node("Twice", "x", "y", domain="acme"), node("Twice", "x", "z", domain="acme", slope=0.1)], "x", "y z"
    )
    it = compiled(main, functions=[leaky(0.5)], acme=1)
    y, z = it.run(["y", "z"], {"x": np.float32([-1])})
    np.testing.assert_allclose([y[0], z[0]], [-0.25, -0.01], rtol=1e-6)


def test_functions_are_told_apart_by_overload():
    call = node("Twice", "x", "y", domain="acme")
    other = type(call)("Twice", ("x",), ("z",), domain="acme", overload="steep")
    it = compiled(graph([call, other], "x", "y z"), functions=[leaky(0.5), leaky(2.0, overload="steep")], acme=1)
    assert [float(v[0]) for v in it.run(["y", "z"], {"x": np.float32([-1])})] == [-0.25, -4]


def test_a_function_that_calls_itself_is_an_invalid_model():
    f = Function("F", "acme", ("x",), ("y",), (node("F", "x", "y", domain="acme"),), opset_imports={"acme": 1})
    with pytest.raises(InvalidModel, match="a function may call itself"):
        compiled(graph([node("F", "x", "y", domain="acme")], "x", "y"), functions=[f], acme=1)


def test_functions_that_call_functions_twice_compile_once_each():
    def level(n: int) -> Function:
        below = f"F{n - 1}" if n else "Neg"
        domain = "acme" if n else ""
        calls = (node(below, "x", "a", domain=domain), node(below, "x", "y", domain=domain))  # a is not needed
        return Function(f"F{n}", "acme", ("x",), ("y",), calls, opset_imports={"": 21, "acme": 1})

    main = graph([node("F40", "x", "y", domain="acme")], "x", "y")  # 2 ** 41 nodes if written out
    assert compiled(main, functions=[level(n) for n in range(41)], acme=1).run(["y"], {"x": ONE})[0].sum() == -6


def test_a_models_function_goes_before_an_operator_of_the_same_name():
    f = Function("Neg", "", ("x",), ("y",), (node("Abs", "x", "y"),), opset_imports={"": 21})
    assert compiled(graph([node("Neg", "x", "y")], "x", "y"), functions=[f]).run(["y"], {"x": -ONE})[0].sum() == 6


def test_old_opsets_keep_their_meaning():
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert run_op("Softmax", x[None], opset=12).sum() == pytest.approx(1)  # over all axes from 1 on
    assert run_op("Softmax", x[None], opset=13).sum() == pytest.approx(2)  # over the last
    assert run_op("Squeeze", x[None], opset=12, axes=[0]).shape == (2, 2)
    with pytest.raises(UnsupportedOp, match='attribute "axes" is unknown'):
        run_op("Squeeze", x[None], opset=13, axes=[0])


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (
            node("Nope", "x", "y", name="n1"),
            UnsupportedOp,
            r'node "n1" \(Nope\): ai.onnx::Nope is not implemented; an app',
        ),
        (
            node("Nope", "x", "y", domain="acme"),
            UnsupportedOp,
            r'node #0 \(acme::Nope\).*@onnxlet.op\("Nope", domain="acme"',
        ),
        (node("BitCast", "x", "y", to=1), UnsupportedOp, "BitCast exists from opset 26, the model imports 21"),
        (node("Add", "x", "y"), InvalidModel, r"\(Add\): input 1 \(b\) is missing, and it is not optional"),
        (node("Neg", "x x", "y"), InvalidModel, "has 2 inputs, expected at most 1"),
        (node("Concat", "x", "y"), InvalidModel, 'attribute "axis" is missing, and it has no default'),
        (node("Neg", "x", "y", beta=1), UnsupportedOp, 'attribute "beta" is unknown for opset 6; known: none'),
        (node("Neg", "nothing", "y"), InvalidModel, 'reads "nothing", which no input, constant or earlier node gives'),
    ],
)
def test_a_node_that_does_not_fit_is_named_when_the_model_is_loaded(made, error, text):
    with pytest.raises(error, match=text):
        compiled(graph([made], "x", "y"), acme=1)


def test_a_failing_node_is_named_with_its_shapes():
    with pytest.raises(InvalidInput, match=r'node "it" \(Transpose\): perm is \[0, 0\], expected every axis'):
        run_op("Transpose", ONE, perm=[0, 0])
    with pytest.raises(ProviderError, match=r'node "it" \(Add\): ValueError.*inputs: float\[2, 3\], float\[4\]'):
        run_op("Add", ONE, np.ones(4, np.float32))


def test_the_path_to_a_failing_inner_node_is_in_the_message():
    bad = graph([node("Reshape", "x s", "t", name="inner")], "", "t")
    main = graph([node("If", "c", "y", name="outer", then_branch=bad, else_branch=bad)], "x c s", "y")
    with pytest.raises(InvalidInput, match=r'node "outer" \(If\): node "inner" \(Reshape\): cannot reshape'):
        run(main, ONE, np.array(True), np.array([5]))


def test_asking_for_more_outputs_than_an_operator_has_is_an_invalid_model():
    with pytest.raises(InvalidModel, match="gives 1 outputs, the node names 2"):
        run_op("Neg", ONE, outputs=2)


def test_a_run_can_be_stopped_between_nodes():
    ran = []

    @ops.op("Count", domain="test")
    def count(x):
        ran.append(1)
        return x + 0

    it = compiled(graph([node("Count", f"v{i}", f"v{i + 1}", domain="test") for i in range(9)], "v0", "v9"), test=1)
    with pytest.raises(ProviderError, match=r"stopped before node #3 \(test::Count\)"):
        it.run(["v9"], {"v0": ONE}, cancelled=lambda: len(ran) == 3)
    assert len(ran) == 3


def test_other_tasks_get_turns_while_a_model_runs():
    @ops.op("Slow", domain="test")
    def slow(x):
        end = loop_time() + 0.02
        while loop_time() < end:
            pass
        return x + 0

    it = compiled(graph([node("Slow", f"v{i}", f"v{i + 1}", domain="test") for i in range(5)], "v0", "v5"), test=1)
    turns = []

    async def tick(done):
        while not done.is_set():
            turns.append(1)
            await asyncio.sleep(0)

    async def main():
        nonlocal loop_time
        loop_time = asyncio.get_running_loop().time
        done = asyncio.Event()
        ticking = asyncio.create_task(tick(done))
        result = await it.arun(["v5"], {"v0": ONE})
        done.set()
        await ticking
        return result

    loop_time = None
    np.testing.assert_array_equal(asyncio.run(main())[0], ONE)
    assert len(turns) >= 4


def test_the_time_table_has_a_line_for_every_node_run():
    it = compiled(graph([node("Neg", "x", "a", name="first"), node("Exp", "a", "y")], "x", "y"), profiling=True)
    it.run(["y"], {"x": ONE})
    first, second, whole = it.profile
    assert (first["name"], first["cat"], first["ph"]) == ("first_kernel_time", "Node", "X")
    assert second["args"]["op_name"] == "Exp"
    assert first["args"]["input_type_shape"] == [{"float": [2, 3]}]
    assert first["args"]["output_size"] == "24"
    assert second["ts"] >= first["ts"] + first["dur"] - 1
    assert (whole["name"], whole["cat"]) == ("model_run", "Session")
    assert whole["dur"] + 1 >= first["dur"] + second["dur"]


def test_a_closed_model_says_so():
    it = compiled(graph([node("Neg", "x", "y")], "x", "y"))
    it.close()
    it.close()
    with pytest.raises(ProviderError, match="closed"):
        it.run(["y"], {"x": ONE})


def test_bfloat16_is_computed_wide_and_rounded_at_every_node():
    y = run_op("Add", bfloat16([256.0]), bfloat16([1.0]))
    assert data_type(y) == DataType.BFLOAT16
    assert y.values == 256  # 257 needs 9 bits, a tie that goes to even
    assert data_type(run_op("Less", bfloat16([1.0]), bfloat16([2.0]))) == DataType.BOOL
    assert data_type(run_op("ArgMax", bfloat16([1.0, 2.0]))) == DataType.INT64


def test_what_moves_data_keeps_narrow_types():
    four_bits = Narrow(DataType.INT4, np.array([[-8, 7], [1, 2]], np.int8))
    assert run_op("Transpose", four_bits).values.tolist() == [[-8, 1], [7, 2]]
    pieces = run_op("SplitToSequence", four_bits, axis=0)
    assert [data_type(p) for p in pieces] == [DataType.INT4, DataType.INT4]


def test_an_apps_operator_stays_when_the_packages_are_loaded():
    def mine(x):
        return x * 100

    from onnxlet.ops import registry

    original = ops.find("", "Sign", 21)
    others = registry.use({})
    try:
        ops.op("Sign", since=9)(mine)
        ops.op("Sign", since=9)(original.function)  # what importing the module again would do
        assert run_op("Sign", ONE).sum() == 600
    finally:
        registry.use(others)


def test_an_operator_with_optional_inputs_before_required_ones_takes_empty_names():
    x = np.array([10, 20], np.uint8)
    y = run_op("QLinearAdd", x, np.float32(1), None, x, np.float32(1), None, np.float32(2), domain="com.microsoft")
    assert y.tolist() == [10, 20]


def test_what_constants_alone_give_is_computed_once_as_long_as_there_is_room(monkeypatch):
    nodes = [node("Exp", "w", "a"), node("Neg", "a", "b"), node("Add", "x b", "y")]
    weights = np.ones((2, 3), np.float32)
    ran = []
    for budget in (1 << 20, 10):
        monkeypatch.setattr("onnxlet.execute.FOLD_BYTES", budget)
        it = compiled(graph(nodes, "x", "y", w=weights), profiling=True)
        for k in range(3):
            (y,) = it.run(["y"], {"x": k * ONE})
            np.testing.assert_allclose(y, k - np.exp(1), rtol=1e-6)
            y[:] = 0  # the caller's own
        ran.append([event["args"]["op_name"] for event in it.trace() if event["cat"] == "Node"])
    assert ran == [["Exp", "Neg", "Add", "Add", "Add"], ["Exp", "Neg", "Add"] * 3]
