"""How near outputs are to those of the original model: one measure for the build, the browser and the page."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .dtypes import Array, Narrow
from .errors import InvalidInput
from .records import dataclass

__all__ = ["Accuracy", "Measure", "comparable", "is_scores", "strays"]

MAX_CLASSES = 65_536
# Above this, float32 kernels only round differently. Below it, two runtimes may sum in another order and fall into
# neighbouring steps of a quantized scale, which moves the error a little, not by a factor of three.
SAME_DB = 60.0
DRIFT_DB = 10.0


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Outputs against the original's, over samples.

    Args:
        samples: how many runs were compared.
        max_abs: the largest absolute difference of any number.
        snr_db: signal-to-noise ratio over all samples, of the worst floating-point output; inf where all are equal.
        cosine: mean over samples of the cosine between both outputs, of the worst output; 1 where all are equal.
        top1: share of rows with the same best class (equal labels count as well); None where no output is of this kind.
        metric: the person's own metric, higher is better; None where there is none.
        fault: what makes it wrong whatever the numbers: another shape, NaN, unequal integers; "" where nothing does.
    """

    samples: int
    max_abs: float
    snr_db: float
    cosine: float
    top1: float | None = None
    metric: float | None = None
    fault: str = ""


class Measure:
    """Gathers what is needed for an `Accuracy`, one sample at a time; keeps sums only.

    Args:
        names: of the outputs, for messages.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._signal = [0.0] * len(self._names)
        self._noise = [0.0] * len(self._names)
        self._cosine = [0.0] * len(self._names)
        self._samples = 0
        self._max_abs = 0.0
        self._rows = self._same_rows = 0
        self._fault = ""

    def add(self, expected: Sequence[Any], got: Sequence[Any]) -> None:
        """Compare one run's outputs, in the order of the names."""
        self._samples += 1
        for index, (a, b) in enumerate(zip(expected, got, strict=True)):
            self._add(index, comparable(a), comparable(b))

    def _add(self, index: int, a: Array, b: Array) -> None:
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            self._blame(index, f"is {b.dtype}{list(b.shape)}, expected {a.dtype}{list(a.shape)}")
        elif a.dtype.kind in "fc":
            self._add_floats(index, a, b)
        else:
            same = int(np.count_nonzero(a == b))
            self._cosine[index] += 1.0
            if a.dtype.kind in "iuU" and a.ndim == 1:
                self._rows += a.size
                self._same_rows += same
            elif same != a.size:
                self._blame(index, f"{a.size - same} of {a.size} values differ")

    def _add_floats(self, index: int, a: Array, b: Array) -> None:
        wide = np.result_type(a.dtype, np.float64)
        a, b = a.astype(wide), b.astype(wide)
        strange = ~np.isfinite(a)
        if not np.array_equal(a[strange], b[strange], equal_nan=True) or not np.isfinite(b[~strange]).all():
            self._blame(index, "has NaN or infinity where the original has none, or the other way round")
            return
        a, b = np.where(strange, 0, a), np.where(strange, 0, b)
        if is_scores(a):
            self._rows += a.shape[0]
            self._same_rows += int(np.count_nonzero(a.argmax(1) == b.argmax(1)))
        gap = np.abs(a - b)
        self._max_abs = max(self._max_abs, float(gap.max(initial=0)))
        power, other = float(np.sum(np.abs(a) ** 2)), float(np.sum(np.abs(b) ** 2))
        self._signal[index] += power
        self._noise[index] += float(np.sum(gap**2))
        norm = math.sqrt(power * other)
        self._cosine[index] += float(np.abs(np.vdot(a, b))) / norm if norm else float(power == other)

    def merge(self, other: "Measure") -> None:
        """Add what another one gathered from other samples of the same outputs, in another process for one."""
        for mine, theirs in (
            (self._signal, other._signal),
            (self._noise, other._noise),
            (self._cosine, other._cosine),
        ):
            mine[:] = [a + b for a, b in zip(mine, theirs, strict=True)]
        self._samples += other._samples
        self._max_abs = max(self._max_abs, other._max_abs)
        self._rows += other._rows
        self._same_rows += other._same_rows
        self._fault = self._fault or other._fault

    def _blame(self, index: int, what: str) -> None:
        self._fault = self._fault or f'output "{self._names[index]}" {what}'

    def result(self, metric: float | None = None) -> Accuracy:
        """What was gathered so far.

        Raises: InvalidInput: nothing was compared.
        """
        if not self._samples:
            raise InvalidInput("no sample could be compared; give the app an example, or model.py a calibration()")
        pairs = zip(self._signal, self._noise, strict=True)
        snr = min((_decibels(signal, noise) for signal, noise in pairs), default=math.inf)
        cosine = min((total / self._samples for total in self._cosine), default=1.0)
        top1 = self._same_rows / self._rows if self._rows else None
        return Accuracy(self._samples, self._max_abs, snr, cosine, top1, metric, self._fault)


def comparable(value: Any) -> Array:
    """An output as one array that can be stored without pickle: strings as NumPy's texts, a sequence of maps (ZipMap's)
    as a row of values each, a sequence of tensors end to end, anything else as its text."""
    if isinstance(value, Narrow):
        return value.values
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        return array.astype(str) if array.dtype.kind == "O" else array
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return np.array([list(item.values()) for item in value])
    if isinstance(value, list) and value and all(isinstance(item, np.ndarray) for item in value):
        return np.concatenate([comparable(item).ravel() for item in value])
    return np.array(repr(value))


def is_scores(values: Array) -> bool:
    """Whether an output is one score a class: [rows, classes], and no embedding, whose rows have length 1."""
    if values.ndim != 2 or not 2 <= values.shape[1] <= MAX_CLASSES or not values.shape[0]:
        return False
    return not np.allclose(np.linalg.norm(values, axis=1), 1, atol=1e-3) or bool(
        np.allclose(values.sum(axis=1), 1, atol=1e-3)
    )


def _decibels(signal: float, noise: float) -> float:
    if noise == 0:
        return math.inf
    return 10 * math.log10(signal / noise) if signal else -math.inf


def strays(found: Accuracy, expected: Accuracy) -> str:
    """Why outputs are not as near to the original's as they were in another runtime; "" where they are.

    Args:
        found: in this runtime; expected: in one that is known to be right.
    """
    if found.fault:
        return found.fault
    if found.snr_db < min(SAME_DB, expected.snr_db - DRIFT_DB):
        wanted = f"{expected.snr_db:.1f} dB" if math.isfinite(expected.snr_db) else "no difference"
        return f"{found.snr_db:.1f} dB, expected {wanted}"
    if found.top1 is not None and expected.top1 is not None and found.top1 < expected.top1 / 2:
        return f"{found.top1:.1%} equal best classes, expected {expected.top1:.1%}"
    return ""
