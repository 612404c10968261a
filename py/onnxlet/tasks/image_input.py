"""Pictures as models want them: scaled, cut, padded and normalized, and the way back to the picture's own pixels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np

from ..dtypes import Array, from_ort_type
from ..errors import InvalidInput
from ..media.codecs import MAX_PIXELS
from ..records import dataclass
from ..source import NodeArg
from ..values import Image

__all__ = ["Fit", "Frame", "ImageInput"]

Fit = Literal["letterbox", "stretch", "shortest_edge", "center_crop", "inside"]
_METHODS = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}  # Pillow's numbers, which the configurations hold
_IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))  # mean and std of levels 0 to 1, red first
_BAND = 1 << 20  # values of a result worked on at once, so that a huge picture takes little memory
_ENDLESS = 2**31


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a picture lies in a model's input.

    Args:
        picture: its own (width, height) in pixels.
        scaled: its (width, height) in the input.
        offset: (left, top) of it in the input; negative where the input is a cut-out of the scaled picture.
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

    def sampled(self, values: Array, size: tuple[int, int]) -> Iterator[tuple[slice, Array]]:
        """A map that a model gave, at the picture's own pixels: bilinear between its values, the nearest beyond them.

        Args:
            values: float [..., h, w], of any size, over the whole of the input.
            size: (width, height) of the input in pixels.
        Yields: rows of the picture, from the top, and the values there, float32 [..., rows, width].
        """
        (x0, x1, x_part), (y0, y1, y_part) = (
            self._between(axis, size[axis], values.shape[-1 - axis]) for axis in range(2)
        )
        step = max(1, _BAND // self.picture[0])
        for top in range(0, self.picture[1], step):
            rows = slice(top, top + step)
            upper, lower = (values[..., y[rows], :].astype(np.float32) for y in (y0, y1))
            band = upper + (lower - upper) * y_part[rows, None]
            left = band[..., x0]
            yield slice(top, top + band.shape[-2]), left + (band[..., x1] - left) * x_part

    def nearest(self, values: Array, size: tuple[int, int]) -> Array:
        """As `sampled`, for values that nothing lies between (numbers of classes): [h, w] -> [height, width]."""
        places = (self._between(axis, size[axis], values.shape[-1 - axis]) for axis in range(2))
        x, y = (np.where(part > 0.5, after, before) for before, after, part in places)
        return values[y[:, None], x]

    def _between(self, axis: int, side: int, length: int) -> tuple[Array, Array, Array]:
        """For each of the picture's columns or rows: the two places in the map around it, and how far between them."""
        centers = (np.arange(self.picture[axis]) + 0.5) / self.picture[axis]
        places = (centers * self.scaled[axis] + self.offset[axis]) * (length / side) - 0.5
        places = np.clip(places, 0, length - 1)
        first = np.floor(places).astype(np.intp)
        return first, np.minimum(first + 1, length - 1), (places - first).astype(np.float32)


