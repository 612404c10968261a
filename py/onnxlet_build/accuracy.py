"""How near a variant's outputs are to the original model's: one measure for the build, the browser and the report."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

__all__ = ["Accuracy", "Budget", "Measure"]

# Below this the error is a third of the signal: noise, whatever the few samples at hand say of the best class.
NOISE_DB = 10.0
MAX_CLASSES = 65_536


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
            if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
                self._add(index, a, b)
            elif repr(a) != repr(b):  # sequences and maps, of ZipMap for one
                self._blame(index, "differs, and is no tensor")

    def _add(self, index: int, a: Array, b: Array) -> None:
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            self._blame(index, f"is {b.dtype}{list(b.shape)}, expected {a.dtype}{list(a.shape)}")
        elif a.dtype.kind in "fc":
            self._add_floats(index, a, b)
        else:
            same = int(np.count_nonzero(a == b))
            self._cosine[index] += 1.0
            if a.dtype.kind in "iuOU" and a.ndim == 1:
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

    def _blame(self, index: int, what: str) -> None:
        self._fault = self._fault or f'output "{self._names[index]}" {what}'

    def result(self, metric: float | None = None) -> Accuracy:
        """What was gathered so far.

        Raises: BuildError: nothing was compared.
        """
        if not self._samples:
            raise BuildError("no sample could be compared; give the app an example, or model.py a calibration()")
        pairs = zip(self._signal, self._noise, strict=True)
        snr = min((_decibels(signal, noise) for signal, noise in pairs), default=math.inf)
        cosine = min((total / self._samples for total in self._cosine), default=1.0)
        top1 = self._same_rows / self._rows if self._rows else None
        return Accuracy(self._samples, self._max_abs, snr, cosine, top1, metric, self._fault)


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


@dataclass(frozen=True, slots=True)
class Budget:
    """How much worse a variant may be than the original (``--max-drop``).

    Args:
        drop: of the person's metric where there is one; else 1 - the share of equal best classes; else 1 - cosine.
        snr_db: instead of all that, the lowest signal-to-noise ratio; None where `drop` decides.
    """

    drop: float = 0.01
    snr_db: float | None = None

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """Read ``1%``, ``0.01`` or ``30dB``. Raises: BuildError: it is none of these."""
        plain = text.strip().lower()
        try:
            if plain.endswith("db"):
                return cls(snr_db=float(plain[:-2]))
            drop = float(plain[:-1]) / 100 if plain.endswith("%") else float(plain)
        except ValueError:
            drop = math.nan
        if not 0 <= drop <= 1:
            raise BuildError(f"--max-drop {text}: expected a share such as 1% or 0.01, or decibels such as 30dB")
        return cls(drop)

    def __str__(self) -> str:
        return f"{self.drop:.3g}" if self.snr_db is None else f"{self.snr_db:g} dB"

    def refuses(self, found: Accuracy, original_metric: float | None = None) -> str:
        """Why outputs this far from the original's are over the budget; "" where they are within."""
        if found.fault:
            return found.fault
        if self.snr_db is not None:
            return "" if found.snr_db >= self.snr_db else f"{found.snr_db:.1f} dB, expected {self.snr_db:g} dB"
        if found.snr_db < NOISE_DB:
            return f"{found.snr_db:.1f} dB: mostly noise"
        if found.metric is not None and original_metric is not None:
            lost = original_metric - found.metric
            return "" if lost <= self.drop else f"the metric drops by {lost:.4g}, expected at most {self.drop:g}"
        if found.top1 is not None:
            lost = 1 - found.top1
            return "" if lost <= self.drop else f"{found.top1:.1%} equal best classes, expected {1 - self.drop:.1%}"
        lost = 1 - found.cosine
        return "" if lost <= self.drop else f"cosine {found.cosine:.4f}, expected {1 - self.drop:.4f}"
