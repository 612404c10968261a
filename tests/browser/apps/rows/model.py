"""Models that read a text, an integer and a number, each by its name."""

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h


def model():
    """price: a number; kind: probabilities of three classes, and the model's own word for the best."""
    return {"price.onnx": made(price()), "kind.onnx": made(kind())}


def score():
    """Nodes from the features to one number, float [n, 1]."""
    return [
        h.make_node("Equal", ["size", "large"], ["is_large"]),
        h.make_node("Cast", ["is_large"], ["is_large_number"], to=T.FLOAT),
        h.make_node("Cast", ["age"], ["years"], to=T.FLOAT),
        h.make_node("Mul", ["years", "tenth"], ["aged"]),
        h.make_node("Add", ["aged", "is_large_number"], ["base"]),
        h.make_node("Mul", ["share", "base"], ["number"]),
    ]


def price():
    return [*score(), h.make_node("Identity", ["number"], ["price"])], [value("price", T.FLOAT, ["n", 1])]


def kind():
    nodes = [
        *score(),
        h.make_node("Mul", ["number", "slopes"], ["logits"]),
        h.make_node("Softmax", ["logits"], ["probabilities"], axis=-1),
        h.make_node("ArgMax", ["probabilities"], ["best"], axis=-1, keepdims=0),
        h.make_node("Gather", ["words", "best"], ["word"]),
    ]
    return nodes, [value("word", T.STRING, ["n"]), value("probabilities", T.FLOAT, ["n", 3])]


def made(graph):
    nodes, outputs = graph
    inputs = [value("size", T.STRING, ["n", 1]), value("age", T.INT64, ["n", 1]), value("share", T.FLOAT, ["n", 1])]
    constants = {
        "large": np.array(["L"], object),
        "tenth": np.array([0.1], np.float32),
        "slopes": np.array([[-1, 0.5, 2]], np.float32),
        "words": np.array(["cheap", "fair", "dear"], object),
    }
    taken = {name for node in nodes for name in node.input}
    kept = [onnx.numpy_helper.from_array(array, name) for name, array in constants.items() if name in taken]
    whole = h.make_graph(nodes, "rows", inputs, outputs, kept)
    return h.make_model(whole, opset_imports=[h.make_opsetid("", 19)], ir_version=9)


def value(name, kind, shape):
    return h.make_tensor_value_info(name, kind, shape)
