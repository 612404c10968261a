"""Drawn signs as models of the kind of MNIST's want them: cut out, fitted, with their centre of mass in the middle.

Source of the method: LeCun et al., The MNIST database, http://yann.lecun.com/exdb/mnist/: digits fit a box of 20 x 20,
centred by their mass in 28 x 28.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..dtypes import Array
from ..records import dataclass
from ..values import Image

__all__ = ["InkInput"]


@dataclass(frozen=True, slots=True)
class InkInput:
    """How a drawing becomes the input of a model, wherever the sign stands and however large it is.

    Args:
        size: pixels a side of the input.
        inner: pixels that the longer side of the sign gets.
        threshold: grey levels above this one are ink; ink is light and paper dark.
        layout: [1, 1, size, size], [1, size, size, 1], or "flat": [1, size * size].
    """

    size: int = 28
    inner: int = 20
    threshold: int = 30
    layout: Literal["NCHW", "NHWC", "flat"] = "NCHW"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the input."""
        side = self.size
        return {"NCHW": (1, 1, side, side), "NHWC": (1, side, side, 1), "flat": (1, side * side)}[self.layout]

    def tensor(self, image: Image) -> Array:
        """The input, float32 in `shape`: 0 paper to 1 ink, all 0 where there is no ink.

        The centre of mass is counted in whole levels, so that every way to compute it gives the same pixel.
        """
        picture = image.gray()
        ink = picture.array > self.threshold
        sheet = np.zeros((self.size, self.size), np.float32)
        if ink.any():
            rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
            cut = picture.crop(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
            scale = self.inner / max(cut.size)
            width, height = (max(1, round(side * scale)) for side in cut.size)
            sign = cut.resize(width, height).array
            y, x = (self._place(sign.sum(axis, dtype=np.int64)) for axis in (1, 0))
            sheet[y : y + height, x : x + width] = sign.astype(np.float32) / 255
        return sheet.reshape(self.shape)

    def _place(self, levels: Array) -> int:
        """Where the sign begins along an axis, given the sums of its rows or columns."""
        twice = int((levels * (2 * np.arange(len(levels)) + 1)).sum())
        middle = twice / max(2 * int(levels.sum()), 1)
        return min(max(round(self.size / 2 - middle), 0), self.size - len(levels))
