"""int8-weights and int4-weights: only what is stored gets smaller; what is computed stays float.

Products become MatMulNBits and embeddings GatherBlockQuantized, in blocks of 32 with uint8 zero points: the form that
ONNX Runtime Web's WebGPU kernels have. Convolutions read int8 through DequantizeLinear, with a scale for each channel.
"""

from collections.abc import Collection, Sequence

import numpy as np
from onnx import NodeProto

from onnxlet.dtypes import Array

from .graphs import MICROSOFT, Graph, attributes
from .integers import BLOCK, blocks, mean_shift, symmetric
from .linear import embedding, linear
from .ranges import Ranges

__all__ = ["build_int4", "build_int8", "targets_int4", "targets_int8"]

# A matrix of fewer values saves less than a node more costs.
_FEW = 256


def targets_int8(graph: Graph, ranges: Ranges) -> list[str]:
    """Nodes whose weights `build_int8` can change."""
    return [node.name for node in graph.nodes if _channels(graph, node) or _has_blocks(graph, node)]


def targets_int4(graph: Graph, ranges: Ranges) -> list[str]:
    """Nodes whose weights `build_int4` can change; none where all of them would have 8 bits."""
    if not any(_has_blocks(graph, node) for node in graph.nodes):
        return []
    return targets_int8(graph, ranges)


def build_int8(graph: Graph, names: Collection[str], ranges: Ranges) -> None:
    """Change these nodes' weights to 8 bits."""
    _build(graph, names, 8, ranges)


def build_int4(graph: Graph, names: Collection[str], ranges: Ranges) -> None:
    """Change these nodes' weights to 4 bits; of convolutions, for which there is no such kernel, to 8."""
    _build(graph, names, 4, ranges)


def _build(graph: Graph, names: Collection[str], bits: int, ranges: Ranges) -> None:
    for node in graph.nodes:
        if node.name not in names:
            continue
        if layer := linear(graph, node):
            weight = _blocks(graph, node.input[1], layer.weight.T, bits, layer.key)
            k, n = layer.weight.shape
            settings = {"K": k, "N": n, "bits": bits, "block_size": BLOCK}
            if layer.bias:
                product = graph.emit("MatMulNBits", [layer.x, *weight], domain=MICROSOFT, **settings)
                graph.replace(node, "Add", [product, layer.bias])
            else:
                graph.replace(node, "MatMulNBits", [layer.x, *weight], domain=MICROSOFT, **settings)
        elif (table := embedding(graph, node)) is not None:
            integers, scales, zeros = _blocks(graph, node.input[0], table, bits, ("rows", node.input[0]))
            settings = {"bits": bits, "block_size": BLOCK, "gather_axis": 0, "quantize_axis": 1}
            inputs = [integers, node.input[1], scales, zeros]
            graph.replace(node, "GatherBlockQuantized", inputs, domain=MICROSOFT, **settings)
        elif axis := _channels(graph, node):
            seen = ranges.get(node.input[0])
            _convolution(graph, node, axis - 1, seen.means if seen and axis == 1 else ())


def _has_blocks(graph: Graph, node: NodeProto) -> bool:
    if layer := linear(graph, node):
        return layer.weight.size >= _FEW
    table = embedding(graph, node)
    # GatherBlockQuantized has no padding, and whole bytes of zero points
    return table is not None and table.size >= _FEW and table.shape[1] % (2 * BLOCK) == 0


def _channels(graph: Graph, node: NodeProto) -> int:
    """1 + the axis of a convolution's output channels in its weight; 0 where the node is none, or where a channel has
    so few values, as in depthwise ones, that its scale costs as much as it saves."""
    if node.domain or node.op_type not in ("Conv", "ConvTranspose") or not graph.is_float(node.input[0]):
        return 0
    weight = graph.weight(node.input[1])
    if weight is None or weight.size < _FEW or weight.size // weight.shape[0] < BLOCK:
        return 0
    if node.op_type == "Conv":
        return 1
    return 2 if attributes(node).get("group", 1) == 1 else 0


def _blocks(graph: Graph, stem: str, rows: Array, bits: int, key: tuple[object, ...]) -> list[str]:
    """Names of the integers, scales and zero points of a matrix [N, K]."""

    def make() -> list[str]:
        integers, scales, zeros = blocks(rows, bits)
        # MatMulNBits has blocks as an axis of their own
        integers = integers.reshape(len(rows), -1) if key[0] == "rows" else integers.reshape(*scales.shape, -1)
        pairs = ((f"int{bits}", integers), ("scale", scales), ("zero", zeros))
        return [graph.add(f"{stem}/{suffix}", values) for suffix, values in pairs]

    made: list[str] = graph.once(("blocks", bits, *key), make)
    return made


def _convolution(graph: Graph, node: NodeProto, axis: int, means: Sequence[float]) -> None:
    """Read the weight through DequantizeLinear, and take what that adds to the output's means off the bias."""
    name = node.input[1]
    weight = graph.weight(name)
    assert weight is not None
    integers, scales = symmetric(weight, axis)

    def make() -> str:
        return graph.emit("DequantizeLinear", graph.add_int8(name, integers, scales), axis=axis)

    node.input[1] = graph.once(("channels", name, axis), make)
    given = node.input[2] if len(node.input) > 2 else ""
    bias = graph.constant(given) if given else np.zeros(len(weight), np.float32)
    if means and bias is not None:
        right = (bias - mean_shift(weight, integers, scales, means)).astype(np.float32)
        node.input[:] = [*node.input[:2], graph.add(f"{given or name}/bias", right)]
