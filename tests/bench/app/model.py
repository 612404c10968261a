"""Two models: one that takes no time, and one that takes about 10 ms on one thread of WebAssembly."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def product(width: int) -> onnx.ModelProto:
    """y = relu(x W) for float32 [N, width]."""
    weight = np.random.default_rng(0).standard_normal((width, width)).astype(np.float32) / width
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", width])],
        [numpy_helper.from_array(weight, "w")],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def model() -> dict[str, onnx.ModelProto]:
    return {"tiny.onnx": product(8), "ten_ms.onnx": product(512)}
