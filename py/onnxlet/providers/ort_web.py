"""WebGpuExecutionProvider and CPUExecutionProvider in the page: ONNX Runtime Web, behind the bridge of `bridge.js`.

The bridge is an argument, and so is the way to wait, so this file imports nothing of the browser. A call crosses as one
JSON string and the feeds' arrays, which JavaScript reads in place; results are written into arrays made here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import protobuf
from ..dtypes import DataType, Narrow, from_ort_type
from ..errors import InvalidInput, InvalidModel, OnnxletError, ProviderError, Refused
from ..options import ExecutionMode, GraphOptimizationLevel
from ..partition import mentions
from ..source import ModelSource
from .base import Value

if TYPE_CHECKING:
    from ..options import SessionOptions

__all__ = ["WebExecutable", "WebProvider"]

_ERRORS: dict[str, type[OnnxletError]] = {c.__name__: c for c in (InvalidInput, InvalidModel, ProviderError, Refused)}
_NODE_NAME = re.compile(r"(?:node with name|node name:|Name:) ?'?([^'\s,]+)'?|In Node, \(\"([^\"]+)\"")
_LEVELS = {
    GraphOptimizationLevel.ORT_DISABLE_ALL: "disabled",
    GraphOptimizationLevel.ORT_ENABLE_BASIC: "basic",
    GraphOptimizationLevel.ORT_ENABLE_EXTENDED: "extended",
    GraphOptimizationLevel.ORT_ENABLE_LAYOUT: "layout",
    GraphOptimizationLevel.ORT_ENABLE_ALL: "all",
}
CPU = "CPUExecutionProvider"
NO_WAITING = (
    "this browser cannot pause Python until the model has run: use `await session.arun(...)` in an `async def` app "
    "function, or choose the Python backend"
)


class WebProvider:
    """ONNX Runtime Web on one kind of hardware.

    Args:
        name: onnxruntime's name of the provider.
        kind: "webgpu" or "wasm".
        bridge: the JavaScript side.
        wait: blocks until an awaitable of JavaScript's is done; None where nothing can.
    """

    def __init__(self, name: str, kind: str, bridge: Any, wait: Callable[[Any], Any] | None) -> None:
        self.name = name
        self._kind = kind
        self._bridge = bridge
        self._wait = wait

    def unavailable(self) -> str:
        """What is wrong with the graphics hardware, or with this worker's ONNX Runtime Web after a failure."""
        if self._bridge.waits == "none":
            return str(self._bridge.reason)
        if self._kind != "webgpu":
            return ""
        return str(self._bridge.gpuFault or self._bridge.describe(self._kind).broken)

    def understudy(self, feeds: Mapping[str, Value]) -> tuple[WebProvider, str] | None:
        """WebAssembly for feeds with NaN: graphics hardware may take it for a number, as Relu, Clip and Softmax do."""
        if self._kind != "webgpu":
            return None
        for name, value in feeds.items():
            # the least value is NaN where any is
            if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size and np.isnan(value.min()):
                return WebProvider(CPU, "wasm", self._bridge, self._wait), f'"{name}" holds NaN, which WebGPU loses'
        return None

    def load(self, source: ModelSource, options: SessionOptions) -> WebExecutable:
        """Start loading; what goes wrong from here on is raised by the first run.

        Raises: Refused: an input or output has a type that ONNX Runtime Web's JavaScript API cannot carry.
        """
        signature = source.signature()
        for arg in (*signature.inputs, *signature.outputs):
            kind = from_ort_type(arg.type)
            if not kind or kind.is_narrow or kind.numpy.kind == "c":
                raise Refused(f'"{arg.name}" is a {arg.type}, which ONNX Runtime Web cannot exchange with a page')
        if self._kind == "webgpu" and not self._bridge.gpuHalf and _has_half(source):
            raise Refused("it computes in float16, which this graphics adapter cannot (no shader-f16)", final=True)
        spec = {"id": source.page_id, "provider": self._kind, "options": _options(options)}
        model = () if source.page_id else (_whole_file(source),)
        session = self._bridge.create(json.dumps(spec), *model)
        return WebExecutable(self._bridge, session, self._wait)


def _has_half(source: ModelSource) -> bool:
    """Whether a model that is at hand has float16 in it; a recorded one was judged when the page chose its backend."""
    try:
        return not source.page_id and mentions(source.model(), DataType.FLOAT16)
    except InvalidModel:
        return False  # for the runtime to say


def _whole_file(source: ModelSource) -> bytes | memoryview:
    """The model in one piece: ONNX Runtime Web sees no files of Python's, such as weights beside the model."""
    try:
        external = any(tensor.external for tensor in source.model().graph.initializers)
    except InvalidModel:
        external = False  # for the runtime to say
    return protobuf.dump(source.model()) if external else source.data()


