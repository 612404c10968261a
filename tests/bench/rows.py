"""What was measured as rows: ours, the other's, how they compare, and the target that the project set itself."""

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Row", "difference", "ratio", "single"]


@dataclass(frozen=True)
class Row:
    """One comparison. `value` is what `most`, the target, limits; None where there is no target.

    Args:
        ours, other, compared: as people read them.
    """

    label: str
    ours: str
    other: str
    compared: str
    value: float
    most: float | None
    target: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.most is None else self.value <= self.most


Write = Callable[[float], str]


def ratio(label: str, ours: float, other: float, write: Write, most: float | None = None) -> Row:
    """Ours over the other's."""
    value = ours / other
    return Row(label, write(ours), write(other), f"{value:.2f}", value, most, f"≤ {most:.2f}" if most else "")


def difference(label: str, ours: float, other: float, write: Write, most: float) -> Row:
    """Ours less the other's."""
    value = ours - other
    return Row(
        label, write(ours), write(other), f"{'+' if value >= 0 else ''}{write(value)}", value, most, f"≤ +{write(most)}"
    )


def single(label: str, ours: float, write: Write, most: float | None = None) -> Row:
    """Ours alone."""
    return Row(label, write(ours), "", "", ours, most, f"≤ {write(most)}" if most else "")
