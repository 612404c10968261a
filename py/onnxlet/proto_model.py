"""The messages of onnx.proto that hold nodes: models, graphs, functions, nodes and attributes.

Each message has one function that reads it and one that writes it, with the field numbers in both.
Source: onnx.proto of onnx 1.23.2 (IR version 14).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .model import Attribute, Function, Graph, Model, Node
from .proto_values import (
    read_metadata,
    read_sparse_tensor,
    read_tensor,
    read_type,
    read_value_info,
    write_all,
    write_metadata,
    write_sparse_tensor,
    write_tensor,
    write_type,
    write_value_info,
)
from .wire_format import Message, Writer

__all__ = ["read_model", "write_model"]


def read_model(m: Message) -> Model:
    """Read ModelProto.

    Raises: InvalidModel: it has no graph, IR version or operator set, or something within is wrong.
    """
    graph = m.message(7, "graph", _read_graph)
    ir_version = m.integer(1)
    opsets = _read_opsets(m, 8)
    if graph is None:
        raise m.error("has no graph: this is no ONNX model, or its beginning is damaged")
    if ir_version < 1:
        raise m.error("has no ir_version: this is no ONNX model, or its beginning is damaged")
    if not opsets:
        if ir_version >= 3:
            raise m.error("imports no operator set (opset_import is empty)")
        opsets = {"": 1}  # what files older than IR 3 mean
    return Model(
        graph=graph,
        opset_imports=opsets,
        ir_version=ir_version,
        functions=m.messages(25, "function", _read_function),
        producer_name=m.prose(2),
        producer_version=m.prose(3),
        domain=m.prose(4),
        model_version=m.integer(5),
        doc=m.prose(6),
        metadata=read_metadata(m, 14),
        unknown=m.rest(),
    )


def write_model(model: Model) -> Writer:
    """Write ModelProto."""
    out = Writer()
    out.integer(1, model.ir_version)
    out.string(2, model.producer_name)
    out.string(3, model.producer_version)
    out.string(4, model.domain)
    out.integer(5, model.model_version)
    out.string(6, model.doc)
    out.message(7, _write_graph(model.graph))
    _write_opsets(out, 8, model.opset_imports)
    write_metadata(out, 14, model.metadata)
    write_all(out, 25, model.functions, _write_function)
    out.raw(model.unknown)
    return out


def _read_opsets(m: Message, number: int) -> dict[str, int]:
    opsets: dict[str, int] = {}
    for domain, version in m.messages(number, "opset_import", lambda o: (_domain(o, 1), o.integer(2))):
        if opsets.setdefault(domain, version) != version:
            raise m.error(f'imports domain "{domain or "ai.onnx"}" as opset {opsets[domain]} and as opset {version}')
    return opsets


def _write_opsets(out: Writer, number: int, opsets: Mapping[str, int]) -> None:
    for domain, version in opsets.items():
        entry = Writer()
        entry.string(1, domain, keep_empty=True)
        entry.integer(2, version)
        out.message(number, entry)


def _domain(m: Message, number: int) -> str:
    domain = m.string(number)
    return "" if domain == "ai.onnx" else domain


# GraphProto, TensorAnnotation, FunctionProto


def _read_graph(m: Message) -> Graph:
    return Graph(
        name=m.string(2),
        nodes=m.messages(1, "node", _read_node),
        inputs=m.messages(11, "input", read_value_info),
        outputs=m.messages(12, "output", read_value_info),
        initializers=m.messages(5, "initializer", read_tensor),
        sparse_initializers=m.messages(15, "sparse_initializer", read_sparse_tensor),
        value_info=m.messages(13, "value_info", read_value_info),
        doc=m.prose(10),
        quantization_annotation=m.messages(14, "annotation", lambda a: (a.string(1), read_metadata(a, 2))),
        metadata=read_metadata(m, 16),
        unknown=m.rest(),
    )


def _write_graph(graph: Graph) -> Writer:
    out = Writer()
    write_all(out, 1, graph.nodes, _write_node)
    out.string(2, graph.name, keep_empty=True)
    write_all(out, 5, graph.initializers, write_tensor)
    out.string(10, graph.doc)
    write_all(out, 11, graph.inputs, write_value_info)
    write_all(out, 12, graph.outputs, write_value_info)
    write_all(out, 13, graph.value_info, write_value_info)
    for tensor_name, parameters in graph.quantization_annotation:
        annotation = Writer()
        annotation.string(1, tensor_name)
        write_metadata(annotation, 2, parameters)
        out.message(14, annotation)
    write_all(out, 15, graph.sparse_initializers, write_sparse_tensor)
    write_metadata(out, 16, graph.metadata)
    out.raw(graph.unknown)
    return out


def _read_function(m: Message) -> Function:
    name = m.string(1)
    m.label += f' "{name}"'
    return Function(
        name=name,
        domain=_domain(m, 10),
        inputs=m.strings(4),
        outputs=m.strings(5),
        nodes=m.messages(7, "node", _read_node),
        attributes=m.strings(6),
        attribute_defaults=_by_name(m, m.messages(11, "attribute_proto", _read_attribute)),
        opset_imports=_read_opsets(m, 9),
        overload=m.string(13),
        value_info=m.messages(12, "value_info", read_value_info),
        doc=m.prose(8),
        metadata=read_metadata(m, 14),
        unknown=m.rest(),
    )


def _write_function(function: Function) -> Writer:
    out = Writer()
    out.string(1, function.name)
    out.strings(4, function.inputs)
    out.strings(5, function.outputs)
    out.strings(6, function.attributes)
    write_all(out, 7, function.nodes, _write_node)
    out.string(8, function.doc)
    _write_opsets(out, 9, function.opset_imports)
    out.string(10, function.domain)
    write_all(out, 11, function.attribute_defaults.values(), _write_attribute)
    write_all(out, 12, function.value_info, write_value_info)
    out.string(13, function.overload)
    write_metadata(out, 14, function.metadata)
    out.raw(function.unknown)
    return out


# NodeProto, AttributeProto


def _read_node(m: Message) -> Node:
    name = m.string(3)
    m.label += f' "{name}"' if name else ""
    op_type = m.string(4)
    if not op_type:
        raise m.error("has no op_type")
    return Node(
        op_type=op_type,
        inputs=m.strings(1),
        outputs=m.strings(2),
        attributes=_by_name(m, m.messages(5, "attribute", _read_attribute)),
        name=name,
        domain=_domain(m, 7),
        overload=m.string(8),
        doc=m.prose(6),
        metadata=read_metadata(m, 9),
        unknown=m.rest(),
    )


def _write_node(node: Node) -> Writer:
    out = Writer()
    out.strings(1, node.inputs)
    out.strings(2, node.outputs)
    out.string(3, node.name)
    out.string(4, node.op_type)
    write_all(out, 5, node.attributes.values(), _write_attribute)
    out.string(6, node.doc)
    out.string(7, node.domain)
    out.string(8, node.overload)
    write_metadata(out, 9, node.metadata)
    out.raw(node.unknown)
    return out


def _by_name(m: Message, attributes: tuple[Attribute, ...]) -> dict[str, Attribute]:
    by_name: dict[str, Attribute] = {}
    for attribute in attributes:
        if attribute.name in by_name:
            raise m.error(f'has attribute "{attribute.name}" twice')
        by_name[attribute.name] = attribute
    return by_name


def _read_attribute(m: Message) -> Attribute:
    name = m.string(1)
    m.label += f' "{name}"'
    kind = m.integer(20)
    ref = m.string(21)
    if not kind:  # files older than IR 3 tell the type only by the field that they use
        kind = next((k for k, (field, _, _) in _VALUES.items() if m.has(field)), 0)
    if kind not in _VALUES:
        raise m.error(f"has type {kind}, expected 1 to {len(_VALUES)} (AttributeProto.AttributeType)")
    field, read_value, _ = _VALUES[kind]
    value = None if ref else read_value(m, field)
    if value is None and not ref:
        raise m.error(f"has no value in field {field}, where its type {kind} puts it")
    return Attribute(name=name, type=kind, value=value, ref_attr_name=ref, doc=m.prose(13), unknown=m.rest())


def _write_attribute(attribute: Attribute) -> Writer:
    out = Writer()
    out.string(1, attribute.name)
    if attribute.value is not None:
        field, _, write_value = _VALUES[attribute.type]
        write_value(out, field, attribute.value)
    out.string(13, attribute.doc)
    out.integer(20, attribute.type)
    out.string(21, attribute.ref_attr_name)
    out.raw(attribute.unknown)
    return out


def _write_blobs(out: Writer, number: int, values: tuple[bytes, ...]) -> None:
    for value in values:
        out.blob(number, value, keep_empty=True)


def _one(label: str, read: Callable[[Message], Any], write: Callable[[Any], Writer]) -> tuple[Any, Any]:
    return lambda m, n: m.message(n, label, read), lambda out, n, value: out.message(n, write(value))


def _many(label: str, read: Callable[[Message], Any], write: Callable[[Any], Writer]) -> tuple[Any, Any]:
    return lambda m, n: m.messages(n, label, read), lambda out, n, values: write_all(out, n, values, write)


_GRAPH = ("graph", _read_graph, _write_graph)
_TENSOR = ("tensor", read_tensor, write_tensor)
_SPARSE = ("sparse_tensor", read_sparse_tensor, write_sparse_tensor)
_TYPE = ("type", read_type, write_type)

# AttributeProto.AttributeType: the field that holds the value, how to read it and how to write it.
_VALUES: dict[int, tuple[int, Callable[[Message, int], Any], Callable[[Writer, int, Any], None]]] = {
    1: (2, Message.real, Writer.real),
    2: (3, Message.integer, lambda out, n, value: out.integer(n, value, keep_zero=True)),
    3: (4, lambda m, n: bytes(m.blob(n)), lambda out, n, value: out.blob(n, value, keep_empty=True)),
    4: (5, *_one(*_TENSOR)),
    5: (6, *_one(*_GRAPH)),
    6: (7, lambda m, n: tuple(np.frombuffer(m.fixed(n, np.dtype("<f4")), "<f4").tolist()), Writer.reals),
    7: (8, lambda m, n: tuple(m.varints(n).view(np.int64).tolist()), Writer.integers),
    8: (9, lambda m, n: tuple(bytes(b) for b in m.blobs(n)), _write_blobs),
    9: (10, *_many(*_TENSOR)),
    10: (11, *_many(*_GRAPH)),
    11: (22, *_one(*_SPARSE)),
    12: (23, *_many(*_SPARSE)),
    13: (14, *_one(*_TYPE)),
    14: (15, *_many(*_TYPE)),
}
