"""Which operators ONNX Runtime Web 1.30 has kernels for, and for which types, as its builds said when they were asked.

web_kernels.json is written by ``python -m tests.build.optimize.probe_web_kernels``: by operator ("domain::name") and the
opset since which it holds, the types with a kernel in each way, and the position of the input whose type it is (-1: the
first output's). Operators of ai.onnx.ml are in the plain build only; the JSON says nothing of them.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onnxlet.dtypes import DataType
from onnxlet.model import Model, Node, TensorType

__all__ = ["PATH", "WAYS", "Kernels"]

PATH = Path(__file__).with_name("web_kernels.json")
WAYS = ("wasm", "webgpu", "fallback")  # the plain build; the GPU of the WebGPU build; the CPU of the WebGPU build
# Operators with subgraphs that could not be asked by themselves; their nodes are asked one by one.
_WITH_GRAPHS = {"Scan", "SequenceMap"}
_NAMES = {
    kind: {"FLOAT": "float", "DOUBLE": "double"}.get(kind.name, kind.name.lower()) for kind in DataType
}


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
        if node.domain == "ai.onnx.ml":
            return way == "wasm"
        if node.op_type in _WITH_GRAPHS:
            return way != "webgpu"
        versions = _table().get(f"{node.domain or 'ai.onnx'}::{node.op_type}", {})
        opset = self._opsets.get(node.domain, 1) if node.domain else self._opsets.get("", 1)
        since = max((version for version in versions if version <= max(opset, 7)), default=None)
        if since is None:
            return False
        entry = versions[since]
        kind = self.deciding_type(node, entry["by"])
        if kind == DataType.UNDEFINED or node.op_type in ("If", "Loop"):
            return bool(entry[way])
        return _NAMES[kind] in entry[way]

    def deciding_type(self, node: Node, by: int) -> DataType:
        """Type of the value that decides; UNDEFINED where it is not known."""
        names = node.outputs[:1] if by < 0 else node.inputs[by : by + 1]
        return self._types.get(names[0], DataType.UNDEFINED) if names else DataType.UNDEFINED
