"""Our session beside onnxruntime's: the same calls, the same answers, the same kinds of errors."""

import asyncio
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

import onnxlet
from onnxlet.dtypes import DataType as T
from onnxlet.model import Attribute, Node
from onnxlet.source import ModelSource, NoSuchFile, watchers
from tests.core.models import identity, model

DATA = Path(__file__).parents[1] / "data"
BOTH = pytest.mark.parametrize("ort", [onnxlet, onnxruntime], ids=["onnxlet", "onnxruntime"])


def mlp() -> bytes:
    w = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    nodes = [
        Node("MatMul", ("x", "w"), ("h",), name="product"),
        Node("Relu", ("h",), ("y",), name="rectifier"),
        Node("ReduceSum", ("y",), ("total",), name="sum", attributes={"keepdims": Attribute("keepdims", 2, 0)}),
    ]
    outputs = {"y": (T.FLOAT, ["batch", 3]), "total": (T.FLOAT, [])}
    return model(nodes, {"x": (T.FLOAT, ["batch", 4])}, outputs, {"w": w})


def unknown_op() -> bytes:
    node = helper.make_node("Swish6", ["x"], ["y"], name="odd", domain="com.acme")
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["a"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a"])],
    )
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("com.acme", 1)]
    return helper.make_model(graph, ir_version=10, opset_imports=imports).SerializeToString()


def test_what_a_model_is_reads_as_in_onnxruntime(tmp_path: Path) -> None:
    proto = onnx.load_from_string(mlp())
    proto.producer_name, proto.doc_string, proto.model_version, proto.domain = "me", "a doc", 7, "acme"
    proto.metadata_props.add(key="labels", value="a,b,c")
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    for provider in ("CPUExecutionProvider", "NumpyExecutionProvider"):
        ours = onnxlet.InferenceSession(tmp_path / "m.onnx", providers=[provider])
        theirs = onnxruntime.InferenceSession(tmp_path / "m.onnx")
        for get in ("get_inputs", "get_outputs", "get_overridable_initializers"):
            assert [str(a) for a in getattr(ours, get)()] == [str(a) for a in getattr(theirs, get)()]
            assert [(a.name, a.type, a.shape) for a in getattr(ours, get)()] == [
                (a.name, a.type, a.shape) for a in getattr(theirs, get)()
            ]
        meta = ours.get_modelmeta()
        for field in ("producer_name", "description", "version", "domain", "graph_name", "custom_metadata_map"):
            assert getattr(meta, field) == getattr(theirs.get_modelmeta(), field)


