"""Faults that people reported elsewhere do not occur in the page's sessions, on any provider."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.harness import PagePython, open_python

TESTS = Path(__file__).parents[1]
DATA = TESTS / "data"
PROVIDERS = {"python": "NumpyExecutionProvider", "wasm": "CPUExecutionProvider", "webgpu": "WebGpuExecutionProvider"}
CASES = [
    "G03_pool_ceil_a",
    "G03_pool_ceil_b_op12",
    "G03_pool_ceil_b_op19",
    "G03_pool_ceil_b_op22",
    "G03_pool_ceil_c",
    "G07_zero_size",
    "G11_nan",
    "G12_intermediate_out",
    "G14_empty_optional",
    "G15_unsq_scalar_axes",
    "R05_sparse_init",
    "R05_sparse_init_linear",
    "R06_local_function",
    "R07_int4",
    "R08_default_input",
    "W03_einsum",
    "W06_io_dtypes",
    "W07_parallel",
]

SETUP = """
import asyncio, json, sys, warnings
import numpy as np
import onnxlet
sys.path.insert(0, "/app")
from tests.ops import reported

def opened(name):
    warnings.simplefilter("ignore")
    return onnxlet.InferenceSession(f"/app/{name}.onnx", providers=[PROVIDER])

def checked(name):
    session, told = opened(name), json.load(open(f"/app/{name}.json"))
    reported.check(told, session.run)
    reported.check(told, session.run)  # what the first run learned must not change the answer
    placement = session.placement()
    session.close()
    return placement["provider"] if placement else session.get_providers()[0]
"""


@pytest.fixture(scope="module", params=PROVIDERS)
def python(request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with open_python(browser, tmp_path_factory.mktemp("site") / "s", backend=request.param) as page:
        for name in ("__init__.py", "ops/__init__.py", "ops/reported.py"):
            page.put(f"/app/tests/{name}", (TESTS / name).read_bytes())
        page.run(f"PROVIDER = {PROVIDERS[request.param]!r}\n{SETUP}")
        page.provider = PROVIDERS[request.param]
        yield page


def put(python: PagePython, case: str) -> None:
    for suffix in ("json", "onnx"):
        python.put(f"/app/{case}.{suffix}", (DATA / f"{case}.{suffix}").read_bytes())


@pytest.mark.parametrize("case", CASES)
def test_a_reported_fault_does_not_occur_in_the_page(python: Any, case: str) -> None:
    put(python, case)
    # a software adapter has no shader-f16: what computes in float16 goes to WebAssembly
    half = case == "W06_io_dtypes" and python.provider == PROVIDERS["webgpu"]
    assert python.run(f"checked({case!r})") == (PROVIDERS["wasm"] if half else python.provider)


def test_casts_out_of_range_do_not_crash_and_leave_the_session_as_it_was(python: Any) -> None:
    put(python, "G13_cast_range")
    code = """
session, told = opened("G13_cast_range"), json.load(open("/app/G13_cast_range.json"))
first, second = told["runs"]
names = list(first["expected"])
strange = session.run(names, reported.feeds(second))  # undefined by the spec: some number of the right type
told["runs"] = [first]
reported.check(told, session.run)
[[str(v.dtype), list(v.shape)] for v in strange]
"""
    assert python.run(code) == [["int8", [6]], ["uint8", [6]], ["int32", [6]]]


def test_runs_that_start_together_get_their_own_answers(python: Any) -> None:
    put(python, "W07_parallel")
    code = """
session, told = opened("W07_parallel"), json.load(open("/app/W07_parallel.json"))
answers = await asyncio.gather(*(session.arun(["y"], reported.feeds(run)) for run in told["runs"]))
for run, answer in zip(told["runs"], answers):
    np.testing.assert_allclose(answer[0], reported.array(run["expected"]["y"]), rtol=1e-5, atol=1e-5)
len(answers)
"""
    assert python.run(code) == 4


def test_a_long_position_chain_beside_a_norm_keeps_its_values(python: Any) -> None:
    python.put("/app/W01.onnx", (DATA / "W01_buffer_reuse.onnx").read_bytes())
    code = """
feeds = {"p": np.arange(1, 195)[None], "x": np.full((1, 194, 960), 3, np.float32)}
d, rms = opened("W01").run(["d", "rms"], feeds)
np.testing.assert_allclose(d[0], np.arange(194)[:, None] / 10000 ** (np.arange(32) / 32), rtol=1e-4)
np.testing.assert_allclose(rms, 9.00001, rtol=1e-6)
"""
    python.run(code)


def test_a_float16_feed_may_come_as_its_numbers_in_any_layout(python: Any) -> None:
    put(python, "W06_io_dtypes")
    code = """
told = json.load(open("/app/W06_io_dtypes.json"))
feeds = reported.feeds(told["runs"][0])
spread = np.zeros(6, ">f2")
spread[::2] = feeds["h"]
opened("W06_io_dtypes").run(["h2"], {**feeds, "h": spread[::2]})[0].tolist()
"""
    assert python.run(code) == [1.0, -2.5, 60000.0]
