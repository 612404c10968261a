"""Reading the text in a picture (OCR): one network finds lines, a second one reads each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from ..dtypes import Array, from_ort_type
from ..errors import InvalidInput
from ..records import dataclass
from ..session import InferenceSession
from ..values import Box, Image
from .image_input import ImageInput
from .metadata import custom_metadata
from .steps import Run, Steps, arun, run
from .text_boxes import crop, find_boxes, is_steep, reading_order

__all__ = ["Line", "TextReader"]

_WIDTH_STEP = 160  # pixels: lines are padded to a multiple, so that a page's lines have few shapes between them
_LEAST_WIDTH = 320  # that PP-OCR's networks are trained with


@dataclass(frozen=True, slots=True)
class Line:
    """A piece of text in one row of a picture.

    Args:
        text: what it says.
        score: mean probability of its characters, 0 to 1.
        box: (x0, y0, x1, y1) around it, in the picture's pixels.
        corners: of the box that turns with the text: its upper left, upper right, lower right and lower left.
    """

    text: str
    score: float
    box: tuple[float, float, float, float]
    corners: tuple[tuple[float, float], ...]

    @staticmethod
    def to_text(lines: Iterable[Line]) -> str:
        """Lines in reading order as one text: those beside each other in one line, as a price is beside its thing."""
        text, before = "", None
        for line in lines:
            if before is not None:
                text += " " if _goes_on(before, line) else "\n"
            text, before = text + line.text, line
        return text

    def to_box(self) -> Box:
        """The line as an item of `Boxes`."""
        return Box(self.text, self.score, self.box)


class TextReader:
    """Two networks that are called with a picture, as PP-OCR's are.

    Source: Du et al. 2020, PP-OCR, arXiv:2009.09941, and the code of PaddleOCR for its numbers.

    Args:
        detector: [1, 3, H, W], both sides multiples of 32, -> the chance that a pixel is text, [1, 1, H, W].
        recognizer: [1, 3, height, W] -> chances of characters from left to right, [1, T, C]: a blank first, then
            `characters`, then a space.
        characters: one text each, or all in one; by default the recognizer's metadata, ``character``, one a line.
        image: how pictures become the detector's input; by default as PaddleOCR does: what is larger than 960 pixels is
            made smaller, blue comes first.
        threshold, box_threshold, unclip_ratio: of the detector, see `find_boxes`; the defaults are those of PP-OCRv6.
    Raises: InvalidInput: no characters, or another number of them than the recognizer gives.
    """

    def __init__(
        self,
        detector: InferenceSession,
        recognizer: InferenceSession,
        *,
        characters: Sequence[str] | None = None,
        image: ImageInput | None = None,
        threshold: float = 0.2,
        box_threshold: float = 0.4,
        unclip_ratio: float = 1.4,
    ) -> None:
        self.detector, self.recognizer = detector, recognizer
        told = custom_metadata(recognizer).get("character", "")
        known = list(characters) if characters is not None else told.split("\n") if told else []
        if not known:
            raise InvalidInput('TextReader: the recognizer has no "character" in its metadata; give characters=')
        self.characters = ["", *known, " "]
        count = recognizer.get_outputs()[0].shape[-1]
        if isinstance(count, int) and count != len(self.characters):
            raise InvalidInput(
                f"TextReader: got {len(known)} characters, expected {count - 2}, since the recognizer gives {count} "
                "with the blank and the space; give characters= in its dictionary's order"
            )
        # Red's mean and deviation go with blue, and blue's with red: so PaddleOCR trains.
        self.image = image or ImageInput(
            (960, 960), "inside", mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), bgr=True, multiple=32
        )
        self._limits = (threshold, box_threshold, unclip_ratio)
        height = recognizer.get_inputs()[0].shape[2]
        self._height = height if isinstance(height, int) else 48

    def __call__(self, image: Image, min_score: float = 0.5) -> list[Line]:
        """Read a picture.

        Args:
            min_score: lines that the recognizer is less sure of are left out.
        Returns: the lines in reading order, see `reading_order`; none where there is no text.
        Raises: InvalidInput: an output is not what it should be, or holds NaN.
        """
        return run(self._steps(image, min_score))

    async def acall(self, image: Image, min_score: float = 0.5) -> list[Line]:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(image, min_score))

    def _steps(self, image: Image, min_score: float) -> Steps[list[Line]]:
        boxes = yield from self._detect(image)
        lines = []
        for box in boxes:
            text, score = yield from self._recognize(crop(image, box))
            if is_steep(box):  # up or down? the surer reading tells
                turned = yield from self._recognize(crop(image, box[[2, 3, 0, 1]]))
                if turned[1] > score:
                    (text, score), box = turned, box[[2, 3, 0, 1]]
            if text.strip() and score >= min_score:
                (x0, y0), (x1, y1) = box.min(0).tolist(), box.max(0).tolist()
                corners = tuple((x, y) for x, y in box.tolist())
                lines.append(Line(text.strip(), score, (x0, y0, x1, y1), corners))
        return [lines[i] for i in reading_order(np.array([line.corners for line in lines]))]

    def _detect(self, image: Image) -> Steps[Array]:
        """Boxes in the picture's pixels, [N, 4, 2]."""
        x, frame = self.image.prepare(image)
        (chances,) = yield _first(self.detector, x)
        if chances.ndim != 4 or chances.shape[:2] != (1, 1):
            raise InvalidInput(f"TextReader: the detector gives {list(chances.shape)}, expected [1, 1, H, W]")
        if not np.isfinite(chances).all():
            raise InvalidInput("TextReader: the detector's map holds NaN or infinity; look at what it was given")
        boxes = find_boxes(chances[0, 0].astype(np.float32), *self._limits)
        scale = np.divide(self.image.picture_size(x), chances.shape[:1:-1])  # of maps smaller than the input
        return frame.to_picture(((boxes + 0.5) * scale).reshape(-1, 4)).reshape(-1, 4, 2)

    def _recognize(self, piece: Image) -> Steps[tuple[str, float]]:
        """A line's text and score. Pieces go one by one: what a line says does not depend on those around it."""
        width = max(1, math.ceil(self._height * piece.width / piece.height))
        whole = max(_LEAST_WIDTH, math.ceil(width / _WIDTH_STEP) * _WIDTH_STEP)
        levels = piece.rgb().resize(width, self._height, antialias=False).array[:, :, ::-1]
        x = np.zeros((1, 3, self._height, whole), np.float32)
        x[0, :, :, :width] = (levels.astype(np.float32) / 127.5 - 1).transpose(2, 0, 1)
        (chances,) = yield _first(self.recognizer, x)
        if chances.ndim != 3 or len(chances) != 1 or chances.shape[2] != len(self.characters):
            raise InvalidInput(
                f"TextReader: the recognizer gives {list(chances.shape)}, expected [1, T, {len(self.characters)}]"
            )
        best = chances[0].argmax(1)
        top = np.take_along_axis(chances[0], best[:, None], 1)[:, 0].astype(np.float64)
        if np.isnan(top).any():
            raise InvalidInput("TextReader: the recognizer's chances hold NaN; look at what it was given")
        # Greedy decoding of CTC (Graves et al. 2006, doi:10.1145/1143844.1143891): repetitions go, then blanks.
        kept = (best != 0) & (best != np.concatenate([[0], best[:-1]]))
        return "".join(self.characters[i] for i in best[kept]), float(top[kept].mean()) if kept.any() else 0.0

    def __repr__(self) -> str:
        return f"<TextReader of {len(self.characters) - 1} characters>"


def _first(session: InferenceSession, x: Array) -> Run:
    into = session.get_inputs()[0]
    return Run(session, [session.get_outputs()[0].name], {into.name: x.astype(from_ort_type(into.type).numpy)})


def _goes_on(before: Line, line: Line) -> bool:
    """Whether a line is to the right of the one before it, in the same row."""
    (x0, y0), (x1, y1) = before.corners[:2]
    length = math.hypot(x1 - x0, y1 - y0) or 1.0
    across = np.array([x1 - x0, y1 - y0]) / length
    step = np.mean(line.corners, axis=0) - np.mean(before.corners, axis=0)
    height = min(math.dist(corners[0], corners[3]) for corners in (before.corners, line.corners))
    return float(step @ across) > 0 and abs(float(step @ [-across[1], across[0]])) < height / 2
