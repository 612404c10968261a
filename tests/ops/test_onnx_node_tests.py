"""Somebody else's tests: all of ONNX's backend node tests on NumpyExecutionProvider."""

import tempfile
from pathlib import Path

import pytest

from . import generate_cases, runners
from .exclusions import reason


def pytest_generate_tests(metafunc):
    cache = getattr(metafunc.config, "cache", None)
    cases = generate_cases.load(cache.mkdir("onnxlet") if cache else Path(tempfile.mkdtemp()))
    metafunc.parametrize(
        "case",
        [
            pytest.param(c, id=c.name, marks=[pytest.mark.xfail(reason=reason(c.name))] if reason(c.name) else [])
            for c in cases
        ],
    )


def test_numpy_gives_the_answer_of_onnx(case):
    runners.check(runners.WAYS["numpy"](case.model, ""), case)
