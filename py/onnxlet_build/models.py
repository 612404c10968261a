"""What the page must know of a model before it loads it: which backends can run it, and which to try first.

These are rules of thumb from measurements, not promises: the visitor can switch, and a backend that fails is left.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import onnx

from onnxlet.dtypes import DataType
from onnxlet.model import Graph, Model, Node, Tensor, TensorType

from .web_kernels import Kernels

__all__ = [
    "RUNTIME_DOMAINS",
    "Placement",
    "estimate_flop",
    "gpu_refusal",
    "infer_types",
    "nodes",
    "place",
    "quantized",
    "shape_values",
    "weight_bytes",
]

# ONNX Runtime Web 1.30: its WebGPU builds were compiled without these, even for nodes that would run on the CPU.
_NOT_IN_GPU_BUILDS = {
    DataType.STRING,
    DataType.DOUBLE,
    DataType.INT16,
    DataType.UINT16,
    DataType.FLOAT8E4M3FN,
    DataType.FLOAT8E4M3FNUZ,
    DataType.FLOAT8E5M2,
    DataType.FLOAT8E5M2FNUZ,
}
# Integer kernels exist for the CPU only; on WebGPU every such node would cross over and back.
_CPU_ONLY = {"MatMulInteger", "ConvInteger", "DynamicQuantizeLinear", "DynamicQuantizeMatMul", "QLinearConv"}
_CPU_ONLY |= {"QLinearMatMul", "QGemm", "MatMulIntegerToFloat", "QLinearAdd", "DynamicQuantizeLSTM"}

_QUANTIZED = _CPU_ONLY | {"QuantizeLinear", "DequantizeLinear", "MatMulNBits", "MatMulBnb4", "GatherBlockQuantized"}
_QUANTIZED |= {"QAttention", "QEmbedLayerNormalization", "QLinearConcat", "QLinearMul", "QLinearSigmoid"}
_QUANTIZED |= {"QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearSoftmax", "QMoE"}
# Domains whose operators ONNX Runtime Web has; others run in Python where the app registers them.
RUNTIME_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft", "ai.onnx.training", "ai.onnx.preview.training"}
_NARROW = {DataType.INT8, DataType.UINT8, DataType.INT4, DataType.UINT4}
_FEW_WEIGHTS = 1024  # a model whose few constants are bytes is not thereby quantized
_SIZE_INPUTS = {  # positions that say how large something is
    "ConstantOfShape": (0,),
    "Expand": (1,),
    "Pad": (1, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Unsqueeze": (1,),
}

# Below these, fetching a larger runtime and compiling shaders costs a visitor more than the GPU gives back:
# 1 thread of wasm does 20-29 GFLOP/s, so 50 MFLOP are about 2 ms.
SMALL_WEIGHTS_BYTES = 2_000_000
SMALL_FLOP = 50_000_000
_LARGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model runs.

    Args:
        backends: those that can run it.
        prefer: the same, best first.
        reason: a sentence: why this order.
    """

    backends: tuple[str, ...]
    prefer: tuple[str, ...]
    reason: str


def place(model: Model, types: Mapping[str, TensorType]) -> Placement:
    """Decide where to run a model.

    Args:
        types: type of each named value, as far as inferred.
    """
    if refusal := gpu_refusal(model, types):
        return Placement(("wasm", "python"), ("wasm", "python"), f"WebAssembly only: {refusal}")
    backends = ("webgpu", "wasm", "python")
    wasm_first = ("wasm", "webgpu", "python")
    integer = sorted({node.op_type for node in nodes(model)} & _CPU_ONLY)
    if integer:
        return Placement(backends, wasm_first, f"WebAssembly first: {integer[0]} has kernels for the CPU only")
    weights, flop = weight_bytes(model), estimate_flop(model, types)
    size = f"{_megas(weights)} MB of weights, {_megas(flop)} MFLOP a run"
    if weights < SMALL_WEIGHTS_BYTES or flop < SMALL_FLOP:
        return Placement(backends, wasm_first, f"WebAssembly first: {size}, too small to pay for a GPU's start")
    return Placement(backends, backends, f"WebGPU first: {size}")


def _megas(count: int) -> str:
    return f"{count / 1e6:,.0f}" if count >= 10_000_000 else f"{count / 1e6:.1f}" if count >= 50_000 else "under 0.1"


def nodes(model: Model) -> Iterator[Node]:
    """Every node, those of subgraphs and model-local functions included."""
    yield from _graph_nodes(model.graph)
    for function in model.functions:
        for node in function.nodes:
            yield from _with_subgraphs(node)


