"""How much worse than the original a variant may be. How near it is, the core measures, in build and page alike."""

import math
from dataclasses import dataclass

from onnxlet.accuracy import Accuracy, Measure, is_scores
from onnxlet.errors import BuildError

__all__ = ["Accuracy", "Budget", "Measure", "is_scores"]

# Below this the error is a third of the signal: noise, whatever the few samples at hand say of the best class.
NOISE_DB = 10.0
_ROUNDING = 1e-9  # 1 - 99 / 100 is more than 0.01


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
                snr_db = float(plain[:-2])
                if not math.isfinite(snr_db):
                    raise ValueError
                return cls(snr_db=snr_db)
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
            return (
                ""
                if lost <= self.drop + _ROUNDING
                else f"the metric drops by {lost:.4g}, expected at most {self.drop:g}"
            )
        if found.top1 is not None:
            lost = 1 - found.top1
            return (
                ""
                if lost <= self.drop + _ROUNDING
                else f"{found.top1:.1%} equal best classes, expected {1 - self.drop:.1%}"
            )
        lost = 1 - found.cosine
        return "" if lost <= self.drop else f"cosine {found.cosine:.4f}, expected {1 - self.drop:.4f}"
