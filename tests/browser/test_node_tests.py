"""ONNX's own node tests on the core's operators inside the page's Python."""

import json
import pickle
import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime
from tests.browser.harness import open_python
from tests.ops import generate_cases
from tests.ops.exclusions import reason

TESTS = Path(__file__).parents[1]
BATCH = 200  # cases a call: a call that takes minutes would look like a hang


def test_numpy_gives_the_answers_of_onnx_in_the_pages_python(
    browser: Browser, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    cache = getattr(request.config, "cache", None)
    cases = generate_cases.load(cache.mkdir("onnxlet") if cache else Path(tempfile.mkdtemp()))
    failed: dict[str, str] = {}
    with open_python(browser, tmp_path, backend="python") as python:
        python.unpack(Runtime(Reporter(quiet=True)).wheel("pillow").read_bytes())  # what ImageDecoder decodes with
        for name in ("__init__.py", "ops/__init__.py", "ops/node_cases.py"):
            python.put(f"/app/tests/{name}", (TESTS / name).read_bytes())
        python.run("import json, pickle, sys; sys.path.insert(0, '/app'); from tests.ops import node_cases")
        for start in range(0, len(cases), BATCH):
            python.put("/app/cases.pickle", pickle.dumps(cases[start : start + BATCH]))
            failed |= json.loads(
                python.run("json.dumps(node_cases.failures(pickle.load(open('/app/cases.pickle', 'rb'))))")
            )
    passed = len(cases) - len(failed)
    print(
        f"NumpyExecutionProvider in Chromium: {passed} of {len(cases)} ONNX node tests pass ({passed / len(cases):.1%})"
    )
    assert {name: error for name, error in failed.items() if not reason(name, page=True)} == {}
    assert passed >= 0.99 * len(cases)
