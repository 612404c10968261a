"""Which operators ONNX Runtime Web 1.30 has kernels for, and for which types, as its builds said when they were asked.

web_kernels.json is written by ``python -m tests.build.optimize.probe_web_kernels``: by operator
("domain::name") and the opset since which it holds, the types with a kernel in each way, and the position of the input
whose type it is (or OUTPUT, or ANY). Operators of ai.onnx.ml are in the plain build only; the JSON says nothing of
them.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onnxlet.dtypes import DataType
from onnxlet.model import Model, Node, TensorType

__all__ = ["ANY", "OUTPUT", "PATH", "WAYS", "Kernels"]

PATH = Path(__file__).with_name("web_kernels.json")
OUTPUT, ANY = -1, -2  # the first output's type decides; no type does, because the operator has one signature only
WAYS = ("wasm", "webgpu", "fallback")  # the plain build; the GPU of the WebGPU build; the CPU of the WebGPU build
# Operators with subgraphs that could not be asked by themselves; their nodes are asked one by one.
_WITH_GRAPHS = {"Scan", "SequenceMap"}
_NAMES = {kind: {"FLOAT": "float", "DOUBLE": "double"}.get(kind.name, kind.name.lower()) for kind in DataType}


@functools.cache
def _table() -> dict[str, dict[int, dict[str, Any]]]:
    read = json.loads(PATH.read_text(encoding="utf-8"))
    return {name: {int(since): entry for since, entry in versions.items()} for name, versions in read.items()}


class Kernels:
    """Asks where a model's nodes run.

    Args:
        types: type of each named value, as far as known; initializers are known anyway.
    """

    def __init__(self, model: Model, types: Mapping[str, TensorType]) -> None:
        self._opsets = model.opset_imports
        self._types = {name: kind.elem_type for name, kind in types.items()}
        self._types |= {tensor.name: tensor.data_type for tensor in model.graph.initializers}

    def has(self, way: str, node: Node) -> bool:
        """Whether a node has a kernel in a way: "wasm", "webgpu" or "fallback".

        A type that is not known is taken for one that the kernel has.
        """
        entry = self._entry(node.domain, node.op_type)
        by = entry["by"] if entry else ANY
        names = node.outputs[:1] if by == OUTPUT else node.inputs[by : by + 1] if by >= 0 else ()
        kind = self._types.get(names[0], DataType.UNDEFINED) if names else DataType.UNDEFINED
        return self.offers(way, node.domain, node.op_type, kind)

    def offers(self, way: str, domain: str, op_type: str, kind: DataType) -> bool:
        """The same for an operator, in the model's opset, whose deciding input (or output) has a type."""
        if domain == "ai.onnx.ml":
            return way == "wasm"
        if op_type in _WITH_GRAPHS:
            return way != "webgpu"
        if op_type == "Dropout":
            return True  # removed while a model is loaded; were it asked by itself, the WebGPU build would lack it
        entry = self._entry(domain, op_type)
        if entry is None:
            return False
        if kind == DataType.UNDEFINED or entry["by"] == ANY:
            return bool(entry[way])
        return _NAMES[kind] in entry[way]

    def _entry(self, domain: str, op_type: str) -> dict[str, Any] | None:
        versions = _table().get(f"{domain or 'ai.onnx'}::{op_type}", {})
        opset = max(self._opsets.get("", 1), 7) if domain in ("", "ai.onnx") else self._opsets.get(domain, 1)
        return versions.get(max((since for since in versions if since <= opset), default=-1))
