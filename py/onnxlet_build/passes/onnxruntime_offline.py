"""ONNX Runtime's own optimizations, written down ahead of time, as far as every runtime of the page takes their result.

The page's runtime optimizes while it loads, too; what is done here is smaller to download, needs no time there, and is
what quantization sees. So nothing is fused that the quantizer no longer recognizes (FusedConv, FusedMatMul), and no
layout is chosen for the processor of the build's machine (NCHWc, NHWC).
"""

import tempfile
from pathlib import Path

import onnx
import onnxruntime

from .graphs import all_nodes
from .unsuited import Unsuited

__all__ = ["basic", "everything", "extended"]

_NOT_PORTABLE = [
    "NchwcTransformer",
    "NhwcTransformer",
    "ConvActivationFusion",
    "ConvAddActivationFusion",
    "MatMulActivationFusion",
    "MatmulTransposeFusion",
    "MatMulScaleFusion",
    "GemmActivationFusion",
    "GeluApproximation",
    "EmbedLayerNormFusion",  # has no kernel on WebGPU
    "AttentionFusion",  # hides the weights of three MatMuls from the quantizer
]
_GROWTH = 1.02
_KNOWN_DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}


def basic(model: onnx.ModelProto) -> onnx.ModelProto:
    """Constant folding, redundant nodes, BatchNorm into Conv, MatMul + Add into Gemm."""
    return _optimized(model, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC)


def extended(model: onnx.ModelProto) -> onnx.ModelProto:
    """Fusions into operators of com.microsoft, such as Gelu and SkipLayerNormalization."""
    return _optimized(model, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED)


def everything(model: onnx.ModelProto) -> onnx.ModelProto:
    """What is left without choosing a layout."""
    return _optimized(model, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)


def _optimized(model: onnx.ModelProto, level: onnxruntime.GraphOptimizationLevel) -> onnx.ModelProto:
    local = {function.domain for function in model.functions}
    foreign = sorted({node.domain for node in all_nodes(model.graph)} - _KNOWN_DOMAINS - local)
    if foreign:
        raise Unsuited(f"ONNX Runtime does not know the operators of {foreign[0]}")
    data = model.SerializeToString()
    optimized = _written(data, level, _NOT_PORTABLE)
    if optimized.ByteSize() > len(data) * _GROWTH:  # weights stored in fewer bits than they are computed in
        optimized = _written(data, level, [*_NOT_PORTABLE, "ConstantFolding"])
    return optimized


def _written(data: bytes, level: onnxruntime.GraphOptimizationLevel, disabled: list[str]) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "optimized.onnx")
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.optimized_model_filepath = str(target)
        options.log_severity_level = 3  # it warns that the file may not be portable, which is looked at afterwards
        onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled)
        return onnx.load(target)
