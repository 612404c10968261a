"""Which nodes of a model run where, read from tables: nothing is run, and no browser is needed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from onnxlet.dtypes import DataType
from onnxlet.model import Model, Node, TensorType
from onnxlet.ops import load_all
from onnxlet.ops.registry import registered
from onnxlet.providers import faults

from .models import RUNTIME_DOMAINS, gpu_refusal, nodes, shape_values
from .web_kernels import Kernels

__all__ = ["Place", "places"]


@dataclass(frozen=True, slots=True)
class Place:
    """What a backend does with a model's nodes; those of subgraphs and functions count as well, Constants do not.

    Args:
        backend: "webgpu", "wasm" or "python".
        nodes: how many it runs itself.
        total: how many there are.
        cpu: operators on the CPU beside WebGPU, with counts: their tensors cross over and back.
        shapes: nodes on the CPU that only compute shapes, as is meant.
        python: operators that run in Python instead, with counts; custom ones are the app's own.
        nowhere: operators that nothing here runs.
        refused: why the backend does not load the model at all; "" where it does.
    """

    backend: str
    nodes: int
    total: int
    cpu: dict[str, int] = field(default_factory=dict)
    shapes: int = 0
    python: dict[str, int] = field(default_factory=dict)
    nowhere: dict[str, int] = field(default_factory=dict)
    refused: str = ""


def places(model: Model, types: Mapping[str, TensorType]) -> list[Place]:
    """Where the nodes run on each backend of the page.

    Args:
        types: type of each named value, as far as inferred.
    """
    load_all()
    local = {(f.domain, f.name) for f in model.functions}
    all_nodes = [n for n in nodes(model) if (n.domain, n.op_type) not in local and n.op_type != "Constant"]
    kernels = Kernels(model, types)
    shapes = shape_values(model)
    known = {(domain, name) for domain, name in registered()}
    faulty = {name: {model.graph.nodes[i].op_type for i in faults.known(model, name)} for name in faults.PROVIDERS}
    refused = gpu_refusal(model, types)

    def in_python(node: Node) -> bool:
        """Whether the core has it, or an app has to bring it in any case."""
        return (node.domain, node.op_type) in known or node.domain not in RUNTIME_DOMAINS

    def place(backend: str) -> Place:
        counts: dict[str, Counter[str]] = {
            "own": Counter(),
            "cpu": Counter(),
            "python": Counter(),
            "nowhere": Counter(),
        }
        counted_shapes = 0
        for node in all_nodes:
            name = f"{node.domain}::{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
            way = _way(backend, node, kernels, faulty)
            if way in ("python", "") and backend != "python":
                way = "python" if in_python(node) else "nowhere"
            elif backend == "python":
                way = "own" if in_python(node) else "nowhere"
            if way == "cpu" and node.outputs and shapes.issuperset(node.outputs):
                counted_shapes += 1
            else:
                counts[way][_typed(name, node, types) if way == "cpu" else name] += 1
        return Place(
            backend,
            counts["own"].total(),
            len(all_nodes),
            _sorted(counts["cpu"]),
            counted_shapes,
            _sorted(counts["python"]),
            _sorted(counts["nowhere"]),
            refused if backend == "webgpu" else "",
        )

    return [place(backend) for backend in ("webgpu", "wasm", "python")]


def _way(backend: str, node: Node, kernels: Kernels, faulty: Mapping[str, set[str]]) -> str:
    """ "own", "cpu", or "" where the backend leaves the node to Python."""
    provider = "WebGpuExecutionProvider" if backend == "webgpu" else "CPUExecutionProvider"
    if backend == "python" or node.op_type in faulty[provider]:
        return ""
    if backend == "wasm":
        return "own" if kernels.has("wasm", node) else ""
    if kernels.has("webgpu", node):
        return "own"
    return "cpu" if kernels.has("fallback", node) else ""


def _typed(name: str, node: Node, types: Mapping[str, TensorType]) -> str:
    """ "Gather (int64)": int64 is the usual reason for a node on the CPU."""
    kinds = {types[n].elem_type for n in (*node.inputs[:1], *node.outputs[:1]) if n in types}
    return f"{name} (int64)" if DataType.INT64 in kinds else name


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
