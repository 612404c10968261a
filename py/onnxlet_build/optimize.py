"""A smaller model with the same answers: every pass of `passes/` is tried, proven, and kept only if it helps.

Passes run in a process of their own (`optimize_child.py`): other people's optimizers may raise, crash or never end, and
none of that ends a build.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import onnx

from onnxlet import protobuf

from . import paths
from .models import quantized
from .passes import PASSES
from .passes.graphs import count_nodes
from .progress import Reporter
from .samples import Samples
from .variants import Step

__all__ = ["Optimized", "optimize"]

MAX_SAMPLES = 8  # equal models answer equally on the first few; a wrong pass shows on any of them
LIMIT_S = 600  # one pass with its comparison
_NAME = "optimize"


@dataclass(frozen=True, slots=True)
class Optimized:
    """A model after the passes.

    Args:
        data: its bytes; those that were given where no step was kept.
        steps: what was tried, in order.
    """

    data: bytes
    steps: tuple[Step, ...]


def optimize(data: bytes, samples: Samples, folder: Path, report: Reporter, app: Path | None = None) -> Optimized:
    """Make a model smaller and simpler without changing what it answers.

    Inputs, outputs, their types and dimensions, and the metadata stay. Each step is compared with the original on
    native ONNX Runtime, on the samples, or on random inputs where there are none: 90 dB for floating-point outputs
    (50 dB where the model computes in float16), equal for all others. Models that are quantized already stay byte for
    byte.

    Args:
        data: an ONNX model in one file, under 2 GiB.
        samples: feeds; the first few are used.
        folder: for files in between; made where it is not there, and left for the caller to remove.
        app: the app file that registers the model's own operators when it is imported.
    """
    if how := quantized(protobuf.load(data)):
        return Optimized(data, (_untouched(data, f"left as it is: quantized already ({how})"),))
    folder.mkdir(parents=True, exist_ok=True)
    current = folder / "original.onnx"
    current.write_bytes(data)
    steps: list[Step] = []
    with report.step("Optimizing the model"), _Child(current, samples[:MAX_SAMPLES], app) as child:
        if child.refusal:
            return Optimized(data, (_untouched(data, f"left as it is: {child.refusal}"),))
        suited = True
        for number, one in enumerate(PASSES):
            if one.instead and (steps[-1].kept or not suited):
                continue
            target = folder / f"step{number}.onnx"
            answer = child.ask({"step": number, "model": str(current), "target": str(target)})
            suited = answer.pop("suited", True)
            step = Step(one.name, **answer) if "reason" in answer else Step(one.name, False, answer["ended"])
            steps.append(step)
            if step.kept:
                current = target
    return Optimized(current.read_bytes(), tuple(steps))


def _untouched(data: bytes, reason: str) -> Step:
    count = count_nodes(onnx.load_model_from_string(data))
    return Step(_NAME, False, reason, count, count, len(data), len(data))


class _Child:
    """The process that runs the passes; a new one takes over where one ends.

    Args:
        model: the original's file.
    """

    def __init__(self, model: Path, samples: Samples, app: Path | None) -> None:
        start = {"model": str(model), "samples": [str(path) for path in samples.paths], "app": str(app or "")}
        self._start = start
        self._process: subprocess.Popen[str] | None = None
        self.refusal = ""  # why nothing can be compared

    def __enter__(self) -> "_Child":
        ready = self._started()
        self.refusal = ready.get("refusal") or ready.get("ended", "")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Let the process try one pass. Returns: a `Step`'s fields, or {"ended": why it gave no answer}."""
        if self._process is None and "ended" in (ready := self._started()):
            return ready
        return self._said(request)

    def _started(self) -> dict[str, Any]:
        old = os.environ.get("PYTHONPATH")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(paths.CORE.parent), *([old] if old else [])])}
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.optimize_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            encoding="utf-8",
        )
        return self._said(self._start)

    def _said(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()

        def kill() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(LIMIT_S, kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        status = process.wait()
        self._end()
        if late.is_set():
            return {"ended": f"it was stopped after {LIMIT_S} s"}
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        return {"ended": f"it crashed ({how})"}

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
