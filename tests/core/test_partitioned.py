"""Models that a provider takes only in parts. The provider that refuses is the native onnxruntime itself."""

import asyncio
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlet.dtypes import DataType, Narrow
from onnxlet.errors import InvalidModel, ProviderError, Refused
from onnxlet.ops import op
from onnxlet.options import SessionOptions
from onnxlet.providers import partitioned
from onnxlet.providers.ort_native import NativeProvider
from onnxlet.providers.reference import ReferenceProvider
from onnxlet.source import ModelSource
from tests.core.test_hostile import sparse

DATA = Path(__file__).parent.parent / "data"
X = np.array([[1.0, -2.0], [3.0, -4.0]], np.float32)


@op("Swish6", domain="com.acme.test", since=1)
def Swish6(x: np.ndarray, *, limit: float = 6.0) -> np.ndarray:
    """x * clip(x, 0, limit) / limit, which no runtime has."""
    return (x * np.clip(x, 0, limit) / np.float32(limit)).astype(x.dtype)


def swish6(x: np.ndarray) -> np.ndarray:
    return x * np.clip(x, 0, 6) / np.float32(6)


def custom(inputs, outputs, **attributes):
    return helper.make_node("Swish6", inputs, outputs, domain="com.acme.test", **attributes)


def model_of(nodes, inputs=("x",), outputs=("y",), *, opset=21, ir=10, kind=TensorProto.FLOAT, **fields) -> bytes:
    infos = [[helper.make_tensor_value_info(n, kind, ["n", 2]) for n in inputs]]
    infos.append([helper.make_tensor_value_info(n, kind, None) for n in outputs])
    functions = fields.pop("functions", [])
    graph = helper.make_graph(list(nodes), "g", *infos, **fields)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.acme.test", 1), helper.make_opsetid("f", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir, functions=functions).SerializeToString()


def load(data: bytes, provider=None, options=None) -> partitioned.PartitionedExecutable:
    return partitioned.load(provider or NativeProvider(), ModelSource(data), options or SessionOptions())


def sides(executable: partitioned.PartitionedExecutable) -> list[str]:
    """The operators of each part, and where it runs."""
    letter = {"CPUExecutionProvider": "p", "NumpyExecutionProvider": "n"}
    return [letter[p["provider"]] + str(len(p["nodes"])) for p in executable.placement()["parts"]]


@pytest.fixture(autouse=True)
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_a_model_that_the_provider_takes_stays_whole():
    executable = load(model_of([helper.make_node("Relu", ["x"], ["y"])]))
    np.testing.assert_array_equal(executable.run(["y"], {"x": X})[0], np.maximum(X, 0))
    assert executable.placement() | {"reason": ""} == {
        "provider": "CPUExecutionProvider", "whole": True, "reason": "", "parts": [], "crossing_bytes": {}
    }  # fmt: skip
    assert [arg.name for arg in executable.signature.inputs] == ["x"]


def test_a_custom_operator_in_the_middle_runs_in_python_and_the_rest_on_the_provider():
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        custom(["a"], ["b"]),
        helper.make_node("Exp", ["b"], ["c"]),
        helper.make_node("Add", ["c", "a"], ["y"]),
    ]
    executable = load(model_of(nodes))
    (y,) = executable.run(["y"], {"x": X})
    np.testing.assert_allclose(y, np.exp(swish6(-X)) - X, rtol=1e-6)
    assert sides(executable) == ["p1", "n1", "p2"]
    placement = executable.placement()
    assert placement["crossing_bytes"] == {"a": X.nbytes, "b": X.nbytes}
    assert "com.acme.test:Swish6" in placement["reason"]
    json.dumps(placement)


