"""Graphs written by hand, without the onnx package, which Pyodide does not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from onnxlet.dtypes import DataType, Narrow, from_numpy
from onnxlet.model import Attribute, Function, Graph, Model, Node, TensorType, ValueInfo
from onnxlet.providers.reference import ReferenceExecutable
from onnxlet.tensors import from_array

_TYPES = {float: 1, int: 2, bytes: 3, Graph: 5}
_LISTS = {float: 6, int: 7, bytes: 8}


def node(op_type: str, inputs: str, outputs: str, *, name: str = "", domain: str = "", **attributes: Any) -> Node:
    """A node; names are separated by spaces, "-" stands for one left out."""
    return Node(
        op_type,
        _names(inputs),
        _names(outputs),
        {key: attribute(key, value) for key, value in attributes.items()},
        name=name,
        domain=domain,
    )


def attribute(name: str, value: Any) -> Attribute:
    """An attribute of a Python value: numbers, strings, lists of them, an array, a graph, or `ref` for a reference."""
    if isinstance(value, Attribute):
        return value
    if isinstance(value, np.ndarray | Narrow):
        return Attribute(name, 4, from_array("", value))
    if isinstance(value, str):
        return Attribute(name, 3, value.encode())
    if isinstance(value, list | tuple):
        items = tuple(v.encode() if isinstance(v, str) else v for v in value)
        return Attribute(name, _LISTS[type(items[0])], items)
    return Attribute(name, _TYPES[type(value)], value)


def ref(name: str, function_attribute: str) -> Attribute:
    """An attribute whose value is an attribute of the enclosing function."""
    return Attribute(name, 2, ref_attr_name=function_attribute)


def graph(
    nodes: Sequence[Node],
    inputs: str = "",
    outputs: str = "",
    *,
    types: Mapping[str, TensorType] | None = None,
    **initializers: Any,
) -> Graph:
    """A graph; values are float tensors of unknown shape unless `types` says more."""
    types = types or {}

    def info(name: str) -> ValueInfo:
        return ValueInfo(name, types.get(name, TensorType(DataType.FLOAT)))

    tensors = tuple(from_array(name, value) for name, value in initializers.items())
    return Graph("g", tuple(nodes), tuple(map(info, _names(inputs))), tuple(map(info, _names(outputs))), tensors)


def compiled(
    main: Graph, *, functions: Sequence[Function] = (), opset: int = 21, profiling: bool = False, **domains: int
) -> ReferenceExecutable:
    """A graph made runnable. Args: domains: opsets of other domains, with _ for the dot (com_acme=1)."""
    opsets = {"": opset, **{key.replace("_", "."): version for key, version in domains.items()}}
    return ReferenceExecutable(Model(main, opsets, ir_version=10, functions=functions), profiling=profiling)


def run(main: Graph, *feeds: Any, opset: int = 21, **domains: int) -> list[Any]:
    """The outputs of a graph for its inputs in order."""
    names = [v.name for v in main.inputs]
    return compiled(main, opset=opset, **domains).run(
        [v.name for v in main.outputs], dict(zip(names, feeds, strict=True))
    )


def run_op(op_type: str, *inputs: Any, outputs: int = 1, opset: int = 28, domain: str = "", **attributes: Any) -> Any:
    """One node's output, or a list of them where more are asked for.

    Args:
        inputs: None is one left out.
        attributes: with a trailing underscore where the name is one of the arguments above (opset_).
    """
    attributes = {key.rstrip("_"): value for key, value in attributes.items()}
    names = ["-" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    wanted = [f"y{i}" for i in range(outputs)]
    described = {key: attribute(key, value) for key, value in attributes.items()}
    made = Node(op_type, _names(" ".join(names)), tuple(wanted), described, name="it", domain=domain)
    feeds = [value for value in inputs if value is not None]
    main = graph([made], " ".join(n for n in names if n != "-"), " ".join(wanted))
    results = run(main, *feeds, opset=opset)
    return results[0] if outputs == 1 else results


def bfloat16(values: Any) -> Narrow:
    """Values that bfloat16 holds exactly, as the core has them."""
    return Narrow(DataType.BFLOAT16, np.asarray(values, np.float32))


def data_type(value: Any) -> DataType:
    return value.data_type if isinstance(value, Narrow) else from_numpy(value.dtype)


def _names(text: str) -> tuple[str, ...]:
    return tuple("" if name == "-" else name for name in text.split())
