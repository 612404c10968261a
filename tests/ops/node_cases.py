"""ONNX's backend node tests as data: the models, their inputs, and the outputs that are right.

Needs numpy and onnxlet only, so that the page's Python can check the cases that `generate_cases` made outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxlet.dtypes import DataType, Narrow

__all__ = ["Case", "compare"]


@dataclass(frozen=True)
class Case:
    """One model and what it must compute.

    Args:
        model: the file.
        data_sets: pairs of inputs and outputs by name, as the core has values.
    """

    name: str
    model: bytes
    data_sets: Sequence[tuple[dict[str, Any], dict[str, Any]]]
    rtol: float
    atol: float


def compare(result: Any, expected: Any, rtol: float, atol: float) -> None:
    """Same kind, type and shape, and values within the tolerances; strings and sub-byte integers exactly."""
    if expected is None or isinstance(expected, list):
        assert type(result) is type(expected), f"got {type(result).__name__}, expected {type(expected).__name__}"
        for item, right in zip(result or (), expected or (), strict=True):
            compare(item, right, rtol, atol)
        return
    if isinstance(expected, Narrow):
        assert isinstance(result, Narrow), f"got {type(result).__name__}, expected {expected.data_type.name}"
        assert result.data_type == expected.data_type
        if expected.data_type == DataType.BFLOAT16:
            rtol = max(rtol, 2**-6)  # two units in the last place, as onnx's own runner allows
        result, expected = result.values, expected.values
    assert result.shape == expected.shape, f"got shape {result.shape}, expected {expected.shape}"
    assert result.dtype == expected.dtype, f"got {result.dtype}, expected {expected.dtype}"
    if expected.dtype == object:
        np.testing.assert_array_equal(result, expected)
    else:
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)