@pytest.mark.parametrize("fetches", [None, [], ["y"], ["total", "y"], ["y", "y"]])
@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "NumpyExecutionProvider"])
def test_outputs_come_in_the_order_asked_for(fetches: list[str] | None, provider: str) -> None:
    x = np.random.default_rng(1).standard_normal((5, 4)).astype(np.float32)
    ours = onnxlet.InferenceSession(mlp(), providers=[provider]).run(fetches, {"x": x})
    theirs = onnxruntime.InferenceSession(mlp()).run(fetches, {"x": x})
    assert type(ours) is type(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@BOTH
def test_options_have_the_same_fields_defaults_and_checks(ort: Any) -> None:
    options = ort.SessionOptions()
    assert options.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    assert int(options.graph_optimization_level) == 99
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = np.int64(2)
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL
    options.enable_mem_pattern = 0
    assert options.enable_mem_pattern is False
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    assert options.get_session_config_entry("session.qdq_matmulnbits_accuracy_level") == "1"
    options.add_free_dimension_override_by_name("batch", 2)
    with pytest.raises(RuntimeError, match="does not have configuration with key: nothing"):
        options.get_session_config_entry("nothing")
    with pytest.raises(TypeError):
        options.graph_optimization_level = 3
    with pytest.raises(TypeError):
        options.intra_op_num_threads = "2"
    with pytest.raises(TypeError):
        options.add_session_config_entry("key", 1)
    with pytest.raises(AttributeError):
        options.intra_op_threads = 2
    session = ort.InferenceSession(mlp(), options, providers=["CPUExecutionProvider"])
    assert session.run(["y"], {"x": np.ones((2, 4), np.float32)})[0].shape == (2, 3)
    run_options = ort.RunOptions()
    run_options.logid = "one"
    run_options.add_run_config_entry("a", "b")
    assert run_options.get_run_config_entry("a") == "b"
    assert session.run(["y"], {"x": np.ones((2, 4), np.float32)}, run_options)[0].shape == (2, 3)


def test_no_field_of_onnxruntimes_options_is_missing() -> None:
    for name in ("SessionOptions", "RunOptions"):
        theirs, ours = getattr(onnxruntime, name)(), getattr(onnxlet, name)()
        fields = [f for f in dir(theirs) if not f.startswith("_") and not callable(getattr(theirs, f))]
        for field in fields:
            want, got = getattr(theirs, field), getattr(ours, field)
            assert (int(want) if hasattr(want, "value") else want) == got, field


def test_a_free_dimension_that_was_fixed_shows_in_the_inputs() -> None:
    options = onnxlet.SessionOptions()
    options.add_free_dimension_override_by_name("batch", 2)
    assert onnxlet.InferenceSession(mlp(), options).get_inputs()[0].shape == [2, 4]


SAME_ERRORS = {
    "no file": (lambda ort: ort.InferenceSession("no/such/model.onnx"), NoSuchFile, ort_errors.NoSuchFile),
    "no model": (lambda ort: ort.InferenceSession(b"junk"), onnxlet.InvalidModel, ort_errors.InvalidProtobuf),
    "empty": (lambda ort: ort.InferenceSession(b""), onnxlet.InvalidModel, ort_errors.InvalidArgument),
    "a number": (lambda ort: ort.InferenceSession(3), TypeError, TypeError),
    "missing input": (lambda ort: ort.InferenceSession(mlp()).run(None, {}), ValueError, ValueError),
    "wrong output": (
        lambda ort: ort.InferenceSession(mlp()).run(["q"], {"x": np.ones((1, 4), np.float32)}),
        onnxlet.InvalidInput,
        ort_errors.InvalidArgument,
    ),
    "outputs as a string": (
        lambda ort: ort.InferenceSession(mlp()).run("y", {"x": np.ones((1, 4), np.float32)}),
        TypeError,
        TypeError,
    ),
    "rank": (
        lambda ort: ort.InferenceSession(mlp()).run(None, {"x": np.ones(4, np.float32)}),
        onnxlet.InvalidInput,
        ort_errors.InvalidArgument,
    ),
    "options of other length": (
        lambda ort: ort.InferenceSession(
            mlp(), providers=["CPUExecutionProvider"], provider_options=[], enable_fallback=0
        ),
        ValueError,
        ValueError,
    ),
    "a provider that is a number": (
        lambda ort: ort.InferenceSession(mlp(), providers=[3], enable_fallback=0),
        ValueError,
        ValueError,
    ),
}


@pytest.mark.parametrize("kind", SAME_ERRORS)
def test_what_onnxruntime_refuses_is_refused_here(kind: str) -> None:
    call, ours, theirs = SAME_ERRORS[kind]
    with pytest.raises(ours):
        call(onnxlet)
    with pytest.raises(theirs):
        call(onnxruntime)


def test_a_model_is_found_in_the_working_directory_then_beside_the_calling_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, size in ((here, 1), (there, 2)):
        folder.mkdir()
        (folder / "m.onnx").write_bytes(identity(T.FLOAT, [size]))
        (folder / "caller.py").write_text("import onnxlet\nsession = onnxlet.InferenceSession('m.onnx')\n")
    code = "import runpy; print(runpy.run_path('{}')['session'].get_inputs()[0].shape)"
    monkeypatch.chdir(here)
    run = [sys.executable, "-c", code.format(there / "caller.py")]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[1]\n"
    (here / "m.onnx").unlink()
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[2]\n"


def test_a_missing_model_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        FileNotFoundError, match=rf"model 'm\.onnx': no such file in {tmp_path} or {Path(__file__).parent}"
    ):
        onnxlet.InferenceSession("m.onnx")


