"""Files that tests fetch from package indexes: without a network such a test is skipped, but not where CI=true."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest

from onnxlet_build.fetch import Unreachable

__all__ = ["fetching", "skip_outside_ci"]


@contextmanager
def fetching() -> Iterator[None]:
    """Skip the test where what the block fetches cannot be reached; where the environment says CI=true, fail."""
    try:
        yield
    except Unreachable as error:
        skip_outside_ci(str(error))


def skip_outside_ci(reason: str) -> NoReturn:
    """Skip the test, whose machine lacks something; where the environment says CI=true, fail."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{reason} (CI=true: nothing is skipped here)")
    pytest.skip(reason)
