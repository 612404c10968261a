"""What goes into a parsed model and what comes out, in onnxruntime's words."""

from __future__ import annotations

from .model import MapType, Model, OptionalType, SequenceType, SparseTensorType, TensorType, Type, ValueInfo
from .source import ModelMetadata, NodeArg, Signature

__all__ = ["read_signature"]


def read_signature(model: Model) -> Signature:
    """Inputs and outputs of a model's graph, and what the file says of itself."""
    feeds = model.graph.feeds
    names = {v.name for v in feeds}
    return Signature(
        inputs=tuple(map(_node_arg, feeds)),
        outputs=tuple(map(_node_arg, model.graph.outputs)),
        overridable=tuple(_node_arg(v) for v in model.graph.inputs if v.name not in names),
        metadata=ModelMetadata(
            producer_name=model.producer_name,
            graph_name=model.graph.name,
            domain=model.domain,
            description=model.doc,
            graph_description=model.graph.doc,
            version=model.model_version,
            custom_metadata_map=dict(model.metadata),
        ),
    )


def _node_arg(value: ValueInfo) -> NodeArg:
    inner = value.type
    while isinstance(inner, SequenceType | OptionalType):
        inner = inner.elem_type
    shape = inner.shape if isinstance(inner, TensorType | SparseTensorType) else None
    # onnxruntime shows an unknown dimension as None, and an empty symbol as None too
    return NodeArg(value.name, _type_name(value.type), [d if d != "" else None for d in shape or ()])


def _type_name(kind: Type | None) -> str:
    """Onnxruntime's name of a type, such as ``seq(map(int64,tensor(float)))``."""
    match kind:
        case TensorType():
            return kind.elem_type.ort_type
        case SparseTensorType():
            return f"sparse_{kind.elem_type.ort_type}"
        case SequenceType():
            return f"seq({_type_name(kind.elem_type)})"
        case OptionalType():
            return f"optional({_type_name(kind.elem_type)})"
        case MapType():
            return (
                f"map({kind.key_type.ort_type.removeprefix('tensor(').removesuffix(')')},{_type_name(kind.value_type)})"
            )
    return ""
