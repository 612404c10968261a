"""What segmentation networks give, brought to the picture's own pixels. C is the number of classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dtypes import Array, from_ort_type
from ..errors import InvalidInput
from ..session import InferenceSession
from ..values import Image
from .image_input import Frame, ImageInput
from .scores import sigmoid
from .steps import Run, Steps

__all__ = ["classes_of", "inside", "maps_of", "probabilities"]

_NEARLY = 1e-3  # that probabilities may stray from 0 to 1, since they come out of float16 too


def maps_of(
    session: InferenceSession, prepared: ImageInput, image: Image
) -> Steps[tuple[Array, Frame, tuple[int, int]]]:
    """The first output as [C, h, w], where the picture lies, and the input's (width, height)."""
    x, frame = prepared.prepare(image)
    into, out = session.get_inputs()[0], session.get_outputs()[0]
    (y,) = yield Run(session, [out.name], {into.name: x.astype(from_ort_type(into.type).numpy)})
    shape = list(y.shape)
    if y.ndim not in (3, 4) or shape[0] != 1 or 0 in shape:
        raise InvalidInput(
            f'output "{out.name}" is {shape}, expected a map of one picture: [1, H, W], [1, C, H, W] or [1, H, W, C]'
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InvalidInput(f'output "{out.name}" holds NaN or infinity; look at what the model was given')
    width, height = prepared.picture_size(x)
    if y.ndim == 4 and _is_last(shape, (height, width), prepared.layout):
        y = y.transpose(0, 3, 1, 2)
    return y.reshape(-1, *y.shape[-2:]), frame, (width, height)


def _is_last(shape: Sequence[int], size: tuple[int, int], layout: str) -> bool:
    """Whether channels of [1, ., ., .] are last: where the sides go with the input's, else as the input has them."""
    fits = [height * size[1] == width * size[0] for height, width in (shape[1:3], shape[2:4])]
    return fits[0] if fits[0] != fits[1] else layout == "NHWC"


def probabilities(maps: Array, function: str) -> Array:
    """[1, h, w] of 0 to 1."""
    if function == "sigmoid":
        return sigmoid(maps)
    low, high = float(maps.min()), float(maps.max())
    if low < -_NEARLY or high > 1 + _NEARLY:
        raise InvalidInput(
            f"the model's mask goes from {low:.3g} to {high:.3g}, expected 0 to 1; logits want "
            'function_to_apply="sigmoid"'
        )
    return np.clip(maps, 0, 1)


def inside(probabilities: Array, frame: Frame, size: tuple[int, int]) -> tuple[Array, float]:
    """Levels of 0 to 255 at the picture's pixels, and the mean probability of those more inside than outside."""
    levels = np.empty(frame.picture[::-1], np.uint8)
    total, count = 0.0, 0
    for rows, band in frame.sampled(probabilities, size):
        levels[rows] = np.rint(band[0] * 255)
        within = band[0][band[0] > 0.5]
        total, count = total + float(within.sum(dtype=np.float64)), count + within.size
    return levels, total / count if count else 0.0


def classes_of(maps: Array, frame: Frame, size: tuple[int, int]) -> tuple[Array, dict[int, float]]:
    """The likeliest class of each of the picture's pixels, and by class the mean of its probability there.

    Logits are brought to the picture's size first, as in transformers' ``post_process_semantic_segmentation``: edges
    get as fine as the picture is.
    """
    if maps.dtype.kind != "f":  # the model has chosen
        chosen = frame.nearest(maps[0].astype(np.int64), size)
        return chosen, dict.fromkeys(np.unique(chosen).tolist(), 1.0)
    chosen = np.empty(frame.picture[::-1], np.int64)
    shares = maps.min() >= -_NEARLY and abs(float(maps.sum(0).mean()) - 1) < _NEARLY  # softmax is in the model
    totals = np.zeros(len(maps))
    for rows, band in frame.sampled(maps, size):
        best = band.argmax(0)
        top = np.take_along_axis(band, best[None], 0)[0]
        score = top if shares else 1 / np.exp(band - top).sum(0)
        totals += np.bincount(best.ravel(), score.ravel(), len(maps))
        chosen[rows] = best
    counts = np.bincount(chosen.ravel(), minlength=len(maps))
    return chosen, {n: float(totals[n] / counts[n]) for n in np.flatnonzero(counts).tolist()}
