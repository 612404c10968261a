"""Pictures, as apps see them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..masks import is_masked
from ..media import codecs
from ..media.resize import resize
from ..media.source import Source, read

__all__ = ["Image"]

_WHITE = np.array([255, 255, 255], np.uint16)


class Image:
    """A picture of 8-bit levels, grey or colour.

    Transparent pixels are composited over white when a picture is opened, in Python and in the page alike; models see
    no hidden colours and no black background. The picture as it was is in `rgba`, until the first transformation.
    Transformations return new pictures and never change this one.

    Args:
        pixels: uint8 [H, W] (grey), [H, W, 3] (RGB) or [H, W, 4] (RGBA, not premultiplied); others: `from_array`.
    """

    def __init__(self, pixels: Array) -> None:
        if pixels.dtype != np.uint8 or not _is_picture(pixels):
            raise InvalidInput(
                f"Image: expected uint8 [H, W], [H, W, 3] or [H, W, 4], got {pixels.dtype} {list(pixels.shape)}; "
                "use Image.from_array for other arrays"
            )
        self.array: Array = _over(pixels, _WHITE) if pixels.shape[2:] == (4,) else pixels
        self._rgba = pixels if pixels.shape[2:] == (4,) else None
        self.source: bytes | None = None
        self.name = ""

    @classmethod
    def open(cls, source: Source, name: str = "") -> Self:
        """Read a picture file: PNG, JPEG, GIF (first frame), WebP, BMP, TIFF, AVIF, ICO, PPM; the content decides.

        Args:
            source: a path, bytes, or a file opened in binary mode.
            name: for messages.
        Raises: InvalidInput: no picture, damaged, or more than `codecs.MAX_PIXELS`; OSError: the file is not there.
        """
        data, name = read(source, name)
        image = cls(codecs.decode(data, name))
        image.source, image.name = data, name
        return image

    @classmethod
    def from_array(cls, array: Any) -> Self:
        """Make a picture of an array, or of anything that numpy reads as one (a Pillow image).

        Args:
            array: [H, W], [H, W, 1], [H, W, 3] or [H, W, 4]. Integers are levels 0 to 255, floats are 0 to 1
                (rounded to the nearest level), bool is black and white.
        Raises: InvalidInput: another shape, levels out of range, NaN.
        """
        if is_masked(array):
            raise InvalidInput(
                "Image.from_array: expected a level for every pixel, got masked ones; use .filled(level)"
            )
        array = np.asarray(array)
        if array.shape[2:] == (1,):
            array = array[:, :, 0]
        if not _is_picture(array):
            hint = ""
            if array.ndim == 3 and array.shape[0] in (1, 3, 4):
                hint = "; it looks like [C, H, W]: transpose(1, 2, 0) first"
            elif array.ndim == 4:
                hint = "; take one picture of the batch first"
            raise InvalidInput(
                f"Image.from_array: expected [H, W], [H, W, 3] or [H, W, 4] with pixels, got {list(array.shape)}{hint}"
            )
        return cls(np.ascontiguousarray(_levels(array)))

    @property
    def size(self) -> tuple[int, int]:
        """(width, height) in pixels."""
        return self.array.shape[1], self.array.shape[0]

    @property
    def width(self) -> int:
        return int(self.array.shape[1])

    @property
    def height(self) -> int:
        return int(self.array.shape[0])

    @property
    def rgba(self) -> Array:
        """uint8 [H, W, 4], not premultiplied: the picture before it was composited over white."""
        if self._rgba is not None:
            return self._rgba
        return np.dstack([self.rgb().array, np.full(self.array.shape[:2], 255, np.uint8)])

    @property
    def alpha(self) -> Array:
        """uint8 [H, W], 0 is transparent."""
        return self.rgba[:, :, 3]

    def gray(self) -> Image:
        """The picture in grey levels, array [H, W]: ITU-R 601 luma, rounded as Pillow's mode "L"."""
        if self.array.ndim == 2:
            return Image(self.array)
        r, g, b = np.moveaxis(self.array.astype(np.uint32), 2, 0)
        return Image(((r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16).astype(np.uint8))

    def rgb(self) -> Image:
        """The picture in colour, array [H, W, 3]; of a grey one the three channels are equal."""
        return Image(self.array if self.array.ndim == 3 else np.repeat(self.array[:, :, None], 3, axis=2))

    def over(self, color: str | Sequence[int]) -> Image:
        """The picture as it was, composited over a colour instead of white.

        Args:
            color: "#rrggbb", or red, green and blue of 0 to 255.
        Raises: InvalidInput: no such colour.
        """
        return Image(_over(self.rgba, _color(color)))

    def resize(self, width: int, height: int, method: str = "bilinear", antialias: bool = True) -> Image:
        """Scale to width x height pixels, equal to Pillow's ``resize``.

        Args:
            method: "nearest", "bilinear", "bicubic" or "lanczos".
            antialias: average over the pixels that fall together when shrinking; see `media.resize`.
        """
        return Image(resize(self.array, width, height, method, antialias))

    def resize_shorter(self, size: int, method: str = "bilinear", antialias: bool = True) -> Image:
        """Scale so that the shorter side has size pixels and the longer one int(size * longer / shorter).

        This is what ``torchvision.transforms.Resize(size)`` does; a centre crop usually follows.
        """
        w, h = self.size
        width, height = (size, int(size * h / w)) if w <= h else (int(size * w / h), size)
        return self.resize(width, height, method, antialias)

    def crop(self, left: int, top: int, right: int, bottom: int) -> Image:
        """The pixels of left <= x < right, top <= y < bottom; the box must lie inside the picture."""
        if not (0 <= left < right <= self.width and 0 <= top < bottom <= self.height):
            raise InvalidInput(
                f"Image.crop: box ({left}, {top}, {right}, {bottom}) is empty or outside the picture of "
                f"{self.width} x {self.height} pixels; pad first, or clip the box"
            )
        return Image(np.ascontiguousarray(self.array[top:bottom, left:right]))

    def center_crop(self, width: int, height: int | None = None) -> Image:
        """The middle width x height pixels (square without height); an odd margin is halved as Python rounds.

        Rounds as ``torchvision.transforms.CenterCrop`` does. Raises: InvalidInput: the picture is smaller.
        """
        height = width if height is None else height
        if width > self.width or height > self.height:
            raise InvalidInput(
                f"Image.center_crop: {width} x {height} pixels asked of a picture of {self.width} x {self.height}; "
                "resize or pad first"
            )
        left, top = round((self.width - width) / 2), round((self.height - height) / 2)
        return self.crop(left, top, left + width, top + height)

    def pad(self, left: int, top: int, right: int, bottom: int, level: int = 0) -> Image:
        """Add margins, in pixels, of one grey level."""
        if min(left, top, right, bottom) < 0 or not 0 <= level <= 255:
            raise InvalidInput(
                f"Image.pad: expected margins of 0 or more and a level of 0 to 255, got {(left, top, right, bottom)}, "
                f"{level}"
            )
        margins = ((top, bottom), (left, right)) + ((0, 0),) * (self.array.ndim - 2)
        return Image(np.pad(self.array, margins, constant_values=level))

    def letterbox(self, width: int, height: int, level: int = 114, method: str = "bilinear") -> Image:
        """Scale to fit inside width x height without distortion, centred, with margins of one grey level.

        The default level is the one YOLO models are trained with. To map boxes back: the scale is
        ``min(width / self.width, height / self.height)``.
        """
        scale = min(width / self.width, height / self.height)
        w, h = max(1, round(self.width * scale)), max(1, round(self.height * scale))
        left, top = (width - w) // 2, (height - h) // 2
        return self.resize(w, h, method).pad(left, top, width - w - left, height - h - top, level)

    def rotate90(self, turns: int = 1) -> Image:
        """Turn by quarter turns counter-clockwise."""
        return Image(np.ascontiguousarray(np.rot90(self.array, turns)))

    def flip(self) -> Image:
        """Mirror left and right."""
        return Image(np.ascontiguousarray(self.array[:, ::-1]))

    def to_float(self, mean: Any = 0.0, std: Any = 1.0) -> Array:
        """A model's usual input: (levels / 255 - mean) / std.

        Args:
            mean, std: numbers, or one a channel.
        Returns: float32 [1, C, H, W] (NCHW), C is 1 or 3.
        """
        levels = self.array.reshape(self.height, self.width, -1).astype(np.float32)
        x: Array = (levels / np.float32(255) - np.asarray(mean, np.float32)) / np.asarray(std, np.float32)
        return np.ascontiguousarray(x.transpose(2, 0, 1))[None]

    def to_png(self) -> bytes:
        """The picture as a PNG file, transparency included; needs Pillow."""
        return codecs.encode_png(self.array if self._rgba is None else self._rgba)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.width} x {self.height}{' grey' if self.array.ndim == 2 else ''}>"


