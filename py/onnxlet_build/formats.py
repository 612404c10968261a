"""In which number formats a model stores its weights, and in which it computes."""

from dataclasses import replace

from onnxlet.dtypes import DataType
from onnxlet.model import Model
from onnxlet.partition import mentions

from .models import nodes

__all__ = ["computes_in_half", "weight_format"]


def weight_format(model: Model) -> str:
    """What most of the weights are stored as: fp32, fp16, int8, int4 ...; "none" without weights."""
    names = {DataType.FLOAT: "fp32", DataType.FLOAT16: "fp16", DataType.DOUBLE: "fp64", DataType.UINT8: "int8"}
    sizes: dict[str, int] = {}
    for tensor in model.graph.initializers:
        name = names.get(tensor.data_type, tensor.data_type.name.lower())
        count = 1
        for size in tensor.dims:
            count *= size
        sizes[name] = sizes.get(name, 0) + count * tensor.data_type.bits
    return max(sizes, key=lambda name: sizes[name]) if sizes else "none"


def computes_in_half(model: Model) -> bool:
    """Whether a model needs a processor of float16: more than weights that are stored so and cast before their use."""
    graph = model.graph
    stored = {tensor.name for tensor in graph.initializers if tensor.data_type == DataType.FLOAT16}
    others = tuple(tensor for tensor in graph.initializers if tensor.name not in stored)
    if mentions(replace(model, graph=replace(graph, initializers=others)), DataType.FLOAT16):
        return True
    return any(node.op_type != "Cast" and not stored.isdisjoint(node.inputs) for node in nodes(model))
