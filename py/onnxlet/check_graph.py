"""The rules that make a graph runnable: every value is given once, before it is read, and nothing goes in a circle.

What a subgraph defines may have the name of a value around it and then hides it, as in onnxruntime.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .errors import InvalidModel
from .model import Attribute, Function, Graph, Model, Node
from .tensors import flat_indices

__all__ = ["captures", "check", "describe", "map_subgraphs", "reads", "subgraphs"]

GRAPH, GRAPHS, SPARSE_TENSOR, SPARSE_TENSORS = 5, 10, 11, 12  # AttributeProto.AttributeType
MAX_UNFOLDED = 1_000_000  # nodes after unfolding function calls; real models stay under 100,000
MAX_NESTING = 64  # subgraphs and functions within each other; real models stay under 10

FunctionKey = tuple[str, str, str]  # domain, name, overload


def check(model: Model) -> Model:
    """The model, its nodes in topological order (some exporters leave them unsorted).

    Raises: InvalidModel: says which node or value breaks which rule.
    """
    functions: dict[FunctionKey, Function] = {}
    for function in model.functions:
        key = (function.domain, function.name, function.overload)
        if key in functions:
            raise InvalidModel(f'function "{function.name}" of domain "{function.domain}" is defined twice')
        functions[key] = function
    domains = model.opset_imports.keys() | {f.domain for f in model.functions}
    checked = replace(
        model,
        graph=_check_graph(model.graph, (), domains),
        functions=tuple(_check_function(f, domains) for f in model.functions),
    )
    _check_calls(model.graph, functions)
    return checked


def describe(node: Node, index: int) -> str:
    """How messages name a node: ``node "conv1" (Conv)``, or by its place when it has no name."""
    op_type = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
    return f'node "{node.name}" ({op_type})' if node.name else f"node #{index} ({op_type})"


def subgraphs(node: Node) -> tuple[Graph, ...]:
    """The graphs among a node's attributes."""
    found: list[Graph] = []
    for attribute in node.attributes.values():
        if attribute.value is not None and attribute.type in (GRAPH, GRAPHS):
            found += [attribute.value] if attribute.type == GRAPH else attribute.value
    return tuple(found)


def map_subgraphs(node: Node, change: Callable[[Graph], Graph]) -> Node:
    """The node with each of its graphs replaced."""
    if not subgraphs(node):
        return node

    def changed(attribute: Attribute) -> Attribute:
        value: Any = attribute.value
        if value is None or attribute.type not in (GRAPH, GRAPHS):
            return attribute
        return replace(attribute, value=change(value) if attribute.type == GRAPH else tuple(map(change, value)))

    return replace(node, attributes={name: changed(a) for name, a in node.attributes.items()})


def reads(node: Node) -> set[str]:
    """Names of the values that a node needs: its inputs, and what its subgraphs take from around them."""
    names = {name for name in node.inputs if name}
    for graph in subgraphs(node):
        names |= captures(graph)
    return names


def captures(graph: Graph) -> set[str]:
    """Names that a subgraph takes from the graphs around it."""
    local = _given_at_start(graph)
    taken = {v.name for v in graph.outputs}
    for node in graph.nodes:
        local.update(node.outputs)
        taken |= reads(node)
    return taken - local


def _given_at_start(graph: Graph) -> set[str]:
    return {v.name for v in graph.inputs}.union(_constants(graph))


def _constants(graph: Graph) -> list[str]:
    return [t.name for t in graph.initializers] + [t.name for t in graph.sparse_initializers]


def _check_graph(graph: Graph, scopes: tuple[set[str], ...], domains: Iterable[str]) -> Graph:
    """Args: scopes: names of the graphs around this one that are known where it stands."""
    where = f'graph "{graph.name}"'
    _once((v.name for v in graph.inputs), f"{where}: input")
    _once(_constants(graph), f"{where}: initializer")
    for sparse in graph.sparse_initializers:
        flat_indices(sparse)
    known = _given_at_start(graph)
    nodes = _check_nodes(graph.nodes, known, scopes, domains, where)
    for output in graph.outputs:
        if output.name not in known and not _visible(output.name, scopes):
            raise InvalidModel(f'{where}: its output "{output.name}" is given by no node, input or initializer')
    return replace(graph, nodes=nodes)


def _check_function(function: Function, domains: Iterable[str]) -> Function:
    where = f'function "{function.name}"'
    _once(function.inputs, f"{where}: input")
    known = set(function.inputs)
    nodes = _check_nodes(function.nodes, known, (), {*domains, *function.opset_imports}, where)
    for output in function.outputs:
        if output not in known:
            raise InvalidModel(f'{where}: its output "{output}" is given by no node or input')
    return replace(function, nodes=nodes)


