"""ONNX graphs as the recipes change them: what is constant, what type a value has, who reads it, and new nodes."""

from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, inliner, numpy_helper

from onnxlet.dtypes import Array, from_ort_type
from onnxlet.errors import BuildError

__all__ = ["MICROSOFT", "Graph", "attributes", "captured", "prepare"]

MICROSOFT = "com.microsoft"
# DequantizeLinear has an axis since 13, and what is older than 13 loses nothing on the way to it.
_OLDEST_OPSET = 13
_OLDEST_IR = 4  # before, every initializer was an input as well


class Graph:
    """The main graph of a prepared model, being edited. Nodes inside of subgraphs stay as they are.

    Args:
        data: what `prepare` gave.
    """

    def __init__(self, data: bytes) -> None:
        self.proto = onnx.load_model_from_string(data)
        graph = self.proto.graph
        self.nodes = list(graph.node)
        self.inputs = [value.name for value in graph.input]
        self.outputs = [value.name for value in graph.output]
        fed = set(self.inputs)
        self._constants = {t.name: t for t in graph.initializer if t.name not in fed}
        self._added: dict[str, TensorProto] = {}
        self._new: list[NodeProto] = []
        self._dropped: set[int] = set()
        self._once: dict[Any, Any] = {}
        self.types = {t.name: t.data_type for t in graph.initializer}
        self.shapes: dict[str, tuple[int | str | None, ...]] = {t.name: tuple(t.dims) for t in graph.initializer}
        for value in (*graph.input, *graph.output, *graph.value_info):
            if value.type.HasField("tensor_type"):
                self.types[value.name] = value.type.tensor_type.elem_type
                self.shapes[value.name] = _shape(value)
        self.readers: dict[str, list[NodeProto]] = {}
        for node in self.nodes:
            for name in {*node.input, *captured(node)} - {""}:
                self.readers.setdefault(name, []).append(node)
        self._names = {*self.types, *self.readers, *(name for node in self.nodes for name in (*node.output, node.name))}

    def is_float(self, name: str) -> bool:
        """Whether a value is a tensor of float32."""
        return self.types.get(name) == TensorProto.FLOAT

    def opset(self, domain: str) -> int:
        """The version of a domain's operators."""
        names = ("", "ai.onnx") if domain in ("", "ai.onnx") else (domain,)
        return next((known.version for known in self.proto.opset_import if known.domain in names), 1)

    def is_constant(self, name: str) -> bool:
        return name in self._constants

    def constant(self, name: str) -> Array | None:
        """The value of an initializer that nobody can override; None where `name` is none."""
        tensor = self._constants.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def weight(self, name: str, rank: int | None = None) -> Array | None:
        """A constant of float32 whose values are all finite, of this rank where one is given."""
        tensor = self._constants.get(name)
        if tensor is None or tensor.data_type != TensorProto.FLOAT or rank not in (None, len(tensor.dims)):
            return None
        array = numpy_helper.to_array(tensor)
        return array if array.size and np.isfinite(array).all() else None

    def add_int8(self, stem: str, integers: Array, scale: Array) -> list[str]:
        """New constants: integers, their scales, and as many zero points (ONNX Runtime fails where these are left out).
        Returns: their names, as DequantizeLinear takes them.
        """
        zeros = np.zeros(scale.shape, np.int8)
        return [self.add(f"{stem}/int8", integers), self.add(f"{stem}/scale", scale), self.add(f"{stem}/zero", zeros)]

    def rename_output(self, node: NodeProto, old: str, stem: str) -> str:
        """Let a node write what it called `old` under a new name. Returns: the name."""
        new = self.name(stem)
        for index, name in enumerate(node.output):
            if name == old:
                node.output[index] = new
        return new

    def add(self, stem: str, value: Array | np.generic) -> str:
        """A new constant. Returns: its name."""
        name = self.name(stem)
        self._added[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def emit(
        self, op_type: str, inputs: Sequence[str], output: str | Sequence[str] = "", *, domain: str = "", **attrs: Any
    ) -> str:
        """A new node; where it stands is found at the end.

        Args:
            output: the names of its outputs; without any, one is made from the first input.
        Returns: the name of its first output.
        """
        outputs = [output] if isinstance(output, str) else list(output)
        if outputs == [""]:
            outputs = [self.name(f"{inputs[0]}/{op_type}")]
        name = self.name(f"{outputs[0]}/node")
        self._new.append(onnx.helper.make_node(op_type, inputs, outputs, name=name, domain=domain, **attrs))
        return outputs[0]

    def emitted(self, op_type: str) -> dict[str, NodeProto]:
        """New nodes of an operator, by their first output."""
        return {node.output[0]: node for node in self._new if node.op_type == op_type}

    def replace(self, node: NodeProto, op_type: str, inputs: Sequence[str], *, domain: str = "", **attrs: Any) -> None:
        """Put another operator in a node's place, under the node's name and with its first output."""
        self.drop(node)
        self._new.append(
            onnx.helper.make_node(op_type, inputs, [node.output[0]], name=node.name, domain=domain, **attrs)
        )

    def drop(self, node: NodeProto) -> None:
        self._dropped.add(id(node))

    def once(self, key: Any, make: Any) -> Any:
        """What `make()` gave when it was first called for this key: what several nodes share is added once."""
        if key not in self._once:
            self._once[key] = make()
        return self._once[key]

    def name(self, stem: str) -> str:
        """A name that nothing else has: the stem, numbered where need be."""
        name, number = stem, 1
        while name in self._names:
            number += 1
            name = f"{stem}_{number}"
        self._names.add(name)
        return name

    def finish(self) -> bytes:
        """The edited model: nodes sorted, constants that nobody reads left out. The graph cannot be edited further."""
        graph = self.proto.graph
        nodes = _sorted([node for node in self.nodes if id(node) not in self._dropped] + self._new)
        used = {*self.outputs, *(name for node in nodes for name in (*node.input, *captured(node)))}
        made = {name for node in nodes for name in node.output}
        constants = [t for t in graph.initializer if t.name in used or t.name in self.inputs]
        constants += [t for name, t in self._added.items() if name in used]
        infos = [info for info in graph.value_info if info.name in made]
        for info in infos:
            info.type.tensor_type.elem_type = self.types[info.name]
        new = GraphProto(name=graph.name, doc_string=graph.doc_string, input=graph.input, output=graph.output)
        new.node.extend(nodes)
        new.initializer.extend(constants)
        new.sparse_initializer.extend(graph.sparse_initializer)
        new.value_info.extend(infos)
        graph.CopyFrom(new)
        if any(node.domain == MICROSOFT for node in nodes):
            _import(self.proto, MICROSOFT, 1)
        return self.proto.SerializeToString()


def attributes(node: NodeProto) -> dict[str, Any]:
    """A node's attributes by name, as Python values."""
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def captured(node: NodeProto) -> set[str]:
    """Names that a node's subgraphs read from outside; names that they define themselves may be among them."""
    return {name for graph in _subgraphs(node) for inner in graph.node for name in (*inner.input, *captured(inner))} | {
        value.name for graph in _subgraphs(node) for value in graph.output
    }


def _subgraphs(node: NodeProto) -> Iterator[GraphProto]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == AttributeProto.GRAPHS:
            yield from attribute.graphs


def prepare(data: bytes) -> bytes:
    """Bring a model into the form that `Graph` edits: an equal one, where constants are initializers, every node has a
    name of its own, every value its type, functions are part of the graph, and the opset knows scales along an axis.

    Raises: BuildError: native ONNX Runtime does not take it.
    """
    proto = onnx.load_model_from_string(data)
    if proto.functions:
        proto = inliner.inline_local_functions(proto)
    proto = _newer(proto)
    graph = proto.graph
    if proto.ir_version < _OLDEST_IR:
        constant = {t.name for t in graph.initializer}
        _keep(graph.input, [value for value in graph.input if value.name not in constant])
        proto.ir_version = _OLDEST_IR
    _constants_to_initializers(graph)
    _name_nodes(graph)
    _note_types(proto)
    return proto.SerializeToString()


def _newer(proto: onnx.ModelProto) -> onnx.ModelProto:
    opset = next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), _OLDEST_OPSET)
    if opset >= _OLDEST_OPSET:
        return proto
    try:
        return onnx.version_converter.convert_version(proto, _OLDEST_OPSET)
    except Exception:  # RuntimeError or its own ConvertError; recipes that need the newer opset will be refused
        return proto


