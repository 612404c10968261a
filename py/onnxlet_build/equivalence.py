"""Whether two models give the same answers: what every step of `optimize` has to prove on native ONNX Runtime."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime

import onnxlet
from onnxlet import protobuf
from onnxlet.accuracy import comparable
from onnxlet.dtypes import Array, DataType
from onnxlet.errors import BuildError
from onnxlet.partition import mentions
from onnxlet.source import ModelSource, Signature

from .convert import random_feeds, snr_db
from .models import RUNTIME_DOMAINS, nodes
from .passes.graphs import all_nodes
from .samples import Feeds

__all__ = ["AGREE_DB", "AGREE_HALF_DB", "Original", "restore"]

# Float32 kernels that sum in another order differ by 110 to 135 dB; a wrong constant or axis is far below.
AGREE_DB = 90.0
# float16 keeps 11 bits, 66 dB, and a chain of nodes rounds at each.
AGREE_HALF_DB = 50.0
# What unknown dimensions may be: small and unequal ones first, then what pictures and sequences need.
_SIZES = (2, 3, 1, 8, 16, 32, 64, 224)
_RANDOM_RUNS = 2


class Original:
    """A model whose answers others must give.

    Args:
        samples: feeds; the first one is also run at twice its open sizes. Where there are none, random ones are made,
            at two sizes where the model takes them.
    Raises: BuildError: it does not run, or answers differently each time.
    """

    def __init__(self, data: bytes, samples: Sequence[Feeds]) -> None:
        self._signature = _signature(data)
        self._agree_db = AGREE_HALF_DB if mentions(protobuf.load(data), DataType.FLOAT16) else AGREE_DB
        session = _session(data)
        self._runs: list[tuple[Feeds, list[Array]]] = []
        said, wanted = "it has no sample", len(samples) + 1 if samples else _RANDOM_RUNS
        more = _stretched(session, samples[0]) if samples else _random(session)
        for feeds in (*samples, *more):
            if len(self._runs) == wanted:
                break
            try:
                self._runs.append((feeds, _answers(session, feeds)))
            except Exception as error:  # onnxruntime has no public class of its own
                said = _first_line(error)
        if not self._runs:
            raise BuildError(f"it runs neither on a sample nor on random inputs ({said}); give the app an example")
        if self._worst(session, 1) < self._agree_db:
            raise BuildError("it answers differently each time, so that nothing can be compared")

    def difference(self, data: bytes) -> tuple[float, str]:
        """How another model differs.

        Returns: decibels of its worst output, inf where all are equal; and what is wrong, "" where nothing is.
        """
        try:
            if (signature := _signature(data)) != self._signature:
                return -math.inf, _changed(self._signature, signature)
            worst = self._worst(_session(data), len(self._runs))
        except Exception as error:  # as above
            return -math.inf, f"the result does not run: {_first_line(error)}"
        wrong = worst < self._agree_db
        return worst, f"outputs differ: {worst:.0f} dB, expected {self._agree_db:.0f} dB" if wrong else ""

    def _worst(self, session: Any, runs: int) -> float:
        """Decibels of the worst output; integers, strings and shapes are equal or -inf."""
        worst = math.inf
        for feeds, expected in self._runs[:runs]:
            pairs = zip(expected, _answers(session, feeds), strict=True)
            worst = min([worst, *(snr_db(a, b) for a, b in pairs)])
        return worst


def restore(model: onnx.ModelProto, original: onnx.ModelProto) -> onnx.ModelProto:
    """Give a rewritten model the original's inputs, outputs, metadata, and no operator sets that it does not use.

    Inputs that a pass removed because nobody reads them come back. Types of inner values are kept where the original
    told them: what a pass inferred costs bytes, and the page's runtime infers it anyway.
    """
    told = {value.name for value in original.graph.value_info}
    infos = [value for value in model.graph.value_info if value.name in told]
    del model.graph.value_info[:]
    model.graph.value_info.extend(infos)
    for field in ("input", "output"):
        values = getattr(model.graph, field)
        del values[:]
        values.extend(getattr(original.graph, field))
    del model.metadata_props[:]
    model.metadata_props.extend(original.metadata_props)
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        setattr(model, name, getattr(original, name))
    for name in ("name", "doc_string"):
        setattr(model.graph, name, getattr(original.graph, name))
    functions = (node.domain for function in model.functions for node in function.node)
    used = {*(node.domain for node in all_nodes(model.graph)), *functions, "", "ai.onnx"}
    opsets = [o for o in model.opset_import if o.domain in used]
    if "com.microsoft" in used.difference(o.domain for o in opsets):
        opsets.append(onnx.helper.make_opsetid("com.microsoft", 1))
    del model.opset_import[:]
    model.opset_import.extend(opsets)
    model.ir_version = min(max(model.ir_version, original.ir_version), max(original.ir_version, 10))
    return model


def _session(data: bytes) -> Any:
    """Native ONNX Runtime; the core's session, which runs the rest in Python, only where it does not know an operator.

    The core's session would go on in Python where a run fails natively, and so compare something else.
    """
    model = protobuf.load(data)
    own = {function.domain for function in model.functions}
    foreign = any(node.domain not in RUNTIME_DOMAINS | own for node in nodes(model))
    runtime: Any = onnxlet if foreign else onnxruntime
    options = runtime.SessionOptions()
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # as every reference
    return runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _answers(session: Any, feeds: Feeds) -> list[Array]:
    return [comparable(value) for value in session.run(None, feeds)]


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _stretched(session: Any, feeds: Feeds) -> Iterator[Feeds]:
    """A sample beside itself along its open axes, else along its batch: other sizes, with values that make sense."""
    for axes in (None, (0,)):
        larger = dict(feeds)
        for arg in session.get_inputs():
            for axis, size in enumerate(arg.shape):
                if arg.name in larger and not isinstance(size, int) and (axes is None or axis in axes):
                    larger[arg.name] = np.concatenate([larger[arg.name]] * 2, axis)
        yield larger


def _random(session: Any) -> Iterator[Feeds]:
    """Random feeds of growing size; of one size where no dimension is open, since more would say the same."""
    fixed = all(isinstance(d, int) and d > 0 for arg in session.get_inputs() for d in arg.shape)
    for seed, size in enumerate(_SIZES[:_RANDOM_RUNS] if fixed else _SIZES):
        try:
            yield random_feeds(session, size, seed)
        except BuildError:  # an input is no tensor
            return


def _signature(data: bytes) -> Signature:
    return ModelSource(data).signature()


def _changed(before: Signature, after: Signature) -> str:
    for what in ("inputs", "outputs", "overridable", "metadata"):
        a, b = getattr(before, what), getattr(after, what)
        if a != b:
            return f"its {what} would change from {a} to {b}"
    return ""
