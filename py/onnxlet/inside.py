"""What the page shows of a session's inside: the placement of nodes, the time of each, and how right each one is.

Everything here is asked for by a person who opened that part of the page; before that a session pays for one reference
to its last feeds (`last_calls`). Nothing knows of the browser: answers are plain values for JSON.
"""

from __future__ import annotations

import copy
import math
import re
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from . import providers as _providers
from . import session as _session
from .comparison import Comparison, Difference, acompare
from .errors import OnnxletError
from .last_calls import Call, has_run, last_call
from .node_trace import Event
from .partition import name_nodes
from .providers.base import Traced
from .session import InferenceSession

__all__ = [
    "compare",
    "node_times",
    "placements",
    "timed",
    "times",
]

TOP = 20  # rows of a table: what a person reads
_KERNEL = "_kernel_time"
_TOKEN = re.compile(r"_token_\d+$")


async def placements() -> list[dict[str, Any]]:
    """Every session of the app: which node is where, in order, and what crosses between the parts.

    Returns: a dict a session: ``session`` (its number), ``model``, ``provider``, ``reason`` (why not one part, or why
        not the provider that was wanted), ``parts`` (each with ``provider`` and ``nodes``, pairs of name and operator),
        ``crossing`` (pairs of value and bytes, of the last run), ``ran`` (whether there are feeds to run it on again),
        ``variant`` (what the build says of the file that runs, {} where it says nothing), ``references`` (how many
        samples there are for `verification.verify`).
    """
    return [await _placement(session) for session in _session.sessions.values()]


async def _placement(session: InferenceSession) -> dict[str, Any]:
    placement = session.placement() or {}
    provider = placement.get("provider") or session.get_providers()[0]
    parts = placement.get("parts") or [{"provider": provider, "nodes": None}]
    operators: dict[str, str] = {}
    try:
        await session.source.fetch()
        operators = {node.name: node.op_type for node in name_nodes(session.source.model()).graph.nodes}
    except OnnxletError:
        pass  # a model that cannot be read has told so in its run; its parts still stand here
    return {
        "session": session.number,
        "model": session.source.name,
        "provider": provider,
        "reason": placement.get("reason") or session.fallen,
        "parts": [
            {
                "provider": part["provider"],
                "nodes": [[name, operators.get(name, "")] for name in part["nodes"] or operators],
            }
            for part in parts
        ],
        "crossing": sorted(placement.get("crossing_bytes", {}).items(), key=lambda item: -item[1]),
        "ran": has_run(session),
        "variant": session.source.variant(provider),
        "references": len(session.source.references),
    }


async def times(number: int) -> dict[str, Any]:
    """Run a session's last input twice more, and say what each node took the second time.

    Returns: ``total_ms`` of the run; ``nodes``: the slowest `TOP`, see `node_times`; ``count``: of all nodes;
        ``other_ms``: what the nodes do not account for.
    Raises: InvalidInput: no such session, or nothing to run it on; else what a run raises.
    """
    rows, total_ms = await timed(*last_call(number))
    return {
        "total_ms": total_ms,
        "count": len(rows),
        "nodes": rows[:TOP],
        "other_ms": max(0.0, total_ms - sum(row["ms"] for row in rows)),
    }


async def timed(session: InferenceSession, call: Call) -> tuple[list[dict[str, Any]], float]:
    """Run a call twice more on a session like this one.

    Returns: `node_times` of the second run, and its milliseconds.
    """
    options = copy.copy(session.get_session_options())
    options.enable_profiling = True
    timed = session.again(options)
    try:
        await timed.arun(call.fetches, call.feeds)
        begin_s = time.perf_counter()
        await timed.arun(call.fetches, call.feeds)
        total_s = time.perf_counter() - begin_s
        executable = timed.executable
        events: list[Event] = await executable.atrace() if isinstance(executable, Traced) else []
        return node_times(events, (begin_s - getattr(executable, "started_s", 0.0)) * 1e6), total_s * 1e3
    finally:
        timed.close()


def node_times(events: Sequence[Event], from_us: float = 0.0) -> list[dict[str, Any]]:
    """What each node took, the slowest first.

    Args:
        events: a Chrome trace with onnxruntime's names.
        from_us: events before this moment do not count.
    Returns: a dict a node: ``node``, ``operator``, ``provider``, ``ms``, ``runs`` and ``clock``: "cpu", "gpu" where the
        GPU measured it, "queued" where only handing the work to the GPU was measured.
    """
    spans: Mapping[str, list[Event]] = defaultdict(list)
    gpu: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event["name"].endswith(_KERNEL):
            spans[_node_name(event["name"].removesuffix(_KERNEL))].append(event)
        elif event["cat"] == "Api":
            gpu[_node_name(event["name"].partition("&")[0])].append(event)
    if gpu:  # what waits for the GPU would count its time again
        spans = {name: found for name, found in spans.items() if not found[0]["args"]["op_name"].startswith("Memcpy")}
    rows = []
    for name, all_spans in spans.items():
        counted = [event for event in all_spans if event["ts"] >= from_us]
        if not counted:
            continue
        clock = "cpu"
        if counted[0]["args"].get("provider") == _providers.WEBGPU:
            clock = "gpu" if name in gpu else "queued"
        # the GPU's own clock does not tell which run a kernel belongs to, but kernels come in order
        first = len(gpu[name]) * (len(all_spans) - len(counted)) // len(all_spans)
        measured = gpu[name][first:] if clock == "gpu" else counted
        rows.append(
            {
                "node": name,
                "operator": counted[0]["args"].get("op_name", ""),
                "provider": counted[0]["args"].get("provider", ""),
                "ms": sum(event["dur"] for event in measured) / 1e3,
                "runs": len(counted),
                "clock": clock,
            }
        )
    return sorted(rows, key=lambda row: -row["ms"])


def _node_name(name: str) -> str:
    """The name in the model: onnxruntime adds a number where it changes a node's layout."""
    return _TOKEN.sub("", name)


async def compare(number: int) -> dict[str, Any]:
    """Compare every value inside a session, on its last input, with the operators' definition in numpy.

    Returns: ``a``, ``b``: the providers; ``tensors``, ``bad``, ``tolerance_db``, ``missing`` (counts); ``first``: the
        first bad row or None; ``worst``: the `TOP` worst rows.
    Raises: as `times`.
    """
    session, call = last_call(number)
    found = await acompare(session.source, call.feeds, session.get_providers()[0], _providers.NUMPY)
    return comparison_rows(found)


def comparison_rows(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON has it: no infinity, no NaN."""
    return {
        "a": found.a,
        "b": found.b,
        "tensors": len(found.rows),
        "bad": len(found.bad),
        "tolerance_db": found.tolerance_db,
        "missing": len(found.missing),
        "first": _row(found.first) if found.first else None,
        "worst": list(map(_row, found.worst(TOP))),
    }


def _row(row: Difference) -> Mapping[str, Any]:
    def finite(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    return {
        "node": row.node,
        "operator": row.op_type,
        "output": row.output,
        "shape": list(row.shape),
        "equal": row.snr_db == math.inf,
        "snr_db": finite(row.snr_db),
        "max_abs": finite(row.max_abs),
        "note": row.note,
    }
