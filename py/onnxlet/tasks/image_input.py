"""Pictures as models want them: scaled, padded and normalized, and the way back to the picture's own pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..values import Image

__all__ = ["Fit", "Frame", "ImageInput"]

Fit = Literal["letterbox", "stretch", "shortest_edge"]
_METHODS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}  # Pillow's numbers, which the configurations hold


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a picture lies in a model's input.

    Args:
        picture: its own (width, height) in pixels.
        scaled: its (width, height) in the input.
        offset: (left, top) of it in the input.
    """

    picture: tuple[int, int]
    scaled: tuple[int, int]
    offset: tuple[int, int] = (0, 0)

    def to_picture(self, boxes: Array) -> Array:
        """Boxes in the picture's own pixels, clipped to it.

        Each axis has its own scale, since the scaled sides are whole pixels: up to half a pixel of the input nearer
        than with the one scale of Ultralytics' own code.

        Args:
            boxes: [N, 4], x0, y0, x1, y1 in pixels of the input.
        """
        scale = np.divide(self.picture, self.scaled)
        corners = (boxes.reshape(-1, 2, 2) - self.offset) * scale
        return np.clip(corners, 0, self.picture).reshape(-1, 4)


@dataclass(frozen=True, slots=True)
class ImageInput:
    """How a picture becomes the input of a model.

    Args:
        size: (width, height) of the input in pixels; with fit "shortest_edge": (shorter side, most of the longer one).
        fit: "letterbox" scales to fit inside, centred between margins; "stretch" forgets the proportions;
            "shortest_edge" keeps them, and the input's size follows the picture.
        rescale: what levels of 0 to 255 are multiplied with.
        mean, std: numbers, or one a channel in the input's order; taken off and divided by after `rescale`.
        bgr: blue comes first, as in models trained on OpenCV's pictures.
        margin: the level of a letterbox's margins before normalizing; 114 is what YOLO models are trained with.
        method, antialias: as `Image.resize` takes them. OpenCV, which YOLO models are trained with, averages nothing.
    """

    size: tuple[int, int]
    fit: Fit = "letterbox"
    rescale: float = 1 / 255
    mean: float | Sequence[float] = 0.0
    std: float | Sequence[float] = 1.0
    bgr: bool = False
    margin: int = 114
    method: str = "bilinear"
    antialias: bool = False

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """What a Hugging Face ``preprocessor_config.json`` says.

        Raises: InvalidInput: it has no size that is known here.
        """
        size = config.get("size", {})
        if isinstance(size, int):
            size = {"height": size, "width": size}
        fit: Fit = "stretch"
        if "height" in size:
            wanted = (size["width"], size["height"])
        elif "shortest_edge" in size:
            # A picture that is never too long: configurations of classifiers name no longest edge.
            wanted, fit = (size["shortest_edge"], size.get("longest_edge") or 2**31), "shortest_edge"
        else:
            raise InvalidInput(
                f"preprocessor_config.json: size is {size!r}, expected height and width, or shortest_edge"
            )
        normalize = config.get("do_normalize", True)
        return cls(
            size=(int(wanted[0]), int(wanted[1])),
            fit=fit,
            rescale=config.get("rescale_factor", 1 / 255) if config.get("do_rescale", True) else 1.0,
            mean=config.get("image_mean") or 0.0 if normalize else 0.0,
            std=config.get("image_std") or 1.0 if normalize else 1.0,
            method=_METHODS.get(config.get("resample", 2), "bilinear"),
            antialias=True,
        )

    def frame(self, image: Image) -> Frame:
        """Where a picture will lie."""
        width, height = self.size
        if self.fit == "stretch":
            return Frame(image.size, self.size)
        if self.fit == "shortest_edge":
            return Frame(image.size, _shortest_edge(image.size, width, height))
        scale = min(width / image.width, height / image.height)
        w, h = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        return Frame(image.size, (w, h), ((width - w) // 2, (height - h) // 2))

    def prepare(self, image: Image) -> tuple[Array, Frame]:
        """The input, float32 [1, 3, H, W], and where the picture lies in it."""
        frame = self.frame(image)
        picture = image.rgb().resize(*frame.scaled, self.method, self.antialias)
        if self.fit == "letterbox":
            (left, top), (w, h) = frame.offset, frame.scaled
            picture = picture.pad(left, top, self.size[0] - w - left, self.size[1] - h - top, self.margin)
        levels = picture.array[:, :, ::-1] if self.bgr else picture.array
        x: Array = levels.astype(np.float32) * np.float32(self.rescale)
        x = (x - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)
        return np.ascontiguousarray(x.transpose(2, 0, 1))[None], frame


def _shortest_edge(size: tuple[int, int], shorter: int, longest: int) -> tuple[int, int]:
    """(width, height), rounded in each step as transformers' ``get_size_with_aspect_ratio`` does."""
    low, high = min(size), max(size)
    exact = longest * low / high if high / low * shorter > longest else float(shorter)
    if round(exact) == low:
        return size
    new = max(1, round(exact)), max(1, int(exact * high / low))
    return new if size[0] <= size[1] else new[::-1]
