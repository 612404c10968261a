"""What ONNX Runtime takes, runs, and answers wrongly, where nothing in a run would say so.

These nodes run on the core's own operators instead. A fault belongs here when ONNX's specification and its tests say
that the answer is wrong, and when a node shows it without being run. Seen on onnxruntime 1.32 and ONNX Runtime Web 1.30
with `python -m tests.ops.rates --chromium`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..model import Model, Node

__all__ = ["PROVIDERS", "Fault", "known"]

PROVIDERS = CPU, GPU = "CPUExecutionProvider", "WebGpuExecutionProvider"


Shows = Callable[[Node, Mapping[str, Sequence[int]]], bool]


class Fault(NamedTuple):
    """A kernel that answers wrongly.

    Args:
        providers: that have it.
        shows: whether a node would meet it, by itself and the dims of the model's constants.
        reason: what goes wrong.
    """

    operator: str
    providers: tuple[str, ...]
    shows: Shows
    reason: str


def _always(node: Node, dims: Mapping[str, Sequence[int]]) -> bool:
    return True


def _has_input(position: int) -> Shows:
    return lambda node, dims: len(node.inputs) > position and bool(node.inputs[position])


def _has_output(position: int) -> Shows:
    return lambda node, dims: len(node.outputs) > position and bool(node.outputs[position])


def _threes(node: Node, dims: Mapping[str, Sequence[int]]) -> bool:
    """Whether a convolution's kernel reads channels by threes: C is a multiple of 3, not of 4, and more than 3."""
    shape = dims.get(node.inputs[1], ()) if len(node.inputs) > 1 else ()
    return len(shape) > 2 and shape[1] > 3 and shape[1] % 3 == 0 and shape[1] % 4 != 0 and shape[0] % 4 == 0


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
    Fault("Conv", (GPU,), _threes, "gives noise (-3 dB) where it reads channels by threes, as in silero-vad"),
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
    dims = {tensor.name: tensor.dims for tensor in model.graph.initializers}
    for index, nodes in enumerate(nodes_within(model)):
        for node in nodes:
            for fault in _BY_OPERATOR.get(node.op_type, ()) if node.domain in ("", "ai.onnx") else ():
                if provider in fault.providers and fault.shows(node, dims):
                    found[index] = f"{node.op_type}: {fault.reason}"
    return found