def test_every_shape_can_be_fed_again():
    executable = load(model_of([custom(["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]))
    for rows in (1, 5, 0):
        x = np.ones((rows, 2), np.float32)
        np.testing.assert_allclose(executable.run(["y"], {"x": x})[0], -swish6(x), rtol=1e-6)


def test_custom_operators_in_many_places_are_learned_in_one_refusal():
    nodes = [
        custom([f"v{i}"], [f"v{i + 1}"]) if i % 2 else helper.make_node("Neg", [f"v{i}"], [f"v{i + 1}"])
        for i in range(9)
    ]
    executable = load(model_of(nodes, ["v0"], ["v9"]))
    assert sides(executable) == ["p1", "n1"] * 4 + ["p1"]
    expected = X
    for i in range(9):
        expected = swish6(expected) if i % 2 else -expected
    np.testing.assert_allclose(executable.run(["v9"], {"v0": X})[0], expected, rtol=1e-5)


def test_a_missing_kernel_is_learned_from_the_refusal_even_where_nodes_have_no_names():
    """onnxruntime has no Max for int16, but knows Cast and Reshape of it."""
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=TensorProto.INT16),
        helper.make_node("Max", ["a", "a"], ["b"]),
        helper.make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT),
        helper.make_node("Max", ["x", "y"], ["z"]),
    ]
    executable = load(model_of(nodes, outputs=["y", "z"]))
    y, z = executable.run(["y", "z"], {"x": X})
    np.testing.assert_array_equal(y, X)
    np.testing.assert_array_equal(z, X)
    assert sides(executable) == ["p1", "n1", "p2"]


def test_bfloat16_crosses_between_the_parts():
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=TensorProto.BFLOAT16),
        helper.make_node("Max", ["a", "a"], ["b"]),
        helper.make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT),
    ]
    executable = load(model_of(nodes))
    (y,) = executable.run(["y"], {"x": X + np.float32(2**-10)})
    np.testing.assert_array_equal(y, X)
    assert executable.placement()["crossing_bytes"] == {"a": 8, "b": 8}


def test_a_refused_node_in_a_subgraph_takes_its_outer_node_along():
    branches = [
        helper.make_graph([node], "b", [], [helper.make_tensor_value_info("s", TensorProto.FLOAT, None)])
        for node in (custom(["a"], ["s"]), helper.make_node("Neg", ["a"], ["s"]))
    ]
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["d"], then_branch=branches[0], else_branch=branches[1]),
        helper.make_node("Exp", ["d"], ["y"]),
    ]
    executable = load(model_of(nodes, initializer=[helper.make_tensor("zero", TensorProto.FLOAT, [], [0.0])]))
    for x, inner in ((X, -np.abs(X)), (-X, swish6(np.abs(X)))):
        np.testing.assert_allclose(executable.run(["y"], {"x": x})[0], np.exp(inner), rtol=1e-6)
    assert sides(executable) == ["p3", "n1", "p1"]


def test_a_refused_node_in_a_function_takes_the_calls_along():
    body = [helper.make_node("Neg", ["p"], ["q"]), custom(["q"], ["r"])]
    function = helper.make_function(
        "f", "Both", ["p"], ["r"], body, [helper.make_opsetid("", 21), helper.make_opsetid("com.acme.test", 1)]
    )
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Both", ["a"], ["b"], domain="f"),
        helper.make_node("Exp", ["b"], ["y"]),
    ]
    executable = load(model_of(nodes, functions=[function]))
    np.testing.assert_allclose(executable.run(["y"], {"x": X})[0], np.exp(swish6(-np.abs(X))), rtol=1e-6)
    assert sides(executable) == ["p1", "n1", "p1"]


def test_sequences_cross_too():
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=0),
        helper.make_node("SequenceAt", ["s", "one"], ["a"]),
        custom(["a"], ["b"]),
        helper.make_node("SequenceInsert", ["s", "b"], ["t"]),
        helper.make_node("ConcatFromSequence", ["t"], ["y"], axis=0),
    ]
    executable = load(model_of(nodes, initializer=[helper.make_tensor("one", TensorProto.INT64, [], [1])]))
    for _ in range(2):
        np.testing.assert_allclose(executable.run(["y"], {"x": X})[0], np.concatenate([X, swish6(X[1:])]), rtol=1e-6)
    assert [side[0] for side in sides(executable)].count("n") == 1


