"""Cut a graph into parts, each of which runs in one place: on a provider, or in Python.

Pure functions over `Model`; `providers/partitioned.py` finds out what a provider refuses, and runs the parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from .check_graph import describe, map_subgraphs, reads, subgraphs
from .dtypes import DataType
from .errors import InvalidModel, UnsupportedOp
from .execute import python_value
from .model import Function, Graph, Model, Node, SparseTensor, Tensor, TensorType, Type, ValueInfo
from .ops import load_all, registered
from .ops.registry import find
from .records import dataclass
from .tensors import from_array, to_dense

__all__ = [
    "Part",
    "Plan",
    "changed_since",
    "cut",
    "declared_types",
    "find_nodes",
    "infer_types",
    "mentions",
    "name_nodes",
    "nodes_within",
    "part_model",
]

IR_VERSION = 10  # what parts are written as: every runtime reads it, and newer ones add nothing that a part has
_ODD = re.compile(r"[^\w./-]")  # what providers' messages cannot be searched for


@dataclass(frozen=True, slots=True)
class Part:
    """Nodes that run in one go.

    Args:
        on_provider: on the provider; else in Python.
        nodes: positions in the model's graph, in order; includes the constants that they read.
        inputs: names of values from outside: graph inputs (those with defaults too), and results of earlier parts.
        outputs: names that later parts or the caller want.
    """

    on_provider: bool
    nodes: tuple[int, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts in the order in which they run."""

    parts: tuple[Part, ...]

    @property
    def crossing(self) -> frozenset[str]:
        """Values that one part gives and another one reads."""
        given = {name for part in self.parts for name in part.outputs}
        return frozenset(name for part in self.parts for name in part.inputs if name in given)


def name_nodes(model: Model) -> Model:
    """The model with a name on every node, in subgraphs and functions too, that no other node has.

    Runtimes name a node in their refusals only if it has a name. Names that cannot be found in a message again
    (spaces, quotes) are changed as well.
    """
    taken: set[str] = set()

    def named(node: Node) -> Node:
        wanted = _ODD.sub("_", node.name) or f"{node.op_type}_{len(taken)}"
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        taken.add(name)
        return map_subgraphs(replace(node, name=name), lambda g: replace(g, nodes=tuple(map(named, g.nodes))))

    graph = replace(model.graph, nodes=tuple(map(named, model.graph.nodes)))
    functions = tuple(replace(f, nodes=tuple(map(named, f.nodes))) for f in model.functions)
    return replace(model, graph=graph, functions=functions)


def cut(model: Model, refused: Collection[int]) -> Plan:
    """The fewest parts that keep order, with the refused nodes in Python and all others on the provider.

    A node's level is how often the side must have changed before it can run: the greatest level among the nodes that it
    waits for, one more where such a node is on the other side. Nodes of one level are on one side and wait for nothing
    of a later level, so each level is one part. No plan has fewer parts that starts on the same side, because a chain
    of nodes with so many changes exists; both sides are tried as the first. Constant nodes belong to no level: every
    part has its own copy of those that it reads, so that they never cross.

    Args:
        refused: positions in the graph of the nodes that the provider does not take.
    """
    nodes = model.graph.nodes
    needs = [reads(node) for node in nodes]
    producer = {name: i for i, node in enumerate(nodes) for name in node.outputs if name}
    wanted = {v.name for v in model.graph.outputs}
    constants = {i for i, node in enumerate(nodes) if _is_constant(node) and not wanted.intersection(node.outputs)}

    def levels(first_on_provider: bool) -> list[int]:
        level = [0] * len(nodes)
        for i in range(len(nodes)):
            here = i not in refused
            level[i] = 0 if here == first_on_provider else 1
            for name in needs[i]:
                before = producer.get(name)
                if before is not None and before not in constants:
                    level[i] = max(level[i], level[before] + ((before not in refused) != here))
        return level

    work = [i for i in range(len(nodes)) if i not in constants]
    tries = [(levels(first), first) for first in (True, False)]
    level, first = min(tries, key=lambda t: max((t[0][i] for i in work), default=0))
    groups: dict[int, list[int]] = {}
    for i in work:
        groups.setdefault(level[i], []).append(i)
    return Plan(tuple(_parts(model, [(groups[k], (k % 2 == 0) == first) for k in sorted(groups)], needs, constants)))


