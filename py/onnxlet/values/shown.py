"""What an app shows: labels, boxes, masks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..media.resize import resize
from ..records import dataclass
from .image import Image

__all__ = ["Box", "Boxes", "Labels", "Mask"]

Names = Sequence[str] | Mapping[int, str] | None


class Labels:
    """Labels with scores, best first; equal scores keep their order.

    Args:
        items: pairs of label and score, or a mapping. Scores of 0 to 1 are drawn as shares.
    """

    def __init__(self, items: Mapping[str, float] | Iterable[tuple[str, float]]) -> None:
        pairs = items.items() if isinstance(items, Mapping) else items
        scored = [(str(label), float(score)) for label, score in pairs]
        for label, score in scored:
            if np.isnan(score):
                raise InvalidInput(f'Labels: the score of "{label}" is NaN; look at what the model was given')
        self.items: list[tuple[str, float]] = sorted(scored, key=lambda item: -item[1])

    @classmethod
    def from_scores(cls, scores: Any, names: Names = None, top: int | None = 5) -> Self:
        """Name the classes of a score vector.

        Args:
            scores: [N] or [1, N], higher is better.
            names: N texts (a string of N letters too), or a mapping from index; the index itself otherwise.
            top: how many to keep; None keeps all.
        Raises: InvalidInput: another shape, NaN, or a number of names that is not N.
        """
        scores = _vector(scores)
        if names is not None and not isinstance(names, Mapping) and len(names) != scores.size:
            raise InvalidInput(f"Labels: expected {scores.size} names, one a score, got {len(names)}")
        best = np.argsort(-scores, kind="stable")[:top].tolist()
        return cls([(str(i) if names is None else _name(names, i), float(scores[i])) for i in best])

    @classmethod
    def from_logits(cls, logits: Any, names: Names = None, top: int | None = 5) -> Self:
        """Softmax of the logits, in float64 and shifted by the largest, named as by `from_scores`.

        Args:
            logits: [N] or [1, N]; -inf is a class that cannot be.
        Raises: InvalidInput: as `from_scores`; +inf, or nothing but -inf.
        """
        logits = _vector(logits)
        largest = logits.max()
        if np.isposinf(largest) or np.isneginf(largest):
            raise InvalidInput(f"Labels: the largest logit is {largest}, expected a finite one")
        shares = np.exp(logits - largest)
        return cls.from_scores(shares / shares.sum(), names, top)

    @property
    def best(self) -> str:
        """The label with the highest score."""
        return self.items[0][0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Labels) and self.items == other.items

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Labels({self.items!r})"


@dataclass(frozen=True, slots=True)
class Box:
    """One thing found in a picture: ``box`` is (x0, y0, x1, y1) in its pixels, x1 and y1 outside."""

    label: str
    score: float
    box: tuple[float, float, float, float]


class Boxes:
    """Boxes over a picture.

    Args:
        items: `Box` objects, or (label, score, (x0, y0, x1, y1)) tuples. Corners in any order are put in order;
            boxes may reach outside the picture.
        image: the picture to draw them on.
        size: (width, height) of the picture in pixels, where there is none to draw.
    Raises: InvalidInput: corners that are not four finite numbers; neither image nor size.
    """

    def __init__(
        self,
        items: Iterable[Box | tuple[str, float, Sequence[float]]],
        image: Image | None = None,
        size: tuple[int, int] | None = None,
    ) -> None:
        if image is None and size is None:
            raise InvalidInput("Boxes: expected image=, or size=(width, height) to draw without one")
        self.image = image
        self.size = image.size if image is not None else (int(size[0]), int(size[1])) if size else (0, 0)
        self.items = [_box(i, item) for i, item in enumerate(items)]

    def __repr__(self) -> str:
        return f"Boxes({self.items!r}, size={self.size})"


class Mask:
    """A mask over a picture.

    Args:
        array: [H, W]: bool, floats of 0 to 1, or uint8 of 0 to 255; higher is more inside.
        image: the picture below it; a mask of another size is scaled to it (bilinear; bool nearest).
    Raises: InvalidInput: another shape or dtype, levels out of range, NaN.
    """

    def __init__(self, array: Any, image: Image | None = None) -> None:
        array = np.asarray(array)
        if array.ndim != 2:
            raise InvalidInput(f"Mask: expected [H, W], got {list(array.shape)}; take one channel of one picture")
        method = "nearest" if array.dtype.kind == "b" else "bilinear"
        levels = Image.from_array(array).array
        if image is not None and levels.shape != image.array.shape[:2]:
            levels = resize(levels, image.width, image.height, method)
        self.array: Array = levels
        self.image = image

    def __repr__(self) -> str:
        return f"<Mask {self.array.shape[1]} x {self.array.shape[0]}>"


def _vector(values: Any) -> Array:
    array = np.asarray(values, np.float64)
    vector = array[0] if array.ndim == 2 and array.shape[0] == 1 else array
    if vector.ndim != 1 or vector.size == 0:
        raise InvalidInput(f"Labels: expected scores of shape [N] or [1, N], got {list(array.shape)}")
    if nans := np.flatnonzero(np.isnan(vector)).tolist():
        raise InvalidInput(f"Labels: score {nans[0]} is NaN; look at what the model was given")
    return vector


def _name(names: Sequence[str] | Mapping[int, str], index: int) -> str:
    if isinstance(names, Mapping) and index not in names:
        raise InvalidInput(f"Labels: no name for class {index}; names go from {min(names)} to {max(names)}")
    return str(names[index])


def _box(index: int, item: Box | tuple[str, float, Sequence[float]]) -> Box:
    label, score, box = (item.label, item.score, item.box) if isinstance(item, Box) else item
    corners = np.asarray(box, np.float64).ravel()
    if corners.size != 4 or not np.isfinite(corners).all():
        raise InvalidInput(f'Boxes: item {index} ("{label}"): expected 4 finite corners x0, y0, x1, y1, got {box}')
    x0, y0, x1, y1 = corners.tolist()
    return Box(str(label), float(score), (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))
