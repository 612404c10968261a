"""Remove what does nothing: unused nodes and initializers, copies, Identity, Dropout, Casts to the same type, notes.

Notes are what exporters write beside nodes and values, such as the lines of Python that a node stands for.

Post: the values that remain are computed by the same nodes from the same numbers, so every answer stays bit for bit.
"""

import onnx

from onnxlet.dtypes import DataType

from ..models import infer_types
from .graphs import all_graphs, readers, rename_reads
from .unsuited import Unsuited

__all__ = ["run"]

_SMALLEST_MERGED_BYTES = 64  # below, a shared name saves nothing
_TRAINING_SINCE = 12  # Dropout takes training_mode from this opset; before, a model that infers never drops
_RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}


def run(model: onnx.ModelProto) -> onnx.ModelProto:
    """See the module. Raises: Unsuited: there was nothing to remove."""
    before = model.SerializeToString(deterministic=True)
    graph = model.graph
    _bypass(model)
    _merge_copies(graph)
    while _drop_unused_nodes(graph):
        pass
    _drop_unused_initializers(graph)
    _drop_notes(graph)
    if model.SerializeToString(deterministic=True) == before:
        raise Unsuited("nothing unused, doubled or without effect is in it")
    return model


def _bypass(model: onnx.ModelProto) -> None:
    """Let the readers of a node that passes its input on read the input itself."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    types = {name: kind.elem_type for name, kind in infer_types(copy).items()}
    for tensor in model.graph.initializer:
        types[tensor.name] = DataType(tensor.data_type)
    opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    defaults = {v.name for v in model.graph.input}
    constants = {t.name: t for t in model.graph.initializer if t.name not in defaults}
    count = readers(model.graph)
    for graph in all_graphs(model.graph):
        outputs = {value.name for value in graph.output}
        producers = {name: node for node in graph.node for name in node.output if name}
        passed: dict[str, str] = {}
        for node in graph.node:
            if not _passes_on(node, opset, types, constants, count):
                continue
            source, result = node.input[0], node.output[0]
            if result not in outputs:
                passed[result] = source
            elif source in producers and source not in outputs and count[source] == 1:
                # the node before gives the output itself
                maker = producers[source]
                maker.output[list(maker.output).index(source)] = result
                graph.node.remove(node)
        rename_reads(model.graph, passed)


def _passes_on(
    node: onnx.NodeProto,
    opset: int,
    types: dict[str, DataType],
    constants: dict[str, onnx.TensorProto],
    count: dict[str, int],
) -> bool:
    if node.domain not in ("", "ai.onnx") or not node.input or not node.input[0] or not node.output:
        return False
    match node.op_type:
        case "Identity":
            return True
        case "Cast":
            to = next((a.i for a in node.attribute if a.name == "to"), 0)
            return types.get(node.input[0]) == to
        case "Dropout":
            mode = node.input[2] if opset >= _TRAINING_SINCE and len(node.input) > 2 else ""
            trains = bool(mode) and (mode not in constants or bool(onnx.numpy_helper.to_array(constants[mode])))
            return not trains and not any(count.get(name) for name in node.output[1:])
    return False


def _merge_copies(graph: onnx.GraphProto) -> None:
    """Keep one of several equal initializers. Those that are inputs or outputs as well keep their names."""
    fixed = {value.name for value in (*graph.input, *graph.output)}
    first: dict[bytes, str] = {}
    copies: dict[str, str] = {}
    for tensor in graph.initializer:
        if tensor.name in fixed or tensor.ByteSize() < _SMALLEST_MERGED_BYTES:
            continue
        content = onnx.TensorProto()
        content.CopyFrom(tensor)
        content.ClearField("name")
        content.ClearField("doc_string")
        key = content.SerializeToString(deterministic=True)
        if key in first:
            copies[tensor.name] = first[key]
        else:
            first[key] = tensor.name
    rename_reads(graph, copies)


def _drop_unused_nodes(graph: onnx.GraphProto) -> bool:
    """Remove nodes whose results nobody reads. Returns: whether there were any."""
    count = readers(graph)
    dropped = False
    for one in all_graphs(graph):
        alive = [n for n in one.node if any(count[name] for name in n.output) or n.op_type in _RANDOM]
        if len(alive) < len(one.node):
            dropped = True
            del one.node[:]
            one.node.extend(alive)
            break  # the graphs within the removed nodes are gone: walk again
    return dropped


def _drop_unused_initializers(graph: onnx.GraphProto) -> None:
    count = readers(graph)
    for one in all_graphs(graph):
        inputs = {value.name for value in one.input}
        kept = [t for t in one.initializer if count[t.name] or t.name in inputs]
        if len(kept) < len(one.initializer):
            del one.initializer[:]
            one.initializer.extend(kept)


def _drop_notes(graph: onnx.GraphProto) -> None:
    for one in all_graphs(graph):
        for noted in (*one.node, *one.value_info, *one.initializer):
            noted.ClearField("doc_string")
            noted.ClearField("metadata_props")
