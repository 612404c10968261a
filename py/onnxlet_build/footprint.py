"""How much memory a model needs in the page, and how much a visitor fetches for it."""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from onnxlet.model import Model, TensorType

from .models import weight_bytes

__all__ = ["Footprint", "activation_bytes", "footprint"]

# gzip, the least that a good host does. ONNX Runtime Web 1.30's builds; Pyodide 314 with its standard library, numpy
# and the core, measured on a built site.
RUNTIME_BYTES = {"wasm": 3_700_000, "webgpu": 4_100_000}
PYTHON_BYTES = 10_000_000
_WHOLE_BYTES = 64 << 20  # of a larger file only so much is compressed, and the rest taken to be alike


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes.

    Args:
        weights: of initializers and constants.
        activations: the most that is alive at once in a run, open dimensions taken as 1, each value freed after its
            last reader; values of unknown shape count as nothing, `unknown` of them.
        file: of the .onnx file.
        file_gzip: of the same, compressed as hosts do.
        download: by backend: the compressed file, the runtime and Python together.
    """

    weights: int
    activations: int
    unknown: int
    file: int
    file_gzip: int
    download: dict[str, int]

    @property
    def memory(self) -> int:
        """While it runs: weights and activations; loading needs the file's bytes once more."""
        return self.weights + self.activations


def footprint(model: Model, data: bytes, types: Mapping[str, TensorType]) -> Footprint:
    """Estimate a model's bytes.

    Args:
        data: the model's file.
        types: type of each named value, as far as inferred.
    """
    activations, unknown = activation_bytes(model, types)
    packed = _gzip_bytes(data)
    download = {name: packed + size + PYTHON_BYTES for name, size in RUNTIME_BYTES.items()}
    return Footprint(weight_bytes(model), activations, unknown, len(data), packed, download)


def _gzip_bytes(data: bytes) -> int:
    part = memoryview(data)[:_WHOLE_BYTES]
    return len(zlib.compress(part, 6)) * len(data) // max(len(part), 1)


def activation_bytes(model: Model, types: Mapping[str, TensorType]) -> tuple[int, int]:
    """What `Footprint` calls activations, and unknown."""
    graph = model.graph
    last: dict[str, int] = {}
    for position, node in enumerate(graph.nodes):
        last |= {name: position for name in node.inputs if name}
    last |= {value.name: len(graph.nodes) for value in graph.outputs}
    unknown = 0

    def size(name: str) -> int:
        kind = types.get(name)
        if kind is None or kind.shape is None:
            return 0
        return math.prod(d if isinstance(d, int) else 1 for d in kind.shape) * kind.elem_type.bits // 8

    alive = {value.name: size(value.name) for value in graph.inputs}
    now = most = sum(alive.values())
    for position, node in enumerate(graph.nodes):
        for name in filter(None, node.outputs):
            unknown += name not in types or types[name].shape is None
            alive[name] = size(name)
            now += alive[name]
        most = max(most, now)
        for name in {*node.inputs, *node.outputs}:
            if name in alive and last.get(name, -1) <= position:
                now -= alive.pop(name)
    return most, unknown
