"""Object detection: a picture in, boxes with labels out, whichever head the model has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..dtypes import Array, from_ort_type
from ..errors import InvalidInput
from ..session import InferenceSession
from ..values import Box, Boxes, Image
from .detection_heads import HEADS, recognize
from .image_input import ImageInput
from .steps import Run, Steps, arun, run

__all__ = ["ObjectDetector", "non_max_suppression"]

_IMAGENET = ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))  # mean and std of levels 0 to 255, red first
_MOST_CANDIDATES = 30_000  # a threshold of 0 on a large input would compare every place with every other


class ObjectDetector:
    """A detector that is called with a picture.

    Args:
        session: the model; its first input is the picture, [1, 3, H, W].
        head: a name in `HEADS`; by default the one that the model's shapes and metadata show.
        names: of the classes; by default those of the metadata, else their numbers.
        image: how pictures become inputs; by default as the models with this head are trained: grey margins and 0 to 1
            for YOLO's, black ones and ImageNet's mean and std, blue first, for NanoDet's.
    Raises: InvalidInput: the head is not known, or not named and not recognized.
    """

    def __init__(
        self,
        session: InferenceSession,
        *,
        head: str | None = None,
        names: Sequence[str] | Mapping[int, str] | None = None,
        image: ImageInput | None = None,
    ) -> None:
        if head is not None and head not in HEADS:
            raise InvalidInput(f'ObjectDetector: no head "{head}"; known are {", ".join(HEADS)}')
        inputs, outputs = session.get_inputs(), session.get_outputs()
        metadata = session.get_modelmeta().custom_metadata_map
        given = () if names is None or isinstance(names, Mapping) else names  # a mapping may leave classes out
        seen = recognize(inputs, outputs, metadata, given)
        if seen is None and given and (other := recognize(inputs, outputs, metadata)):
            raise InvalidInput(
                f"ObjectDetector: got {len(given)} names for the {other.classes} classes that the outputs of a "
                f"{other.head} head show; give one a class"
            )
        if seen is None and (head is None or image is None):
            shapes = ", ".join(f"{arg.name} {arg.shape}" for arg in outputs)
            raise InvalidInput(
                f"ObjectDetector: no known head has these outputs: {shapes}; give head= ({', '.join(HEADS)}) and image="
            )
        self.session = session
        self.head = head or (seen.head if seen else "")
        self.names = names if names is not None else (seen.names if seen else ())
        self.image = _fixed(image or default_input(self.head, seen.size if seen else (0, 0)), inputs[0].shape)
        as_seen = seen is not None and seen.head == self.head
        self._outputs = list(seen.outputs) if seen and as_seen else [arg.name for arg in outputs]
        self._dtype = from_ort_type(inputs[0].type).numpy

    def __call__(
        self, image: Image, threshold: float = 0.25, iou_threshold: float = 0.7, limit: int | None = 300
    ) -> Boxes:
        """Find things in a picture.

        Args:
            threshold: boxes score more than this. The defaults are those of Ultralytics' ``predict``.
            iou_threshold: of two boxes of one class with more than this overlap (intersection over union) the worse
                one goes; without effect on heads that give each thing once.
            limit: how many boxes at most.
        Returns: boxes in the picture's pixels, best first.
        Raises: InvalidInput: the outputs are none of this head, hold NaN, or do not go with the names.
        """
        return run(self._steps(image, threshold, iou_threshold, limit))

    async def acall(
        self, image: Image, threshold: float = 0.25, iou_threshold: float = 0.7, limit: int | None = 300
    ) -> Boxes:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(image, threshold, iou_threshold, limit))

    def _steps(self, image: Image, threshold: float, iou_threshold: float, limit: int | None) -> Steps[Boxes]:
        x, frame = self.image.prepare(image)
        first, *others = self.session.get_inputs()
        feeds = {first.name: x.astype(self._dtype)}
        for arg in others:  # DETR's pixel_mask: all of the input is picture
            feeds[arg.name] = np.ones((1, *x.shape[2:]), from_ort_type(arg.type).numpy)
        outputs = yield Run(self.session, self._outputs, feeds)
        head = HEADS[self.head]
        size = frame.scaled if self.image.fit == "shortest_edge" else self.image.size
        boxes, scores, classes = head.decode(outputs, size)
        if np.isnan(scores).any():
            raise InvalidInput("ObjectDetector: the model's scores hold NaN; look at what it was given")
        kept = np.flatnonzero(scores > threshold)
        kept = kept[np.argsort(-scores[kept], kind="stable")]
        boxes = frame.to_picture(boxes)
        kept = kept[(boxes[kept, 2:] > boxes[kept, :2]).all(1)]  # others lie in the margins
        if head.overlaps:
            kept = kept[:_MOST_CANDIDATES]
            kept = kept[non_max_suppression(boxes[kept], scores[kept], classes[kept], iou_threshold)]
        found = zip(classes[kept].tolist(), scores[kept].tolist(), boxes[kept].tolist(), strict=True)
        items = [Box(self._label(number), score, (x0, y0, x1, y1)) for number, score, (x0, y0, x1, y1) in found]
        return Boxes(items[:limit], image)

    def _label(self, number: int) -> str:
        if isinstance(self.names, Mapping):
            return str(self.names.get(number, number))
        if self.names and not 0 <= number < len(self.names):
            raise InvalidInput(
                f"ObjectDetector: the model found class {number} but has {len(self.names)} names; give one a class"
            )
        return str(self.names[number]) if self.names else str(number)

    def __repr__(self) -> str:
        return f"<ObjectDetector {self.head}, {len(self.names) or 'unnamed'} classes>"


def _fixed(image: ImageInput, shape: Sequence[int | str | None]) -> ImageInput:
    """The same for a model whose input has one size, where the size was to follow the picture."""
    height, width = shape[2:]
    if image.fit != "shortest_edge" or not isinstance(height, int) or not isinstance(width, int):
        return image
    return replace(image, size=(width, height), fit="stretch")


def default_input(head: str, size: tuple[int, int]) -> ImageInput:
    """What the models with a head are trained with."""
    if head not in ("nanodet", "detr", "rt-detr"):
        return ImageInput(size)
    mean, std = _IMAGENET
    if head == "nanodet":
        return ImageInput(size, rescale=1.0, mean=mean[::-1], std=std[::-1], bgr=True, margin=0)
    rescaled = [[level / 255 for level in levels] for levels in (mean, std)]
    return ImageInput(size, "stretch", mean=rescaled[0], std=rescaled[1], antialias=True)


def non_max_suppression(boxes: Array, scores: Array, classes: Array, iou_threshold: float) -> Array:
    """Choose the best boxes of every class, without those that overlap a better one.

    Args:
        boxes: [K, 4], x0, y0, x1, y1; scores: [K]; classes: [K].
        iou_threshold: overlap (intersection over union) that is just still allowed.
    Returns: int64, indices of those that stay, best first; of equal scores the first.
    """
    order = np.argsort(-scores, kind="stable")
    low, high = boxes[:, :2], boxes[:, 2:]
    areas = np.prod(high - low, axis=1)
    kept = []
    while order.size:
        best, order = order[0], order[1:]
        kept.append(best)
        sides = np.minimum(high[best], high[order]) - np.maximum(low[best], low[order])
        shared = np.prod(np.maximum(sides, 0), axis=1)
        overlaps = shared > iou_threshold * (areas[best] + areas[order] - shared)
        order = order[~overlaps | (classes[order] != classes[best])]
    return np.array(kept, np.int64)