def test_external_data_is_found_beside_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = onnx.load_from_string(mlp())
    onnx.save_model(proto, tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    x = np.ones((2, 4), np.float32)
    want = onnxruntime.InferenceSession(mlp()).run(None, {"x": x})
    monkeypatch.chdir(tmp_path)
    for given in ("m.onnx", ModelSource((tmp_path / "m.onnx").read_bytes(), base=tmp_path)):
        for provider in ("CPUExecutionProvider", "NumpyExecutionProvider"):
            got = onnxlet.InferenceSession(given, providers=[provider]).run(None, {"x": x})
            np.testing.assert_allclose(got[0], want[0], rtol=1e-6)


def test_the_first_available_provider_runs_the_model_and_the_others_are_named() -> None:
    available = onnxlet.get_available_providers()
    assert [name for name in available if name != "KernelExecutionProvider"] == [  # that one may be installed
        "CPUExecutionProvider",
        "NumpyExecutionProvider",
    ]
    assert onnxlet.get_device() == "CPU"
    session = onnxlet.InferenceSession(mlp())
    assert session.get_providers() == ["CPUExecutionProvider"]
    with pytest.warns(UserWarning, match="WebGpuExecutionProvider is not available: it is not one of") as caught:
        session = onnxlet.InferenceSession(mlp(), providers=["WebGpuExecutionProvider", "CPUExecutionProvider"])
    assert Path(caught[0].filename) == Path(__file__)
    assert session.get_providers() == ["CPUExecutionProvider"]
    with pytest.warns(UserWarning, match="XExecutionProvider is not available"):
        session = onnxlet.InferenceSession(mlp(), providers=["XExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]
    session = onnxlet.InferenceSession(mlp(), providers=[("NumpyExecutionProvider", {"a": 1})])
    assert session.get_providers() == ["NumpyExecutionProvider"]
    assert session.get_provider_options() == {"NumpyExecutionProvider": {"a": "1"}}


def test_a_model_that_onnxruntime_refuses_goes_to_the_core_and_says_so() -> None:
    @onnxlet.op("Swish6", domain="com.acme", since=1)
    def Swish6(x: Any) -> Any:
        return x * np.clip(x + 3, 0, 6) / 6

    with pytest.raises(onnxlet.Refused, match="Swish6"):
        onnxlet.InferenceSession(unknown_op(), enable_fallback=0)
    with pytest.raises(onnxlet.Refused) as refused:
        onnxlet.InferenceSession(identity(T.INT4), enable_fallback=0)
    assert refused.value.nodes == ("same",)
    with pytest.warns(
        UserWarning, match="CPUExecutionProvider does not take this model, NumpyExecutionProvider goes on"
    ):
        session = onnxlet.InferenceSession(unknown_op())
    assert session.get_providers() == ["NumpyExecutionProvider"]
    np.testing.assert_allclose(session.run(None, {"x": np.array([1.0, -4.0], np.float32)})[0], [4 / 6, 0], rtol=1e-6)


def test_values_inside_the_graph_can_be_asked_for_by_name() -> None:
    x = np.random.default_rng(2).standard_normal((2, 4)).astype(np.float32)
    for provider in ("CPUExecutionProvider", "NumpyExecutionProvider"):
        session = onnxlet.InferenceSession(mlp(), providers=[provider])
        h, y = session.run(["h", "y"], {"x": x})
        np.testing.assert_allclose(np.maximum(h, 0), y, rtol=1e-6)
        assert (h < 0).any()
        with pytest.raises(onnxlet.InvalidInput, match="Invalid output name: 'nothing'; the model gives 'y', 'total'"):
            session.run(["nothing"], {"x": x})


@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "NumpyExecutionProvider"])
def test_an_initializer_that_is_an_input_may_be_fed(provider: str) -> None:
    case = json.loads((DATA / "R08_default_input.json").read_text())
    session = onnxlet.InferenceSession(DATA / "R08_default_input.onnx", providers=[provider])
    assert [a.name for a in session.get_inputs()] == ["x"]
    assert [a.name for a in session.get_overridable_initializers()] == ["bias"]
    for run in case["runs"]:
        feeds = {n: np.array(t["data"], t["dtype"]).reshape(t["shape"]) for n, t in run["inputs"].items()}
        np.testing.assert_allclose(session.run(None, feeds)[0], run["expected"]["y"]["data"])


def test_sequences_and_maps_come_as_lists_and_dicts() -> None:
    split = helper.make_node("SplitToSequence", ["x"], ["s"], axis=0)
    graph = helper.make_graph(
        [split], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)],
    )  # fmt: skip
    data = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]).SerializeToString()
    x = np.eye(2, dtype=np.float32)
    want = onnxruntime.InferenceSession(data).run(None, {"x": x})[0]
    for provider in ("CPUExecutionProvider", "NumpyExecutionProvider"):
        session = onnxlet.InferenceSession(data, providers=[provider])
        assert session.get_outputs()[0].type == "seq(tensor(float))"
        (got,) = session.run(None, {"x": x})
        assert isinstance(got, list)
        np.testing.assert_array_equal(got, want)


