"""Small TensorFlow.js graph models, one an operator or a habit of TensorFlow's.

TensorFlow 2.21's answers are in tests/data/tfjs_answers.npz; with TensorFlow at hand, `python -m
tests.build.sources.tfjs_graphs` writes them anew.
"""

import base64
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ANSWERS = Path(__file__).parents[2] / "data" / "tfjs_answers.npz"
RNG = np.random.default_rng(0)


def attribute(value: Any) -> dict[str, Any]:
    """A value as TensorFlow.js writes attributes: texts in base64, whole numbers as texts."""
    if isinstance(value, bool):
        return {"b": value}
    if isinstance(value, int):
        return {"i": str(value)}
    if isinstance(value, float):
        return {"f": value}
    if isinstance(value, str):
        return {"type": value} if value.startswith("DT_") else {"s": base64.b64encode(value.encode()).decode()}
    if isinstance(value, tuple):
        return {"shape": {"dim": [{"size": str(size)} for size in value]}}
    return {"list": {"i": [str(item) for item in value]}}


@dataclass
class Graph:
    """A model in the making; a name is given back for what is added."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    feeds: dict[str, np.ndarray] = field(default_factory=dict)

    def input(self, array: np.ndarray) -> str:
        name = f"input_{len(self.feeds)}"
        self.feeds[name] = array
        kind = {"f": "DT_FLOAT", "i": "DT_INT32", "b": "DT_BOOL"}[array.dtype.kind]
        return self.add("Placeholder", [], name, dtype=kind, shape=array.shape)

    def const(self, value: Any, dtype: Any = np.int32) -> str:
        name = f"const_{len(self.weights)}"
        self.weights[name] = np.asarray(value, dtype)
        kind = {"float32": "DT_FLOAT", "int32": "DT_INT32", "bool": "DT_BOOL"}[self.weights[name].dtype.name]
        return self.add("Const", [], name, dtype=kind)

    def add(self, op: str, inputs: list[str], name: str = "", **attributes: Any) -> str:
        name = name or f"{op}_{len(self.nodes)}"
        said = {key: attribute(value) for key, value in attributes.items()}
        self.nodes.append({"name": name, "op": op, "input": inputs, "attr": said})
        return name

    def write(self, folder: Path, outputs: list[str], **more: Any) -> Path:
        """model.json and one shard; every output is named in the signature."""
        entries = [
            {"name": name, "shape": list(array.shape), "dtype": {"b": "bool"}.get(array.dtype.kind, array.dtype.name)}
            for name, array in self.weights.items()
        ]
        (folder / "weights.bin").write_bytes(b"".join(array.tobytes() for array in self.weights.values()))
        said = {
            "format": "graph-model",
            "signature": {"outputs": {name: {"name": name} for name in outputs}},
            "modelTopology": {"node": self.nodes},
            "weightsManifest": [{"paths": ["weights.bin"], "weights": entries}],
        }
        path = folder / "model.json"
        path.write_text(json.dumps(said | more))
        return path


def graphs() -> dict[str, tuple[Graph, list[str]]]:
    """Every model with the names of its outputs."""
    made: dict[str, tuple[Graph, list[str]]] = {}
    f32 = np.float32

    def new(name: str) -> Graph:
        made[name] = (Graph(), [])
        return made[name][0]

    def picture(g: Graph, height: int = 7, width: int = 9, channels: int = 4) -> str:
        return g.input(np.random.default_rng(1).standard_normal((1, height, width, channels)).astype(f32))

    for padding in ("SAME", "VALID"):
        for stride in (1, 2, 3):
            g = new(f"convolution, {padding}, stride {stride}")
            x, w = picture(g), g.const(RNG.standard_normal((3, 2, 4, 5)), f32)
            more = {"padding": padding, "strides": [1, stride, stride, 1], "T": "DT_FLOAT", "data_format": "NHWC"}
            y = g.add("Conv2D", [x, w], **more)
            made[f"convolution, {padding}, stride {stride}"][1].append(
                g.add("BiasAdd", [y, g.const(range(5), f32)], T="DT_FLOAT")
            )
    g = new("dilated and depthwise convolutions")
    outs = made["dilated and depthwise convolutions"][1]
    x, w = picture(g), g.const(RNG.standard_normal((3, 3, 4, 2)), f32)
    kept = {"padding": "SAME", "strides": [1, 1, 1, 1], "T": "DT_FLOAT"}
    outs.append(g.add("Conv2D", [x, w], dilations=[1, 2, 2, 1], **kept))
    outs.append(g.add("DepthwiseConv2dNative", [x, w], **kept))
    for size, stride in ((3, 2), (2, 2), (4, 2), (5, 3), (1, 2)):
        g = new(f"transposed convolution of {size}, stride {stride}")
        x, w = picture(g), g.const(RNG.standard_normal((size, size, 3, 4)), f32)
        shape = g.const([1, 7 * stride, 9 * stride, 3])
        more = {"padding": "SAME", "strides": [1, stride, stride, 1], "T": "DT_FLOAT"}
        made[f"transposed convolution of {size}, stride {stride}"][1].append(
            g.add("Conv2DBackpropInput", [shape, w, x], **more)
        )
    g = new("pooling")
    x = picture(g)
    for op in ("MaxPool", "AvgPool"):
        for padding in ("SAME", "VALID"):
            more = {"padding": padding, "ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "T": "DT_FLOAT"}
            made["pooling"][1].append(g.add(op, [x], **more))
    g = new("resizing")
    x = picture(g)
    for op in ("ResizeBilinear", "ResizeNearestNeighbor"):
        for corners, half in ((False, False), (True, False), (False, True)):
            for size in ([14, 27], [5, 4]):
                more = {"align_corners": corners, "half_pixel_centers": half, "T": "DT_FLOAT"}
                made["resizing"][1].append(g.add(op, [x, g.const(size)], **more))
    g = new("normalizing, padding, depth to space")
    x = picture(g)
    outs = made["normalizing, padding, depth to space"][1]
    four = [g.const(RNG.random(4) + 0.5, f32) for _ in range(4)]
    y = g.add("FusedBatchNormV3", [x, *four], T="DT_FLOAT", U="DT_FLOAT", epsilon=0.01, is_training=False)
    edges = g.const([[0, 0], [1, 2], [3, 0], [0, 1]])
    outs.append(g.add("Pad", [y, edges], T="DT_FLOAT"))
    outs.append(g.add("PadV2", [x, edges, g.const(-1.5, f32)], T="DT_FLOAT"))
    outs.append(g.add("MirrorPad", [x, g.const([[0, 0], [1, 2], [3, 0], [0, 1]])], T="DT_FLOAT", mode="REFLECT"))
    outs.append(g.add("DepthToSpace", [y], T="DT_FLOAT", block_size=2))
    g = new("pictures and constants together")
    outs = made["pictures and constants together"][1]
    pool = g.add("MaxPool", [picture(g)], padding="SAME", ksize=[1, 2, 2, 1], strides=[1, 1, 1, 1], T="DT_FLOAT")
    y = g.add("Mul", [pool, g.const(RNG.random((9, 4)), f32)], T="DT_FLOAT")
    outs.append(g.add("ConcatV2", [y, pool, g.const(3)], N=2, T="DT_FLOAT"))
    outs.append(g.add("ConcatV2", [y, g.const(RNG.random((1, 7, 9, 1)), f32), g.const(-1)], N=2, T="DT_FLOAT"))
    outs.append(g.add("Softmax", [y], T="DT_FLOAT"))
    outs.append(g.add("Mean", [y, g.const([1, 2])], T="DT_FLOAT", keep_dims=True))
    outs.append(g.add("Mean", [y, g.const([1, 2])], T="DT_FLOAT"))
    outs.append(g.add("Max", [y, g.const([-1])], T="DT_FLOAT"))
    outs.append(g.add("Sum", [y, g.const([1])], T="DT_FLOAT", keep_dims=True))
    split = g.add("Split", [g.const(-1), y], T="DT_FLOAT", num_split=2)
    outs.append(g.add("Sub", [f"{split}:1", split], T="DT_FLOAT"))
    outs.append(g.add("Reshape", [y, g.const([-1, 4])], T="DT_FLOAT"))
    outs.append(g.add("Transpose", [y, g.const([0, 3, 1, 2])], T="DT_FLOAT"))
    outs.append(g.add("Add", [y, picture(g)], T="DT_FLOAT"))
    g = new("slices")
    x = g.input(np.arange(2 * 5 * 6, dtype=f32).reshape(2, 5, 6))
    outs = made["slices"][1]
    for begin, end, steps, masks in (
        ([0, 1, 2], [2, 4, 5], [1, 2, 1], {}),
        ([0, -1, 0], [0, 0, 0], [1, -1, 1], {"begin_mask": 5, "end_mask": 7}),
        ([1, -1], [2, 0], [1, 1], {"shrink_axis_mask": 3}),
        ([0, 0, 1], [0, 0, 2], [1, 1, 1], {"new_axis_mask": 1, "begin_mask": 2, "end_mask": 2, "shrink_axis_mask": 4}),
    ):
        inputs = [x, g.const(begin), g.const(end), g.const(steps)]
        outs.append(g.add("StridedSlice", inputs, T="DT_FLOAT", Index="DT_INT32", **masks))
    outs.append(g.add("Slice", [x, g.const([0, 1, 2]), g.const([-1, 2, -1])], T="DT_FLOAT", Index="DT_INT32"))
    sizes = g.add("SplitV", [x, g.const([1, 3, 1]), g.const(1)], T="DT_FLOAT", num_split=3, Tlen="DT_INT32")
    outs.append(f"{sizes}:1")
    parts = g.add("Unpack", [x], T="DT_FLOAT", num=2, axis=0)
    outs.append(g.add("Pack", [f"{parts}:1", parts], T="DT_FLOAT", N=2, axis=2))
    g = new("division of negative numbers")
    ints = [g.input(np.array(v, np.int32)) for v in ([7, -7, 7, -7, 6], [2, 2, -2, -2, -3])]
    reals = [g.input(np.array(v, f32)) for v in ([7.5, -7.5, 7.5, -7.5], [2, 2, -2, -2])]
    for op in ("FloorDiv", "FloorMod"):
        made["division of negative numbers"][1].append(g.add(op, ints, T="DT_INT32"))
        made["division of negative numbers"][1].append(g.add(op, reals, T="DT_FLOAT"))
    g = new("products")
    a, b = g.input(RNG.random((2, 3, 4)).astype(f32)), g.input(RNG.random((2, 5, 4)).astype(f32))
    c, d = g.input(RNG.random((3, 4)).astype(f32)), g.const(RNG.random((5, 4)), f32)
    made["products"][1].append(g.add("BatchMatMulV2", [a, b], T="DT_FLOAT", adj_y=True))
    made["products"][1].append(g.add("BatchMatMulV2", [a, d], T="DT_FLOAT", adj_y=True))
    made["products"][1].append(g.add("MatMul", [c, d], T="DT_FLOAT", transpose_b=True))
    g = new("indices and shapes")
    x = g.input(RNG.random((3, 6)).astype(f32))
    outs = made["indices and shapes"][1]
    best = g.add("TopKV2", [x, g.const(2)], T="DT_FLOAT", sorted=True)
    outs += [best, f"{best}:1"]
    outs.append(g.add("ArgMax", [x, g.const(1)], T="DT_FLOAT", output_type="DT_INT32"))
    more = {"Tparams": "DT_FLOAT", "Tindices": "DT_INT32"}
    outs.append(g.add("GatherV2", [x, g.const([2, 0]), g.const(1)], Taxis="DT_INT32", **more))
    outs.append(g.add("GatherNd", [x, g.const([[2, 1], [0, 5]])], **more))
    shape = g.add("Shape", [x], T="DT_FLOAT", out_type="DT_INT32")
    outs.append(g.add("Fill", [shape, g.const(2.5, f32)], T="DT_FLOAT"))
    outs.append(g.add("Tile", [x, g.const([2, 1])], T="DT_FLOAT"))
    outs.append(g.add("Range", [g.const(1), g.const(9), g.const(3)], Tidx="DT_INT32"))
    outs.append(g.add("BroadcastTo", [g.const([[1], [2]]), g.const([2, 3])], T="DT_INT32"))
    outs.append(g.add("ExpandDims", [x, g.const(-1)], T="DT_FLOAT"))
    high = g.add("Greater", [x, g.const(0.5, f32)], T="DT_FLOAT")
    outs.append(g.add("SelectV2", [high, x, g.const(0, f32)], T="DT_FLOAT"))
    outs.append(g.add("Cast", [high], SrcT="DT_BOOL", DstT="DT_FLOAT"))
    for op in ("Rsqrt", "Square", "Log", "Neg", "Round", "Relu6", "LeakyRelu", "Erf", "Selu"):
        outs.append(g.add(op, [x], T="DT_FLOAT"))
    return made


def record() -> None:
    """Ask TensorFlow."""
    import tensorflow as tf
    from google.protobuf import json_format

    answers = {}
    for name, (graph, outputs) in graphs().items():
        proto = tf.compat.v1.GraphDef()
        json_format.ParseDict({"node": graph.nodes}, proto)
        for node in proto.node:
            if node.op == "Const":
                node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(graph.weights[node.name]))
        with tf.Graph().as_default() as made, tf.compat.v1.Session() as session:
            tf.import_graph_def(proto, name="")
            wanted = [made.get_tensor_by_name(o if ":" in o else f"{o}:0") for o in outputs]
            got = session.run(wanted, {f"{key}:0": value for key, value in graph.feeds.items()})
        answers |= {f"{name}/{index}": value for index, value in enumerate(got)}
    np.savez_compressed(ANSWERS, **answers)


if __name__ == "__main__":
    record()