def _is_picture(array: Array) -> bool:
    return 0 not in array.shape and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (3, 4)))


def _over(rgba: Array, background: Array) -> Array:
    """Composite straight RGBA over a colour: round((c * a + background * (255 - a)) / 255)."""
    alpha = rgba[:, :, 3:].astype(np.uint16)
    return ((rgba[:, :, :3] * alpha + background * (255 - alpha) + 127) // 255).astype(np.uint8)


def _color(color: str | Sequence[int]) -> Array:
    """uint16 [3], red, green and blue."""
    if isinstance(color, str):
        if re.fullmatch("#[0-9a-fA-F]{6}", color):
            return np.frombuffer(bytes.fromhex(color[1:]), np.uint8).astype(np.uint16)
    elif len(color) == 3 and all(0 <= level <= 255 for level in color):
        return np.array(color, np.uint16)
    raise InvalidInput(f'Image.over: expected a color as "#rrggbb", or three levels of 0 to 255, got {color!r}')


def _levels(array: Array) -> Array:
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind == "b":
        return array.astype(np.uint8) * np.uint8(255)
    top = {"i": 255, "u": 255, "f": 1}.get(array.dtype.kind)
    if top is None:
        raise InvalidInput(f"Image.from_array: expected integers, floats or bool, got {array.dtype}")
    low, high = array.min(), array.max()
    if not (low >= 0 and high <= top):  # also refuses NaN
        raise InvalidInput(
            f"Image.from_array: expected {array.dtype} levels of 0 to {top}, got {low} to {high}; "
            f"scale them, or np.clip(array, 0, {top})"
        )
    return np.rint(array * 255.0).astype(np.uint8) if top == 1 else array.astype(np.uint8)
