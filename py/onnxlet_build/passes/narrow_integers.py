"""Compute in int32 what the model computes in int64, where its numbers provably fit and WebGPU gains from it.

The native WebGPU provider has hardly a kernel for int64: such nodes run on the CPU, and their tensors cross over and
back. A connected group of nodes is changed when it saves more such nodes than it costs Casts at its edges. The model's
inputs and outputs keep their types, and so does what computes shapes, which belongs on the CPU anyway.
Post: the same numbers; a group's inner values are int32.
"""

from collections.abc import Mapping

import numpy as np
import onnx
import onnx.helper as h

from onnxlet import protobuf
from onnxlet.dtypes import DataType
from onnxlet.model import TensorType

from ..models import infer_types, shape_values
from ..web_kernels import Kernels
from .graphs import all_graphs, subgraphs
from .integer_ranges import constants, ranges
from .unsuited import Unsuited

__all__ = ["run"]

_COMPARISONS = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}
_ALL_INPUTS = {
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Mod",
    "Min",
    "Max",
    "Neg",
    "Abs",
    "Identity",
    "Concat",
    "Range",
} | _COMPARISONS
_FIRST_INPUT = {"Squeeze", "Unsqueeze", "Reshape", "Flatten", "Transpose", "Expand", "Tile", "Slice", "Split", "Cast"}
_FIRST_INPUT |= {"Gather", "GatherElements", "CumSum", "ReduceSum", "ReduceMax", "ReduceMin"}
_TAKES_INT32_INDICES = {"Gather", "GatherElements"}


def run(model: onnx.ModelProto) -> onnx.ModelProto:
    """See the module. Raises: Unsuited: no group of nodes gains."""
    graph = model.graph
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    types = infer_types(copy)
    plan = _Plan(model, types)
    groups = [group for group in plan.groups() if plan.gain(group) > 0]
    if not groups:
        raise Unsuited("no int64 arithmetic in it gains on WebGPU from being int32, or none provably fits")
    _apply(graph, plan, set().union(*groups))
    return model


class _Plan:
    """Which nodes can compute in int32, and what that gains. Nodes are positions in the graph."""

    def __init__(self, model: onnx.ModelProto, types: Mapping[str, TensorType]) -> None:
        graph = model.graph
        loaded = protobuf.load(model.SerializeToString())
        self._kernels = Kernels(loaded, types)
        self._for_shapes = shape_values(loaded)
        known = ranges(graph, types)
        self._fits = {n for n, (low, high) in known.items() if low >= -(2**31) and high < 2**31}
        self.nodes = list(graph.node)
        self.types = {name: kind.elem_type for name, kind in types.items()}
        self.constants = constants(graph)
        self.types |= {name: DataType(tensor.data_type) for name, tensor in self.constants.items()}
        self.maker = {name: i for i, node in enumerate(self.nodes) for name in node.output if name}
        self.readers: dict[str, list[tuple[int, int]]] = {}  # (node, position); position -1: a subgraph, or the caller
        for i, node in enumerate(self.nodes):
            for position, name in enumerate(node.input):
                self.readers.setdefault(name, []).append((i, position))
            for inner in (g for sub in subgraphs(node) for g in all_graphs(sub)):
                for name in (*(n for m in inner.node for n in m.input), *(v.name for v in inner.output)):
                    self.readers.setdefault(name, []).append((i, -1))
        for value in graph.output:
            self.readers.setdefault(value.name, []).append((-1, -1))
        self.able = {i for i in range(len(self.nodes)) if self._is_able(i)}

    def values(self, i: int) -> list[str]:
        """The int64 values of a node that would become int32, without constants."""
        node = self.nodes[i]
        read = [name for position, name in enumerate(node.input) if self.narrows(node, position)]
        given = [name for name in node.output if self.types.get(name) == DataType.INT64]
        return [name for name in (*read, *given) if name not in self.constants]

    def _is_able(self, i: int) -> bool:
        node = self.nodes[i]
        if node.domain not in ("", "ai.onnx") or node.op_type not in _ALL_INPUTS | _FIRST_INPUT | {"Where"}:
            return False
        touched = self.values(i)
        fixed = [n for at, n in enumerate(node.input) if n in self.constants and self.narrows(node, at)]
        if not touched or not all(name in self._fits for name in (*touched, *fixed)):
            return False
        return not all(n in self._for_shapes for n in node.output if n)

    def groups(self) -> list[set[int]]:
        """Connected nodes that can be narrowed, each group without the nodes that only cost Casts."""
        left, found = set(self.able), []
        while left:
            group, waiting = set(), [min(left)]
            while waiting:
                i = waiting.pop()
                if i in left:
                    left.discard(i)
                    group.add(i)
                    for name in self.values(i):
                        waiting += [r for r, _ in self.readers.get(name, ()) if r in left]
                        waiting += [m for m in (self.maker.get(name),) if m in left and m is not None]
            found.append(self._pruned(group))
        return found

    def _pruned(self, group: set[int]) -> set[int]:
        while group:
            worst = max(sorted(group), key=lambda i: self.gain(group - {i}))
            if self.gain(group - {worst}) <= self.gain(group):
                return group
            group = group - {worst}
        return group

    def gain(self, group: set[int]) -> int:
        """Nodes that move to the GPU, less the Casts at the edges."""
        nodes = [self.nodes[i] for i in group if self.nodes[i].op_type != "Cast"]
        moved = sum(
            self._kernels.offers("webgpu", n.domain, n.op_type, DataType.INT32)
            and not self._kernels.offers("webgpu", n.domain, n.op_type, DataType.INT64)
            for n in nodes
        )
        into, out = self.edges(group)
        return moved - len(into) - len(out)

    def edges(self, group: set[int]) -> tuple[list[str], list[str]]:
        """Values that need a Cast to int32 on the way in, and back to int64 on the way out."""
        into: dict[str, None] = {}
        out: dict[str, None] = {}
        for i in sorted(group):
            for name in self.values(i):
                if self.maker.get(name) not in group:
                    if self.nodes[i].op_type != "Cast":  # which takes int64 as well
                        into[name] = None
                elif any(not self.takes(r, position, group) for r, position in self.readers.get(name, ())):
                    out[name] = None
        return list(into), list(out)

    def takes(self, reader: int, position: int, group: set[int]) -> bool:
        """Whether a reader goes on with int32."""
        if reader < 0 or position < 0:
            return False
        node = self.nodes[reader]
        if node.op_type == "Cast" or (node.op_type in _TAKES_INT32_INDICES and position == 1):
            return True
        return reader in group and self.narrows(node, position)

    def narrows(self, node: onnx.NodeProto, position: int) -> bool:
        """Whether a position of a node of the group becomes int32, its value being int64."""
        if self.types.get(node.input[position]) != DataType.INT64:
            return False
        if node.op_type == "Where":
            return position > 0
        return position == 0 or node.op_type in _ALL_INPUTS