def _parts(
    model: Model, groups: Sequence[tuple[list[int], bool]], needs: Sequence[set[str]], constants: set[int]
) -> Iterable[Part]:
    nodes = model.graph.nodes
    held = {t.name for t in model.graph.initializers} | {t.name for t in model.graph.sparse_initializers}
    held -= {v.name for v in model.graph.inputs}  # a default that the caller may replace is an input of the parts
    constant_of = {name: i for i in constants for name in nodes[i].outputs}
    wanted_after: list[set[str]] = [{v.name for v in model.graph.outputs}]
    for group, _ in reversed(groups):
        wanted_after.append(wanted_after[-1].union(*(needs[i] for i in group)))
    wanted_after.reverse()
    for k, (group, on_provider) in enumerate(groups):
        read = set().union(*(needs[i] for i in group))
        own = {constant_of[name] for name in read if name in constant_of}
        given = {name: None for i in group for name in nodes[i].outputs if name}
        outside = {name: None for i in group for name in sorted(needs[i])}
        inputs = [n for n in outside if n not in given and n not in held and n not in constant_of]
        outputs = [n for n in given if n in wanted_after[k + 1]]
        yield Part(on_provider, tuple(sorted({*group, *own})), tuple(inputs), tuple(outputs))


def part_model(
    model: Model, part: Part, types: Mapping[str, Type], opset_limit: int | None = None, *, keep_sparse: bool = False
) -> Model:
    """A part as a model of its own, with the initializers, functions and operator sets that it needs.

    Inputs and outputs have the types that are known. Outputs have no shape, and values within no type: a runtime infers
    them, and refuses models over its own faults in inferring where they are declared.

    Args:
        opset_limit: the newest opset of ai.onnx that the provider knows; `changed_since` tells which nodes cannot be
            in a part with it.
        keep_sparse: keep sparse initializers; else they are written out, because few runtimes take them.
    """
    graph = model.graph
    nodes = tuple(graph.nodes[i] for i in part.nodes)
    read = set().union(*(reads(node) for node in nodes)) - set(part.inputs)
    functions = _called(nodes, {(f.domain, f.name, f.overload): f for f in model.functions})
    domains = {node.domain for node in _all_nodes([*nodes, *(n for f in functions for n in f.nodes)])}
    initializers = [t for t in graph.initializers if t.name in read]
    kept = tuple(s for s in graph.sparse_initializers if s.name in read)
    if not keep_sparse:
        initializers += [_dense(s) for s in kept]
    outputs = tuple(ValueInfo(name, _without_shape(types.get(name))) for name in part.outputs)
    opsets = {d: v for d, v in model.opset_imports.items() if d in domains or d == ""}
    if opset_limit is not None and "" in opsets:
        opsets[""] = min(opsets[""], opset_limit)
        functions = [replace(f, opset_imports=_lowered(f.opset_imports, opset_limit)) for f in functions]
    return Model(
        graph=Graph(
            name=graph.name or "part",
            nodes=nodes,
            inputs=tuple(ValueInfo(name, types.get(name)) for name in part.inputs),
            outputs=outputs,
            initializers=tuple(initializers),
            sparse_initializers=kept if keep_sparse else (),
        ),
        opset_imports=opsets,
        ir_version=min(model.ir_version, IR_VERSION) if model.ir_version > 3 else 4,
        functions=tuple(functions),
        producer_name="onnxlet",
    )


def declared_types(model: Model) -> dict[str, Type]:
    """Types of values that the model declares, or has as constants, by name."""
    graph = model.graph
    infos = (*graph.value_info, *graph.outputs, *graph.inputs)
    types: dict[str, Type] = {v.name: v.type for v in infos if v.type is not None and _says_something(v.type)}
    for tensor in graph.initializers:
        types.setdefault(tensor.name, TensorType(tensor.data_type, tensor.dims))
    return types


def infer_types(model: Model, types: dict[str, Type]) -> None:
    """Add the types that custom operators tell of their outputs (``onnxlet.op(infer=...)``) to those that are known.

    Raises: InvalidModel: an operator's ``infer`` failed, or gave something else than types.
    """
    for i, node in enumerate(model.graph.nodes):
        if all(name in types for name in node.outputs if name):
            continue
        with suppress(UnsupportedOp):
            infer = find(node.domain, node.op_type, model.opset_imports.get(node.domain, 1)).infer
            given = [types.get(name) if name else None for name in node.inputs]
            for name, kind in zip(node.outputs, _inferred(infer, given, node, i) if infer else (), strict=False):
                if name and kind is not None:
                    types.setdefault(name, kind)


