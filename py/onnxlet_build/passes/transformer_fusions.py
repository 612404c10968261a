"""onnxruntime.transformers: layer normalization, Gelu, skip connections and attention as one node each.

Attention becomes MultiHeadAttention, which leaves the projections as MatMuls: the quantizer still finds their weights,
and WebAssembly and WebGPU both have a kernel. Of some exports it loses the mask (seen: 12 dB), which the comparison
finds; so there is a way without it.
"""

import tempfile
from collections import Counter
from pathlib import Path

import onnx

from .graphs import all_nodes, count_nodes, has_defaults
from .unsuited import Unsuited

__all__ = ["run", "without_attention"]

# By the shape of the exported graph; which one fits shows in how many nodes are left.
_FAMILIES = ("bert", "vit", "clip", "gpt2")


def run(model: onnx.ModelProto) -> onnx.ModelProto:
    """See the module. Raises: Unsuited: it is no transformer, or nothing could be fused."""
    return _best(model, attention=True)


def without_attention(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same but for attention."""
    return _best(model, attention=False)


def _best(model: onnx.ModelProto, attention: bool) -> onnx.ModelProto:
    if not _is_transformer(model):
        raise Unsuited("it is no transformer: no attention (MatMul, Softmax, MatMul) with layer normalization is in it")
    if has_defaults(model):
        raise Unsuited("it has inputs with defaults, which the fusions make constants")
    before = count_nodes(model)
    best: onnx.ModelProto | None = None
    for family in _FAMILIES:
        fused = _fused(model, family, attention)
        if fused is not None and count_nodes(fused) < (count_nodes(best) if best else before):
            best = fused
    if best is None:
        raise Unsuited("none of its layers is left that ONNX Runtime's transformer tools know")
    return best


def _is_transformer(model: onnx.ModelProto) -> bool:
    """Whether a Softmax stands between two MatMuls, and a layer normalization somewhere."""
    nodes = list(all_nodes(model.graph))
    kinds = Counter(node.op_type for node in nodes)
    normalizes = kinds["LayerNormalization"] or kinds["SimplifiedLayerNormalization"] or kinds["RMSNormalization"]
    normalizes = normalizes or (kinds["ReduceMean"] and kinds["Sqrt"])
    makers = {name: node for node in nodes for name in node.output}
    weighs = any(
        node.op_type in ("MatMul", "Einsum") and _makes(makers, node.input[0], "Softmax")
        for node in nodes
        if node.input
    )
    return bool(normalizes) and weighs


def _makes(makers: dict[str, onnx.NodeProto], name: str, op_type: str) -> bool:
    """Whether a value comes from an operator, directly or through Casts, Dropouts and the like."""
    for _ in range(4):
        maker = makers.get(name)
        if maker is None or maker.op_type == op_type:
            return maker is not None
        if not maker.input:
            return False
        name = maker.input[2] if maker.op_type == "Where" and len(maker.input) > 2 else maker.input[0]
    return False


def _fused(model: onnx.ModelProto, family: str, attention: bool) -> onnx.ModelProto | None:
    """The model after one family's fusions; None where they fail, which they may on graphs of another family."""
    from onnxruntime.transformers.fusion_options import FusionOptions
    from onnxruntime.transformers.optimizer import optimize_model

    options = FusionOptions(family)
    options.enable_embed_layer_norm = False  # has no kernel on WebGPU
    options.enable_gelu_approximation = False  # would change answers
    options.enable_attention = attention
    options.use_multi_head_attention = True
    options.enable_packed_qkv = options.enable_packed_kv = False
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        onnx.save(model, path)
        try:
            return optimize_model(str(path), family, optimization_options=options, opt_level=0).model
        except Exception:
            return None
