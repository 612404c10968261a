"""Count separate things in a picture, with an operator that no runtime has.

The graph blurs the picture, compares it with its surroundings, and hands the result to `com.example::Components`,
which is the Python function below; the nodes around it run on WebGPU or WebAssembly.
"""

from typing import Annotated, Literal

import numpy as np

import onnxlet
from onnxlet import App, Image, InferenceSession, Mask, ModelCard, Number, Table


def labels_type(mask, *, connectivity=4):
    """The type of `Components`, known before anything runs."""
    return onnxlet.TensorType(onnxlet.DataType.INT64)


@onnxlet.op("Components", domain="com.example", infer=labels_type)
def Components(mask, *, connectivity=4):
    """Number the connected regions of a mask.

    Source: Rosenfeld & Pfaltz 1966, doi:10.1145/321356.321357 (runs joined by union-find).

    Args:
        mask: bool [1, 1, H, W].
        connectivity: 4 (sides) or 8 (sides and corners).
    Returns: int64 [1, 1, H, W], 0 outside, 1..n inside, numbered in reading order.
    """
    rows = mask[0, 0]
    height, width = rows.shape
    edges = np.diff(np.pad(rows.astype(np.int8), ((0, 0), (1, 1))), axis=1)
    row, start = np.nonzero(edges == 1)
    _, end = np.nonzero(edges == -1)
    parent = list(range(len(row)))

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    reach = 1 if connectivity == 8 else 0
    first = np.searchsorted(row, np.arange(height + 1))
    for y in range(1, height):
        above, below = first[y - 1], first[y]
        while above < first[y] and below < first[y + 1]:
            if start[above] < end[below] + reach and start[below] < end[above] + reach:
                a, b = sorted((root(above), root(below)))
                parent[b] = a
            if end[above] < end[below]:
                above += 1
            else:
                below += 1

    _, number = np.unique([root(i) for i in range(len(row))], return_inverse=True)
    labels = np.zeros((height, width), np.int64)
    for y, x0, x1, n in zip(row, start, end, number, strict=True):
        labels[y, x0:x1] = n + 1
    return labels[None, None]


session = InferenceSession("count.onnx")


def count(
    picture: Image,
    things_are: Literal["darker", "brighter"] = "darker",
    contrast: Annotated[float, Number(min=0.02, max=0.3, step=0.01, slider=True)] = 0.1,
    smallest: Annotated[int, Number(min=1, max=2000)] = 30,
) -> tuple[Mask, Table]:
    """How many separate things are there?"""
    scale = min(1, 512 / max(picture.size))
    small = picture.resize(*(max(1, round(side * scale)) for side in picture.size))
    grey = small.gray().array.astype("float32")[None, None] / 255
    sign = np.float32(1 if things_are == "brighter" else -1)
    labels, area, brightness = session.run(None, {"grey": grey, "sign": sign, "contrast": np.float32(contrast)})
    kept = [i for i in range(1, len(area)) if area[i] >= smallest]
    rows = [[i + 1, int(area[n]), round(float(brightness[n]), 3)] for i, n in enumerate(kept)]
    mask = np.isin(labels[0, 0], kept)
    return Mask(mask.astype("float32"), small), Table(["thing", "pixels", "mean brightness"], rows)


app = App(
    count,
    title="Count things",
    description="How many separate things lie in a picture, and how large is each? "
    "A graph finds what is darker or brighter than its surroundings; an operator in its middle is a Python function.",
    examples={
        "count": {"coins": ("coins.png", "brighter", 0.08, 60), "coloured dots": ("dots.png", "darker", 0.15, 20)},
    },
    card=ModelCard(
        "Local contrast and connected components",
        source="written by model.py, not trained",
        licence="Apache-2.0",
        limits="Things that touch count as one, and shadows count too: set contrast and the smallest size.",
    ),
)