def _check_nodes(
    nodes: Sequence[Node], known: set[str], scopes: tuple[set[str], ...], domains: Iterable[str], where: str
) -> tuple[Node, ...]:
    """The nodes in order. Adds what they give to `known`."""
    producer: dict[str, int] = {}
    needs = [reads(node) for node in nodes]
    for index, node in enumerate(nodes):
        label = f"{where}: {describe(node, index)}"
        if node.domain not in domains:
            raise InvalidModel(
                f'{label}: the model does not import the operators of domain "{node.domain or "ai.onnx"}"'
            )
        for name in filter(None, node.outputs):
            if name in known:
                raise InvalidModel(f'{label}: gives "{name}", which is already the name of an input or initializer')
            if name in producer:
                other = describe(nodes[producer[name]], producer[name])
                raise InvalidModel(f'{label}: gives "{name}", which {other} gives too; every value needs its own name')
            producer[name] = index
    for index, (node, names) in enumerate(zip(nodes, needs, strict=True)):
        for name in names:
            if name not in known and name not in producer and not _visible(name, scopes):
                raise InvalidModel(
                    f'{where}: {describe(node, index)}: reads "{name}", which no node, input or initializer gives'
                )
    ordered = []
    for index in _topological(nodes, needs, producer, where):
        node = nodes[index]
        for attribute in node.attributes.values():
            if attribute.value is not None and attribute.type in (SPARSE_TENSOR, SPARSE_TENSORS):
                for sparse in [attribute.value] if attribute.type == SPARSE_TENSOR else attribute.value:
                    flat_indices(sparse)
        ordered.append(map_subgraphs(node, lambda graph: _check_graph(graph, (*scopes, known), domains)))
        known.update(filter(None, node.outputs))
    return tuple(ordered)


def _topological(
    nodes: Sequence[Node], needs: Sequence[set[str]], producer: Mapping[str, int], where: str
) -> list[int]:
    """Positions of the nodes, each after those it needs; sorted nodes keep their places (Kahn 1962)."""
    waiting = [{producer[name] for name in names if name in producer} for names in needs]
    users: list[list[int]] = [[] for _ in nodes]
    for index, needed in enumerate(waiting):
        for other in needed:
            users[other].append(index)
    missing = [len(needed) for needed in waiting]
    ready = [index for index, count in enumerate(missing) if not count]
    order = []
    while ready:
        index = heapq.heappop(ready)
        order.append(index)
        for user in users[index]:
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(ready, user)
    if len(order) < len(nodes):
        at = next(index for index, count in enumerate(missing) if count)
        steps: dict[int, None] = {}  # every node that is left waits for another one that is left
        while at not in steps:
            steps[at] = None
            at = next(other for other in waiting[at] if missing[other])
        circle = list(steps)[list(steps).index(at) :]
        path = " <- ".join(describe(nodes[index], index) for index in [*circle[:8], circle[0]])
        raise InvalidModel(f"{where}: nodes wait for each other in a circle: {path}")
    return order


def _check_calls(graph: Graph, functions: Mapping[FunctionKey, Function]) -> None:
    """Refuse functions that call themselves, and what unfolds deeper or to more nodes than anybody could run."""
    measured: dict[FunctionKey, tuple[int, int]] = {}
    open_calls: list[FunctionKey] = []

    def measure(nodes: Iterable[Node], depth: int) -> tuple[int, int]:
        """Nodes within, and levels of subgraphs and functions below."""
        size = height = 0
        for node in nodes:
            inner = [measure(subgraph.nodes, depth + 1) for subgraph in subgraphs(node)]
            key = (node.domain, node.op_type, node.overload)
            if key in functions:
                inner.append(measure_call(key, depth + 1))
            size += 1 + sum(s for s, _ in inner)
            height = max([height, *(h + 1 for _, h in inner)])
            if size > MAX_UNFOLDED:
                raise InvalidModel(f"the model's function calls unfold to more than {MAX_UNFOLDED} nodes")
            if depth + height > MAX_NESTING:
                raise InvalidModel(f"subgraphs and functions are nested more than {MAX_NESTING} deep")
        return size, height

    def measure_call(key: FunctionKey, depth: int) -> tuple[int, int]:
        if key in open_calls:
            raise InvalidModel(f'function "{key[1]}" calls itself ({" -> ".join(k[1] for k in [*open_calls, key])})')
        if depth > MAX_NESTING:
            raise InvalidModel(f"subgraphs and functions are nested more than {MAX_NESTING} deep")
        if key not in measured:
            open_calls.append(key)
            measured[key] = measure(functions[key].nodes, depth)
            open_calls.pop()
        return measured[key]

    for key in functions:
        measure_call(key, 1)
    measure(graph.nodes, 0)


def _visible(name: str, scopes: tuple[set[str], ...]) -> bool:
    return any(name in scope for scope in scopes)


def _once(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not name:
            raise InvalidModel(f"{what} {len(seen)} has no name")
        if name in seen:
            raise InvalidModel(f'{what} "{name}" stands twice; every value needs its own name')
        seen.add(name)
