"""The core's sessions in Chromium: ONNX Runtime Web on WebAssembly, through each way to wait for it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from onnxlet.dtypes import DataType as T
from onnxlet.model import Node
from tests.browser.harness import PagePython, open_python
from tests.core.models import identity, model

DATA = Path(__file__).parents[1] / "data"
SYNC = [{"name": "f", "async": False}]
ASYNC = [{"name": "f", "async": True}]


def models() -> dict[str, bytes]:
    return {
        "add1.onnx": (DATA / "P_add1.onnx").read_bytes(),
        "default_input.onnx": (DATA / "R08_default_input.onnx").read_bytes(),
        "models/same.onnx": identity(T.FLOAT, ["n"]),
        "reshape.onnx": model(
            [Node("Reshape", ("x", "shape"), ("y",), name="bad")],
            {"x": (T.FLOAT, ["a"]), "shape": (T.INT64, ["r"])},
            {"y": (T.FLOAT, ["b", "c"])},
        ),
    }


@pytest.fixture(scope="module")
def jspi(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagePython]:
    folder = tmp_path_factory.mktemp("jspi")
    with open_python(browser, folder, conditions="iso+cores2", models=models(), functions=SYNC) as python:
        python.run("import asyncio, json, warnings\nimport numpy as np\nimport onnxlet")
        yield python


@pytest.fixture(scope="module")
def atomics(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagePython]:
    folder = tmp_path_factory.mktemp("atomics")
    with open_python(browser, folder, conditions="iso+nojspi+cores2", models=models(), functions=SYNC) as python:
        python.run("import asyncio, json, warnings\nimport numpy as np\nimport onnxlet")
        yield python


@pytest.fixture(params=["jspi", "atomics"])
def blocking(request: pytest.FixtureRequest) -> PagePython:
    """Python that can wait, in both ways."""
    python: PagePython = request.getfixturevalue(request.param)
    assert python.js("return bridge.waits") == request.param
    return python


def test_the_cores_tests_of_feeds_pass_in_the_page(blocking: PagePython) -> None:
    status, output = blocking.pytest("tests/core/test_feeds.py")
    assert status == 0, output


def test_a_recorded_model_runs_without_a_file(blocking: PagePython) -> None:
    assert blocking.run("""
session = onnxlet.InferenceSession("add1.onnx")
y, total = session.run(None, {"x": np.ones((2, 3), np.float32)})
nested = onnxlet.InferenceSession("./models/../models/same.onnx").run(None, {"x": [1.0, 2.0]})
[y.tolist(), float(total), session.get_providers(), str(session.get_inputs()[0]), nested[0].tolist()]
""") == [[[2, 2, 2], [2, 2, 2]], 6, ["CPUExecutionProvider"],
         "NodeArg(name='x', type='tensor(float)', shape=['a', 'b'])", [1, 2]]  # fmt: skip


def test_a_large_tensor_crosses_whole_in_both_directions(blocking: PagePython) -> None:
    assert blocking.run("""
x = np.arange(5_000_000, dtype=np.float32)
(y,) = onnxlet.InferenceSession("models/same.onnx").run(None, {"x": x})
bool((x == y).all() and y.flags.writeable and not np.shares_memory(x, y))
""")


def test_concurrent_runs_each_get_their_own_answer(blocking: PagePython) -> None:
    assert blocking.run("""
a, b = onnxlet.InferenceSession("add1.onnx"), onnxlet.InferenceSession("models/same.onnx")
async def one(i):
    (y, _), (z,) = await asyncio.gather(a.arun(None, {"x": np.full((1, 2), i, np.float32)}),
                                        b.arun(None, {"x": np.full(3, i, np.float32)}))
    return [float(y[0, 0]), float(z[0])]
await asyncio.gather(*(one(i) for i in range(8)))
""") == [[i + 1, i] for i in range(8)]


def test_runs_that_block_queue_behind_each_other_and_behind_awaited_ones(jspi: PagePython) -> None:
    jspi.run("""
session = onnxlet.InferenceSession("add1.onnx")
def run(i):
    return [float(session.run(None, {"x": np.full((1, 2), i + k, np.float32)})[0][0, 0]) for k in range(3)]
async def arun(i):
    return [float((await session.arun(None, {"x": np.full((1, 2), i + k, np.float32)}))[0][0, 0]) for k in range(3)]
""")
    assert jspi.js("""
const [run, arun] = ["run", "arun"].map((name) => pyodide.globals.get(name));
const answers = await Promise.all([0, 10, 20, 30].map((i) => (i % 20 ? arun(i) : run.callPromising(i))));
return answers.map((answer) => answer.toJs());
""") == [[i + 1, i + 2, i + 3] for i in (0, 10, 20, 30)]


def test_a_run_that_is_called_off_leaves_the_next_ones_alone(jspi: PagePython) -> None:
    assert jspi.run("""
