"""Background removal: a picture in, what is in front of it out, on nothing or on a colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..errors import InvalidInput
from ..session import InferenceSession
from ..values import Image
from .image_input import ImageInput
from .scores import softmax
from .segmentation_maps import inside, maps_of, probabilities
from .steps import Steps, arun, run

__all__ = ["BackgroundRemover"]


class BackgroundRemover:
    """A network that knows the foreground, called with a picture to cut out.

    Args:
        session: as of `ImageSegmenter`, with one channel, or two of which the second is the foreground.
        image, function_to_apply: as of `ImageSegmenter`.
    """

    def __init__(
        self,
        session: InferenceSession,
        *,
        image: ImageInput | None = None,
        function_to_apply: Literal["sigmoid", "none"] = "none",
    ) -> None:
        self.session = session
        self.image = image or ImageInput.of_model(session.get_inputs()[0], side=512)
        self.function_to_apply = function_to_apply

    def __call__(self, image: Image, color: str | Sequence[int] | None = None) -> Image:
        """Cut out what is in front.

        Args:
            color: of a new background: "#rrggbb", or red, green and blue of 0 to 255. None: transparent.
        Returns: the picture, of its own size; without a color its `alpha` is the mask, times the alpha it had.
        Raises: InvalidInput: as of `ImageSegmenter`, or no such color.
        """
        return run(self._steps(image, color))

    async def acall(self, image: Image, color: str | Sequence[int] | None = None) -> Image:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(image, color))

    def _steps(self, image: Image, color: str | Sequence[int] | None) -> Steps[Image]:
        maps, frame, size = yield from maps_of(self.session, self.image, image)
        if len(maps) not in (1, 2) or maps.dtype.kind != "f":
            raise InvalidInput(
                f"BackgroundRemover: the model gives {len(maps)} channels of {maps.dtype}, expected one, or background "
                "and foreground; use ImageSegmenter, and the mask of the segment you want"
            )
        front = softmax(maps, 0)[1:] if len(maps) == 2 else probabilities(maps, self.function_to_apply)
        alpha, _ = inside(front, frame, size)
        rgba = image.rgba.copy()
        rgba[:, :, 3] = (alpha.astype(np.uint16) * rgba[:, :, 3] + 127) // 255
        person = Image(rgba)
        return person if color is None else person.over(color)

    def __repr__(self) -> str:
        return "<BackgroundRemover>"
