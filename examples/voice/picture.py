"""Draws a sound with what was heard in it."""

import numpy as np

from onnxlet import Audio, Image
from onnxlet.tasks import Speech

WIDTH, WAVE, GAP, CURVE = 960, 180, 8, 80  # pixels: the waveform, and below it the probability
PAPER, SHADE, INK, LINE = (250, 250, 248), (191, 226, 208), (74, 85, 104), (15, 118, 110)


def draw(sound: Audio, probabilities: np.ndarray, speech: list[Speech]) -> Image:
    """The waveform, speech shaded, and the probability of speech from 0 (bottom) to 1 (top) below."""
    picture = np.full((WAVE + GAP + CURVE, WIDTH, 3), PAPER, np.uint8)
    for start_s, end_s in speech:
        left, right = (round(second / sound.duration_s * WIDTH) for second in (start_s, end_s))
        picture[:, left : max(right, left + 1)] = SHADE

    samples = sound.mono().samples
    edges = np.arange(WIDTH) * len(samples) // WIDTH  # a column of pixels shows the loudest of its samples
    loudest = np.maximum.reduceat(np.abs(samples), edges)
    heights = loudest / max(float(loudest.max()), 0.05) * (WAVE / 2 - 4)
    distance = np.abs(np.arange(WAVE) - WAVE / 2 + 0.5)
    picture[:WAVE][distance[:, None] <= np.maximum(heights, 0.5)] = INK

    if not len(probabilities):
        return Image.from_array(picture)
    frame = np.arange(WIDTH) * len(probabilities) // WIDTH
    level = CURVE - 3 - np.rint(probabilities[frame] * (CURVE - 5))
    before = np.roll(level, 1)
    before[0] = level[0]
    rows = np.arange(CURVE)[:, None]
    on_line = (rows >= np.minimum(level, before) - 1) & (rows <= np.maximum(level, before) + 1)
    picture[WAVE + GAP :][on_line] = LINE
    return Image.from_array(picture)
