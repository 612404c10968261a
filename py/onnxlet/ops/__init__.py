"""ONNX's operators in numpy: the living definition that every other provider is compared with.

One small function an operator, named as the operator is; see `registry` for how parameters map to inputs and
attributes. The modules are imported when the first graph is compiled, so a page that never needs them never pays.
"""

from importlib import import_module

from .registry import Operator, find, op, registered

__all__ = ["Operator", "find", "load_all", "op", "registered"]

MODULES = (
    # structure: shapes, movement, control flow, containers
    "shape",
    "joining",
    "indexing",
    "selecting",
    "casting",
    "generating",
    "control",
    "sequence",
    "text",
    "ml_features",
    "ml_linear",
    "ml_trees",
    # quantized and com.microsoft
    "quantize",
    "ms_blockwise",
    "ms_fused",
    "ms_norm",
    "ms_qlinear",
    "ms_attention",
    "ms_grouped",
    "ms_standard",
    # mathematics (one line a module)
    "elementwise",
    "functions",
    "activations",
    "reductions",
    "linear",
    "conv",
    "pool",
    "norm",
    "rnn",
    "attention",
    "signal",
    "resize",
    "sampling",
    "vision",
    "training",
)


def load_all() -> None:
    """Import every module of operators. Idempotent; an operator that an app registered before stays."""
    for name in MODULES:
        import_module(f".{name}", __name__)
