"""onnxslim (MIT): folds constants and shapes, fuses Conv with BatchNorm and padding, finds common subexpressions."""

import onnx

from .graphs import has_defaults
from .unsuited import Unsuited

__all__ = ["run"]

_LARGEST_FOLDED_BYTES = 1 << 20  # a constant that is made larger than this costs more to download than to compute


def run(model: onnx.ModelProto) -> onnx.ModelProto:
    """See the module. Raises: Unsuited: the model has what onnxslim would not keep."""
    import onnxslim

    if has_defaults(model):
        raise Unsuited("it has inputs with defaults, which onnxslim makes constants")
    if model.functions:
        raise Unsuited("it has functions of its own, which onnxslim does not read")
    return onnxslim.slim(model, size_threshold=_LARGEST_FOLDED_BYTES)
