"""Models that ONNX Runtime Web takes only in parts, in Chromium, on WebAssembly and on WebGPU."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import Browser

from tests.browser.harness import PagePython, open_python

DATA = Path(__file__).parent.parent / "data"
PROVIDERS = {"wasm": "CPUExecutionProvider", "webgpu": "WebGpuExecutionProvider"}
X = np.array([[1.0, -2.0], [3.0, -4.0]], np.float32)

SETUP = """
import json, warnings
import numpy as np
import onnxlet
from onnxlet import providers
from onnxlet.options import SessionOptions
from onnxlet.providers import partitioned
from onnxlet.source import ModelSource

@onnxlet.op("Swish6", domain="com.acme", since=1)
def Swish6(x):
    return (x * np.clip(x, 0, 6) / np.float32(6)).astype(x.dtype)

async def answers(path, provider, runs, fetches, awaited):
    executable = partitioned.load(providers.find(provider), ModelSource(path), SessionOptions())
    results = []
    for feeds in runs:
        feeds = {n: np.array(v["data"], v["dtype"]).reshape(v["shape"]) for n, v in feeds.items()}
        values = await executable.arun(fetches, feeds) if awaited else executable.run(fetches, feeds)
        results.append([[str(v.dtype), list(v.shape), v.ravel().astype(float).tolist()] for v in values])
    placement = executable.placement()
    executable.close()
    return json.dumps([results, placement])
