"""How a drawn digit becomes what the classifier was trained on: the way MNIST's digits were made."""

import numpy as np

from onnxlet import Image

SIZE = 28  # pixels a side of what the classifier reads
INNER = 20  # the digit itself fits into this many


def centered(drawing: Image) -> np.ndarray:
    """Cut the ink out, fit it into 20 x 20 pixels, put its centre of mass into the middle of 28 x 28.

    Args:
        drawing: a digit in light ink on dark paper, anywhere and of any size.
    Returns: float32 [784], 0 paper to 1 ink; all 0 for empty paper.
    """
    picture = drawing.gray()
    ink = picture.array > 30
    if not ink.any():
        return np.zeros(SIZE * SIZE, np.float32)
    rows, columns = np.flatnonzero(ink.any(1)), np.flatnonzero(ink.any(0))
    cut = picture.crop(columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
    scale = INNER / max(cut.size)
    width, height = (max(1, round(side * scale)) for side in cut.size)
    digit = cut.resize(width, height).array.astype(np.float32) / 255
    total = digit.sum()
    y = round(SIZE / 2 - float((digit.sum(1) @ (np.arange(height) + 0.5)) / total))
    x = round(SIZE / 2 - float((digit.sum(0) @ (np.arange(width) + 0.5)) / total))
    y, x = min(max(y, 0), SIZE - height), min(max(x, 0), SIZE - width)
    sheet = np.zeros((SIZE, SIZE), np.float32)
    sheet[y : y + height, x : x + width] = digit
    return sheet.reshape(-1)
