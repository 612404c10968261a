"""Workers that all tests of a session share: starting them takes seconds."""

from collections.abc import Iterator
from concurrent.futures import Executor

import pytest

from onnxlet_build.executors import open_executor


@pytest.fixture(scope="session")
def executor() -> Iterator[Executor]:
    with open_executor(workers=1) as workers:
        yield workers
