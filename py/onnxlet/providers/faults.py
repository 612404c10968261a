"""What ONNX Runtime takes, runs, and answers wrongly, where nothing in a run would say so.

These nodes run on the core's own operators instead. A fault belongs here when ONNX's specification and its tests say
that the answer is wrong, and when a node shows it without being run. Seen on onnxruntime 1.32 and ONNX Runtime Web 1.30
with `python -m tests.ops.rates --chromium`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..model import Model, Node

__all__ = ["PROVIDERS", "Fault", "known"]

PROVIDERS = CPU, GPU = "CPUExecutionProvider", "WebGpuExecutionProvider"


class Fault(NamedTuple):
    """A kernel that answers wrongly.

    Args:
        providers: that have it.
        shows: whether a node would meet it.
        reason: what goes wrong.
    """

    operator: str
    providers: tuple[str, ...]
    shows: Callable[[Node], bool]
    reason: str


def _always(node: Node) -> bool:
    return True


def _has_input(position: int) -> Callable[[Node], bool]:
    return lambda node: len(node.inputs) > position and bool(node.inputs[position])


def _has_output(position: int) -> Callable[[Node], bool]:
    return lambda node: len(node.outputs) > position and bool(node.outputs[position])


_DFT = (
    "87 dB at 400 samples and 79 dB at 1000, where float32 allows 130: its transform of other sizes than 2^n is noisy"
)

FAULTS = (
    Fault("DFT", (CPU, GPU), _always, _DFT),
    Fault("STFT", (CPU, GPU), _always, _DFT),
    Fault("MaxUnpool", (CPU, GPU), _has_input(2), "reads its indices as if output_shape had not been given"),
    Fault(
        "Dropout", (CPU, GPU), _has_input(2), "its seed draws other numbers in every runtime: here all draw the same"
    ),
    Fault("Attention", (CPU, GPU), _has_output(3), "gives the scores with the causal mask in another place"),
)
_BY_OPERATOR: dict[str, list[Fault]] = {}
for _fault in FAULTS:
    _BY_OPERATOR.setdefault(_fault.operator, []).append(_fault)


def known(model: Model, provider: str) -> dict[int, str]:
    """Positions of the graph's nodes that the provider gets wrong, each with what goes wrong.

    A node counts for what is in its subgraphs and in the functions that it calls.
    """
    from ..partition import nodes_within

    found = {}
    for index, nodes in enumerate(nodes_within(model)):
        for node in nodes:
            for fault in _BY_OPERATOR.get(node.op_type, ()) if node.domain in ("", "ai.onnx") else ():
                if provider in fault.providers and fault.shows(node):
                    found[index] = f"{node.op_type}: {fault.reason}"
    return found
