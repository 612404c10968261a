"""From a graph and the shapes of its feeds to a program for the kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dtypes import Array
from ...errors import Refused
from ...execute import Program, Run, Step, python_value
from .lowering import RULES, Entry, Unfit, apply
from .program import Block, Builder, Compiled, Held, Value

__all__ = ["Plan", "compile_graph", "refused_nodes"]

Kind = tuple[np.dtype[Any], tuple[int, ...]]


@dataclass(slots=True)
class Plan:
    """A compiled graph.

    Args:
        feeds: names of the program's feeds, in order.
        results: for each fetch, the number of the program's result, or the array that is known already.
    """

    compiled: Compiled
    feeds: list[str]
    results: list[int | Array]


def refused_nodes(program: Program) -> list[str]:
    """Names of the nodes for which there is no rule, whatever their shapes: those that read something from outside."""
    known = set(program.constants) - set(program.inputs)
    refused = []
    for step in program.steps:
        if step.repeatable and step.uses <= known:
            known.update(step.node.outputs)
        elif _rule_of(step) is None:
            refused.append(step.node.name or step.node.op_type)
    return refused


def compile_graph(program: Program, kinds: Mapping[str, Kind], fetches: Sequence[str], module: Any) -> Plan:
    """Compile.

    Args:
        kinds: dtype and shape of each feed.
        module: the kernels' native module.
    Raises: Refused: a node has no rule for what comes to it; `nodes` names it.
    """
    builder = Builder(module)
    values: dict[str, Value | None] = {"": None}
    steps = [step for step, _ in program._plan(tuple(fetches))]
    reads = Counter(name for step in steps for name in step.node.inputs if name)
    reads.update(fetches)
    for name, constant in program.constants.items():
        if name not in kinds and isinstance(constant, np.ndarray):
            values[name] = constant
    feeds = [name for name in program.inputs if name in kinds]
    for name in feeds:
        _bind(builder, values, reads, name, builder.feed(*kinds[name]))
    for step in steps:
        _add(builder, step, values, reads)
    results: list[int | Array] = []
    outputs: list[Value] = []
    for name in fetches:
        value = values[name]
        if isinstance(value, np.ndarray):
            results.append(value)
        else:
            assert value is not None
            results.append(len(outputs))
            outputs.append(value)
    return Plan(builder.finish(outputs), feeds, results)


def _rule_of(step: Step) -> Entry | None:
    domain = "" if step.node.domain == "ai.onnx" else step.node.domain
    entry = RULES.get((domain, step.node.op_type))
    return entry if entry and step.since >= entry.since else None


def _add(builder: Builder, step: Step, values: dict[str, Value | None], reads: Counter[str]) -> None:
    try:
        inputs = [values[name] for name in step.node.inputs]
    except KeyError as error:  # a constant of a type that numpy lacks
        raise _refusal(step, f"{error} has a type that the kernels lack") from None
    if step.repeatable and all(value is None or isinstance(value, np.ndarray) for value in inputs):
        known: dict[str, Any] = {name: values[name] for name in step.node.inputs if name}
        step.run(known, Run())
        for name in filter(None, step.node.outputs):
            if not isinstance(known[name], np.ndarray):
                raise _refusal(step, f'"{name}" is no array')
            values[name] = known[name]
        return
    found = _rule_of(step)
    if found is None:
        raise _refusal(step, "the kernels do not have this operator")
    for value in inputs:
        if isinstance(value, Held) and isinstance(value.place, Block):
            builder.readers[id(value.place)] -= 1
    builder.node = step.node.name or step.node.op_type
    attributes = {name: python_value(attribute.value) for name, attribute in step.node.attributes.items()}
    try:
        outputs = apply(found, builder, inputs, attributes, len(step.node.outputs))
    except Unfit as unfit:
        raise _refusal(step, str(unfit)) from None
    for name, value in zip(step.node.outputs, outputs, strict=False):
        if name:
            _bind(builder, values, reads, name, value)


def _bind(builder: Builder, values: dict[str, Value | None], reads: Counter[str], name: str, value: Value) -> None:
    values[name] = value
    if isinstance(value, Held) and isinstance(value.place, Block):
        builder.readers[id(value.place)] += reads[name]


def _refusal(step: Step, why: str) -> Refused:
    return Refused(f"{step.label}: {why}", nodes=(step.node.name or step.node.op_type,))
