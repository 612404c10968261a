"""Masked arrays, without importing them: who has not imported `numpy.ma` has none, and a page has that module late."""

import sys
from typing import Any

from .dtypes import Array

__all__ = ["is_masked", "mask_of"]


def mask_of(value: Any) -> Array | None:
    """bool of the value's shape, True where it is masked; None where it is no masked array."""
    ma = sys.modules.get("numpy.ma")
    return ma.getmaskarray(value) if ma and isinstance(value, ma.MaskedArray) else None


def is_masked(value: Any) -> bool:
    """Whether it is a masked array with anything masked, or the constant `numpy.ma.masked`."""
    mask = mask_of(value)
    return mask is not None and bool(mask.any())
