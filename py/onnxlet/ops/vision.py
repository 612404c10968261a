"""What object detectors use: pooling over regions, choosing among boxes; and decoding picture files."""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput, UnsupportedOp
from .registry import op
from .support import restore, scalar, wide

__all__: list[str] = []


@op("MaxRoiPool", since=1)
def MaxRoiPool(X: Array, rois: Array, *, pooled_shape: Sequence[int], spatial_scale: float = 1.0) -> Array:
    """The maximum of every cell of a grid laid over every region; 0 where a cell is empty.

    Spec: https://onnx.ai/onnx/operators/onnx__MaxRoiPool.html, opset 1+. Source: Fast R-CNN, arXiv:1504.08083.

    Args:
        X: [N, C, H, W].
        rois: [R, 5], each a batch index and x1, y1, x2, y2 in units of 1 / spatial_scale elements, ends included.
        pooled_shape: cells along H and W.
    Returns: [R, C, *pooled_shape].
    """
    sizes = X.shape[2:]
    y = np.zeros((len(rois), X.shape[1], *pooled_shape), dtype=X.dtype)
    corners = np.floor(rois[:, 1:].astype(np.float64) * spatial_scale + 0.5).astype(np.int64)
    for r, (x1, y1, x2, y2) in enumerate(corners):
        spans = []
        for start, end, cells, n in zip((y1, x1), (y2, x2), pooled_shape, sizes, strict=True):
            cell = max(end - start + 1, 1) / cells
            edges = np.arange(cells)
            low = np.clip(np.floor(edges * cell).astype(np.int64) + start, 0, n)
            high = np.clip(np.ceil((edges + 1) * cell).astype(np.int64) + start, 0, n)
            spans.append(list(zip(low, high, strict=True)))
        plane = X[int(rois[r, 0])]
        for i, (top, bottom) in enumerate(spans[0]):
            for j, (left, right) in enumerate(spans[1]):
                if top < bottom and left < right:
                    y[r, :, i, j] = plane[:, top:bottom, left:right].max(axis=(1, 2))
    return y


