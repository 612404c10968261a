"""Every node of a session's model: where it runs, what it gives and what it took; and what one of its values holds.

For the page's model panel. What is measured runs the session's last input again, on sessions of its own, so that the
app's is as it was. Nodes are those of the graph itself: the body of an If, Loop or Scan counts as that one node.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from . import inside as _inside
from . import last_calls
from .errors import InvalidInput
from .model import Graph, TensorType, ValueInfo
from .options import GraphOptimizationLevel
from .partition import name_nodes
from .providers.base import Value
from .session import InferenceSession
from .value_summary import summarize, type_text

__all__ = ["measure", "nodes", "value"]

FIRST_BATCH = 64  # values fetched at once before their sizes are known
BATCH_BYTES = 64 << 20  # and after that: a page has 4 GB in all


async def nodes(number: int) -> dict[str, Any]:
    """The nodes of a session's model in the graph's order, without running anything.

    Returns: ``nodes``: a dict a node with ``node``, ``operator``, ``domain``, ``provider``, ``inputs`` (names) and
        ``outputs`` (each ``name``, ``type`` and ``shape`` as the model declares them, "" and None where it does not);
        ``inputs``: the model's, in the same form; ``ran``: whether there are feeds to measure with.
    Raises: InvalidInput: no such session; InvalidModel: its file.
    """
    session = last_calls.session_of(number)
    graph = await _graph(session)
    declared = {v.name: v for v in (*graph.value_info, *graph.outputs, *graph.inputs)}
    placement = session.placement() or {}
    where = {name: part["provider"] for part in placement.get("parts", ()) for name in part["nodes"]}
    whole = placement.get("provider") or session.get_providers()[0]
    return {
        "nodes": [
            {
                "node": node.name,
                "operator": node.op_type,
                "domain": node.domain,
                "provider": where.get(node.name, whole),
                "inputs": [name for name in node.inputs if name],
                "outputs": [_declared(declared.get(name), name) for name in node.outputs if name],
            }
            for node in graph.nodes
        ],
        "inputs": [_declared(v, v.name) for v in graph.feeds],
        "ran": last_calls.has_run(session),
    }


async def measure(number: int) -> dict[str, Any]:
    """Run a session's last input again: what each node took, and the types and shapes of what it gives.

    Returns: ``total_ms``, ``other_ms`` as `inside.times` has them; ``times``: by node, ``ms`` and ``clock``; ``extra``:
        nodes that the runtime made itself, with ``node``, ``operator``, ``ms``; ``values``: by name, ``type`` and
        ``shape`` (None where it is no tensor).
    Raises: as `inside.times`.
    """
    session, call = last_calls.last_call(number)
    graph = await _graph(session)
    rows, total_ms = await _inside.timed(session, call)
    known = {node.name for node in graph.nodes}
    found: dict[str, dict[str, Any]] = {}
    names = list(dict.fromkeys(name for node in graph.nodes for name in node.outputs if name))
    size = FIRST_BATCH
    while todo := names[len(found) : len(found) + size]:
        values = await _fetch(session, todo, call.feeds)
        taken = 0
        for name, one in zip(todo, values, strict=True):
            found[name] = {"type": type_text(one), "shape": list(one.shape) if hasattr(one, "shape") else None}
            taken += getattr(one, "nbytes", 0)
        size = max(1, BATCH_BYTES * len(todo) // max(taken, 1))
    return {
        "total_ms": total_ms,
        "other_ms": max(0.0, total_ms - sum(row["ms"] for row in rows)),
        "times": {row["node"]: {"ms": row["ms"], "clock": row["clock"]} for row in rows if row["node"] in known},
        "extra": [
            {"node": row["node"], "operator": row["operator"], "ms": row["ms"]}
            for row in rows
            if row["node"] not in known
        ],
        "values": found,
    }


async def value(number: int, name: str) -> dict[str, Any]:
    """What a value of the graph holds for the session's last input, on the session's own provider.

    Returns: see `value_summary.summarize`.
    Raises: InvalidInput: the graph has no such value; else as `inside.times`.
    """
    session, call = last_calls.last_call(number)
    graph = await _graph(session)
    if name in call.feeds:
        return summarize(call.feeds[name])
    if not any(name in node.outputs for node in graph.nodes):
        raise InvalidInput(f"{session.source.name}: no node gives a value {name!r}")
    (found,) = await _fetch(session, [name], call.feeds)
    return summarize(found)


async def _graph(session: InferenceSession) -> Graph:
    await session.source.fetch()
    return name_nodes(session.source.model()).graph


async def _fetch(session: InferenceSession, names: Sequence[str], feeds: dict[str, Value]) -> list[Any]:
    """Values inside the graph. Nothing is fused or folded: a value that an optimization removes would not be there."""
    options = copy.copy(session.get_session_options())
    options.graph_optimization_level = GraphOptimizationLevel.ORT_DISABLE_ALL
    probe = session.again(options)
    try:
        return await probe.arun(names, feeds)
    finally:
        probe.close()


def _declared(info: ValueInfo | None, name: str) -> dict[str, Any]:
    kind = info.type if info else None
    if not isinstance(kind, TensorType):
        return {"name": name, "type": "", "shape": None}
    shape = None if kind.shape is None else list(kind.shape)
    return {"name": name, "type": kind.elem_type.name.lower(), "shape": shape}
