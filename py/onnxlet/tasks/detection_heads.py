"""What detectors give, turned into boxes: one function a kind of head, and how a head is known by its shapes.

Boxes are x0, y0, x1, y1 in pixels of the model's input, float64; N is the number of places where a head looks (cells of
its grids, times anchors), C the number of classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..source import NodeArg
from .metadata import literal, names_of
from .scores import sigmoid, softmax

__all__ = ["HEADS", "Candidates", "Head", "Recognized", "recognize"]

Size = tuple[int, int]
Shape = Sequence[int | str | None]
Found = tuple[str, tuple[str, ...], int] | None  # the head's name, names of outputs, classes

_STRIDES = ((8, 16, 32), (8, 16, 32, 64))  # of the grids, most models' and those for large inputs
_SIDES = (4 * 8, 4 * 11, 4 * 17)  # columns of four distributions: NanoDet's, its larger models', and GFL's
_MOST_ROWS = 1000  # that end-to-end heads give: 300 in practice


class Candidates(NamedTuple):
    """What a head saw: boxes [K, 4], scores [K] of 0 to 1, classes [K]."""

    boxes: Array
    scores: Array
    classes: Array


class Head(NamedTuple):
    """A kind of head.

    Args:
        decode: outputs in the model's order and the input's (width, height) -> what it saw.
        overlaps: whether one thing gives many boxes, of which all but the best must go.
    """

    decode: Callable[[Sequence[Array], Size], Candidates]
    overlaps: bool


class Recognized(NamedTuple):
    """What shapes and metadata say of a detector.

    Args:
        head: a name in `HEADS`.
        outputs: names of the outputs that it decodes.
        size: (width, height) of the input in pixels.
        classes: how many; 0 where the shapes do not say.
        names: of the classes; empty where nobody says.
    """

    head: str
    outputs: tuple[str, ...]
    size: Size
    classes: int
    names: tuple[str, ...]


def yolov5(outputs: Sequence[Array], size: Size) -> Candidates:
    """[1, N, 5 + C]: centre x, y, width, height, whether there is anything, and what it would be."""
    rows = _one(outputs[0])
    return _best(_from_centers(rows[:, :4]), rows[:, 4:5] * rows[:, 5:])


def yolov8(outputs: Sequence[Array], size: Size) -> Candidates:
    """[1, 4 + C, N] of v8, v9, 11 and 12: centre x, y, width, height, and scores of the classes."""
    rows = _one(outputs[0]).T
    return _best(_from_centers(rows[:, :4]), rows[:, 4:])


def end_to_end(outputs: Sequence[Array], size: Size) -> Candidates:
    """[1, K, 6] of v10, 26 and exports with NMS inside: x0, y0, x1, y1, score, class; unused rows score 0."""
    rows = _one(outputs[0])
    return Candidates(rows[:, :4], rows[:, 4], rows[:, 5].astype(np.int64))


def nanodet(outputs: Sequence[Array], size: Size) -> Candidates:
    """Scores [1, N, C] and sides [1, N, 4 * bins] of each stride, in any order.

    A side (left, top, right, bottom) is the mean of a distribution over bins, in strides from the cell's centre.
    Source: Li et al. 2020, Generalized Focal Loss, arXiv:2006.04388.
    """
    found = []
    for scores_at, sides_at in _pairs([output.shape for output in outputs]):
        scores, sides = _one(outputs[scores_at]), _one(outputs[sides_at])
        stride = _stride(len(scores), size)
        across = size[0] // stride
        centers = (np.stack([np.arange(len(scores)) % across, np.arange(len(scores)) // across], 1) + 0.5) * stride
        shares = softmax(sides.reshape(len(sides), 4, -1))
        distances = shares @ np.arange(shares.shape[2]) * stride
        boxes = np.concatenate([centers - distances[:, :2], centers + distances[:, 2:]], 1)
        found.append(_best(boxes, scores))
    if not found:
        shapes = ", ".join(str(list(output.shape)) for output in outputs)
        raise InvalidInput(f"nanodet: expected scores and sides of each stride, got {shapes}")
    return Candidates(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def detr(outputs: Sequence[Array], size: Size) -> Candidates:
    """Logits [1, K, C + 1], the last one for nothing, and boxes [1, K, 4], centre and sides as shares of the input."""
    logits, boxes = outputs
    return _best(_from_shares(boxes, size), softmax(_one(logits))[:, :-1])


def rt_detr(outputs: Sequence[Array], size: Size) -> Candidates:
    """Logits [1, K, C], each class for itself, and boxes as `detr` has them; a box may have several classes."""
    logits, boxes = outputs
    scores = sigmoid(_one(logits))
    rows, classes = np.indices(scores.shape).reshape(2, -1)
    return Candidates(_from_shares(boxes, size)[rows], scores.ravel(), classes)


HEADS = {
    "yolov5": Head(yolov5, overlaps=True),
    "yolov8": Head(yolov8, overlaps=True),
    "end-to-end": Head(end_to_end, overlaps=False),
    "nanodet": Head(nanodet, overlaps=True),
    "detr": Head(detr, overlaps=False),
    "rt-detr": Head(rt_detr, overlaps=False),
}


def recognize(
    inputs: Sequence[NodeArg], outputs: Sequence[NodeArg], metadata: Mapping[str, str], names: Sequence[str] = ()
) -> Recognized | None:
    """Know a detector by its inputs, outputs and metadata.

    Args:
        metadata: what the file says of itself; Ultralytics' exports have ``names``, ``imgsz`` and ``task``.
        names: of the classes, where the metadata has none.
    Returns: None where it is no detector, or none that is known beyond doubt.
    """
    if not inputs or len(inputs[0].shape) != 4 or inputs[0].shape[1] != 3 or metadata.get("task", "detect") != "detect":
        return None
    if len(inputs) > 1 and [arg.name for arg in inputs[1:]] != ["pixel_mask"]:
        return None
    size = _size(inputs[0].shape, metadata)
    names = names_of(metadata) or tuple(names)
    for find in (_dense, _nanodet, _detr):
        if found := find(outputs, size, len(names), metadata):
            head, decoded, classes = found
            return Recognized(head, decoded, size, classes, names)
    return None


def _dense(outputs: Sequence[NodeArg], size: Size, classes: int, metadata: Mapping[str, str]) -> Found:
    """YOLO heads with one output; older exports of v5 repeat it grid by grid, [1, 3, H, W, 5 + C]."""
    flat = [arg for arg in outputs if len(arg.shape) == 3]
    if len(flat) != 1 or any(len(arg.shape) != 5 for arg in outputs if arg is not flat[0]):
        return None
    first, last = (dim if isinstance(dim, int) else 0 for dim in flat[0].shape[1:])  # 0: open
    whole = metadata.get("end2end") == "True"

    def fits(places: int, anchors: int) -> bool:
        return places in _places(size, anchors) or (places == 0 and classes > 0)

    if last > 5 and fits(first, 3) and classes in (0, last - 5) and not whole:
        return "yolov5", (flat[0].name,), last - 5
    if last == 6 and (whole or 0 < first <= _MOST_ROWS):
        return "end-to-end", (flat[0].name,), classes
    if first > 4 and fits(last, 1) and classes in (0, first - 4):
        return "yolov8", (flat[0].name,), first - 4
    return None


def _nanodet(outputs: Sequence[NodeArg], size: Size, classes: int, metadata: Mapping[str, str]) -> Found:
    shapes = [arg.shape for arg in outputs]
    pairs = _pairs(shapes, classes)
    places = [shapes[at][1] for at, _ in pairs]
    if places not in [_cells(size, strides) for strides in _STRIDES]:
        return None
    columns = shapes[pairs[0][0]][2]
    return "nanodet", tuple(arg.name for arg in outputs), columns if isinstance(columns, int) else 0


def _detr(outputs: Sequence[NodeArg], size: Size, classes: int, metadata: Mapping[str, str]) -> Found:
    by_name = {arg.name: arg.shape for arg in outputs}
    logits, boxes = by_name.get("logits", ()), by_name.get("pred_boxes", ())
    if len(logits) != 3 or len(boxes) != 3 or boxes[2] != 4 or not classes:
        return None
    head = "detr" if logits[2] == classes + 1 else "rt-detr" if logits[2] == classes else ""
    return (head, ("logits", "pred_boxes"), classes) if head else None


def _pairs(shapes: Sequence[Shape], classes: int = 0) -> list[tuple[int, int]]:
    """Indices of scores and sides of each stride, finest first; empty where outputs are no such pairs.

    Args:
        classes: how many there are; 0 where nobody knows.
    """
    by_places: dict[int, list[tuple[int, int]]] = {}
    for index, shape in enumerate(shapes):
        if len(shape) != 3 or not isinstance(shape[1], int) or not isinstance(shape[2], int):
            return []
        by_places.setdefault(shape[1], []).append((index, shape[2]))
    pairs = []
    for _, two in sorted(by_places.items(), reverse=True):
        sides = [index for index, columns in two if columns in _SIDES and columns != classes]
        scores = [index for index, columns in two if index not in sides and classes in (0, columns)]
        if len(sides) != 1 or len(scores) != 1:
            return []
        pairs.append((scores[0], sides[0]))
    return pairs


def _cells(size: Size, strides: Sequence[int]) -> list[int]:
    return [math.ceil(size[0] / stride) * math.ceil(size[1] / stride) for stride in strides]


def _places(size: Size, anchors: int) -> list[int]:
    return [anchors * sum(_cells(size, strides)) for strides in _STRIDES]


def _stride(places: int, size: Size) -> int:
    for stride in _STRIDES[-1]:
        if _cells(size, [stride]) == [places]:
            return stride
    raise InvalidInput(f"nanodet: {places} places fit no stride of {_STRIDES[-1]} on an input of {size[0]} x {size[1]}")


def _size(shape: Shape, metadata: Mapping[str, str]) -> Size:
    """(width, height): the shape's own, else what Ultralytics' metadata says, else the 640 that most are trained at."""
    told = literal(metadata.get("imgsz", ""))
    height, width = told if isinstance(told, list) and len(told) == 2 else (640, 640)
    return (
        int(shape[3]) if isinstance(shape[3], int) else int(width),
        int(shape[2]) if isinstance(shape[2], int) else int(height),
    )


def _one(output: Array) -> Array:
    """The only picture's rows of an output."""
    if output.ndim != 3 or len(output) != 1:
        raise InvalidInput(
            f"a detector's output is {list(output.shape)}, expected [1, rows, columns]: one picture a run"
        )
    return output[0].astype(np.float64)


def _best(boxes: Array, scores: Array) -> Candidates:
    classes = scores.argmax(1)
    return Candidates(boxes, scores[np.arange(len(scores)), classes], classes)


def _from_centers(rows: Array) -> Array:
    half = rows[:, 2:4] / 2
    return np.concatenate([rows[:, :2] - half, rows[:, :2] + half], 1)


def _from_shares(boxes: Array, size: Size) -> Array:
    return _from_centers(_one(boxes)) * np.tile(size, 2)
