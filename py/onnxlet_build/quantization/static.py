"""int8-static: activations with scales known beforehand, so that whole chains of layers stay in 8 bits.

QuantizeLinear and DequantizeLinear around float operators (QDQ), which ONNX Runtime fuses into its integer kernels:
activations uint8 with a zero point, weights int8 with a scale for each output channel, biases int32. On WebAssembly
that is twice as fast as int8 activations. The range of weights is not reduced to 7 bits: only x86 kernels without VNNI
saturate, and the target has none of these.
"""

from collections.abc import Collection, Sequence, Set

import numpy as np
from onnx import NodeProto

from onnxlet.dtypes import Array

from .graphs import Graph, attributes
from .integers import Affine, affine, mean_shift, symmetric
from .linear import Linear, linear
from .ranges import Ranges

__all__ = ["build", "targets"]

# Kernels for integers exist; it pays to stay in 8 bits where the operands are there already.
_FOLLOW = {"Add", "Mul", "Concat", "Relu", "Clip", "Sigmoid", "LeakyRelu", "GlobalAveragePool", "AveragePool"}
# Only moves elements, so its output has its input's scale.
_MOVE = {"MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", "Slice", "Split", "DepthToSpace"}
_MANY = {"Add", "Mul", "Concat"}  # every input is an operand
_ONE = _MOVE | {"Relu", "Clip"}
_WEIGHTED = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
# Products for each output, below which a convolution stays in float: on WebAssembly, bringing sums back to 8 bits costs
# more than it saves, and depthwise kernels for integers take twice float's time (EfficientNet-lite0, 1 thread: 71 ms in
# float, 122 with all convolutions in 8 bits, 62 without those).
_FEW_PRODUCTS = 64
_BIAS_LIMIT = 2.0**30  # of int32, with room for the sums it is added to


def targets(graph: Graph, ranges: Ranges) -> list[str]:
    """Nodes that `build` can change: convolutions, products, and what stands between them.

    Args:
        ranges: a node with a value that has none, or that was not finite, is left out; empty: not known yet.
    """
    eight = {name for node in graph.nodes if _computes(graph, node) for name in _operands(graph, node)}
    found = []
    for node in graph.nodes:
        operands = _operands(graph, node)
        values = [name for name in (*operands, *node.output) if name and not graph.is_constant(name)]
        if ranges and not all(name in ranges and ranges[name].finite for name in values):
            continue
        if _computes(graph, node) or _follows(graph, node, eight):
            found.append(node.name)
            eight.update(node.output)
    return found


def build(graph: Graph, names: Collection[str], ranges: Ranges) -> None:
    """Change these nodes. Raises: KeyError: a range is missing."""
    nodes = _connected(graph, names)
    folded = {name for node in nodes for name in node.output if _folds(graph, node, name)}
    chosen = {node.name for node in nodes}
    weighted = [node for node in graph.nodes if node.name not in chosen and node.op_type in _WEIGHTED]
    exact = [node for node in weighted if _computes(graph, node)]
    scales = _scales(graph, nodes, ranges, folded | _all_exact(graph, nodes, exact))
    layers = {node.name: layer for node in nodes if (layer := linear(graph, node))}
    near = _activations(graph, nodes, scales, exact)
    _stay_float(graph, [node for node in weighted if node not in exact], scales)
    for node in nodes:
        scale = float(scales[node.input[0]].scale) if node.input[0] in scales else 0.0
        means = ranges[node.input[0]].means if node.input[0] in ranges else ()
        for index, name in enumerate(node.input):
            node.input[index] = near.get(name, name)
        if layer := layers.get(node.name):
            _linear(graph, layer, scale)
        elif node.op_type == "Conv":
            _conv(graph, node, scale, means)
        elif node.op_type in _MANY and not folded.intersection(node.input):
            _constants(graph, node)


def _all_exact(graph: Graph, nodes: list[NodeProto], exact: list[NodeProto]) -> set[str]:
    """What the nodes give only to others that stay in float."""
    ids = {id(node) for node in exact}
    made = [name for node in nodes for name in node.output]
    return {n for n in made if graph.readers.get(n) and all(id(reader) in ids for reader in graph.readers[n])}