@op("RoiAlign", since=10)
def RoiAlign_10(
    X: Array,
    rois: Array,
    batch_indices: Array,
    *,
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Array:
    """RoiAlign without the shift by half an element.

    Spec: https://onnx.ai/onnx/operators/onnx__RoiAlign.html, opset 10 to 15.
    """
    return RoiAlign(
        X,
        rois,
        batch_indices,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )


@op("RoiAlign", since=16)
def RoiAlign(
    X: Array,
    rois: Array,
    batch_indices: Array,
    *,
    coordinate_transformation_mode: str = "half_pixel",
    mode: str = "avg",
    output_height: int = 1,
    output_width: int = 1,
    sampling_ratio: int = 0,
    spatial_scale: float = 1.0,
) -> Array:
    """Every region as a small picture, each cell pooled over interpolated points. Source: arXiv:1703.06870.

    Spec: https://onnx.ai/onnx/operators/onnx__RoiAlign.html, opset 16+.

    Args:
        X: [N, C, H, W].
        rois: [R, 4], each x1, y1, x2, y2 in units of 1 / spatial_scale elements.
        batch_indices: int64 [R].
        mode: "avg", or "max" (of the points' weighted corners, as the reference and onnxruntime take it).
        sampling_ratio: points along each axis of a cell; 0 for one an element.
    Returns: [R, C, output_height, output_width].
    """
    if mode not in ("avg", "max"):
        raise InvalidInput(f'mode is "{mode}", expected avg or max')
    half_pixel = coordinate_transformation_mode == "half_pixel"
    y = np.zeros((len(rois), X.shape[1], output_height, output_width), dtype=wide(X).dtype)
    boxes = wide(rois).astype(np.float64) * spatial_scale - (0.5 if half_pixel else 0)
    for r, (x1, y1, x2, y2) in enumerate(boxes):
        rows = _line_taps(y1, y2, output_height, X.shape[2], sampling_ratio, half_pixel)
        columns = _line_taps(x1, x2, output_width, X.shape[3], sampling_ratio, half_pixel)
        plane = wide(X[int(batch_indices[r])])
        y[r] = _averaged(plane, rows, columns) if mode == "avg" else _maximal(plane, rows, columns)
    return restore(y, X)


def _line_taps(
    start: float, end: float, cells: int, size: int, sampling_ratio: int, half_pixel: bool
) -> tuple[Array, Array]:
    """The two neighbours of every point along one side of a region, and their weights: [2, cells, points] each."""
    length = end - start if half_pixel else max(end - start, 1.0)
    count = sampling_ratio or max(int(np.ceil(length / cells)), 0)
    inside_cell = (np.arange(count) + 0.5) / max(count, 1)
    points = start + (np.arange(cells)[:, None] + inside_cell) * (length / cells)
    valid = (points >= -1) & (points <= size)
    points = points.clip(0, size - 1)
    low = np.floor(points).astype(np.int64)
    share = points - low
    places = np.stack([low, np.minimum(low + 1, size - 1)])
    return places, np.stack([1 - share, share]) * valid


def _averaged(plane: Array, rows: tuple[Array, Array], columns: tuple[Array, Array]) -> Array:
    """The mean over a cell's points: linear along each side, so two small matrices say it all."""
    down, across = (
        _matrix(*taps, n).astype(plane.dtype) for taps, n in zip((rows, columns), plane.shape[1:], strict=True)
    )
    return down @ plane @ across.T


def _matrix(places: Array, weights: Array, size: int) -> Array:
    """[cells, size]: what every element contributes to every cell."""
    cells, count = places.shape[1:]
    matrix = np.zeros((cells, size))
    owners = np.broadcast_to(np.arange(cells)[:, None], places.shape)
    np.add.at(matrix, (owners, places), weights / max(count, 1))
    return matrix


def _maximal(plane: Array, rows: tuple[Array, Array], columns: tuple[Array, Array]) -> Array:
    (at_rows, row_weights), (at_columns, column_weights) = rows, columns
    cells = (at_rows.shape[1], at_columns.shape[1])
    best = np.full((plane.shape[0], *cells), -np.inf, dtype=plane.dtype)
    if not at_rows.shape[2] or not at_columns.shape[2]:
        return np.zeros_like(best)
    for i, j in itertools.product(range(2), range(2)):
        values = plane[:, at_rows[i][:, None, :, None], at_columns[j][None, :, None, :]]
        weights = row_weights[i][:, None, :, None] * column_weights[j][None, :, None, :]
        best = np.maximum(best, (values * weights.astype(plane.dtype)).max(axis=(3, 4)))
    return best


@op("NonMaxSuppression", since=10)
def NonMaxSuppression(
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    center_point_box: int = 0,
) -> Array:
    """The best boxes of every class, without those that overlap a better one.

    Spec: https://onnx.ai/onnx/operators/onnx__NonMaxSuppression.html, opset 10+.

    Args:
        boxes: float32 [B, S, 4], two opposite corners (y, x), or with center_point_box x, y, width, height.
        scores: float32 [B, classes, S]; only scores above score_threshold are taken. Of equal scores the first wins.
        max_output_boxes_per_class: 0 when left out, which gives nothing.
        iou_threshold: overlap (intersection over union) that is just still allowed; 0 when left out.
    Returns: int64 [selected, 3]: batch, class, box.
    """
    limit = 0 if max_output_boxes_per_class is None else scalar(max_output_boxes_per_class)
    overlap = 0.0 if iou_threshold is None else float(np.reshape(iou_threshold, ()))
    least = -np.inf if score_threshold is None else float(np.reshape(score_threshold, ()))
    selected = []
    for b, rectangles in enumerate(_corners(boxes, center_point_box)):
        for c, values in enumerate(scores[b]):
            candidates = np.argsort(-values, kind="stable")
            candidates = candidates[values[candidates] > least]
            for _ in range(limit):
                if not candidates.size:
                    break
                best, candidates = candidates[0], candidates[1:]
                selected.append((b, c, best))
                candidates = candidates[_overlap(rectangles[best], rectangles[candidates]) <= overlap]
    return np.array(selected, dtype=np.int64).reshape(-1, 3)


def _corners(boxes: Array, centred: int) -> Array:
    """[..., 4] as lower corner, upper corner."""
    if centred:
        half = boxes[..., 2:] / 2
        return np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)
    return np.concatenate(
        [np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])], axis=-1
    )


def _overlap(box: Array, others: Array) -> Array:
    """Intersection over union of one box [4] with others [S, 4]; 0 for boxes without area."""
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    shared = np.maximum(sides, 0).prod(axis=-1)
    union = (box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(axis=-1) - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0)


@op("ImageDecoder", since=20)
def ImageDecoder(encoded_stream: Array, *, pixel_format: str = "RGB") -> Array:
    """A picture file's pixels.

    Spec: https://onnx.ai/onnx/operators/onnx__ImageDecoder.html, opset 20+.

    Args:
        encoded_stream: uint8 [bytes].
        pixel_format: "RGB", "BGR" or "Grayscale".
    Returns: uint8 [H, W, 3 or 1]; an empty picture when the bytes cannot be decoded.
    Raises: UnsupportedOp: Pillow is not installed.
    """
    channels = {"RGB": 3, "BGR": 3, "Grayscale": 1}.get(pixel_format)
    if channels is None:
        raise InvalidInput(f'pixel_format is "{pixel_format}", expected RGB, BGR or Grayscale')
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as e:
        raise UnsupportedOp("ImageDecoder needs Pillow; add it to the app's dependencies") from e
    try:
        with Image.open(io.BytesIO(encoded_stream.tobytes())) as picture:
            pixels: Any = np.array(picture.convert("L" if channels == 1 else "RGB"))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        return np.zeros((0, 0, channels), dtype=np.uint8)
    return pixels[..., ::-1] if pixel_format == "BGR" else pixels.reshape(*pixels.shape[:2], channels)
