"""onnxslim (MIT): folds constants and shapes, fuses Conv with BatchNorm and padding, finds common subexpressions."""

import onnx

from .graphs import has_defaults
from .unsuited import Unsuited

__all__ = ["run"]

_LARGEST_SHAPE_BYTES = 4096  # what computes shapes is smaller, and so is folded in any case


def run(model: onnx.ModelProto) -> onnx.ModelProto:
    """See the module. Raises: Unsuited: the model has what onnxslim would not keep.

    Folding makes a file larger where weights are stored in fewer bits than they are computed in, or are repeated; then
    only small constants are folded.
    """
    import onnxslim

    if has_defaults(model):
        raise Unsuited("it has inputs with defaults, which onnxslim makes constants")
    if model.functions:
        raise Unsuited("it has functions of its own, which onnxslim does not read")
    before, data = model.ByteSize(), model.SerializeToString()
    slimmed = onnxslim.slim(model)
    if slimmed.ByteSize() <= before + _LARGEST_SHAPE_BYTES:
        return slimmed
    return onnxslim.slim(onnx.load_model_from_string(data), size_threshold=_LARGEST_SHAPE_BYTES)
