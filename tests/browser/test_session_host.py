"""host.py: what the page's worker calls, and what it answers when the app file is wrong."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.harness import PagePython, open_python

DATA = Path(__file__).parents[1] / "data"

APP = """
import helper
from onnxlet import App, InferenceSession, Text

session = InferenceSession("add1.onnx")


def plus_one(number: float, text: str) -> Text:
    if text == "fail":
        helper.fail({"a": 1})
    (y, _) = session.run(None, {"x": [[number]]})
    return f"{text} {y[0, 0]}"


app = App(plus_one)
"""
HELPER = """
def fail(values):
    return values["b"]
"""


@pytest.fixture(scope="module")
def python(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagePython]:
    models = {"add1.onnx": (DATA / "P_add1.onnx").read_bytes()}
    functions = [{"name": "f", "async": False}]
    with open_python(browser, tmp_path_factory.mktemp("host"), models=models, functions=functions) as opened:
        opened.put("/app/app.py", APP.encode())
        opened.put("/app/helper.py", HELPER.encode())
        assert start(opened, "app") is None
        yield opened


def start(python: PagePython, module: str) -> Any:
    answer = python.js(f"return await host.start(bridge, JSON.stringify({{module: '{module}', object: 'app'}}))")
    return answer and json.loads(answer)["error"]


def call(python: PagePython, *values: Any) -> dict[str, Any]:
    inputs = [{"kind": "number", "value": values[0]}, {"kind": "text", "text": values[1]}]
    text, views = python.js(
        f"const [text, views] = await host.call('plus_one', {json.dumps(json.dumps(inputs))}, []);"
        "return [text, Array.isArray(views)];"
    )
    assert views
    return json.loads(text)


def test_a_call_answers_with_displays_and_times(python: PagePython) -> None:
    answer = call(python, 2.5, "sum")
    assert [o["text"] for o in answer["outputs"]] == ["sum 3.5"]
    timing = answer["timing"]
    assert timing["runs"] == 1
    assert 0 < timing["run_ms"] <= timing["total_ms"]


def test_an_error_in_the_app_shows_the_apps_lines_only(python: PagePython) -> None:
    error = call(python, 1, "fail")["error"]
    assert error["type"] == "KeyError"
    assert error["message"] == "there is no 'b'"
    files = [line.strip() for line in error["traceback"].splitlines() if "File " in line]
    assert [f.split('"')[1] for f in files] == ["/app/app.py", "/app/helper.py"]


def test_a_value_that_does_not_fit_is_a_sentence(python: PagePython) -> None:
    error = call(python, "many", "sum")["error"]
    assert error["type"] == "InvalidInput"
    assert "number" in error["message"]


@pytest.mark.parametrize(("module", "source", "kind", "message", "hint"), [
    ("lacks_package", "import keras.losses", "ModuleNotFoundError", "keras", 'add "keras" to `dependencies`'),
    ("lacks_app", "x = 1", "InvalidInput", "expected an App in `app`, found none; write `app = App(function)`", ""),
    ("broken", "def f(:\n  pass", "SyntaxError", "invalid syntax", ""),
    ("lacks_model", "import onnxlet\nonnxlet.InferenceSession('m.onnx')", "NoSuchFile", "the site holds add1.onnx", ""),
])  # fmt: skip
def test_an_app_file_that_cannot_start_says_why(
    python: PagePython, module: str, source: str, kind: str, message: str, hint: str
) -> None:
    python.put(f"/app/{module}.py", source.encode())
    error = start(python, module)
    assert (error["type"], message in error["message"], hint in error.get("hint", "")) == (kind, True, True), error
    assert "host.py" not in error["traceback"]
    assert "importlib" not in error["traceback"]


def test_calls_leave_no_proxy_behind(python: PagePython) -> None:
    before, after = python.js("""
const module = pyodide._module;
module.enable_pyproxy_allocation_tracing();
const inputs = JSON.stringify([{kind: "number", value: 1}, {kind: "text", text: "x"}]);
const count = () => [module.pyproxy_alloc_map.size, module._hiwire_num_refs()];
const start = host.call;
for (let i = 0; i < 10; i++) await start("plus_one", inputs, []);
const before = count();
for (let i = 0; i < 100; i++) await start("plus_one", inputs, []);
const after = count();
start.destroy();
module.disable_pyproxy_allocation_tracing();
return [before, after];
""")
    assert after[1] == before[1]
    assert after[0] - before[0] <= 0
