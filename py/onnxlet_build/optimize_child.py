"""What runs in the process of `optimize.py`: one pass at a time, restored, compared with the original, weighed.

Reads one JSON object a line: first {"model", "samples", "app"}, then {"step", "model", "target"} for each pass. Answers
each with a line: {} or {"refusal"}, then a `Step`'s fields but its name, and whether the pass was "suited". What
optimizers print goes nowhere.
"""

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import onnx

from onnxlet import protobuf
from onnxlet.model import Model
from onnxlet.ops import load_all
from onnxlet.ops.registry import registered

from .equivalence import Original, restore
from .models import infer_types, nodes, shape_values
from .passes import PASSES, Unsuited
from .passes.graphs import count_nodes
from .samples import Samples
from .web_kernels import Kernels

__all__: list[str] = []

# A file may grow by a little where it has fewer nodes: names of values, types that were inferred.
_GROWTH = 1.01
_GROWTH_BYTES = 2048
_WORTH = 0.99  # of the bytes, where no node was saved


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


class _Weighed:
    """What a model costs.

    Args:
        off_gpu: nodes without a kernel on WebGPU, but for those that compute shapes.
    """

    def __init__(self, data: bytes) -> None:
        proto = onnx.load_model_from_string(data)
        self.bytes = len(data)
        self.nodes = count_nodes(proto)
        self.model: Model = protobuf.load(data)
        self.kernels = Kernels(self.model, infer_types(proto))
        shapes = shape_values(self.model)
        self.off_gpu = sum(
            not self.kernels.has("webgpu", node) and not shapes.issuperset(node.outputs) for node in nodes(self.model)
        )

    def brings(self, before: "_Weighed") -> str:
        """An operator that `before` has not, and that some runtime of the page lacks; "" where there is none."""
        old = {(node.domain, node.op_type) for node in nodes(before.model)}
        load_all()
        for node in nodes(self.model):
            key = (node.domain, node.op_type)
            if key in old:
                continue
            if not self.kernels.has("wasm", node) or not self.kernels.has("fallback", node):
                return f"{node.op_type}, which ONNX Runtime Web lacks"
            if not before.off_gpu and not self.kernels.has("webgpu", node):
                return f"{node.op_type}, which WebGPU lacks"
            if key not in registered():
                return f"{node.op_type}, which the operators in Python lack"
        return ""

    def gain(self, before: "_Weighed") -> tuple[bool, str]:
        """Whether it costs less than `before`, and what the difference is, as a sentence."""
        if brought := self.brings(before):
            return False, f"brings {brought}"
        if self.off_gpu > before.off_gpu:
            return False, f"takes {_many(self.off_gpu - before.off_gpu, 'node')} off the GPU"
        if self.bytes > before.bytes * _GROWTH + _GROWTH_BYTES:
            return False, f"makes the file {self.bytes - before.bytes:,} bytes larger"
        said = []
        if self.nodes < before.nodes:
            said.append(f"{_many(before.nodes - self.nodes, 'node')} fewer of {before.nodes}")
        if self.off_gpu < before.off_gpu:
            said.append(f"{_many(before.off_gpu - self.off_gpu, 'node')} brought to the GPU")
        if self.bytes < before.bytes * _WORTH:
            said.append(f"{before.bytes - self.bytes:,} bytes fewer")
        if not said or (self.nodes > before.nodes and self.off_gpu == before.off_gpu):
            return False, "does not help: as many nodes and bytes as before"
        return True, ", ".join(said)


def _try(number: int, model: Path, target: Path, original: Original, proto: onnx.ModelProto) -> dict[str, Any]:
    """One pass over a model. Returns: the fields of its `Step`, and whether the pass was suited where it was not."""
    before = _Weighed(model.read_bytes())
    fields = {"nodes_before": before.nodes, "nodes_after": before.nodes}
    fields |= {"bytes_before": before.bytes, "bytes_after": before.bytes}
    try:
        data = restore(PASSES[number].run(onnx.load(model)), proto).SerializeToString(deterministic=True)
        after = _Weighed(data)
    except Unsuited as unsuited:
        return {"kept": False, "reason": str(unsuited), "suited": False, **fields}
    except Exception as error:  # whatever other people's optimizers raise
        said = (str(error).strip().splitlines() or [""])[0]
        return {"kept": False, "reason": f"it failed: {type(error).__name__}: {said}"[:300], **fields}
    kept, reason = after.gain(before)
    if kept:
        worst_db, wrong = original.difference(data)
        kept, reason = not wrong, wrong or f"{reason}; {_agreement(worst_db)}"
    if kept:
        target.write_bytes(data)
        fields |= {"nodes_after": after.nodes, "bytes_after": after.bytes}
    return {"kept": kept, "reason": reason, **fields}


def _agreement(worst_db: float) -> str:
    return "the same answers" if worst_db == float("inf") else f"answers agree to {worst_db:.0f} dB"


def _main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")

    def answer(content: dict[str, Any]) -> None:
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    start = json.loads(sys.stdin.readline())
    try:
        if start["app"]:
            from .inspect_child import load

            load(Path(start["app"]))
        data = Path(start["model"]).read_bytes()
        original = Original(data, list(Samples([Path(path) for path in start["samples"]])))
    except Exception as error:  # the app's file may raise anything, and so may onnxruntime
        return answer({"refusal": (str(error).strip().splitlines() or [type(error).__name__])[0]})
    answer({})
    for line in sys.stdin:
        request = json.loads(line)
        proto = onnx.load_model_from_string(data)
        answer(_try(request["step"], Path(request["model"]), Path(request["target"]), original, proto))
    return None


if __name__ == "__main__":
    _main()
