"""A model of 1.2 GB, in a graph that takes a second: matrix products with random weights, which nothing compresses."""

import numpy as np
from onnx import TensorProto, helper

SIZE, LAYERS = 4096, 19


def model():
    rng = np.random.default_rng(0)
    names = ["x", *(f"h{i}" for i in range(1, LAYERS)), "y"]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]], name=f"layer{i}") for i in range(LAYERS)]
    weights = []
    for i in range(LAYERS):
        values = rng.standard_normal((SIZE, SIZE), np.float32) / np.float32(SIZE**0.5)
        weights.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT, values.shape, values.tobytes(), raw=True))
    inputs, outputs = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, SIZE]) for n in "xy")
    graph = helper.make_graph(nodes, "big", [inputs], [outputs], weights)
    return {"big.onnx": helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)}
