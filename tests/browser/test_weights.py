"""Weights in the page: held once where they are computed with, whole or in parts, and given back."""

from collections.abc import Iterator
from pathlib import Path
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


@pytest.mark.parametrize("conditions", ["plain", "iso+nojspi"])
def test_a_model_that_does_not_fit_is_refused_with_words_and_loaded_when_another_one_is_closed(
    conditions: str, browser: Browser, tmp_path: Path
) -> None:
    data = layers()
    models = {"one.onnx": data, "two.onnx": layers(seed=1), "alone.onnx": {"data": data, "activations": 10**9}}
    options = {"models": models, "functions": [{"name": "f", "async": False}], "memory_budget": 2 * WEIGHTS_BYTES}
    with open_python(browser, tmp_path, conditions=conditions, **options) as python:
        (tmp_path / "assets/models/alone.onnx").unlink()  # it is not even fetched
        said = python.run(f"""
import numpy as np, onnxlet
def tried(session):
    try:
        return session.run(None, {{"x": x}})[0].shape
    except onnxlet.OutOfMemory as error:
        return str(error)
x = np.ones((1, {SIZE}), np.float32)
one, two = onnxlet.InferenceSession("one.onnx"), onnxlet.InferenceSession("two.onnx")
said = [tried(one), tried(two)]
one.close()
[*said, tried(two), tried(onnxlet.InferenceSession("alone.onnx")), tried(onnxlet.InferenceSession("one.onnx"))]""")
    shape, second, later, alone, first = said
    assert shape == later == [1, SIZE]
    assert second.startswith("ONNX Runtime Web: two.onnx needs about 110 MiB of memory; models may take 140 MiB ")
    assert "as this site was built, and one.onnx (110 MiB) is loaded. Close the other session" in second
    assert "alone.onnx needs about 1 GiB" in alone
    assert "and two.onnx (110 MiB) is loaded" in first


def test_a_run_that_the_memory_does_not_suffice_for_says_so_and_the_next_one_works(
    browser: Browser, tmp_path: Path
) -> None:
    nodes = [Node("Expand", ("x", "shape"), ("h",), name="expand"), Node("ReduceSum", ("h",), ("y",), name="sum")]
    inputs = {"x": (T.FLOAT, [1]), "shape": (T.INT64, [2])}
    models = {"expand.onnx": model(nodes, inputs, {"y": (T.FLOAT, None)})}
    with open_python(browser, tmp_path, conditions="plain", models=models, functions=[{"name": "f"}]) as python:
        answers = python.run("""
import numpy as np, onnxlet
session = onnxlet.InferenceSession("expand.onnx")
def tried(*shape):
    try:
        return float(session.run(None, {"x": np.ones(1, np.float32), "shape": np.array(shape)})[0].sum())
    except Exception as error:
        return f"{type(error).__name__}: {error}"
[tried(2, 3), tried(2**15, 33000), tried(2**15, 32767), tried(2, 3)]""")
    fine, overflow, bad_alloc, again = answers
    assert fine == again == 6
    for text in (overflow, bad_alloc):
        assert text.startswith("OutOfMemory: ONNX Runtime Web: the memory does not suffice for this run")