def test_threads_that_share_a_session_each_get_their_own_answer() -> None:
    session = onnxlet.InferenceSession(mlp(), providers=["NumpyExecutionProvider"])
    reference = onnxruntime.InferenceSession(mlp())
    inputs = [np.full((3, 4), i, np.float32) for i in range(16)]
    results: list[Any] = [None] * 16

    def work(i: int) -> None:
        results[i] = session.run(["y"], {"x": inputs[i]})[0]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x, y in zip(inputs, results, strict=True):
        np.testing.assert_allclose(y, reference.run(["y"], {"x": x})[0], rtol=1e-5)


def test_runs_can_be_awaited_side_by_side() -> None:
    async def main() -> list[Any]:
        session = onnxlet.InferenceSession(mlp())
        return await asyncio.gather(*(session.arun(["total"], {"x": np.full((1, 4), i, np.float32)}) for i in range(8)))

    totals = [float(r[0]) for r in asyncio.run(main())]
    np.testing.assert_allclose(totals, np.arange(8) * totals[1], rtol=1e-5)


def test_run_async_calls_back_with_results_or_an_error() -> None:
    session = onnxlet.InferenceSession(mlp())
    done = threading.Event()
    seen: list[Any] = []

    def callback(results: Any, user_data: Any, error: str) -> None:
        seen.append((results, user_data, error))
        done.set()

    session.run_async(["y"], {"x": np.ones((1, 4), np.float32)}, callback, "mine")
    assert done.wait(10)
    ((results, user_data, error),) = seen
    assert (user_data, error, results[0].shape) == ("mine", "", (1, 3))
    with pytest.raises(onnxlet.InvalidInput):
        session.run_async(["y"], {}, callback, None)


def test_a_run_that_fails_inside_is_a_provider_error() -> None:
    nodes = [Node("Reshape", ("x", "shape"), ("y",))]
    data = model(nodes, {"x": (T.FLOAT, ["a"]), "shape": (T.INT64, ["r"])}, {"y": (T.FLOAT, None)})
    feeds = {"x": np.ones(3, np.float32), "shape": np.array([2, 2])}
    with pytest.raises(onnxlet.ProviderError, match="Reshape"):
        onnxlet.InferenceSession(data).run(None, feeds)
    with pytest.raises(onnxlet.OnnxletError, match="Reshape"):
        onnxlet.InferenceSession(data, providers=["NumpyExecutionProvider"]).run(None, feeds)


@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "NumpyExecutionProvider"])
def test_profiling_writes_a_trace(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = onnxlet.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = "trace"
    session = onnxlet.InferenceSession(mlp(), options, providers=[provider])
    session.run(None, {"x": np.ones((1, 4), np.float32)})
    events = json.loads(Path(session.end_profiling()).read_text())
    assert any("MatMul" in json.dumps(event) for event in events)
    assert onnxlet.InferenceSession(mlp()).end_profiling() == ""


def test_whoever_watches_learns_of_every_model_that_is_opened(tmp_path: Path) -> None:
    shutil.copy(DATA / "P_add1.onnx", tmp_path / "m.onnx")
    seen: list[ModelSource] = []
    watchers.append(seen.append)
    try:
        onnxlet.InferenceSession(tmp_path / "m.onnx")
        onnxlet.InferenceSession(mlp())
    finally:
        watchers.remove(seen.append)
    assert [(s.name, s.path) for s in seen] == [("m.onnx", tmp_path / "m.onnx"), ("", None)]


def test_a_closed_session_loads_its_model_again() -> None:
    session = onnxlet.InferenceSession(mlp())
    feeds = {"x": np.ones((1, 4), np.float32)}
    before = session.run(["y"], feeds)[0]
    session.close()
    session.close()
    np.testing.assert_array_equal(session.run(["y"], feeds)[0], before)
    session.set_providers(["NumpyExecutionProvider"])
    assert session.get_providers() == ["NumpyExecutionProvider"]
    np.testing.assert_allclose(session.run(["y"], feeds)[0], before, rtol=1e-6)


def test_importing_the_package_imports_neither_onnxruntime_nor_pillow() -> None:
    code = "import sys, onnxlet; print([m for m in ('onnxruntime', 'onnx', 'PIL', 'scipy') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_page_starts_without_what_only_some_apps_and_panels_need() -> None:
    names = ("tasks", "tokens.portable", "tokens.character_tables", "node_table", "verification")
    code = f"import sys, onnxlet.host; print([m for m in {names} if f'onnxlet.{{m}}' in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_public_name_exists() -> None:
    for name in onnxlet.__all__:
        assert getattr(onnxlet, name) is not None
    assert len(set(onnxlet.__all__)) == len(onnxlet.__all__)
