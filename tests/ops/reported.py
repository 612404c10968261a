"""Cases of faults that people reported elsewhere: tests/data/ID.json tells the runs of a small graph.

Needs numpy only, so that the page's Python can check the same cases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["array", "check", "feeds"]


def array(tensor: Mapping[str, Any]) -> Any:
    """A tensor of the file: integers of 64 bits, NaN and infinities are written as strings."""
    if tensor["dtype"] == "string":
        return np.array(tensor["data"], object).reshape(tensor["shape"])
    read = int if tensor["dtype"] in ("int64", "uint64") else float
    return np.array([read(x) for x in tensor["data"]]).astype(tensor["dtype"]).reshape(tensor["shape"])


def feeds(run: Mapping[str, Any]) -> dict[str, Any]:
    """What a run of a case is fed."""
    return {name: array(tensor) for name, tensor in run["inputs"].items()}


def check(told: Mapping[str, Any], run: Callable[[Sequence[str], Mapping[str, Any]], Sequence[Any]]) -> None:
    """Run a case. Raises: AssertionError: an output has another kind of type, shape or value."""
    for one in told["runs"]:
        for result, tensor in zip(run(list(one["expected"]), feeds(one)), one["expected"].values(), strict=True):
            expected = array(tensor)
            assert result.shape == expected.shape
            assert result.dtype.kind == expected.dtype.kind
            if expected.dtype == object:
                np.testing.assert_array_equal(result, expected)
            else:
                np.testing.assert_allclose(result, expected, rtol=told["rtol"], atol=told["atol"])
