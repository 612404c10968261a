"""int8-dynamic: weights of 8 bits, activations brought to 8 bits at run time with a scale found for each tensor.

The operators are ONNX's own (DynamicQuantizeLinear, MatMulInteger, ConvInteger) and ONNX Runtime's DynamicQuantizeLSTM:
ONNX Runtime Web has them all on WebAssembly, where they take half to a tenth of float's time (MLPs gain most), and none
on WebGPU. Weights have a scale for each output channel; onnxruntime.quantization's ConvInteger has one for the tensor.
"""

from collections.abc import Collection, Sequence

import numpy as np
from onnx import NodeProto, TensorProto

from .graphs import MICROSOFT, Graph, attributes
from .integers import mean_shift, symmetric
from .linear import Linear, embedding, linear
from .ranges import Ranges

__all__ = ["build", "targets"]

_LSTM_ATTRIBUTES = {
    "activations",
    "activation_alpha",
    "activation_beta",
    "clip",
    "direction",
    "hidden_size",
    "input_forget",
}


def targets(graph: Graph, ranges: Ranges) -> list[str]:
    """Nodes that `build` can change."""
    return [
        node.name
        for node in graph.nodes
        if linear(graph, node) or _is_conv(graph, node) or _is_lstm(graph, node) or embedding(graph, node) is not None
    ]


def build(graph: Graph, names: Collection[str], ranges: Ranges) -> None:
    """Change these nodes."""
    for node in graph.nodes:
        if node.name not in names:
            continue
        if layer := linear(graph, node):
            _linear(graph, layer)
        elif node.op_type == "Conv":
            seen = ranges.get(node.input[0])
            _conv(graph, node, seen.means if seen else ())
        elif node.op_type == "LSTM":
            _lstm(graph, node)
        else:
            _embedding(graph, node)


def _is_conv(graph: Graph, node: NodeProto) -> bool:
    """1-D and 2-D only: for 3-D, int8 kernels are missing in some runtimes. In groups, ConvInteger is slower than float
    by far, and depthwise weights are few."""
    if node.op_type != "Conv" or node.domain or attributes(node).get("group", 1) != 1:
        return False
    weight = graph.weight(node.input[1])
    return weight is not None and weight.ndim in (3, 4) and graph.is_float(node.input[0])


def _is_lstm(graph: Graph, node: NodeProto) -> bool:
    if node.op_type != "LSTM" or node.domain or {a.name for a in node.attribute} - _LSTM_ATTRIBUTES:
        return False
    return all(graph.weight(name, 3) is not None for name in node.input[1:3])


def _activations(graph: Graph, x: str) -> tuple[str, str, str]:
    """Names of x as uint8, its scale and its zero point; computed once, whoever reads them."""

    def make() -> tuple[str, str, str]:
        names = [graph.name(f"{x}/{suffix}") for suffix in ("uint8", "scale", "zero")]
        graph.emit("DynamicQuantizeLinear", [x], names)
        return names[0], names[1], names[2]

    made: tuple[str, str, str] = graph.once(("dynamic", x), make)
    return made


def _linear(graph: Graph, layer: Linear) -> None:
    quantized, scale, zero = _activations(graph, layer.x)
    stem = layer.node.input[1]

    parts = graph.once(("int8", *layer.key), lambda: graph.add_int8(stem, *symmetric(layer.weight, axis=1)))
    weight, weight_scale, weight_zero = parts
    sums = graph.emit("MatMulInteger", [quantized, weight, zero, weight_zero])
    _rescale(graph, layer.node, sums, graph.emit("Mul", [scale, weight_scale]), layer.bias)


def _conv(graph: Graph, node: NodeProto, means: Sequence[float]) -> None:
    x, w = node.input[:2]
    bias = node.input[2] if len(node.input) > 2 else ""
    weight = graph.weight(w)
    assert weight is not None
    integers, scales = symmetric(weight, axis=0)
    shape = [-1, *[1] * (weight.ndim - 2)]
    quantized, scale, zero = _activations(graph, x)

    def make() -> tuple[str, str, str]:
        zero = graph.add(f"{w}/zero", np.int8(0))  # ConvInteger has one for the tensor
        return graph.add(f"{w}/int8", integers), graph.add(f"{w}/scale", scales.reshape(shape)), zero

    weight_name, weight_scale, weight_zero = graph.once(("int8", w), make)
    sums = graph.emit("ConvInteger", [quantized, weight_name, zero, weight_zero], **attributes(node))
    values = graph.constant(bias) if bias else np.zeros(len(weight), np.float32)
    if values is None:
        bias = graph.emit("Reshape", [bias, graph.add(f"{bias}/shape", np.array(shape, np.int64))])
    elif bias or means:
        right = values - mean_shift(weight, integers, scales, means) if means else values
        bias = graph.add(f"{bias or w}/bias", right.reshape(shape).astype(np.float32))
    _rescale(graph, node, sums, graph.emit("Mul", [scale, weight_scale]), bias)


def _rescale(graph: Graph, node: NodeProto, sums: str, scale: str, bias: str) -> None:
    """sums * scale + bias, in the form that ONNX Runtime fuses with the product before it."""
    floats = graph.emit("Cast", [sums], to=TensorProto.FLOAT)
    if bias:
        graph.replace(node, "Add", [graph.emit("Mul", [floats, scale]), bias])
    else:
        graph.replace(node, "Mul", [floats, scale])


def _lstm(graph: Graph, node: NodeProto) -> None:
    """Weights are transposed to [directions, K, 4H]. Source: DynamicQuantizeLSTM in ONNX Runtime's ContribOperators."""
    inputs = [*node.input, *[""] * (8 - len(node.input))]
    parameters = []
    for index in (1, 2):
        weight = graph.weight(inputs[index], 3)
        assert weight is not None
        turned = weight.transpose(0, 2, 1)
        integers, scales = zip(*(symmetric(direction, axis=1) for direction in turned), strict=True)
        inputs[index], *scaling = graph.add_int8(inputs[index], np.stack(integers), np.stack(scales))
        parameters += scaling
    graph.drop(node)
    graph.emit("DynamicQuantizeLSTM", [*inputs, *parameters], list(node.output), domain=MICROSOFT, **attributes(node))


def _embedding(graph: Graph, node: NodeProto) -> None:
    """Rows are picked as int8 and scaled afterwards, with a scale for each column: outliers keep to few of them."""
    table, ids = node.input

    weight = graph.weight(table, 2)
    assert weight is not None
    integers, *scales = graph.once(("rows", table), lambda: graph.add_int8(table, *symmetric(weight, axis=1)))
    rows = graph.emit("Gather", [integers, ids], axis=0)
    graph.replace(node, "DequantizeLinear", [rows, *scales], axis=-1)
