"""Runs node cases in Chromium: many a call, in as many pages as it takes.

After a failed run on the GPU a worker is of no more use, and a run may hang: then another page goes on after that case.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser

from onnxlet.dtypes import DataType
from onnxlet.model import Node
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime
from tests.browser.harness import PagePython, open_python
from tests.core.models import model
from tests.ops.node_cases import Case

__all__ = ["Outcome", "run"]

TESTS = Path(__file__).parents[1]
BACKENDS = {"NumpyExecutionProvider": "python", "CPUExecutionProvider": "wasm", "WebGpuExecutionProvider": "webgpu"}
BATCH = 50  # cases a call
BATCH_S = 240.0  # for a call; one of 50 takes 3 to 60 s on two cores

_SETUP = """
import json, pickle, sys
sys.path.insert(0, "/app")
from tests.ops import runners
from onnxlet import host
cases = pickle.load(open("/app/cases.pickle", "rb"))
def run(start, stop, way, provider):
    broken = lambda: provider.startswith("WebGpu") and host._bridge.describe("webgpu").broken
    return json.dumps(runners.outcomes(cases[start:stop], way, provider, broken))
"""
_KEPT = model([Node("Neg", ("x",), ("y",))], {"x": (DataType.FLOAT, [2])}, {"y": (DataType.FLOAT, [2])})


class Outcome(NamedTuple):
    """What became of one case.

    Args:
        error: "" where it passed.
        where: the providers that ran it, where the way to run it tells.
        seconds: in the page.
        lost: the worker was of no use afterwards.
    """

    name: str
    error: str
    where: str
    seconds: float
    lost: bool


def run(
    browser: Browser,
    cases: Sequence[Case],
    way: str,
    provider: str,
    progress: Callable[[Sequence[Outcome]], object] = len,
) -> list[Outcome]:
    """Run all cases.

    Args:
        way, provider: see tests.ops.runners.outcomes.
        progress: told all outcomes so far, after every call.
    """
    outcomes: list[Outcome] = []
    careful = 0  # cases to run one a call, because one of them hangs
    while len(outcomes) < len(cases):
        with ExitStack() as stack:
            python = _page(stack, browser, provider)
            rest = cases[len(outcomes) :]
            python.put("/app/cases.pickle", pickle.dumps(rest))
            python.run(_SETUP)
            done = 0
            while done < len(rest):
                size = 1 if careful else BATCH
                try:
                    limit_s = BATCH_S if size > 1 else BATCH_S / 4
                    answer = python.run(f"run({done}, {done + size}, {way!r}, {provider!r})", timeout_s=limit_s)
                except TimeoutError as error:
                    if size == 1:
                        outcomes.append(Outcome(rest[done].name, f"TimeoutError: {error}", "", limit_s, True))
                        careful = 0
                    else:
                        careful = size
                    break
                careful = max(0, careful - 1)
                some = [Outcome(*one, False) for one in json.loads(answer)]
                done += len(some)
                lost = len(some) < min(size, len(rest) - done + len(some))
                outcomes += [*some[:-1], some[-1]._replace(lost=lost)]
                progress(outcomes)
                if lost:
                    break
    return outcomes


def _page(stack: ExitStack, browser: Browser, provider: str) -> PagePython:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "site"
    python = stack.enter_context(open_python(browser, folder, backend=BACKENDS[provider]))
    if provider == "WebGpuExecutionProvider":  # else ONNX Runtime destroys its device after every case
        python.put("/app/kept.onnx", _KEPT)
        python.run(f"import onnxlet; kept = onnxlet.InferenceSession('kept.onnx', providers=[{provider!r}])")
        python.run("import numpy; kept.run(None, {'x': numpy.ones(2, 'float32')})")
    python.unpack(Runtime(Reporter(quiet=True)).wheel("pillow").read_bytes())  # what ImageDecoder decodes with
    for name in ("__init__.py", "ops/__init__.py", "ops/node_cases.py", "ops/runners.py"):
        python.put(f"/app/tests/{name}", (TESTS / name).read_bytes())
    return python