@dataclass(frozen=True, slots=True)
class ImageInput:
    """How a picture becomes the input of a model.

    Args:
        size: (width, height) of the input in pixels; with fit "shortest_edge": (shorter side, most of the longer one);
            with "inside": the most of each.
        fit: "letterbox" scales to fit inside, centred between margins; "stretch" forgets the proportions;
            "center_crop" scales the shorter side to `edge` and cuts out the middle;
            "shortest_edge" keeps the proportions, and the input's size follows the picture;
            "inside" does so too, and scales only what is too large.
        rescale: what levels of 0 to 255 are multiplied with.
        mean, std: numbers, or one a channel in the input's order; taken off and divided by after `rescale`.
        bgr: blue comes first, as in models trained on OpenCV's pictures.
        margin: the level of a letterbox's margins before normalizing; 114 is what YOLO models are trained with.
        method, antialias: as `Image.resize` takes them. OpenCV, which YOLO models are trained with, averages nothing.
        edge: with fit "center_crop": the shorter side of the scaled picture; by default just enough.
        multiple: with fits whose size follows the picture: what both sides are rounded to a multiple of.
        layout: "NCHW" or "NHWC", as TensorFlow's models have it.
        channels: 3, or 1 for grey levels.
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
    edge: int | None = None
    multiple: int = 1
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    channels: Literal[1, 3] = 3

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """What a Hugging Face ``preprocessor_config.json`` says.

        Raises: InvalidInput: it has no size that is known here.
        """
        size, crop = config.get("size", {}), _sides(config.get("crop_size", {})) if config.get("do_center_crop") else {}
        size = {"shortest_edge": size} if crop and isinstance(size, int) else _sides(size)
        if config.get("crop_pct") and "shortest_edge" in size:  # ConvNeXT's way
            side = size["shortest_edge"]
            square = {"height": side, "width": side}
            small = side < 384
            size, crop = ({"shortest_edge": int(side / config["crop_pct"])}, square) if small else (square, {})
        fit: Fit = "stretch"
        edge = None
        if "height" in size and not crop:
            wanted = (size["width"], size["height"])
        elif "shortest_edge" in size and crop:
            wanted, fit, edge = (crop["width"], crop["height"]), "center_crop", size["shortest_edge"]
        elif "shortest_edge" in size:
            # A picture that is never too long: configurations of classifiers name no longest edge.
            wanted, fit = (size["shortest_edge"], size.get("longest_edge") or _ENDLESS), "shortest_edge"
        else:
            wish = "shortest_edge, since a crop follows" if crop else "height and width, or shortest_edge"
            raise InvalidInput(
                f"preprocessor_config.json: size is {size!r}, expected {wish}; give image=ImageInput(...)"
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
            edge=edge,
        )

    @classmethod
    def of_model(
        cls, arg: NodeArg, fit: Fit = "stretch", *, imagenet: bool = False, side: int = 224, **options: Any
    ) -> Self:
        """An input as a model's signature shows it: its size, layout and channels.

        Args:
            arg: the picture's input, [1, C, H, W] or [1, H, W, C].
            fit, options: as above.
            imagenet: whether channels are normalized by ImageNet's mean and std, as most classifiers want them.
            side: in pixels, for sides that the shape leaves open.
        Raises: InvalidInput: the shape is no picture's.
        """
        shape = list(arg.shape)
        last, nchw = len(shape) == 4 and shape[3] in (1, 3), len(shape) == 4 and shape[1] in (1, 3)
        if not last and not nchw:
            raise InvalidInput(
                f'input "{arg.name}" is {shape}, expected a picture, [1, 3, H, W] or [1, H, W, 3]; give image='
            )
        layout: Literal["NCHW", "NHWC"] = "NCHW" if nchw else "NHWC"
        height, width = (dim if isinstance(dim, int) else side for dim in (shape[2:] if nchw else shape[1:3]))
        channels: Literal[1, 3] = 1 if shape[1 if nchw else 3] == 1 else 3
        levels: dict[str, Any] = {}
        if from_ort_type(arg.type).numpy.kind in "iu":  # such models normalize inside
            levels = {"rescale": 1.0}
        elif imagenet and channels == 3:
            levels = {"mean": _IMAGENET[0], "std": _IMAGENET[1]}
        return cls((width, height), fit, **{"antialias": True, **levels, **options}, layout=layout, channels=channels)

    def frame(self, image: Image) -> Frame:
        """Where a picture will lie."""
        width, height = self.size
        if self.fit == "stretch":
            return Frame(image.size, self.size)
        if self.fit == "shortest_edge":
            return Frame(image.size, self._rounded(_shortest_edge(image.size, width, height)))
        if self.fit == "center_crop":
            scaled = _shortest_edge(image.size, self.edge or max(self.size), _ENDLESS)
            left, top = (_middle(side, inner) for side, inner in zip(scaled, self.size, strict=True))
            return Frame(image.size, scaled, (left, top))
        scale = min(width / image.width, height / image.height)
        if self.fit == "inside":
            scale = min(scale, 1.0)
            return Frame(image.size, self._rounded((round(image.width * scale), round(image.height * scale))))
        w, h = max(1, round(image.width * scale)), max(1, round(image.height * scale))
        return Frame(image.size, (w, h), ((width - w) // 2, (height - h) // 2))

    def tensor(self, image: Image) -> Array:
        """The input, float32 [1, C, H, W] or [1, H, W, C]. Raises: InvalidInput: as `prepare`."""
        return self.prepare(image)[0]

    def prepare(self, image: Image) -> tuple[Array, Frame]:
        """The input, float32 [1, C, H, W] or [1, H, W, C], and where the picture lies in it."""
        frame = self.frame(image)
        (left, top), (w, h) = frame.offset, frame.scaled
        if w * h > MAX_PIXELS:
            raise InvalidInput(
                f"ImageInput: a picture of {image.width} x {image.height} pixels would be scaled to {w} x {h}; "
                "crop it to something less long first"
            )
        picture = image.gray() if self.channels == 1 else image.rgb()
        picture = picture.resize(w, h, self.method, self.antialias)
        if self.fit in ("letterbox", "center_crop"):
            right, bottom = self.size[0] - w - left, self.size[1] - h - top
            picture = picture.crop(max(0, -left), max(0, -top), w - max(0, -right), h - max(0, -bottom))
            level = self.margin if self.fit == "letterbox" else 0
            picture = picture.pad(max(0, left), max(0, top), max(0, right), max(0, bottom), level)
        levels = picture.array.reshape(picture.height, picture.width, -1)
        x: Array = (levels[:, :, ::-1] if self.bgr else levels).astype(np.float32) * np.float32(self.rescale)
        x = (x - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)
        return np.ascontiguousarray(x if self.layout == "NHWC" else x.transpose(2, 0, 1))[None], frame

    def levels(self, values: Array) -> Array:
        """What `prepare` does to levels, undone: uint8 [H, W], or [H, W, 3] with red first, rounded and clipped.

        Args:
            values: [H, W, C]; of one channel, `mean` and `std` must be numbers.
        """
        y = values.astype(np.float32) * np.asarray(self.std, np.float32) + np.asarray(self.mean, np.float32)
        pixels: Array = np.rint(np.clip(y * np.float32(1 / self.rescale), 0, 255)).astype(np.uint8)
        return pixels[:, :, 0] if pixels.shape[2] == 1 else pixels[:, :, ::-1] if self.bgr else pixels

    def picture_size(self, x: Array) -> tuple[int, int]:
        """(width, height) of an input, or of an output in the same layout."""
        return (x.shape[2], x.shape[1]) if self.layout == "NHWC" else (x.shape[3], x.shape[2])

    def _rounded(self, size: tuple[int, int]) -> tuple[int, int]:
        width, height = (max(1, round(side / self.multiple)) * self.multiple for side in size)
        return width, height


def _sides(size: int | Mapping[str, int]) -> dict[str, int]:
    return {"height": size, "width": size} if isinstance(size, int) else dict(size)


def _middle(side: int, inner: int) -> int:
    """Where a side begins whose middle is cut out, or that is padded; halved as torchvision's CenterCrop halves."""
    return -round((side - inner) / 2) if side > inner else (inner - side) // 2


def _shortest_edge(size: tuple[int, int], shorter: int, longest: int) -> tuple[int, int]:
    """(width, height), rounded in each step as transformers' ``get_size_with_aspect_ratio`` does."""
    low, high = min(size), max(size)
    exact = longest * low / high if high / low * shorter > longest else float(shorter)
    if round(exact) == low:
        return size
    new = max(1, round(exact)), max(1, int(exact * high / low))
    return new if size[0] <= size[1] else new[::-1]
