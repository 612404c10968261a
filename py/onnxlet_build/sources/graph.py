"""Writes an ONNX graph node by node: what the sources that need no exporter of their own are made with."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from onnx import helper

from onnxlet.dtypes import Array

from .exported import MAX_IR

__all__ = ["GraphBuilder", "tensor"]

# The oldest that has TreeEnsembleRegressor with tensors; ONNX Runtime Web takes up to 5.
ML_OPSET = 3


def tensor(name: str, dtype: Any, shape: Sequence[int | str | None] | None) -> onnx.ValueInfoProto:
    """What an input or output is: a dtype as numpy writes it, sizes or names of dimensions; None for any rank."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


class GraphBuilder:
    """Nodes and constants in the order of their making; every value gets a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Array] = {}
        self._by_content: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._used: set[str] = set()

    def constant(self, value: Any, dtype: Any = None) -> str:
        """The name of a constant; equal ones are kept once."""
        array = np.asarray(value, dtype)
        if array.dtype.kind in "OU":
            array = array.astype(object)
        content = repr(array.tolist()).encode() if array.dtype.kind == "O" else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._by_content:
            self._by_content[key] = self.new_name("const")
            self.constants[self._by_content[key]] = array
        return self._by_content[key]

    def new_name(self, base: str) -> str:
        """`base`, or `base` and a number where it is taken."""
        name, number = base, 1
        while name in self._used:
            name, number = f"{base}_{number}", number + 1
        self._used.add(name)
        return name

    def op(self, op_type: str, inputs: Sequence[Any], *, name: str = "", domain: str = "", **attributes: Any) -> str:
        """Append a node with one output. Returns: its output's name.

        Args:
            inputs: names of values; arrays become constants; "" is an input left out.
            name: of the node, and of its output; the operator's without one.
        """
        return self.ops(op_type, inputs, 1, name=name, domain=domain, **attributes)[0]

    def ops(
        self, op_type: str, inputs: Sequence[Any], count: int, *, name: str = "", domain: str = "", **attributes: Any
    ) -> list[str]:
        """Append a node with `count` outputs. Returns: their names."""
        feeds = [given if isinstance(given, str) else self.constant(given) for given in inputs]
        base = name or op_type
        outputs = [self.new_name(base if count == 1 else f"{base}.{i}") for i in range(count)]
        node = helper.make_node(op_type, feeds, outputs, name=outputs[0], domain=domain, **attributes)
        self.nodes.append(node)
        return outputs

    @contextmanager
    def apart(self) -> Iterator[list[onnx.NodeProto]]:
        """Nodes that are appended meanwhile go to a list of their own, a Loop's body, which sees all values before."""
        outer, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = outer

    def rename(self, value: str, name: str) -> str:
        """Give a value the name that an output of the graph is to have. Returns: the name."""
        return self.op("Identity", [value], name=name)

    def give(self, value: str, name: str) -> None:
        """Give a value a name that `new_name` has set aside for an output of the graph."""
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"{name}_output"))

    def model(
        self, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto], opset: int
    ) -> onnx.ModelProto:
        """The model; constants that no node takes are left out."""
        taken = set(_taken(self.nodes))
        constants = [
            onnx.numpy_helper.from_array(array, name) for name, array in self.constants.items() if name in taken
        ]
        opsets = [helper.make_opsetid("", opset)]
        if any(node.domain == "ai.onnx.ml" for node in self.nodes):
            opsets.append(helper.make_opsetid("ai.onnx.ml", ML_OPSET))
        graph = helper.make_graph(self.nodes, "onnxlet", inputs, outputs, constants)
        return helper.make_model(graph, opset_imports=opsets, ir_version=MAX_IR, producer_name="onnxlet")


def _taken(nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    """Names that nodes take, those of their subgraphs too."""
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            yield from _taken(attribute.g.node)