def _apply(graph: onnx.GraphProto, plan: _Plan, group: set[int]) -> None:
    """Rewrite the graph: an inner value keeps its name, or where others read it as int64, its int32 gets a new one."""
    into, out = plan.edges(group)
    narrow = {name: f"{name}_int32" for name in (*into, *out)}
    nodes: list[onnx.NodeProto] = []
    made: set[str] = set()

    def cast(source: str, target: str, to: int) -> None:
        if target not in made:
            made.add(target)
            nodes.append(h.make_node("Cast", [source], [target], name=f"{target}_cast", to=to))

    def constant(name: str) -> str:
        copy = f"{name}_int32"
        if copy not in made:
            made.add(copy)
            values = onnx.numpy_helper.to_array(plan.constants[name]).astype(np.int32)
            graph.initializer.append(onnx.numpy_helper.from_array(values, copy))
        return copy

    for i, node in enumerate(plan.nodes):
        inputs = list(node.input)
        for position, name in enumerate(inputs):
            narrowed = i in group and node.op_type != "Cast" and plan.narrows(node, position)
            if narrowed and name in plan.constants:
                node.input[position] = constant(name)
            elif narrowed and name in into:
                cast(name, narrow[name], onnx.TensorProto.INT32)
                node.input[position] = narrow[name]
            elif name in out and plan.takes(i, position, group):
                node.input[position] = narrow[name]
        nodes.append(node)
        if i not in group:
            continue
        for given in node.attribute:
            if node.op_type == "Cast" and given.name == "to" and given.i == onnx.TensorProto.INT64:
                given.i = onnx.TensorProto.INT32
        for position, name in enumerate(list(node.output)):
            if name in out:
                node.output[position] = narrow[name]
                cast(narrow[name], name, onnx.TensorProto.INT64)
    del graph.node[:]
    graph.node.extend(nodes)
    inner = {name for i in group for name in plan.nodes[i].output}
    kept = [value for value in graph.value_info if value.name not in inner]
    del graph.value_info[:]
    graph.value_info.extend(kept)
