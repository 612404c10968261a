"""Threads of ONNX Runtime Web: how many, why, and one where they do not start."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.harness import open_python

ADD1 = (Path(__file__).parents[1] / "data" / "P_add1.onnx").read_bytes()
RUN = """
import json, onnxlet, numpy as np
session = onnxlet.InferenceSession("add1.onnx")
(y, total) = session.run(None, {"x": np.ones((256, 1024), np.float32)})
[float(y.sum()), json.loads(onnxlet.host.status())]
"""
NO_WORKERS = "globalThis.Worker = class { constructor() { throw new Error('no workers today'); } };"


@pytest.mark.parametrize(("conditions", "isolated", "before", "threads", "reason"), [
    ("iso", True, "", 4, "4 threads: half of 16 cores, at most 4"),
    ("iso", True, NO_WORKERS, 1, "Error: no workers today)"),
    ("iso", False, "", 1, "1 thread: one thread was asked for"),
    ("plain", True, "", 1, "1 thread: the page is not cross-origin isolated"),
])  # fmt: skip
def test_the_number_of_threads_comes_with_its_reason(
    browser: Browser, tmp_path: Path, conditions: str, isolated: bool, before: str, threads: int, reason: str
) -> None:
    models = {"add1.onnx": ADD1}
    functions = [{"name": "f", "async": False}]
    with open_python(
        browser, tmp_path, conditions=conditions, isolated=isolated, models=models, functions=functions, cores=16
    ) as python:
        if before:
            python.js(before)
        total, status = python.run(RUN)
        assert total == 2 * 256 * 1024
        assert (status["backend"], status["threads"]) == ("wasm", threads), json.dumps(status)
        assert reason in status["reason"]