session = onnxlet.InferenceSession("add1.onnx")
async def one(i):
    return float((await session.arun(None, {"x": np.full((1, 2), i, np.float32)}))[0][0, 0])
tasks = [asyncio.create_task(one(i)) for i in range(4)]
await asyncio.sleep(0)
tasks[0].cancel()
tasks[2].cancel()
done = await asyncio.gather(*tasks, return_exceptions=True)
[value if isinstance(value, float) else type(value).__name__ for value in done]
""") == ["CancelledError", 2, "CancelledError", 4]


def test_a_default_input_can_be_fed_although_the_web_runtime_cannot(blocking: PagePython) -> None:
    case = json.loads((DATA / "R08_default_input.json").read_text())
    want = [run["expected"]["y"]["data"] for run in case["runs"]]
    y, placement = blocking.run("""
session = onnxlet.InferenceSession("default_input.onnx")
ys = [session.run(None, {"x": [1, 2]})[0], session.run(None, {"x": [1, 2], "bias": [0, 0]})[0]]
[[y.tolist() for y in ys], session.placement()]
""")
    assert y == want
    assert placement["provider"] == "CPUExecutionProvider"


def test_a_run_that_fails_names_the_node_and_the_session_goes_on(blocking: PagePython) -> None:
    error, y = blocking.run("""
session = onnxlet.InferenceSession("reshape.onnx")
try:
    session.run(None, {"x": np.ones(3, np.float32), "shape": np.array([2, 2])})
    error = None
except onnxlet.OnnxletError as e:
    error = [type(e).__name__, str(e)]
[error, session.run(None, {"x": np.ones(4, np.float32), "shape": np.array([2, 2])})[0].tolist()]
""")
    assert error[0] == "ProviderError"
    assert "Reshape" in error[1]
    assert y == [[1, 1], [1, 1]]


def test_what_is_no_model_is_said_to_be_none(blocking: PagePython) -> None:
    for data in (b"junk", b""):
        kind, message = blocking.run(f"""
try:
    onnxlet.InferenceSession({data!r}).run(None, {{}})
    answer = None
except Exception as e:
    answer = [type(e).__name__, str(e)]
answer
""")
        assert kind == "InvalidModel", message


def test_a_missing_model_names_those_that_the_site_holds(jspi: PagePython) -> None:
    assert jspi.run("""
try:
    onnxlet.InferenceSession("digits.onnx")
except FileNotFoundError as e:
    message = str(e)
message
""").endswith("the site holds add1.onnx, default_input.onnx, models/same.onnx, reshape.onnx")


def test_values_inside_the_graph_and_custom_operators_work(blocking: PagePython) -> None:
    odd = model(
        [Node("Neg", ("x",), ("h",)), Node("Twice", ("h",), ("y",), domain="com.acme")],
        {"x": (T.FLOAT, ["n"])},
        {"y": (T.FLOAT, ["n"])},
        imports={"": 21, "com.acme": 1},
    )
    blocking.put("/app/odd.onnx", odd)
    inner, y, placement = blocking.run("""
@onnxlet.op("Twice", domain="com.acme")
def Twice(x):
    return x + x
(inner,) = onnxlet.InferenceSession("add1.onnx").run(["x"], {"x": [[3]]})
session = onnxlet.InferenceSession("odd.onnx")
(y,) = session.run(None, {"x": [1, 2]})
[inner.tolist(), y.tolist(), session.placement()]
""")
    assert (inner, y) == ([[3]], [-2, -4])
    assert [p["provider"] for p in placement["parts"]] == ["CPUExecutionProvider", "NumpyExecutionProvider"]


def test_a_thousand_runs_leave_no_proxy_behind_and_memory_level(jspi: PagePython) -> None:
    jspi.run("""
session = onnxlet.InferenceSession("add1.onnx")
x = np.ones((64, 1024), np.float32)
def many(n):
    for _ in range(n):
        session.run(None, {"x": x})
""")
    counts = jspi.js("""
const module = pyodide._module;
module.enable_pyproxy_allocation_tracing();
const many = pyodide.globals.get("many");
const count = () => [module.pyproxy_alloc_map.size, module._hiwire_num_refs(), module.HEAPU8.length];
await many.callPromising(50);
const before = count();
await many.callPromising(1000);
const after = count();
many.destroy();
module.disable_pyproxy_allocation_tracing();
return [before, after];
""")
    assert counts[0] == counts[1]


def test_what_fails_leaves_no_proxy_behind_either(jspi: PagePython) -> None:
    jspi.run("""
session = onnxlet.InferenceSession("reshape.onnx")
feeds = {"x": np.ones(3, np.float32), "shape": np.array([2, 2])}
def failing(n):
    for _ in range(n):
        try:
            session.run(None, feeds)
        except onnxlet.ProviderError:
            pass
