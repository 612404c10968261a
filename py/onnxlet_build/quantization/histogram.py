"""The distribution of one value over many samples, in a fixed amount of memory.

Bins reach from -2^k to 2^k. When a larger element comes, k grows and bins are joined in pairs: two histograms can
always be added exactly, in any order, so it does not matter which worker saw which sample.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from onnxlet.dtypes import Array

from .ranges import Range

__all__ = ["METHODS", "Histogram"]

_HALF = 4096  # bins on each side of 0; the largest element falls into the upper half of them
METHODS = ("minmax", "percentile", "entropy")
_PERCENTILE = 99.99
_SMALLEST_POWER = -100  # smaller values are counted as 0; 4096 / 2^-100 is still a float32
_LEVELS = 128  # of int8 on one side of 0
_CANDIDATES = 100  # thresholds that entropy looks at


@dataclass(slots=True)
class Histogram:
    """What was seen so far. Only finite elements count, but for `finite`.

    Args:
        counts: int64 [2 * 4096]; None where only the bounds are wanted.
        power: bins reach from -2^power to 2^power.
        sums: float64 [C] over the finite values [N, C, H, W]; elements: of each channel.
    """

    counts: Array | None = field(default_factory=lambda: np.zeros(2 * _HALF, np.int64))
    power: int = _SMALLEST_POWER
    low: float = math.inf
    high: float = -math.inf
    least: float = math.inf
    finite: bool = True
    sums: Array | None = None
    elements: int = 0

    def add(self, values: Array) -> None:
        """Count a float32 tensor's elements."""
        flat = values.reshape(-1)
        low, high = float(flat.min(initial=math.inf)), float(flat.max(initial=-math.inf))
        if not (math.isfinite(low) and math.isfinite(high)):
            self.finite = self.finite and not flat.size
            flat = flat[np.isfinite(flat)]
            low, high = float(flat.min(initial=math.inf)), float(flat.max(initial=-math.inf))
        if not flat.size:
            return
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.least = min(self.least, _least(flat, low, high))
        if self.counts is None:
            return
        largest = max(-low, high)
        self._widen(math.frexp(largest)[1] if largest else _SMALLEST_POWER)
        places = (flat * np.float32(math.ldexp(_HALF, -self.power))).astype(np.int32)
        places -= flat < 0  # conversion rounds towards 0
        self.counts += np.bincount(np.clip(places + _HALF, 0, 2 * _HALF - 1), minlength=2 * _HALF)
        if values.ndim == 4 and self.finite:
            self._add_sums(values.sum(axis=(0, 2, 3), dtype=np.float64), values.size // values.shape[1])

    def _add_sums(self, sums: Array, elements: int) -> None:
        self.sums = sums if self.sums is None else self.sums + sums
        self.elements += elements

    def merge(self, other: "Histogram") -> None:
        """Add what another one saw."""
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.least = min(self.least, other.least)
        self.finite = self.finite and other.finite
        if self.counts is not None and other.counts is not None:
            self._widen(other.power)
            self.counts += _joined(other.counts, self.power - other.power)
        if other.sums is not None:
            self._add_sums(other.sums, other.elements)

    def _widen(self, power: int) -> None:
        if power > self.power:
            assert self.counts is not None
            self.counts = _joined(self.counts, power - self.power)
            self.power = power

    def range(self, method: str = "minmax") -> Range:
        """Bounds for 8 bits.

        Args:
            method: "minmax" covers everything; "percentile" 99.99% of the elements; "entropy" loses the least
                information (source: Migacz 2017, "8-bit inference with TensorRT": the threshold whose quantized
                distribution has the smallest Kullback-Leibler divergence from the clipped one).
        """
        low, high = (self.low, self.high) if self.low <= self.high else (0.0, 0.0)
        largest = max(-low, high)
        if self.counts is not None and method != "minmax" and largest:
            step = math.ldexp(1 / _HALF, self.power)
            sides = self.counts[_HALF:] + self.counts[_HALF - 1 :: -1]  # by magnitude
            bins = _percentile_bins(sides) if method == "percentile" else _entropy_bins(sides)
            low, high = max(low, -bins * step), min(high, bins * step)
        means = () if self.sums is None else tuple(map(float, self.sums / self.elements))
        return Range(low, high, largest, self.least, self.finite, means)


def _least(flat: Array, low: float, high: float) -> float:
    """The smallest magnitude other than 0."""
    if low > 0 or high < 0:
        return min(abs(low), abs(high))
    magnitudes = np.abs(flat)
    return float(magnitudes.min(where=magnitudes > 0, initial=np.inf))


def _joined(counts: Array, steps: int) -> Array:
    """Bins 2^steps times as wide."""
    if not steps or not counts.any():
        return counts
    width = 2 ** min(steps, _HALF.bit_length() - 1)
    joined = np.zeros_like(counts)
    small = counts.reshape(-1, width).sum(1)
    half = len(small) // 2
    joined[_HALF - half : _HALF + half] = small
    return joined


def _percentile_bins(sides: Array) -> int:
    return int(np.searchsorted(np.cumsum(sides), sides.sum() * _PERCENTILE / 100)) + 1


def _entropy_bins(sides: Array) -> int:
    last = int(np.flatnonzero(sides)[-1]) + 1
    if last <= _LEVELS:
        return last
    best, least = last, math.inf
    sides = sides.copy()
    sides[0] = sides[1]  # exact zeros, of Relu, are represented exactly and say nothing about the scale
    for bins in np.unique(np.linspace(_LEVELS, last, _CANDIDATES).astype(int)):
        kept = sides[:bins].astype(np.float64)
        clipped = kept.copy()
        clipped[-1] += sides[bins:].sum()
        edges = np.linspace(0, bins, _LEVELS + 1).astype(int)[:-1]
        full = kept > 0
        spread = np.add.reduceat(kept, edges) / np.maximum(np.add.reduceat(full.astype(float), edges), 1)
        quantized = np.repeat(spread, np.diff([*edges, bins])) * full
        divergence = _divergence(clipped, quantized)
        if divergence < least:
            best, least = int(bins), divergence
    return best


def _divergence(p: Array, q: Array) -> float:
    """Kullback-Leibler divergence of two histograms; a bin that only `p` has counts as a little in `q`."""
    if not p.sum() or not q.sum():
        return math.inf
    p, q = p / p.sum(), q / q.sum()
    seen = p > 0
    return float(np.sum(p[seen] * np.log(p[seen] / np.maximum(q[seen], 1e-12))))
