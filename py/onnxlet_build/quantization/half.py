"""fp16 and fp16-storage: numbers of 16 bits for everything, or only for the weights on their way to the visitor.

float16 ends at 65504, and what is smaller than 6.1e-5 loses digits or becomes 0 on a GPU. Outputs do not show an
overflow on the way (native ONNX Runtime computes such nodes in float32), so nodes are chosen by the ranges that their
values had on the calibration samples, and accuracy is measured on a float32 model that is rounded where the float16
one would be.
"""

from collections.abc import Collection
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto

from onnxlet.dtypes import Array

from .graphs import MICROSOFT, Graph, attributes, captured
from .ranges import Range, Ranges

__all__ = ["build", "build_storage", "rounded", "targets", "targets_storage"]

LARGEST = 65504.0
SMALLEST_NORMAL = 6.1e-5
# The samples have not shown the largest value of all.
_HEADROOM = 2.0
# Their answer hangs on what its argument is near 0.
_DIVIDES = {"Div": 1, "Reciprocal": 0, "Sqrt": 0, "Log": 0}
# Positions, and sums that grow along a whole axis: 11 bits of mantissa are not enough.
_EXACT = {"GridSample", "CumSum", "NonMaxSuppression", "RoiAlign"}
# An attribute, not the inputs, says what type comes out.
_TYPED = {"dtype", "output_datatype", "output_dtype"}
_FEW = 256


def targets(graph: Graph, ranges: Ranges) -> list[str]:
    """Nodes that can compute in float16: there is such an operator, and its constants and values fit."""
    return [node.name for node in graph.nodes if _slots(graph, node) and not _too_wide(graph, node, ranges)]


def build(graph: Graph, names: Collection[str], ranges: Ranges) -> None:
    """Let these nodes compute in float16, with a Cast where they meet others. Inputs and outputs keep their types."""
    chosen = [node for node in graph.nodes if node.name in names]
    kept = {*graph.outputs, *(name for node in graph.nodes for name in captured(node))}
    halves: dict[str, str] = {}  # by a value's name: what carries it in float16
    floats: dict[str, str] = {}
    plans = {node.name: slots for node in chosen if (slots := _slots(graph, node))}
    for node in chosen:
        for index in plans[node.name][1]:
            name = node.output[index]
            if name in kept:
                halves[name] = graph.rename_output(node, name, f"{name}/half")
                graph.emit("Cast", [halves[name]], name, to=TensorProto.FLOAT)
                floats[name] = name
            else:
                halves[name] = name
                graph.types[name] = TensorProto.FLOAT16
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and plans[node.name][1]:
                attribute.i = TensorProto.FLOAT16

    def half(name: str) -> str:
        if name not in halves:
            value = graph.constant(name)
            halves[name] = (
                graph.emit("Cast", [name], graph.name(f"{name}/half"), to=TensorProto.FLOAT16)
                if value is None
                else graph.add(f"{name}/half", value.astype(np.float16))
            )
        return halves[name]

    def single(name: str) -> str:
        if name not in floats:
            floats[name] = graph.emit("Cast", [name], graph.name(f"{name}/float"), to=TensorProto.FLOAT)
        return floats[name]

    made = set(halves)
    for node in graph.nodes:
        inputs = plans[node.name][0] if node.name in plans else ()
        for index, name in enumerate(node.input):
            if index in inputs:
                node.input[index] = half(name)
            elif name in made:
                node.input[index] = single(name)


def rounded(graph: Graph, names: Collection[str], ranges: Ranges) -> None:
    """The same numbers in float32: every value that `build` keeps in float16 goes through float16 and back."""
    through: dict[str, str] = {}

    def cast(name: str, output: str) -> str:
        half = graph.emit("Cast", [name], graph.name(f"{name}/half"), to=TensorProto.FLOAT16)
        return graph.emit("Cast", [half], output, to=TensorProto.FLOAT)

    chosen = [(node, slots) for node in graph.nodes if node.name in names and (slots := _slots(graph, node))]
    made = {node.output[index] for node, (_, outputs) in chosen for index in outputs}
    for node, (inputs, outputs) in chosen:
        for index in inputs:
            name = node.input[index]
            if name in made:
                continue
            if name not in through:
                value = graph.constant(name)
                near = graph.name(f"{name}/near")
                through[name] = (
                    cast(name, near) if value is None else graph.add(near, value.astype(np.float16).astype(np.float32))
                )
            node.input[index] = through[name]
        for index in outputs:
            name = node.output[index]
            cast(graph.rename_output(node, name, f"{name}/exact"), name)