def _graph_nodes(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield from _with_subgraphs(node)


def _with_subgraphs(node: Node) -> Iterator[Node]:
    yield node
    for attribute in node.attributes.values():
        values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
        for value in values:
            if isinstance(value, Graph):
                yield from _graph_nodes(value)


def quantized(model: Model) -> str:
    """How a model was quantized already: its operators for that, or the type of its weights; "" where it was not."""
    if found := sorted({node.op_type for node in nodes(model)} & _QUANTIZED):
        return ", ".join(found)
    counts: dict[DataType, int] = {}
    for tensor in model.graph.initializers:
        counts[tensor.data_type] = counts.get(tensor.data_type, 0) + math.prod(tensor.dims)
    most = max(counts, key=lambda kind: counts[kind], default=DataType.UNDEFINED)
    return f"{most.name.lower()} weights" if most in _NARROW and counts[most] >= _FEW_WEIGHTS else ""


def shape_values(model: Model) -> set[str]:
    """Values of the main graph, constants too, that only say how large others are: computed on the CPU by design."""
    readers: dict[str, list[tuple[Node, int]]] = {}
    for node in model.graph.nodes:
        for inner in _with_subgraphs(node):
            for position, name in enumerate(inner.inputs):
                # what a subgraph reads may be used for anything
                readers.setdefault(name, []).append((inner, position if inner is node else -1))
    found: set[str] = set()

    def sizes(name: str) -> bool:
        read = readers.get(name, ())
        return bool(read) and all(
            at >= 0 and (at in _SIZE_INPUTS.get(r.op_type, ()) or _all_in(r.outputs, found)) for r, at in read
        )

    wanted = {value.name for value in model.graph.outputs}
    for node in reversed(model.graph.nodes):
        found |= {name for name in node.outputs if name not in wanted and sizes(name)}
    return found | {tensor.name for tensor in model.graph.initializers if sizes(tensor.name)}


def _all_in(names: tuple[str, ...], found: set[str]) -> bool:
    return all(name in found for name in names if name)


def weight_bytes(model: Model) -> int:
    """Bytes of all initializers and constants, those of subgraphs and functions included."""
    held = [*model.graph.initializers]
    for node in nodes(model):
        for attribute in node.attributes.values():
            values = attribute.value if isinstance(attribute.value, tuple) else (attribute.value,)
            for value in values:
                held += value.initializers if isinstance(value, Graph) else [value] * isinstance(value, Tensor)
    return sum(math.prod(t.dims) * t.data_type.bits // 8 for t in held)


def infer_types(proto: onnx.ModelProto) -> dict[str, TensorType]:
    """Type and shape of every named tensor that ONNX's shape inference finds; what it cannot tell is missing.

    The elements of large initializers are dropped from `proto` on the way.
    """
    for tensor in proto.graph.initializer:
        if len(tensor.raw_data) > _LARGE_BYTES:
            tensor.ClearField("raw_data")  # shapes never depend on weights; inference copies what it is given
    try:
        graph = onnx.shape_inference.infer_shapes(proto, data_prop=True).graph
    except Exception:  # it raises RuntimeError, InferenceError or ValueError; `check` reports which
        graph = proto.graph
    types = {}
    for value in (*graph.input, *graph.value_info, *graph.output):
        tensor = value.type.tensor_type
        if value.type.HasField("tensor_type") and tensor.HasField("shape"):
            shape = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim)
            types[value.name] = TensorType(DataType(tensor.elem_type), shape)
    return types


def estimate_flop(model: Model, types: Mapping[str, TensorType]) -> int:
    """Multiplications and additions of one run, roughly: unknown and symbolic dimensions count as 1."""
    weights = {t.name: t.dims for t in model.graph.initializers}

    def shape(name: str) -> tuple[int, ...]:
        if name in weights:
            return weights[name]
        known = types.get(name)
        return tuple(d if isinstance(d, int) else 1 for d in known.shape or ()) if known else ()

    return sum(_node_flop(node, shape) for node in model.graph.nodes)


def _node_flop(node: Node, shape: Callable[[str], tuple[int, ...]]) -> int:
    out = math.prod(shape(node.outputs[0])) if node.outputs else 0
    match node.op_type:
        case "Conv" | "ConvInteger" | "QLinearConv":
            w = shape(node.inputs[3 if node.op_type == "QLinearConv" else 1])
            return 2 * out * math.prod(w[1:])
        case "ConvTranspose":
            return 2 * math.prod(shape(node.inputs[0])) * math.prod(shape(node.inputs[1])[1:])
        case "MatMul" | "Gemm" | "MatMulInteger":
            a, b = shape(node.inputs[0]), shape(node.inputs[1])
            transposed = "transB" in node.attributes and node.attributes["transB"].value
            inner = b[-1 if transposed else max(-2, -len(b))] if b else (a[-1] if a else 1)
            return 2 * out * inner
        case "MatMulNBits":
            return 2 * out * int(node.attributes["K"].value)
        case "LSTM" | "GRU" | "RNN":
            x = shape(node.inputs[0])
            return 2 * math.prod(x[:2]) * sum(math.prod(shape(n)) for n in node.inputs[1:3])
    return out


def gpu_refusal(model: Model, types: Mapping[str, TensorType]) -> str:
    """Why no WebGPU build loads the model; "" where one may."""
    kernels = Kernels(model, types)
    for node in nodes(model):
        if node.domain == "ai.onnx.ml":
            return f"the builds with WebGPU lack {node.op_type} (ai.onnx.ml)"
        to = node.attributes.get("to")
        if node.op_type == "Cast" and to and DataType(to.value) in _NOT_IN_GPU_BUILDS:
            return f"the builds with WebGPU lack {DataType(to.value).name}, which {node.name or 'a Cast'} gives"
    stored = {t.name: t.data_type for t in model.graph.initializers}
    for name, kind in {**stored, **{n: t.elem_type for n, t in types.items()}}.items():
        if kind in _NOT_IN_GPU_BUILDS:
            return f"the builds with WebGPU lack {kind.name}, the type of {name!r}"
    for node in nodes(model):
        if kernels.has("wasm", node) and not kernels.has("webgpu", node) and not kernels.has("fallback", node):
            return f"the builds with WebGPU lack {node.op_type}, which {node.name or 'a node'} is, for its type"
    return ""
