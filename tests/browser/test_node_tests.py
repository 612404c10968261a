"""ONNX's own node tests in Chromium: on the core's operators in the page's Python, and in sessions on both runtimes."""

import tempfile
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import page_cases
from tests.ops import generate_cases
from tests.ops.exclusions import reason
from tests.ops.node_cases import Case

EVERY = {"CPUExecutionProvider": 8, "WebGpuExecutionProvider": 40}  # `python -m tests.ops.rates --chromium` runs all
ONCE_WRONG = (
    "test_attention_4d_with_past_and_present_qk_matmul_bias_3d_mask_causal",
    "test_dft",
    "test_maxunpool_export_with_output_shape",
    "test_reduce_max_empty_set",
    "test_rms_normalization_2d_axis0",
    "test_sequence_map_identity_1_sequence",
    "test_stft",
    "test_training_dropout_mask",
    "test_attention_4d_fp16",
)


@pytest.fixture(scope="module")
def cases(request: pytest.FixtureRequest) -> list[Case]:
    cache = getattr(request.config, "cache", None)
    return generate_cases.load(cache.mkdir("onnxlet") if cache else Path(tempfile.mkdtemp()))


def test_numpy_gives_the_answers_of_onnx_in_the_pages_python(browser: Browser, cases: list[Case]) -> None:
    outcomes = page_cases.run(browser, cases, "numpy", "NumpyExecutionProvider")
    failed = {o.name: o.error for o in outcomes if o.error}
    assert {name: error for name, error in failed.items() if not reason(name, page=True)} == {}
    assert len(failed) <= 0.01 * len(cases)


@pytest.mark.parametrize("provider", EVERY)
def test_a_session_gives_the_answers_of_onnx(browser: Browser, cases: list[Case], provider: str) -> None:
    some = [c for i, c in enumerate(cases) if i % EVERY[provider] == 0 or c.name in ONCE_WRONG]
    outcomes = page_cases.run(browser, some, "session", provider)
    failed = {o.name: o.error for o in outcomes if o.error}
    assert {name: error for name, error in failed.items() if not reason(name, page=True, session=True)} == {}
    assert len(failed) <= 0.02 * len(some)
    # most cases run where they were asked to, or this would test Python again
    assert sum(provider in o.where for o in outcomes) > len(some) / 2