"""


class Page:
    """Runs a model in parts in the page."""

    def __init__(self, python: PagePython, backend: str) -> None:
        self.python, self.backend = python, backend
        python.run(SETUP)

    def run(
        self, model: bytes, runs: list[dict[str, np.ndarray]], fetches: list[str], *, awaited: bool = False
    ) -> tuple[list[list[np.ndarray]], dict[str, Any]]:
        """Returns: outputs of each run, and the placement after the last."""
        self.python.put("/app/part.onnx", model)
        feeds = [
            {n: {"dtype": str(v.dtype), "shape": v.shape, "data": v.ravel().tolist()} for n, v in run.items()}
            for run in runs
        ]
        arguments = json.dumps([PROVIDERS[self.backend], feeds, fetches])
        answer = self.python.run(f"await answers('part.onnx', *json.loads({arguments!r}), {awaited})")
        results, placement = json.loads(answer)
        return [[np.array(data, dtype).reshape(shape) for dtype, shape, data in run] for run in results], placement


@pytest.fixture(scope="module", params=["wasm", "webgpu"])
def page(request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with open_python(browser, tmp_path_factory.mktemp("site") / "s", backend=request.param) as python:
        yield Page(python, request.param)


def model_of(nodes, inputs=("x",), outputs=("y",), *, opset=21, ir=10, kind=TensorProto.FLOAT, **fields) -> bytes:
    infos = [[helper.make_tensor_value_info(n, kind, ["n", 2]) for n in inputs]]
    infos.append([helper.make_tensor_value_info(n, kind, None) for n in outputs])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.acme", 1)]
    graph = helper.make_graph(list(nodes), "g", *infos, **fields)
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir).SerializeToString()


def custom(inputs, outputs):
    return helper.make_node("Swish6", inputs, outputs, domain="com.acme")


def swish6(x: np.ndarray) -> np.ndarray:
    return x * np.clip(x, 0, 6) / np.float32(6)


def operators_by_provider(placement: dict[str, Any]) -> list[tuple[str, int]]:
    return [(part["provider"], len(part["nodes"])) for part in placement["parts"]]


@pytest.mark.parametrize("awaited", [False, True], ids=["run", "arun"])
def test_a_custom_operator_runs_in_python_and_the_rest_where_it_was(page: Page, awaited: bool):
    weights = np.random.default_rng(0).standard_normal((2, 2)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        custom(["a"], ["b"]),
        helper.make_node("Exp", ["b"], ["c"]),
        helper.make_node("Add", ["c", "a"], ["y"]),
    ]
    model = model_of(nodes, initializer=[numpy_helper.from_array(weights, "w")])
    results, placement = page.run(model, [{"x": X}, {"x": X[:1]}, {"x": -X}], ["y"], awaited=awaited)
    for x, (y,) in zip([X, X[:1], -X], results, strict=True):
        np.testing.assert_allclose(y, np.exp(swish6(x @ weights)) + x @ weights, rtol=1e-4)
    here = PROVIDERS[page.backend]
    assert operators_by_provider(placement) == [(here, 1), ("NumpyExecutionProvider", 1), (here, 2)]
    assert placement["crossing_bytes"] == {"a": 16, "b": 16}


def test_types_that_javascript_cannot_carry_stay_in_python(page: Page):
    nodes = [
        helper.make_node("Exp", ["x"], ["e"]),
        helper.make_node("Cast", ["e"], ["a"], to=TensorProto.BFLOAT16),
        helper.make_node("SplitToSequence", ["a"], ["s"], axis=0),
        helper.make_node("ConcatFromSequence", ["s"], ["t"], axis=0),
        custom(["t"], ["b"]),
        helper.make_node("Cast", ["b"], ["c"], to=TensorProto.FLOAT),
        helper.make_node("Neg", ["c"], ["y"]),
    ]
    results, placement = page.run(model_of(nodes), [{"x": np.log(np.abs(X))}] * 3, ["y"])
    for (y,) in results:
        np.testing.assert_allclose(y, -swish6(np.abs(X)), rtol=2e-2)
    here = PROVIDERS[page.backend]
    assert operators_by_provider(placement) == [(here, 1), ("NumpyExecutionProvider", 5), (here, 1)]


def test_a_model_newer_than_the_runtime_runs_there_as_far_as_its_operators_are_old(page: Page):
    nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
    results, placement = page.run(model_of(nodes, opset=28, ir=14), [{"x": X}] * 2, ["y"])
    for (y,) in results:
        np.testing.assert_allclose(y, -np.exp(X), rtol=1e-5)
    assert placement["provider"] == PROVIDERS[page.backend]
    assert operators_by_provider(placement) == [(PROVIDERS[page.backend], 2)]


@pytest.mark.parametrize(
    "name", ["R05_sparse_init", "R05_sparse_init_linear", "R06_local_function", "R08_default_input"]
)
def test_cases_that_onnxruntime_web_refuses_are_answered(page: Page, name: str):
    case = json.loads((DATA / f"{name}.json").read_text())
    runs = [
        {n: np.array(v["data"], v["dtype"]).reshape(v["shape"]) for n, v in run["inputs"].items()}
        for run in case["runs"]
    ]
    fetches = list(case["runs"][0]["expected"])
    results, placement = page.run((DATA / case["model"]).read_bytes(), runs * 2, fetches)
    for run, values in zip(case["runs"] * 2, results, strict=True):
        for fetch, value in zip(fetches, values, strict=True):
            np.testing.assert_allclose(value.ravel(), run["expected"][fetch]["data"], atol=1e-5)
    assert placement["provider"] == PROVIDERS[page.backend]


@pytest.mark.parametrize("channels", [3, 4, 9, 33])
def test_a_convolution_is_right_whatever_its_number_of_channels(page: Page, channels: int):
    rng = np.random.default_rng(channels)
    x = rng.standard_normal((channels * 25, 2)).astype(np.float32)
    w = rng.standard_normal((8, channels, 3, 3)).astype(np.float32)
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["picture"]),
        helper.make_node("Conv", ["picture", "w"], ["c"]),
        helper.make_node("Neg", ["c"], ["y"]),
    ]
    constants = [
        numpy_helper.from_array(w, "w"),
        numpy_helper.from_array(np.array([1, channels, 10, 5]), "shape"),
    ]
    ((y,),), placement = page.run(model_of(nodes, initializer=constants), [{"x": x}], ["y"])
    windows = np.lib.stride_tricks.sliding_window_view(x.reshape(channels, 10, 5), (3, 3), axis=(1, 2))
    np.testing.assert_allclose(y[0], -np.einsum("chwij,ocij->ohw", windows, w), rtol=1e-3, atol=1e-4)
    assert placement["provider"] == PROVIDERS[page.backend]