""")
    before, after = jspi.js("""
const module = pyodide._module;
module.enable_pyproxy_allocation_tracing();
const failing = pyodide.globals.get("failing");
const count = () => {
  pyodide.runPython("import gc; gc.collect()"); // exceptions and their frames hold each other
  return [module.pyproxy_alloc_map.size, module._hiwire_num_refs()];
};
await failing.callPromising(10);
const before = count();
await failing.callPromising(100);
const after = count();
failing.destroy();
module.disable_pyproxy_allocation_tracing();
return [before, after];
""")
    assert before == after


def test_a_run_takes_few_calls_of_python_and_no_turn_of_the_event_loop(jspi: PagePython) -> None:
    """A busy machine changes what a run takes, not what it does: 146 calls once, 60 since calls are prepared."""
    calls, turns = jspi.run("""
import cProfile
session = onnxlet.InferenceSession("models/same.onnx")
feeds = {"x": np.ones(3, np.float32)}
session.run(None, feeds)
turns = []
asyncio.get_event_loop().call_soon(turns.append, 1)
profile = cProfile.Profile()
with profile:
    for _ in range(10):
        session.run(None, feeds)
[sum(entry.callcount for entry in profile.getstats()) / 10, len(turns)]
""")
    assert calls <= 70
    assert turns == 0


def test_where_python_cannot_pause_the_error_says_what_to_do(jspi: PagePython) -> None:
    jspi.run("session = onnxlet.InferenceSession('add1.onnx')")
    message = jspi.js("""
try {
  pyodide.runPython("session.run(None, {'x': [[1]]})");
} catch (error) {
  return error.message;
}
""")
    assert "ProviderError: this browser cannot pause Python" in message
    assert "await session.arun(...)" in message


def test_import_onnxruntime_is_this_core(jspi: PagePython) -> None:
    assert jspi.run("""
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument, InvalidProtobuf, NoSuchFile
from onnxruntime.capi import onnxruntime_pybind11_state as state

options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
session = ort.InferenceSession("add1.onnx", options, providers=ort.get_available_providers())
seen = []
for call, kind in [(lambda: session.run(None, {"x": [1.0]}), InvalidArgument),
                   (lambda: ort.InferenceSession("no"), NoSuchFile),
                   (lambda: session.run(["no"], {"x": [[1.0]]}), state.InvalidArgument)]:
    try:
        call()
    except kind as error:
        seen.append(kind.__name__)
[seen, ort.__version__, [o.name for o in session.get_outputs()]]
""") == [["InvalidInput", "NoSuchFile", "InvalidInput"], "1.32.0", ["y", "s"]]  # fmt: skip


def test_status_says_what_runs_and_why(blocking: PagePython) -> None:
    status = json.loads(blocking.run("session = onnxlet.InferenceSession('add1.onnx')\nonnxlet.host.status()"))
    assert (status["backend"], status["threads"]) == ("wasm", 1)
    assert status["python"].startswith("3.14")
    assert "1 thread: half of 2 cores" in status["reason"]


def test_an_async_app_awaits_where_nothing_can_block(browser: Browser, tmp_path: Path) -> None:
    with open_python(browser, tmp_path, conditions="plain+nojspi", models=models(), functions=ASYNC) as python:
        assert python.js("return bridge.waits") == "async"
        y, message, fallen, reason = python.run("""
import json, onnxlet, numpy as np
session = onnxlet.InferenceSession("add1.onnx")
y, _ = await session.arun(None, {"x": [[1.0]]})
try:
    session.run(None, {"x": [[1.0]]})
except onnxlet.ProviderError as error:
    message = str(error)
other = onnxlet.InferenceSession("default_input.onnx")
fallen = await other.arun(None, {"x": [1, 2], "bias": [0, 0]})
[y.tolist(), message, fallen[0].tolist(), json.loads(onnxlet.host.status())["reason"]]
""")
        assert y == [[2]]
        assert "use `await session.arun(...)`" in message
        assert fallen == [1, 2]
        assert "not cross-origin isolated" in reason


def test_a_plain_app_computes_in_python_where_nothing_can_wait(browser: Browser, tmp_path: Path) -> None:
    with open_python(browser, tmp_path, conditions="plain+nojspi", models=models(), functions=SYNC) as python:
        assert python.js("return bridge.waits") == "none"
        y, providers, status = python.run("""
import json, onnxlet
sessions = [onnxlet.InferenceSession("add1.onnx") for _ in range(2)]
ys = [s.run(None, {"x": [[1.0]]})[0].tolist() for s in sessions]
[ys, sessions[0].get_providers(), json.loads(onnxlet.host.status())]
""")
        assert y == [[[2]], [[2]]]
        assert providers == ["NumpyExecutionProvider"]
        assert status["backend"] == "python"
        assert "no JSPI, no shared memory" in status["reason"]
