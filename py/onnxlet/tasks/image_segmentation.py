"""Segmentation: which pixels of a picture belong to what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from ..errors import InvalidInput
from ..session import InferenceSession
from ..values import Image, Mask
from .image_input import ImageInput
from .metadata import labels_of
from .segmentation_maps import classes_of, inside, maps_of, probabilities
from .steps import Steps, arun, run

__all__ = ["ImageSegmenter", "Segment"]


class Segment(NamedTuple):
    """One kind of thing in a picture.

    Args:
        label: what it is.
        score: mean probability of its pixels, 0 to 1.
        mask: which pixels these are, over the picture.
    """

    label: str
    score: float
    mask: Mask


class ImageSegmenter:
    """A segmentation network that is called with a picture.

    The first output tells the kind of head: one channel ([1, H, W, 1], [1, 1, H, W], [1, H, W]) gives how much each
    pixel is inside; C channels ([1, C, H, W], [1, H, W, C]) give logits or probabilities of C classes, and [1, H, W] of
    integers the classes themselves. Outputs may have another size than the input.

    Args:
        session: the model; its first input is the picture, [1, 3, H, W] or [1, H, W, 3].
        labels: a name a class, in order, or by number; by default those of the metadata (``names``), else the numbers.
            With one channel: the one name of what is inside.
        image: how pictures become inputs; by default stretched to the model's size (512 x 512 where that is
            open), 0 to 1.
        function_to_apply: of one channel: "sigmoid" where the model gives logits, "none" where it gives 0 to 1.
    Raises: InvalidInput: the input is no picture's.
    """

    def __init__(
        self,
        session: InferenceSession,
        *,
        labels: Sequence[str] | Mapping[int, str] | None = None,
        image: ImageInput | None = None,
        function_to_apply: Literal["sigmoid", "none"] = "none",
    ) -> None:
        self.session = session
        self.labels = labels_of(session, labels, None, "ImageSegmenter")
        self.image = image or ImageInput.of_model(session.get_inputs()[0], side=512)
        self.function_to_apply = function_to_apply

    def __call__(self, image: Image) -> list[Segment]:
        """Find what covers which part of a picture.

        Returns: what there is, the largest first. Of one channel: one segment, whose mask has soft edges, even where
            it is empty. Of several: a segment for every class that is the likeliest of any pixel.
        Raises: InvalidInput: the output is no map, holds NaN, or one channel goes beyond 0 to 1.
        """
        return run(self._steps(image))

    async def acall(self, image: Image) -> list[Segment]:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(image))

    def _steps(self, image: Image) -> Steps[list[Segment]]:
        maps, frame, size = yield from maps_of(self.session, self.image, image)
        if len(maps) == 1 and maps.dtype.kind == "f":
            levels, score = inside(probabilities(maps, self.function_to_apply), frame, size)
            return [Segment(self._label(0, "inside"), score, Mask(levels, image))]
        classes, scores = classes_of(maps, frame, size)
        counts = np.bincount(classes.ravel())
        found = [number for number in np.argsort(-counts, kind="stable").tolist() if counts[number]]
        return [Segment(self._label(n, str(n)), scores[n], Mask(classes == n, image)) for n in found]

    def _label(self, number: int, default: str) -> str:
        if self.labels and number >= len(self.labels):
            raise InvalidInput(
                f"ImageSegmenter: the model found class {number} but has {len(self.labels)} labels; give one a class"
            )
        return self.labels[number] if self.labels else default

    def __repr__(self) -> str:
        return f"<ImageSegmenter of {len(self.labels) or 'unnamed'} classes>"
