"""Workers that all tests of a session share: starting them takes seconds."""

from collections.abc import Iterator
from concurrent.futures import Executor

import pytest

from onnxlet_build.executors import open_executor
from onnxlet_build.quantization import static, weights


@pytest.fixture(scope="session")
def executor() -> Iterator[Executor]:
    with open_executor(workers=1) as workers:
        yield workers


@pytest.fixture
def small_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let recipes change layers that are too small to be worth it, as those of most test models are."""
    monkeypatch.setattr(static, "_FEW_PRODUCTS", 1)
    monkeypatch.setattr(weights, "_FEW", 1)
