"""Image to image: super resolution, style transfer, denoising, colouring: a picture in, a picture out."""

from __future__ import annotations

import numpy as np

from ..dtypes import Array, from_ort_type
from ..errors import InvalidInput
from ..session import InferenceSession
from ..values import Image
from .image_input import Frame, ImageInput
from .steps import Run, Steps, arun, run

__all__ = ["ImageToImage"]

_MOST = 1024  # pixels a side, where a model takes any size: what fits into a browser's memory with its activations


class ImageToImage:
    """A network that makes pictures of pictures.

    Its output has the input's layout and range: what `image` does to levels is undone, so a network that takes 0 to 1
    gives 0 to 1, one that takes -1 to 1 gives -1 to 1.

    Args:
        session: the model; its first input is the picture, its first output too, of the same size or a larger or
            smaller one; 3 channels, or 1 for grey levels, on either side.
        image: how pictures become inputs; by default 0 to 1, within grey margins where the model has one size, else as
            they are, up to 1024 x 1024.
    Raises: InvalidInput: the input is no picture's.
    """

    def __init__(self, session: InferenceSession, *, image: ImageInput | None = None) -> None:
        self.session = session
        arg = session.get_inputs()[0]
        is_fixed = all(isinstance(side, int) for side in arg.shape[1:])
        self.image = image or ImageInput.of_model(arg, "letterbox" if is_fixed else "inside", side=_MOST)

    def __call__(self, image: Image) -> Image:
        """Make a picture of a picture.

        Returns: the picture at the size that the model gives it; margins are cut off again. Transparency is lost:
            models see the picture over white.
        Raises: InvalidInput: the output is no picture, or holds NaN or infinity.
        """
        return run(self._steps(image))

    async def acall(self, image: Image) -> Image:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(image))

    def _steps(self, image: Image) -> Steps[Image]:
        x, frame = self.image.prepare(image)
        into, out = self.session.get_inputs()[0], self.session.get_outputs()[0]
        (y,) = yield Run(self.session, [out.name], {into.name: x.astype(from_ort_type(into.type).numpy)})
        if y.ndim != 4 or len(y) != 1 or y.shape[1 if self.image.layout == "NCHW" else 3] not in (1, 3):
            wanted = "[1, 3, H, W]" if self.image.layout == "NCHW" else "[1, H, W, 3]"
            raise InvalidInput(f'output "{out.name}" is {list(y.shape)}, expected a picture, {wanted}')
        if not np.isfinite(y).all():
            raise InvalidInput(f'output "{out.name}" holds NaN or infinity; look at what the model was given')
        pixels = y[0].transpose(1, 2, 0) if self.image.layout == "NCHW" else y[0]
        return Image(_cut(self.image.levels(pixels), frame, self.image.picture_size(x)))

    def __repr__(self) -> str:
        return "<ImageToImage>"


def _cut(levels: Array, frame: Frame, size: tuple[int, int]) -> Array:
    """Levels [h, w] or [h, w, 3] without the margins that the input had; size: the input's (width, height)."""
    spans = []
    for axis in (1, 0):  # rows, then columns
        scale = levels.shape[1 - axis] / size[axis]
        start = max(0, frame.offset[axis])
        end = min(size[axis], frame.offset[axis] + frame.scaled[axis])
        spans.append(slice(round(start * scale), max(round(start * scale) + 1, round(end * scale))))
    return np.ascontiguousarray(levels[spans[0], spans[1]])
