"""Small models for the tests of passes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.helper as h
import onnxruntime

FLOAT, INT64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
Value = tuple[str, int, Sequence[int | str] | None]


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    constants: Mapping[str, Any] | None = None,
    domains: Sequence[str] = (),
    opset: int = 20,
) -> onnx.ModelProto:
    """A model of nodes, with typed inputs and outputs, and arrays as initializers."""
    graph = h.make_graph(
        nodes,
        "g",
        [h.make_tensor_value_info(*value) for value in inputs],
        [h.make_tensor_value_info(*value) for value in outputs],
        [onnx.numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()],
    )
    opsets = [h.make_opsetid("", opset), *(h.make_opsetid(domain, 1) for domain in domains)]
    made = h.make_model(graph, opset_imports=opsets, ir_version=10)
    h.set_model_props(made, {"labels": "a,b"})
    return made


def run(made: onnx.ModelProto | bytes, feeds: Mapping[str, Any]) -> list[Any]:
    """The answers of native ONNX Runtime, without its own optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = made if isinstance(made, bytes) else made.SerializeToString()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    answers: list[Any] = session.run(None, dict(feeds))
    return answers


def ops(made: onnx.ModelProto | bytes) -> list[str]:
    """The operators of the main graph, in order, without Constants."""
    proto = onnx.load_model_from_string(made) if isinstance(made, bytes) else made
    return [node.op_type for node in proto.graph.node if node.op_type != "Constant"]


def copy(made: onnx.ModelProto) -> onnx.ModelProto:
    """Another one that is equal: passes change what they are given."""
    other = onnx.ModelProto()
    other.CopyFrom(made)
    return other
