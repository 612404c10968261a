"""Weights in the page: held once where they are computed with, whole or in parts, and given back."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser

from onnxlet import InferenceSession
from onnxlet.dtypes import DataType as T
from onnxlet.model import Node
from tests.browser.harness import PagePython, open_python
from tests.core.models import identity, model

SIZE, LAYERS = 1536, 8
WEIGHTS_BYTES = LAYERS * SIZE * SIZE * 4  # 75 MB
HEAPS = "const python = pyodide._module.HEAPU8.length; return [python, bridge.memoryBytes() - python];"


def heaps(python: PagePython) -> tuple[int, int]:
    """Bytes of Python's memory and of ONNX Runtime's, which grow and never shrink."""
    mine, runtime = python.js(HEAPS)
    return mine, runtime


def layers(*more: Node, seed: int = 0) -> bytes:
    """Matrix products one after another, each with weights of its own, and what comes after them."""
    rng = np.random.default_rng(seed)
    names = ["x", *(f"h{i}" for i in range(1, LAYERS)), "h"]
    nodes = [Node("MatMul", (names[i], f"w{i}"), (names[i + 1],), name=f"layer{i}") for i in range(LAYERS)]
    weights = {f"w{i}": rng.standard_normal((SIZE, SIZE), np.float32) / np.float32(SIZE**0.5) for i in range(LAYERS)}
    last = Node("Identity", ("h",), ("y",), name="last")
    return model([*nodes, *(more or [last])], {"x": (T.FLOAT, ["n", SIZE])}, {"y": (T.FLOAT, ["n", SIZE])}, weights)


@pytest.fixture(scope="module")
def whole() -> bytes:
    return layers()


@pytest.fixture(scope="module", params=["jspi", "atomics"])
def python(
    request: pytest.FixtureRequest, browser: Browser, whole: bytes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PagePython]:
    # in the middle of the graph's first bytes, of a tensor, and of a tag
    cut: dict[str, Any] = {"data": whole, "cuts": [7, 1000, SIZE * SIZE * 6, SIZE * SIZE * 6 + 1, len(whole) - 40]}
    models = {"whole.onnx": whole, "cut.onnx": cut, "small.onnx": identity(T.FLOAT)}
    conditions = {"jspi": "plain", "atomics": "iso+nojspi"}[request.param]
    functions = [{"name": "f", "async": False}]
    folder = tmp_path_factory.mktemp("weights")
    with open_python(browser, folder, conditions=conditions, models=models, functions=functions) as opened:
        opened.run(f"import gc\nimport numpy as np\nimport onnxlet\nx = np.ones((1, {SIZE}), np.float32)")
        yield opened


def test_a_model_is_loaded_with_one_copy_of_its_weights_and_closed_sessions_give_theirs_to_the_next(
    python: PagePython, whole: bytes
) -> None:
    python.run("onnxlet.InferenceSession('small.onnx').run(None, {'x': x})")
    before = heaps(python)
    answer = python.run("""
session = onnxlet.InferenceSession("whole.onnx")
y = session.run(None, {"x": x})[0].tolist()
session.close()
y""")
    once = heaps(python)
    again = python.run("""
for _ in range(20):
    session = onnxlet.InferenceSession("whole.onnx")
    y = session.run(None, {"x": x})[0].tolist()
    del session
y""")
    (expected,) = InferenceSession(whole).run(None, {"x": np.ones((1, SIZE), np.float32)})
    np.testing.assert_allclose(answer, expected, rtol=1e-3, atol=1e-4)
    assert again == answer
    assert once[0] - before[0] < WEIGHTS_BYTES / 4, "weights went through Python"
    assert 1.0 <= (once[1] - before[1]) / WEIGHTS_BYTES < 1.8, "ONNX Runtime has more than one copy of the weights"
    assert heaps(python) == once


def test_a_model_that_comes_in_parts_is_the_same_model(python: PagePython) -> None:
    assert python.run("""
answers = [onnxlet.InferenceSession(f"{name}.onnx").run(None, {"x": x})[0] for name in ("whole", "cut")]
bool((answers[0] == answers[1]).all())
""")