def _stay_float(graph: Graph, others: list[NodeProto], scales: dict[str, Affine]) -> None:
    """ONNX Runtime (1.32, WeightBiasQuantization) takes a float Conv or Gemm behind a DequantizeLinear with one scale
    for one that was forgotten, and quantizes its weight with one scale for the tensor, which ruins it. As many scales
    as channels, all the same, prevent that."""
    pairs = graph.emitted("DequantizeLinear")
    for node in others:
        weight = graph.weight(node.input[1]) if node.op_type != "MatMul" else None
        x = node.input[0]
        if weight is None or x not in scales or x not in pairs:
            continue
        axis, channels = _channels(node, weight)
        scale, zero = (np.full(channels, value) for value in (scales[x].scale, scales[x].zero_point))
        parameters = [graph.add(f"{x}/scales", scale), graph.add(f"{x}/zeros", zero)]
        node.input[0] = graph.emit("DequantizeLinear", [pairs[x].input[0], *parameters], axis=axis)


def _channels(node: NodeProto, weight: Array) -> tuple[int, int]:
    """Axis and number of the input's channels."""
    given = attributes(node)
    if node.op_type == "Gemm":
        return int(not given.get("transA", 0)), weight.shape[1 if given.get("transB", 0) else 0]
    return 1, weight.shape[0] if node.op_type == "ConvTranspose" else weight.shape[1] * given.get("group", 1)


def _connected(graph: Graph, names: Collection[str]) -> list[NodeProto]:
    """The nodes of these names, without those that only bend or move what none of the others has in 8 bits: alone, they
    would bring noise and save nothing."""
    eight = {name for node in graph.nodes if node.name in names for name in _operands(graph, node)} - {
        name for node in graph.nodes if node.op_type in _ONE for name in node.input
    }
    nodes = []
    for node in graph.nodes:
        if node.name in names and (node.op_type not in _ONE or _follows(graph, node, eight)):
            nodes.append(node)
            eight.update(node.output)
    return nodes


def _activations(
    graph: Graph, nodes: list[NodeProto], scales: dict[str, Affine], exact: list[NodeProto]
) -> dict[str, str]:
    """Put a pair of QuantizeLinear and DequantizeLinear behind each value. What one of the nodes makes keeps its name
    behind the pair, so that readers and outputs find it; anything else stays exact for other readers.

    Args:
        exact: nodes that were left in float because they suffer: they read what stands before the pair, which is most
            of their error.
    Returns: what the nodes have to read instead of what none of them makes.
    """
    makers = {name: node for node in nodes for name in node.output}
    near = {}
    for name, scale in scales.items():
        parameters = [graph.add(f"{name}/scale", scale.scale), graph.add(f"{name}/zero", scale.zero_point)]
        source, output = name, name
        if maker := makers.get(name):
            source = graph.rename_output(maker, name, f"{name}/exact")
            for node in exact:
                for index, read in enumerate(node.input):
                    node.input[index] = source if read == name else read
        else:
            near[name] = output = graph.name(f"{name}/near")
        integers = graph.emit("QuantizeLinear", [source, *parameters], graph.name(f"{name}/uint8"))
        graph.emit("DequantizeLinear", [integers, *parameters], output)
    return near


def _computes(graph: Graph, node: NodeProto) -> bool:
    if node.domain or node.op_type not in ("Conv", "MatMul", "Gemm"):
        return False
    if node.op_type == "Conv":  # 3-D kernels are missing in some runtimes
        weight = graph.weight(node.input[1])
        known = weight is not None and weight.ndim in (3, 4) and weight[0].size >= _FEW_PRODUCTS
        return known and graph.is_float(node.input[0])
    if linear(graph, node):
        return True
    return node.op_type == "MatMul" and all(graph.is_float(n) and not graph.is_constant(n) for n in node.input)


def _follows(graph: Graph, node: NodeProto, eight: Set[str]) -> bool:
    """Whether all that a node reads is in 8 bits already."""
    operands = _operands(graph, node)
    known = not node.domain and node.op_type in _FOLLOW | _MOVE and bool(operands)
    return known and all(name in eight or graph.is_constant(name) for name in operands)


def _operands(graph: Graph, node: NodeProto) -> list[str]:
    """The inputs that carry activations."""
    many = node.op_type in _MANY or (node.op_type == "MatMul" and not graph.is_constant(node.input[1]))
    return [name for name in (node.input if many else node.input[:1]) if graph.is_float(name)]


