"""Pictures that the visitor draws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from ..errors import InvalidInput
from ..media.raster import draw_strokes
from .image import Image

__all__ = ["Drawing"]

_MAX_SIDE = 4096  # pixels; a form's canvas, not a picture
_MAX_POINTS = 200_000


class Drawing(Image):
    """A picture drawn with a pen: white ink on black paper unless its `Field` says otherwise, as in MNIST.

    It opens picture files too; these keep their size and colours.
    """

    strokes: list[dict[str, Any]] | None = None
    levels = (255, 0)

    @classmethod
    def from_strokes(
        cls, strokes: Iterable[dict[str, Any]], width: int = 280, height: int = 280, ink: int = 255, paper: int = 0
    ) -> Self:
        """Draw strokes.

        Args:
            strokes: each ``{"size": line width in pixels, "points": [x, y, x, y, ...]}``.
            width, height: in pixels, 1 to 4096.
            ink, paper: grey levels, 0 to 255.
        Raises: InvalidInput: sizes out of range, odd or non-finite coordinates.
        """
        if not (1 <= width <= _MAX_SIDE and 1 <= height <= _MAX_SIDE):
            raise InvalidInput(f"Drawing: expected 1 to {_MAX_SIDE} pixels a side, got {width} x {height}")
        strokes = list(strokes)
        lines = [_line(i, stroke) for i, stroke in enumerate(strokes)]
        if (total := sum(len(points) for _, points in lines)) > _MAX_POINTS:
            raise InvalidInput(f"Drawing: expected at most {_MAX_POINTS:,} points, got {total:,}")
        grey = draw_strokes(width, height, lines, ink, paper)
        drawing = cls(np.repeat(grey[:, :, None], 3, axis=2))
        drawing.strokes, drawing.levels = strokes, (ink, paper)
        return drawing


def _line(index: int, stroke: dict[str, Any]) -> tuple[float, Any]:
    where = f"Drawing: stroke {index}"
    try:
        size = float(stroke["size"])
        points: Sequence[float] = stroke["points"]
        line = np.asarray(points, np.float64)
    except (KeyError, TypeError, ValueError):
        raise InvalidInput(f'{where}: expected {{"size": number, "points": [x, y, ...]}}, got {stroke!r:.80}') from None
    if line.ndim != 1 or line.size == 0 or line.size % 2 or not np.isfinite(line).all() or not 0 < size <= _MAX_SIDE:
        raise InvalidInput(
            f"{where}: expected a size over 0 and pairs of finite coordinates, got size {size} and {line.size} numbers"
        )
    return size, line.reshape(-1, 2).clip(-_MAX_SIDE, 2 * _MAX_SIDE)