def test_only_what_the_fetches_need_is_run():
    nodes = [helper.make_node("Neg", ["x"], ["y"]), custom(["y"], ["a"]), helper.make_node("Neg", ["a"], ["z"])]
    executable = load(model_of(nodes, outputs=["y", "z"]))
    np.testing.assert_array_equal(executable.run(["y"], {"x": X})[0], -X)
    assert executable.placement()["crossing_bytes"] == {}
    z, y = executable.run(["z", "y"], {"x": X})
    np.testing.assert_array_equal(y, -X)
    np.testing.assert_allclose(z, -swish6(-X), rtol=1e-6)


def test_an_output_that_is_an_input_or_a_constant_comes_through():
    nodes = [custom(["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
    data = model_of(nodes, outputs=["y", "w"], initializer=[helper.make_tensor("w", TensorProto.FLOAT, [1], [7.0])])
    assert load(data).run(["w", "y"], {"x": X})[0].tolist() == [7.0]


def test_weights_and_sparse_weights_go_with_their_parts():
    nodes = [
        custom(["x"], ["a"]),
        helper.make_node("MatMul", ["a", "s"], ["b"]),
        helper.make_node("Add", ["b", "w"], ["y"]),
    ]
    weights = [numpy_helper.from_array(np.float32([1, 2]), "w")]
    executable = load(model_of(nodes, initializer=weights, sparse_initializer=[sparse()]))
    (y,) = executable.run(["y"], {"x": X})
    np.testing.assert_allclose(y, swish6(X) @ np.float32([[1, 0], [0, 1]]) + np.float32([1, 2]), rtol=1e-6)


def test_awaited_runs_give_the_same():
    data = model_of(
        [helper.make_node("Neg", ["x"], ["a"]), custom(["a"], ["b"]), helper.make_node("Exp", ["b"], ["y"])]
    )
    (blocking,) = load(data).run(["y"], {"x": X})
    (awaited,) = asyncio.run(load(data).arun(["y"], {"x": X}))
    np.testing.assert_array_equal(awaited, blocking)


def test_a_model_of_which_the_provider_takes_nothing_is_refused():
    with pytest.raises(Refused, match="Swish6"):
        load(model_of([custom(["x"], ["a"]), custom(["a"], ["y"])]))


def test_a_broken_model_is_not_partitioned():
    with pytest.raises(InvalidModel, match='reads "nowhere"'):
        load(model_of([helper.make_node("Neg", ["nowhere"], ["y"])]))


@pytest.mark.parametrize("fault", ["default", "replaced"])
def test_a_default_that_is_fed_is_used(fault):
    """R08: ONNX Runtime Web cannot be fed a constant; as the input of a part it can."""
    case = json.loads((DATA / "R08_default_input.json").read_text())
    run = case["runs"][fault == "replaced"]
    feeds = {name: np.array(v["data"], v["dtype"]).reshape(v["shape"]) for name, v in run["inputs"].items()}
    executable = load((DATA / "R08_default_input.onnx").read_bytes())
    for name, expected in run["expected"].items():
        np.testing.assert_allclose(executable.run([name], feeds)[0].ravel(), expected["data"])


@pytest.mark.parametrize("name", ["R05_sparse_init", "R05_sparse_init_linear", "R06_local_function", "R07_int4"])
def test_cases_of_the_reader_give_their_answers(name):
    case = json.loads((DATA / f"{name}.json").read_text())
    for provider in (NativeProvider(), ReferenceProvider(), Picky(), Picky(refuse_first=True)):
        executable = load((DATA / case["model"]).read_bytes(), provider)
        for run in case["runs"]:
            feeds = {n: np.array(v["data"], v["dtype"]).reshape(v["shape"]) for n, v in run["inputs"].items()}
            for output, expected in run["expected"].items():
                (value,) = executable.run([output], feeds)
                np.testing.assert_allclose(value.ravel(), expected["data"], atol=case["atol"], rtol=case["rtol"])


# What the native runtime never does: fail while running, refuse late, carry few types.


class Picky(NativeProvider):
    """onnxruntime with the manners of a browser's: it loads when it first runs, and carries plain tensors only.

    Args:
        refuse: names of nodes that it does not take, said one at a time.
        refuse_first: refuse the whole graph once, without a reason.
        lost_after: runs until the device is lost.
    """

    def __init__(self, refuse=(), refuse_first=False, lost_after=None):
        self.refuse, self.refuse_first, self.left = set(refuse), refuse_first, lost_after
        self.loads = 0

    def load(self, source, options):
        self.loads += 1
        for arg in (*source.signature().inputs, *source.signature().outputs):
            if arg.type not in ("tensor(float)", "tensor(int64)", "tensor(bool)", "tensor(int16)"):
                raise Refused(f'"{arg.name}" is a {arg.type}, which this runtime cannot exchange')
        return Late(self, source, options)


class Late:
    def __init__(self, provider, source, options):
        self.provider, self.source, self.options = provider, source, options

    def run(self, fetches, feeds):
        if self.provider.refuse_first:
            self.provider.refuse_first = False
            raise Refused("no")
        for node in self.source.model().graph.nodes:
            if node.name in self.provider.refuse:
                raise Refused(f"no kernel for node '{node.name}'", [node.name])
        if self.provider.left is not None:
            self.provider.left -= 1
            if self.provider.left < 0:
                raise ProviderError("device lost")
        return NativeProvider().load(self.source, self.options).run(fetches, feeds)

    async def arun(self, fetches, feeds):
        return self.run(fetches, feeds)

    def close(self):
        pass


def elementwise(*op_types) -> bytes:
    nodes = [helper.make_node(t, [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i, t in enumerate(op_types)]
    return model_of(nodes, ["v0"], [f"v{len(op_types)}"])


def test_refusals_that_come_with_the_first_run_are_learned_one_by_one():
    provider = Picky(refuse=["n1", "n3"])
    executable = load(elementwise("Neg", "Abs", "Neg", "Exp", "Neg"), provider)
    for _ in range(2):
        np.testing.assert_allclose(executable.run(["v5"], {"v0": X})[0], -np.exp(-np.abs(X)), rtol=1e-6)
    assert sides(executable) == ["p1", "n1", "p1", "n1", "p1"]
    loads = provider.loads
    executable.run(["v5"], {"v0": X})
    assert provider.loads == loads


def test_nodes_like_a_refused_one_are_not_tried_one_by_one():
    provider = Picky(refuse=[f"n{i}" for i in range(1, 40, 2)])
    data = onnx.shape_inference.infer_shapes(
        onnx.ModelProto.FromString(elementwise(*["Neg", "Abs"] * 20))
    ).SerializeToString()
    executable = load(data, provider)
    np.testing.assert_allclose(executable.run(["v40"], {"v0": X})[0], np.abs(X))
    assert len(executable.placement()["parts"]) == 40
    assert provider.loads < 50  # the whole, a part, and then one load for each of the 20 parts


def test_values_that_the_provider_cannot_carry_do_not_cross():
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Cast", ["e"], ["a"], to=TensorProto.BFLOAT16),
        helper.make_node("Identity", ["a"], ["b"], name="refused"),
        helper.make_node("Cast", ["b"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("Neg", ["c"], ["y"]),
    ]
    executable = load(model_of(nodes), Picky(refuse=["refused"]))
    for _ in range(3):
        (y,) = executable.run(["y"], {"x": np.log(np.abs(X))})
        np.testing.assert_allclose(y, -np.abs(X), rtol=1e-2)
    assert sides(executable) == ["p1", "n3", "p1"]
    assert executable.placement()["crossing_bytes"] == {"e": X.nbytes, "c": X.nbytes}


def test_narrow_inputs_and_outputs_go_through_python():
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], to=TensorProto.FLOAT),
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("Cast", ["b"], ["y"], to=TensorProto.BFLOAT16),
    ]
    executable = load(model_of(nodes, kind=TensorProto.BFLOAT16), Picky())
    x = Narrow(DataType.BFLOAT16, np.zeros((3, 2), np.float32))
    for _ in range(2):
        (y,) = executable.run(["y"], {"x": x})
        assert (y.data_type, y.values.tolist()) == (DataType.BFLOAT16, [[1, 1]] * 3)
    assert sides(executable) == ["n1", "p1", "n1"]


def test_a_refusal_without_a_reason_leads_to_one_more_try():
    executable = load(elementwise("Neg", "Abs"), Picky(refuse_first=True))
    np.testing.assert_array_equal(executable.run(["v2"], {"v0": X})[0], np.abs(X))
    assert sides(executable) == ["p2"]


def test_a_lost_device_is_left_with_a_warning():
    executable = load(elementwise("Neg", "Abs"), Picky(lost_after=1))
    executable.run(["v2"], {"v0": X})
    with pytest.warns(RuntimeWarning, match="device lost"):
        (y,) = executable.run(["v2"], {"v0": X})
    np.testing.assert_array_equal(y, np.abs(X))
    np.testing.assert_array_equal(executable.run(["v2"], {"v0": X})[0], np.abs(X))
    assert executable.placement()["provider"] == "NumpyExecutionProvider"
    assert "device lost" in executable.placement()["reason"]


def test_a_device_lost_between_the_parts_is_left_too():
    executable = load(elementwise("Neg", "Abs", "Neg"), Picky(refuse=["n1"], lost_after=2))
    executable.run(["v3"], {"v0": X})
    with pytest.warns(RuntimeWarning, match="device lost"):
        (y,) = asyncio.run(executable.arun(["v3"], {"v0": X}))
    np.testing.assert_array_equal(y, -np.abs(X))


def test_a_run_that_fails_on_both_sides_is_the_callers_fault_and_changes_nothing():
    shape = helper.make_tensor("s", TensorProto.INT64, [1], [4])
    executable = load(model_of([helper.make_node("Reshape", ["x", "s"], ["y"])], initializer=[shape]))
    with pytest.raises(ProviderError, match=r"onnxruntime: .*Reshape"):
        executable.run(["y"], {"x": np.ones((5, 2), np.float32)})
    assert executable.placement()["provider"] == "CPUExecutionProvider"
    assert executable.run(["y"], {"x": np.ones((2, 2), np.float32)})[0].tolist() == [1, 1, 1, 1]


def test_a_closed_model_says_so():
    executable = load(elementwise("Neg"))
    executable.close()
    executable.close()
    with pytest.raises(ProviderError, match="closed"):
        executable.run(["v1"], {"v0": X})


def test_an_opset_that_is_too_new_is_lowered_for_nodes_that_it_did_not_change():
    class Old(Picky):
        """A runtime that knows opset 12, in which Softmax works on flattened rows."""

        def load(self, source, options):
            if source.model().opset_imports[""] > 12:
                return Told("Current official support for domain ai.onnx is till opset 12.")
            return super().load(source, options)

    class Told(Late):
        def __init__(self, text):
            self.text = text

        def run(self, fetches, feeds):
            raise Refused(self.text)

    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Softmax", ["a"], ["b"], axis=0),
        helper.make_node("Abs", ["b"], ["y"]),
    ]
    executable = load(model_of(nodes, opset=13), Old())
    for _ in range(2):
        (y,) = executable.run(["y"], {"x": X})
        np.testing.assert_allclose(y, np.exp(-X) / np.exp(-X).sum(axis=0), rtol=1e-6)
    assert sides(executable) == ["p1", "n1", "p1"]
