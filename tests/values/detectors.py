"""Small detectors with the heads of the big ones: they find cells of a picture that are red or green."""

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper as h
from onnx.numpy_helper import from_array

FLOAT = onnx.TensorProto.FLOAT
STRIDES = (8, 16, 32)
LABELS = ("red", "green")
SIDES = (0.5, 1.0, 1.5, 2.5)  # left, top, right, bottom that the NanoDet head gives, in strides from a cell's centre
_NORMALIZED = {"mean": (103.53, 116.28, 123.675), "std": (57.375, 57.12, 58.395)}  # blue first, as NanoDet's


def cells(size: tuple[int, int], stride: int) -> np.ndarray:
    """x, y of the centres of a grid's cells, [N, 2], row by row."""
    y, x = np.mgrid[0 : size[1] // stride, 0 : size[0] // stride]
    return (np.stack([x.ravel(), y.ravel()], 1) + 0.5) * stride


class _Graph:
    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def add(self, op: str, *inputs: str | np.ndarray, outputs: int = 1, **attributes: object) -> str:
        """A node; arrays become constants. Returns: the name of its last output."""
        names = [name if isinstance(name, str) else self.constant(name) for name in inputs]
        out = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(h.make_node(op, names, out, **attributes))
        return out[-1]

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        array = array.astype(np.float32) if array.dtype.kind == "f" else array
        self.constants.append(from_array(array, name))
        return name


def detector(
    head: str, size: tuple[int, int] = (64, 64), metadata: Mapping[str, str] | None = None, dynamic: bool = False
) -> bytes:
    """A model whose boxes are the cells of three grids, scored by how red or green they are.

    Args:
        head: "yolov5" (three boxes a place, the second and third smaller and less sure), "yolov8", "end-to-end",
            "nanodet" (takes pictures normalized as NanoDet's), "detr" or "rt-detr".
        size: (width, height).
        dynamic: batch and places are symbols in the signature, as in Ultralytics' exports with dynamic=True.
    """
    g = _Graph()
    first, second = (2, 1) if head == "nanodet" else (0, 1)
    weights = np.zeros((2, 3))
    weights[0, [first, second]], weights[1, [first, second]] = (1, -1), (-1, 1)
    x = "images"
    if head == "nanodet":
        mean, std = (np.array(_NORMALIZED[key]).reshape(1, 3, 1, 1) for key in ("mean", "std"))
        x = g.add("Div", g.add("Add", g.add("Mul", x, std), mean), np.array(255.0))
    scores = []  # of each grid, [1, 2, N]
    for stride in STRIDES:
        pooled = g.add("AveragePool", x, kernel_shape=[stride] * 2, strides=[stride] * 2)
        places = g.add("Reshape", pooled, np.array([1, 3, -1]))
        scores.append(g.add("Clip", g.add("MatMul", weights[None], places), np.array(0.0), np.array(1.0)))
    centers = [cells(size, stride) for stride in STRIDES]
    squares = np.concatenate([np.hstack([c, np.full_like(c, s)]) for c, s in zip(centers, STRIDES, strict=True)])
    if head == "nanodet":
        outputs = _nanodet(g, scores)
    else:
        outputs = _dense(g, head, g.add("Concat", *scores, axis=2), squares, size)
    for name, (value, _) in outputs.items():
        g.nodes.append(h.make_node("Identity", [value], [name]))
    shape = ["batch", 3, "height", "width"] if dynamic else [1, 3, size[1], size[0]]
    declared = [
        h.make_tensor_value_info(
            name, FLOAT, ["batch", *(d if d < 50 else "places" for d in dims[1:])] if dynamic else dims
        )
        for name, (_, dims) in outputs.items()
    ]
    graph = h.make_graph(g.nodes, "detector", [h.make_tensor_value_info("images", FLOAT, shape)], declared, g.constants)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    h.set_model_props(model, dict(metadata or {}))
    return model.SerializeToString()


Outputs = dict[str, tuple[str, list[int]]]


def _nanodet(g: _Graph, scores: list[str]) -> Outputs:
    """Coarsest first, to see that order does not matter."""
    outputs: Outputs = {}
    for stride, one in reversed(list(zip(STRIDES, scores, strict=True))):
        bins = np.full((4, 11), -40.0)
        for row, distance in zip(bins, SIDES, strict=True):
            row[[int(np.floor(distance)), int(np.ceil(distance))]] = 0
        n = (64 // stride) ** 2
        zeros = g.add("Mul", g.add("ReduceSum", one, np.array([1]), keepdims=1), np.array(0.0))
        sides = g.add("Add", g.add("Transpose", zeros, perm=[0, 2, 1]), bins.reshape(1, 1, 44))
        outputs[f"scores_{stride}"] = (g.add("Transpose", one, perm=[0, 2, 1]), [1, n, 2])
        outputs[f"sides_{stride}"] = (sides, [1, n, 44])
    return outputs


def _dense(g: _Graph, head: str, scores: str, squares: np.ndarray, size: tuple[int, int]) -> Outputs:
    n = len(squares)
    rows = g.add("Transpose", scores, perm=[0, 2, 1])
    if head == "yolov8":
        return {"output0": (g.add("Concat", squares.T[None], scores, axis=1), [1, 6, n])}
    if head == "yolov5":
        boxes = np.concatenate([squares * [1, 1, scale, scale] for scale in (1, 0.95, 0.9)])
        sure = np.repeat([1, 0.9, 0.8], n)[:, None]
        known = np.hstack([boxes, sure])[None]
        return {"output": (g.add("Concat", known, g.add("Concat", *[rows] * 3, axis=1), axis=2), [1, 3 * n, 7])}
    if head == "end-to-end":
        best = g.add("ReduceMax", rows, axes=[2], keepdims=0)
        kind = g.add("Cast", g.add("ArgMax", rows, axis=2, keepdims=0), to=FLOAT)
        corners = np.hstack([squares[:, :2] - squares[:, 2:] / 2, squares[:, :2] + squares[:, 2:] / 2])
        one = np.array([1, n, 1])
        table = g.add("Concat", corners[None], g.add("Reshape", best, one), g.add("Reshape", kind, one), axis=2)
        table = g.add("Reshape", table, np.array([n, 6]))
        order = g.add("TopK", g.add("Reshape", best, np.array([-1])), np.array([40]), outputs=2)
        return {"output0": (g.add("Reshape", g.add("Gather", table, order), np.array([1, 40, 6])), [1, 40, 6])}
    shares = (squares / np.tile(size, 2))[None]
    logits = g.add("Mul", g.add("Sub", rows, np.array(0.5)), np.array(20.0))
    if head == "detr":
        logits = g.add("Concat", logits, np.zeros((1, n, 1)), axis=2)
    classes = 3 if head == "detr" else 2
    return {"logits": (logits, [1, n, classes]), "pred_boxes": (g.add("Identity", shares), [1, n, 4])}
