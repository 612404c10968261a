"""Nodes that run graphs: If, Loop, Scan, SequenceMap.

A body is called with its inputs and returns a tuple; values of any kind pass through untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array, DataType, Narrow
from ..errors import InvalidInput
from ..model import TensorType, ValueInfo
from .registry import op
from .support import affordable, axis_in_range

__all__ = ["stack"]

Body = Callable[..., tuple[Any, ...]]


@op("If", narrow=True)
def If(cond: Array, *, then_branch: Body, else_branch: Body) -> tuple[Any, ...]:
    """One of two graphs without inputs. Spec: https://onnx.ai/onnx/operators/onnx__If.html, opset 1+."""
    return then_branch() if cond.reshape(-1)[0] else else_branch()


@op("Loop", narrow=True)
def Loop(m: Array | None = None, cond: Array | None = None, *v_initial: Any, body: Any) -> tuple[Any, ...]:
    """Run a graph up to m times while its condition holds.

    Spec: https://onnx.ai/onnx/operators/onnx__Loop.html, opset 1+.

    Args:
        m: int64, one element; None: no limit.
        cond: bool, one element; None: true.
        v_initial: values carried from one round to the next.
        body: takes (round, condition, *carried), gives (condition, *carried, *scanned).
    Returns: the carried values, then each scanned output with the rounds stacked along a new first axis.
    """
    limit = None if m is None else int(m.reshape(-1)[0])
    going = True if cond is None else bool(cond.reshape(-1)[0])
    carried = tuple(v_initial)
    rounds: list[tuple[Any, ...]] = []
    turn = size = 0
    while going and (limit is None or turn < limit):
        condition, *rest = body(np.asarray(turn, np.int64), np.asarray(going), *carried)
        going = bool(condition.reshape(-1)[0])
        carried = tuple(rest[: len(carried)])
        rounds.append(tuple(rest[len(carried) :]))
        size += sum(getattr(value, "nbytes", 0) for value in rounds[-1])
        affordable([size])
        turn += 1
    scanned = body.outputs[1 + len(carried) :]
    return (*carried, *(stack([r[i] for r in rounds], 0, info) for i, info in enumerate(scanned)))


def stack(values: Sequence[Any], axis: int, info: ValueInfo) -> Any:
    """Values along a new axis; of none, an empty tensor of the declared type (unknown sizes count as 0)."""
    if not values:
        declared = info.type if isinstance(info.type, TensorType) else TensorType(DataType.FLOAT)
        sizes = [n if isinstance(n, int) else 0 for n in declared.shape or ()]
        axis = axis if axis >= 0 else axis + len(sizes) + 1
        empty = np.zeros([*sizes[:axis], 0, *sizes[axis:]], declared.elem_type.numpy)
        return Narrow(declared.elem_type, empty) if declared.elem_type.is_narrow else empty
    if isinstance(values[0], Narrow):
        return Narrow(values[0].data_type, stack([v.values for v in values], axis, info))
    return np.stack(values, axis)


@op("Scan", since=9, narrow=True)
def Scan(
    *initial_state_and_scan_inputs: Any,
    body: Any,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
) -> tuple[Any, ...]:
    """Run a graph over slices of tensors, carrying a state.

    Spec: https://onnx.ai/onnx/operators/onnx__Scan.html, opset 9+.

    Args:
        body: takes (*state, *slices), gives (*state, *scanned).
        scan_input_directions, scan_output_directions: 1 reads, or writes, from the end.
    Returns: the last state, then each scanned output stacked along its axis (default 0).
    """
    states = len(initial_state_and_scan_inputs) - num_scan_inputs
    state, sequences = initial_state_and_scan_inputs[:states], initial_state_and_scan_inputs[states:]
    axes = scan_input_axes or [0] * num_scan_inputs
    backward = scan_input_directions or [0] * num_scan_inputs
    slices = [_slices(x, axis, back) for x, axis, back in zip(sequences, axes, backward, strict=True)]
    if len({len(s) for s in slices}) > 1:
        raise InvalidInput(f"scan inputs have {[len(s) for s in slices]} steps, expected the same number")
    rounds: list[tuple[Any, ...]] = []
    for step in zip(*slices, strict=True):
        result = body(*state, *step)
        state = result[:states]
        rounds.append(result[states:])
    outputs = []
    for i, info in enumerate(body.outputs[states:]):
        column = [r[i] for r in rounds]
        if scan_output_directions and scan_output_directions[i]:
            column.reverse()
        outputs.append(stack(column, scan_output_axes[i] if scan_output_axes else 0, info))
    return (*state, *outputs)


def _slices(x: Any, axis: int, backward: int) -> list[Any]:
    if isinstance(x, Narrow):
        return [Narrow(x.data_type, part) for part in _slices(x.values, axis, backward)]
    parts = list(np.moveaxis(x, axis_in_range(axis, x.ndim), 0))
    return parts[::-1] if backward else parts


@op("Scan", since=8, narrow=True)
def Scan_8(
    sequence_lens: Array | None = None,
    *initial_state_and_scan_inputs: Any,
    body: Any,
    num_scan_inputs: int,
    directions: Sequence[int] | None = None,
) -> tuple[Any, ...]:
    """Scan with a batch axis in front, and sequences of different lengths.

    Spec: https://onnx.ai/onnx/operators/onnx__Scan.html, opset 8. Steps after a sequence's end are zeros.
    """
    longest = initial_state_and_scan_inputs[-1].shape[1]
    states = len(initial_state_and_scan_inputs) - num_scan_inputs
    batch = []
    for i in range(len(initial_state_and_scan_inputs[-1])):
        steps = longest if sequence_lens is None else int(sequence_lens[i])
        state = [x[i] for x in initial_state_and_scan_inputs[:states]]
        sequences = [x[i][:steps] for x in initial_state_and_scan_inputs[states:]]
        sample = Scan(*state, *sequences, body=body, num_scan_inputs=num_scan_inputs, scan_input_directions=directions)
        padding = [[(0, longest - steps)] + [(0, 0)] * (y.ndim - 1) for y in sample[states:]]
        batch.append((*sample[:states], *(np.pad(y, p) for y, p in zip(sample[states:], padding, strict=True))))
    return tuple(np.stack(column) for column in zip(*batch, strict=True))


@op("SequenceMap", since=17, narrow=True)
def SequenceMap(input_sequence: list[Any], *additional_inputs: Any, body: Body) -> tuple[list[Any], ...]:
    """Run a graph on every element; other sequences go along in step, tensors go in as they are.

    Spec: https://onnx.ai/onnx/operators/onnx__SequenceMap.html, opset 17+.
    """
    rounds = [
        body(element, *(x[i] if isinstance(x, list) else x for x in additional_inputs))
        for i, element in enumerate(input_sequence)
    ]
    if not rounds:
        return tuple([] for _ in body.outputs)  # type: ignore[attr-defined]
    return tuple(list(column) for column in zip(*rounds, strict=True))