def _constants_to_initializers(graph: GraphProto) -> None:
    kept = []
    for node in graph.node:
        value = _constant_value(node) if node.op_type == "Constant" and node.domain in ("", "ai.onnx") else None
        if value is None or node.output[0] in {o.name for o in graph.output}:
            kept.append(node)
            continue
        value.name = node.output[0]
        graph.initializer.append(value)
    _keep(graph.node, kept)


def _constant_value(node: NodeProto) -> TensorProto | None:
    dtypes = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    for name, value in attributes(node).items():
        if name == "value":
            tensor = TensorProto()
            tensor.CopyFrom(value)
            return tensor
        if name in dtypes:
            return numpy_helper.from_array(np.array(value, dtypes[name]))
    return None


def _name_nodes(graph: GraphProto) -> None:
    taken: set[str] = set()
    for index, node in enumerate(graph.node):
        if not node.name or node.name in taken:
            stem = f"{node.name or node.op_type}_{index}"
            node.name = next(
                name for name in (stem, *(f"{stem}_{i}" for i in range(len(taken) + 1))) if name not in taken
            )
        taken.add(node.name)


def _note_types(proto: onnx.ModelProto) -> None:
    """Write value_info for every value, as ONNX Runtime infers it: it knows its own operators, ONNX does not."""
    graph = proto.graph
    del graph.value_info[:]
    outputs = {value.name for value in graph.output}
    inner = [name for node in graph.node for name in node.output if name and name not in outputs]
    probe = onnx.ModelProto()
    probe.CopyFrom(proto)
    probe.graph.output.extend(ValueInfoProto(name=name) for name in inner)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    try:
        session = ort.InferenceSession(probe.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise BuildError(f"native ONNX Runtime does not take the model: {str(error).splitlines()[0]}") from error
    for arg in session.get_outputs():
        kind = from_ort_type(arg.type)
        if arg.name not in outputs and kind:
            graph.value_info.append(onnx.helper.make_tensor_value_info(arg.name, int(kind), arg.shape))


def _sorted(nodes: list[NodeProto]) -> list[NodeProto]:
    makers = {name: index for index, node in enumerate(nodes) for name in node.output}
    before = {
        index: {makers[name] for name in (*node.input, *captured(node)) if name in makers} - {index}
        for index, node in enumerate(nodes)
    }
    return [nodes[index] for index in TopologicalSorter(before).static_order()]


def _shape(value: ValueInfoProto) -> tuple[int | str | None, ...]:
    dims = value.type.tensor_type.shape.dim
    return tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in dims)


def _keep(field: Any, items: list[Any]) -> None:
    """Replace a repeated field's items; copies, since clearing it would free them."""
    copies = [type(item).FromString(item.SerializeToString()) for item in items]
    del field[:]
    field.extend(copies)


def _import(proto: onnx.ModelProto, domain: str, version: int) -> None:
    if all(known.domain != domain for known in proto.opset_import):
        proto.opset_import.append(onnx.helper.make_opsetid(domain, version))
