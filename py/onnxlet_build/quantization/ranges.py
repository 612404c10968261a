"""What the values of a model were on the calibration samples."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["Range", "Ranges"]


class Range(NamedTuple):
    """One value over all samples; only finite elements count for the numbers.

    Args:
        low, high: the bounds that a recipe shall keep to.
        largest: the largest magnitude that was seen, whatever the bounds.
        least: the smallest magnitude other than 0; inf where all elements were 0.
        finite: whether no element was NaN or infinite.
        means: of each channel of [N, C, H, W]; empty where the value has none, or they were not wanted.
    """

    low: float
    high: float
    largest: float
    least: float
    finite: bool = True
    means: tuple[float, ...] = ()


Ranges = Mapping[str, Range]  # by the value's name
