"""Time tables in Chrome's trace format with onnxruntime's names; and a node's inputs' shapes, for errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from .model import Node
from .ops.narrow import type_of
from .providers.base import Value

__all__ = ["Event", "merge_traces", "run_event", "shapes_text", "trace_event"]

Event = dict[str, Any]
RUN = "model_run"  # the event that spans one run


def shapes_text(values: Sequence[Value]) -> str:
    """Such as ``inputs: float[2, 3], -, list of 2``; a dash is an input left out."""
    return "inputs: " + ", ".join("-" if v is None else _describe(v) for v in values)


def _describe(value: Value) -> str:
    if isinstance(value, list | dict):
        return f"{type(value).__name__} of {len(value)}"
    return f"{type_of(value).name.lower()}{list(value.shape)}"


def trace_event(
    node: Node, index: int, inputs: Sequence[Value], outputs: Sequence[Value], begin_s: float, took_s: float
) -> Event:
    """A node's event with the keys that onnxruntime's profiler writes.

    Args:
        begin_s: since the trace's zero.
    """
    return {
        "cat": "Node",
        "pid": 0,
        "tid": 0,
        "dur": round(took_s * 1e6),
        "ts": round(begin_s * 1e6),
        "ph": "X",
        "name": f"{node.name or f'{node.op_type}_{index}'}_kernel_time",
        "args": {
            "op_name": node.op_type,
            "provider": "NumpyExecutionProvider",
            "node_index": str(index),
            "input_type_shape": _shapes(inputs),
            "output_type_shape": _shapes(outputs),
            "activation_size": _size_bytes(inputs),
            "output_size": _size_bytes(outputs),
        },
    }


def run_event(begin_s: float, took_s: float) -> Event:
    """The event that spans a whole run. Args: begin_s: since the trace's zero."""
    times = {"dur": round(took_s * 1e6), "ts": round(begin_s * 1e6)}
    return {"cat": "Session", "pid": 0, "tid": 0, **times, "ph": "X", "name": RUN, "args": {}}


def merge_traces(traces: Iterable[tuple[Sequence[Event], float]]) -> list[Event]:
    """One trace of several, whose clocks start at different moments.

    Args:
        traces: events, and when their last run ended, in seconds since the zero of the result. When the first one
            began would tell less: a runtime that loads in the background only waits at first.
    Returns: events in order of time, on one thread; what a GPU did beside it (thread below 0) on another one.
    """
    merged = []
    for events, end_s in traces:
        end_us = max((event["ts"] + event["dur"] for event in events if event["name"] == RUN), default=0)
        shift_us = round(end_s * 1e6) - end_us
        for event in events:
            merged.append({**event, "ts": event["ts"] + shift_us, "pid": 0, "tid": 0 if event["tid"] >= 0 else 1})
    return sorted(merged, key=lambda event: event["ts"])


def _shapes(values: Sequence[Value]) -> list[dict[str, list[int]]]:
    return [{type_of(v).ort_type[7:-1]: list(v.shape)} for v in values if hasattr(v, "shape")]  # tensor(float): float


def _size_bytes(values: Sequence[Value]) -> str:
    return str(sum(math.prod(v.shape) * max(type_of(v).bits, 8) // 8 for v in values if hasattr(v, "shape")))