class WebExecutable:
    """A session of ONNX Runtime Web, which may still be loading."""

    def __init__(self, bridge: Any, session: int, wait: Callable[[Any], Any] | None) -> None:
        self._bridge = bridge
        self._session = session
        self._wait = wait
        # looked up once: every lookup makes a proxy
        self._run = bridge.run if bridge.waits != "atomics" else bridge.runSync
        self._blocks = bridge.waits == "atomics"

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """Raises: ProviderError: the runtime failed, or nothing here can wait; Refused: it will not take the model."""
        if self._blocks:
            return _read(self._run(*self._call(fetches, feeds)))
        if self._wait is None:
            raise ProviderError(NO_WAITING)
        return _read(self._wait(self._run(*self._call(fetches, feeds))))

    async def arun(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """The same; other tasks run meanwhile, except where only blocking is possible."""
        if self._blocks:
            return self.run(fetches, feeds)
        return _read(await self._run(*self._call(fetches, feeds)))

    def trace(self) -> list[dict[str, Any]]:
        """Events so far (see `base.Traced`). Raises: ProviderError: nothing here can wait for them."""
        if self._blocks:
            return _events(self._bridge.profileSync(self._session))
        if self._wait is None:
            raise ProviderError(NO_WAITING)
        return _events(self._wait(self._bridge.profile(self._session)))

    async def atrace(self) -> list[dict[str, Any]]:
        """The same, awaited."""
        return self.trace() if self._blocks else _events(await self._bridge.profile(self._session))

    def close(self) -> None:
        """Give the memory back to ONNX Runtime, which keeps it for other sessions."""
        if self._session:
            self._bridge.release(self._session)
            self._session = 0

    def _call(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> tuple[Any, ...]:
        if not self._session:
            raise ProviderError("the session is closed")
        heads: list[list[Any]] = []
        arrays = []
        for name, value in feeds.items():
            if not isinstance(value, np.ndarray):
                what = value.data_type.name if isinstance(value, Narrow) else type(value).__name__
                raise Refused(f'input "{name}": ONNX Runtime Web cannot be fed a {what}')
            if value.dtype.kind == "O":
                heads.append([name, "string", value.shape, value.ravel().tolist()])
            else:
                heads.append([name, value.dtype.name, value.shape])
                # JavaScript cannot ask an array without elements for its buffer
                arrays.append(value if value.size else b"")
        return (self._session, json.dumps({"feeds": heads, "fetches": list(fetches)}), *arrays)


def _read(answer: Any) -> list[Value]:
    """The outputs, in arrays of the caller's own."""
    head = json.loads(answer.head)
    if "error" in head:
        raise _error(**head["error"])
    results: list[Value] = []
    targets = []
    for type_name, dims, *strings in head["outputs"]:
        if strings:
            array = np.empty(len(strings[0]), dtype=object)
            array[:] = strings[0]
            results.append(array.reshape(dims))
        else:
            results.append(np.empty(dims, dtype=type_name))
            targets.append(results[-1])
    answer.fill(*targets)
    return results


def _events(answer: str) -> list[dict[str, Any]]:
    head = json.loads(answer)
    if "error" in head:
        raise _error(**head["error"])
    events: list[dict[str, Any]] = head["events"]
    return events


def _error(type: str, message: str) -> OnnxletError:
    text = f"ONNX Runtime Web: {message}"
    if type == "Refused":
        return Refused(text, [a or b for a, b in _NODE_NAME.findall(message)])
    return _ERRORS.get(type, ProviderError)(text)


def _severity(options: SessionOptions) -> int:
    """Errors, unless told otherwise; under profiling less, because a refused model complains of its missing trace."""
    return options.log_severity_level if options.log_severity_level >= 0 else 4 if options.enable_profiling else 3


def _options(options: SessionOptions) -> dict[str, Any]:
    """ONNX Runtime Web's names of the options that it has."""
    return {
        "graphOptimizationLevel": _LEVELS[options.graph_optimization_level],
        "enableCpuMemArena": options.enable_cpu_mem_arena,
        "enableMemPattern": options.enable_mem_pattern,
        "executionMode": "parallel" if options.execution_mode == ExecutionMode.ORT_PARALLEL else "sequential",
        "logSeverityLevel": _severity(options),
        "logVerbosityLevel": options.log_verbosity_level,
        "freeDimensionOverrides": options.free_dimensions,
        "enableProfiling": options.enable_profiling,
        "extra": options.config,
    }
