"""What passes over onnx.ModelProto share: walking graphs, who reads what, renaming."""

from collections import Counter
from collections.abc import Iterator, Mapping

import onnx

__all__ = ["all_graphs", "all_nodes", "count_nodes", "has_defaults", "readers", "rename_reads", "subgraphs"]


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The bodies of If, Loop, Scan ..."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def all_graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """A graph and every graph within it, outer ones first."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from all_graphs(inner)


def all_nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Every node, those of subgraphs included."""
    for one in all_graphs(graph):
        yield from one.node


def count_nodes(model: onnx.ModelProto) -> int:
    """Nodes that compute, those of subgraphs and functions included; Constants are data."""
    nodes = [*all_nodes(model.graph), *(node for function in model.functions for node in function.node)]
    return sum(node.op_type != "Constant" for node in nodes)


def readers(graph: onnx.GraphProto) -> Counter[str]:
    """How often each value is read: by a node, in subgraphs too, or as a graph's output."""
    count: Counter[str] = Counter()
    for one in all_graphs(graph):
        count.update(value.name for value in one.output)
        for node in one.node:
            count.update(name for name in node.input if name)
    return count


def rename_reads(graph: onnx.GraphProto, names: Mapping[str, str]) -> None:
    """Let everything that reads a value read another one. Outputs of the graph itself keep their names.

    Names of values are unique over a graph and its subgraphs, so nothing is shadowed. Renames may be chained.
    """

    def final(name: str) -> str:
        while name in names:
            name = names[name]
        return name

    for one in all_graphs(graph):
        for node in one.node:
            for position, name in enumerate(node.input):
                if name in names:
                    node.input[position] = final(name)
        if one is not graph:
            for value in one.output:
                value.name = final(value.name)


def has_defaults(model: onnx.ModelProto) -> bool:
    """Whether an input of the model is also an initializer, so that the caller may give it or not."""
    return bool({t.name for t in model.graph.initializer} & {v.name for v in model.graph.input})