def _folds(graph: Graph, node: NodeProto, name: str) -> bool:
    """Whether a node's output stays float because ONNX Runtime computes its one reader together with it."""
    readers = graph.readers.get(name, [])
    if name in graph.outputs:
        return node.op_type in ("MatMul", "Gemm")  # they can give float, which is more exact
    if len(readers) != 1 or node.op_type not in ("Conv", "MatMul", "Gemm", "Add"):
        return False
    reader = readers[0]
    if node.op_type == "MatMul" and reader.op_type == "Add":
        return any(graph.is_constant(other) for other in reader.input)
    return reader.op_type in ("Relu", "Clip") and not reader.domain


def _scales(graph: Graph, nodes: list[NodeProto], ranges: Ranges, left: Set[str]) -> dict[str, Affine]:
    """The scale of each value that is quantized, all but those that are left as they are, in the graph's order."""
    scales: dict[str, Affine] = {}
    for node in nodes:
        operands = [name for name in _operands(graph, node) if not graph.is_constant(name) and name not in left]
        for name in operands:
            scales.setdefault(name, affine(ranges[name].low, ranges[name].high))
        for name in node.output:
            if name and name not in left:
                moved = scales.get(node.input[0]) if node.op_type in _MOVE else None
                scales.setdefault(name, moved or affine(ranges[name].low, ranges[name].high))
    return scales


def _linear(graph: Graph, layer: Linear, x_scale: float) -> None:
    node, size = layer.node, layer.weight.shape[1]
    bias = graph.constant(layer.bias) if layer.bias else None
    row = None if bias is None or bias.size != size else bias.reshape(size)
    weight, scale = _weight(graph, node.input[1], layer.weight, 1, _floor(row, x_scale), layer.key)
    inputs = [node.input[0], weight]
    if layer.bias:
        inputs.append(layer.bias if row is None else _bias(graph, layer.bias, row, x_scale * scale))
    graph.replace(node, node.op_type, inputs)


def _conv(graph: Graph, node: NodeProto, x_scale: float, means: Sequence[float]) -> None:
    weight = graph.weight(node.input[1])
    assert weight is not None
    given = node.input[2] if len(node.input) > 2 else ""
    bias = graph.constant(given) if given else np.zeros(len(weight), np.float32)
    stem, floor = node.input[1], _floor(bias, x_scale)
    if bias is not None and means:
        bias = bias - mean_shift(weight, *symmetric(weight, 0, floor), means)
    node.input[1], scale = _weight(graph, stem, weight, 0, floor, (stem,))
    if bias is not None:
        name = _bias(graph, given or stem, bias, x_scale * scale)
        node.input[:] = [*node.input[:2], name]


def _floor(bias: Array | None, x_scale: float) -> Array | float:
    """A bias has the scale of the sums that it is added to. In a channel of tiny weights it would not fit into int32,
    so that channel's weights get a coarser scale."""
    return 0.0 if bias is None else np.abs(bias.astype(np.float64)) / (x_scale * _BIAS_LIMIT)


def _weight(
    graph: Graph, stem: str, weight: Array, axis: int, floor: Array | float, key: tuple[object, ...]
) -> tuple[str, Array]:
    """Name of the weight through int8, and its scales."""
    integers, scale = symmetric(weight, axis, floor)

    def make() -> str:
        return graph.emit("DequantizeLinear", graph.add_int8(stem, integers, scale), axis=axis)

    name: str = graph.once(("static", *key, axis, scale.tobytes()), make)
    return name, scale


def _bias(graph: Graph, stem: str, bias: Array, scale: Array) -> str:
    integers = graph.add(f"{stem}/int32", np.rint(bias / scale).astype(np.int32))
    return graph.emit("DequantizeLinear", [integers, graph.add(f"{stem}/scale", scale.astype(np.float32))], axis=0)


def _constants(graph: Graph, node: NodeProto) -> None:
    """The constant operands of Add, Mul and Concat, as activations are."""
    for index, name in enumerate(node.input):
        if (value := graph.constant(name)) is None or not value.size:
            continue
        scale = affine(float(value.min()), float(value.max()))
        integers = np.clip(np.rint(value / scale.scale) + scale.zero_point, 0, 255).astype(np.uint8)
        inputs = [graph.add(f"{name}/uint8", integers)]
        inputs += [graph.add(f"{name}/scale", scale.scale), graph.add(f"{name}/zero", scale.zero_point)]
        node.input[index] = graph.emit("DequantizeLinear", inputs)