def _inferred(
    infer: Callable[..., Any], given: Sequence[Type | None], node: Node, index: int
) -> tuple[Type | None, ...]:
    attributes = {name: python_value(a.value) for name, a in node.attributes.items()}
    try:
        result = infer(*given, **attributes)
    except Exception as error:
        raise InvalidModel(f"{describe(node, index)}: its infer failed: {type(error).__name__}: {error}") from error
    kinds = result if isinstance(result, tuple) else (result,)
    for kind in kinds:
        if not isinstance(kind, Type | None):
            raise InvalidModel(
                f"{describe(node, index)}: its infer gave {kind!r}, expected an onnxlet.TensorType, None where it "
                "cannot tell, or a tuple of these"
            )
    return kinds


def find_nodes(model: Model, part: Part, names: Collection[str]) -> set[int]:
    """Positions of a part's nodes that a refusal names.

    Args:
        names: of nodes (in subgraphs and functions too), operators ("domain:op_type"), or values. A value is the
            business of the node that gives it; one that comes from outside the part, of the nodes that read it.
    """
    by_key = {(f.domain, f.name, f.overload): f for f in model.functions}
    wanted = set(names)
    found = set()
    for i in part.nodes:
        node = model.graph.nodes[i]
        within = list(_all_nodes([node, *(n for f in _called([node], by_key) for n in f.nodes)]))
        called = {name for n in within for name in (n.name, f"{n.domain or 'ai.onnx'}:{n.op_type}")}
        if wanted & called or wanted & set(node.outputs):
            found.add(i)
    if not found:
        found = {i for i in part.nodes if wanted & reads(model.graph.nodes[i])}
    return found


def changed_since(model: Model, opset: int) -> set[int]:
    """Positions of the nodes whose operator means something else, or does not exist, in an older opset of ai.onnx."""
    load_all()
    newer = {
        name
        for (domain, name), versions in registered().items()
        if domain == "" and any(opset < since <= model.opset_imports.get("", 0) for since in versions)
    }
    return {
        i for i, nodes in enumerate(nodes_within(model)) if any(n.domain == "" and n.op_type in newer for n in nodes)
    }


def nodes_within(model: Model) -> Iterable[list[Node]]:
    """Of each of the graph's nodes: itself, the nodes in its subgraphs, and those of the functions that it calls."""
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    for node in model.graph.nodes:
        yield list(_all_nodes([node, *(n for f in _called([node], functions) for n in f.nodes)]))


def mentions(model: Model, data_type: DataType) -> bool:
    """Whether a tensor of a type is declared, held or made by a cast anywhere in a model."""
    functions = [node for f in model.functions for node in f.nodes]
    nodes = list(_all_nodes([*model.graph.nodes, *functions]))
    graphs = [model.graph, *(graph for node in nodes for graph in subgraphs(node))]
    infos = (v for g in graphs for v in (*g.inputs, *g.outputs, *g.value_info))
    attributes = [(name, a.value) for node in nodes for name, a in node.attributes.items()]
    return (
        any(isinstance(v.type, TensorType) and v.type.elem_type == data_type for v in infos)
        or any(t.data_type == data_type for g in graphs for t in g.initializers)
        or any(isinstance(value, Tensor) and value.data_type == data_type for _, value in attributes)
        or any(name in ("to", "dtype", "output_dtype") and value == data_type for name, value in attributes)
    )


def _all_nodes(nodes: Iterable[Node]) -> Iterable[Node]:
    for node in nodes:
        yield node
        for graph in subgraphs(node):
            yield from _all_nodes(graph.nodes)


def _called(nodes: Iterable[Node], functions: Mapping[tuple[str, str, str], Function]) -> list[Function]:
    """Functions that the nodes call, and those that they call in turn."""
    found: dict[tuple[str, str, str], Function] = {}
    waiting = list(nodes)
    while waiting:
        for node in list(_all_nodes([waiting.pop()])):
            key = (node.domain, node.op_type, node.overload)
            if key in functions and key not in found:
                found[key] = functions[key]
                waiting += functions[key].nodes
    return list(found.values())


def _is_constant(node: Node) -> bool:
    return node.op_type == "Constant" and node.domain == ""


def _lowered(opsets: Mapping[str, int], limit: int) -> dict[str, int]:
    return {d: min(v, limit) if d == "" else v for d, v in opsets.items()}


def _dense(sparse: SparseTensor) -> Tensor:
    return from_array(sparse.name, to_dense(sparse))


def _without_shape(kind: Type | None) -> Type | None:
    return TensorType(kind.elem_type) if isinstance(kind, TensorType) else kind


def _says_something(kind: Type) -> bool:
    return not isinstance(kind, TensorType) or kind.elem_type != DataType.UNDEFINED