def targets_storage(graph: Graph, ranges: Ranges) -> list[str]:
    """Nodes that read a constant of some size that fits into float16."""
    return [node.name for node in graph.nodes if any(_storable(graph, name) for name in node.input)]


def build_storage(graph: Graph, names: Collection[str], ranges: Ranges) -> None:
    """Keep the constants of these nodes in float16; each is cast to float32, once, when the session loads."""
    for node in graph.nodes:
        for index, name in enumerate(node.input):
            if node.name in names and _storable(graph, name):
                node.input[index] = graph.once(("storage", name), lambda name=name: _stored(graph, name))


def _stored(graph: Graph, name: str) -> str:
    value = graph.constant(name)
    assert value is not None
    return graph.emit("Cast", [graph.add(f"{name}/half", value.astype(np.float16))], to=TensorProto.FLOAT)


def _storable(graph: Graph, name: str) -> bool:
    value = graph.weight(name)
    return value is not None and value.size >= _FEW and _constant_fits(value)


def _slots(graph: Graph, node: NodeProto) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Indices of the inputs and outputs that are float32 here and may be float16; None where there are no such inputs,
    or where something about the node's types is not known."""
    known = _takes_half(node.op_type, node.domain, graph.opset(node.domain))
    if known is None or node.op_type in _EXACT or captured(node) or _TYPED & set(attributes(node)):
        return None
    if any(name and name not in graph.types for name in (*node.input, *node.output)):
        return None  # a sequence, an optional
    inputs, outputs = (
        tuple(i for i, name in enumerate(values) if graph.is_float(name) and slots[min(i, len(slots) - 1)])
        for values, slots in ((node.input, known[0]), (node.output, known[1]))
    )
    if node.op_type == "ConstantOfShape" or not (inputs or (node.op_type == "Cast" and outputs)):
        return None
    return inputs, outputs


@cache
def _takes_half(op_type: str, domain: str, opset: int) -> tuple[tuple[bool, ...], tuple[bool, ...]] | None:
    """For each input and output of an operator, whether it may be float32 and float16; None where nobody knows it."""
    if domain == MICROSOFT:
        schema = _microsoft().get(op_type)
    else:
        try:
            schema = onnx.defs.get_schema(op_type, opset, domain)
        except onnx.defs.SchemaError:
            schema = None
    if schema is None:
        return None
    both = {"tensor(float)", "tensor(float16)"}
    free = {c.type_param_str for c in schema.type_constraints if both <= set(c.allowed_type_strs)}
    name = "typeStr" if domain == MICROSOFT else "type_str"
    inputs, outputs = (
        tuple(getattr(slot, name) in free for slot in slots) for slots in (schema.inputs, schema.outputs)
    )
    return inputs, outputs


@cache
def _microsoft() -> dict[str, Any]:
    """ONNX Runtime's own operators, which ONNX does not know."""
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    return {schema.name: schema for schema in get_all_operator_schema() if schema.domain == MICROSOFT}


def _too_wide(graph: Graph, node: NodeProto, ranges: Ranges) -> bool:
    for index, name in enumerate((*node.input, *node.output)):
        if not graph.is_float(name):
            continue
        value = graph.constant(name)
        if value is not None and not _constant_fits(value):
            return True
        if name in ranges and not _fits(ranges[name]):
            return True
        if index == _DIVIDES.get(node.op_type, -1) and name in ranges and ranges[name].least < SMALLEST_NORMAL:
            return True
    return False


def _constant_fits(value: Array) -> bool:
    largest = float(np.abs(value).max(initial=0))
    return largest == 0 or SMALLEST_NORMAL <= largest <= LARGEST


def _fits(seen: Range) -> bool:
    return seen.largest == 0 or SMALLEST_NORMAL <= seen.largest <= LARGEST / _HEADROOM
