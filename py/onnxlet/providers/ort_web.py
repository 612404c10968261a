"""WebGpuExecutionProvider and CPUExecutionProvider in the page: ONNX Runtime Web, behind the bridge of `bridge.js`.

The bridge is an argument, and so is the way to wait, so this file imports nothing of the browser. What a call always
says crosses once, as JSON. A run of it crosses as the addresses of its arrays, which JavaScript reads in place; back
come one string, and the numbers that JavaScript writes into arrays made here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..dtypes import Array, DataType, Narrow, from_ort_type
from ..errors import InvalidInput, InvalidModel, OnnxletError, OutOfMemory, ProviderError, Refused
from ..options import ExecutionMode, GraphOptimizationLevel
from ..source import ModelSource
from .base import Value

if TYPE_CHECKING:
    from ..options import SessionOptions

__all__ = ["WebExecutable", "WebProvider"]

_ERRORS: dict[str, type[OnnxletError]] = {
    c.__name__: c for c in (InvalidInput, InvalidModel, OutOfMemory, ProviderError, Refused)
}
_NODE_NAME = re.compile(r"(?:node with name|node name:|Name:) ?'?([^'\s,]+)'?|In Node, \(\"([^\"]+)\"")
_LEVELS = {
    GraphOptimizationLevel.ORT_DISABLE_ALL: "disabled",
    GraphOptimizationLevel.ORT_ENABLE_BASIC: "basic",
    GraphOptimizationLevel.ORT_ENABLE_EXTENDED: "extended",
    GraphOptimizationLevel.ORT_ENABLE_LAYOUT: "layout",
    GraphOptimizationLevel.ORT_ENABLE_ALL: "all",
}
CPU = "CPUExecutionProvider"
CALLS = 64  # that one session keeps prepared: enough for sizes that come back, little where each is new
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
        model = () if source.page_id else source.pieces()
        session = self._bridge.create(json.dumps(spec), *model)
        return WebExecutable(self._bridge, session, self._wait)


def _has_half(source: ModelSource) -> bool:
    """Whether a model that is at hand has float16 in it; a recorded one was judged when the page chose its backend."""
    if source.page_id:
        return False
    from ..partition import mentions

    try:
        return mentions(source.model(), DataType.FLOAT16)
    except InvalidModel:
        return False  # for the runtime to say


class WebExecutable:
    """A session of ONNX Runtime Web, which may still be loading."""

    def __init__(self, bridge: Any, session: int, wait: Callable[[Any], Any] | None) -> None:
        self._bridge = bridge
        self._session = session
        self._wait = wait
        self._blocks = bridge.waits == "atomics"
        self._calls: dict[tuple[Any, ...], _Call] = {}  # by all that a run says but values

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """Raises: ProviderError: it failed, or nothing here can wait; OutOfMemory; Refused: it takes no such model."""
        call = self._prepared(fetches, feeds)
        if self._blocks:
            return call.read(call.start(*map(_argument, feeds.values())))
        if self._wait is None:
            raise ProviderError(NO_WAITING)
        call.start(*map(_argument, feeds.values()))
        try:
            return call.read(self._wait(call))
        except BaseException:
            call.cancel()  # before the feeds go
            raise

    async def arun(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """The same; other tasks run meanwhile, except where only blocking is possible."""
        if self._blocks:
            return self.run(fetches, feeds)
        call = self._prepared(fetches, feeds)
        call.start(*map(_argument, feeds.values()))
        try:
            return call.read(await call.answer)
        except BaseException:
            call.cancel()
            raise

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

    def _prepared(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> _Call:
        if not self._session:
            raise ProviderError("the session is closed")
        for name, value in feeds.items():
            if not isinstance(value, np.ndarray):
                what = value.data_type.name if isinstance(value, Narrow) else type(value).__name__
                raise Refused(f'input "{name}": ONNX Runtime Web cannot be fed a {what}')
        said = (*fetches, *[(name, value.dtype, value.shape) for name, value in feeds.items()])
        call = self._calls.get(said)
        if call is None:
            if len(self._calls) == CALLS:
                self._calls.clear()
            heads = [[name, _type_name(value.dtype), value.shape] for name, value in feeds.items()]
            head = json.dumps({"feeds": heads, "fetches": list(fetches)})
            call = self._calls[said] = _Call(self._bridge.prepare(self._session, head))
        return call


class _Call:
    """One way to call a session, of which JavaScript was told once. Its runs do not overlap.

    `run_sync` takes all that `asyncio.isfuture` does, asks it at once for its result, and waits where that is a
    promise. So Python pauses once, and the event loop has no part in it: the future that Pyodide makes of a promise,
    with its two turns of the loop, costs ten times as much.
    """

    _asyncio_future_blocking = False  # by which `asyncio.isfuture` knows a future

    def __init__(self, call: Any) -> None:
        # looked up once: every lookup makes a proxy
        self.start: Callable[..., Any] = call.start  # with an argument a feed; blocks and gives the answer, or
        self.answer = call.answer  # here is a promise of it
        self.cancel: Callable[[], None] = call.cancel
        self._fill: Callable[..., None] = call.fill
        self._answer = ""  # the last one, and what it says
        self._outputs: list[_Output] = []

    def read(self, answer: str) -> list[Value]:
        """The outputs, in arrays of the caller's own."""
        if answer != self._answer:
            head = json.loads(answer)
            if "error" in head:
                raise _error(**head["error"])
            self._answer, self._outputs = answer, [_Output(*output) for output in head["outputs"]]
        results = [output.array() for output in self._outputs]
        self._fill(*[_address(array) for array in results if array.dtype.kind != "O"])
        return results

    def __await__(self) -> Generator[Any, Any, str]:
        return (yield from self.answer.__await__())

    def add_done_callback(self, callback: Callable[[_Call], object], *, context: Any = None) -> None:
        """As asyncio calls it."""
        callback(self)

    def result(self) -> Any:
        """As asyncio calls it."""
        return self.answer


class _Output(NamedTuple):
    """What an answer says of an output."""

    type_name: str
    shape: Sequence[int]
    strings: Sequence[str] | None = None

    def array(self) -> Array:
        """Room for it, or the strings themselves."""
        if self.strings is None:
            return np.empty(self.shape, self.type_name)
        array = np.empty(len(self.strings), dtype=object)
        array[:] = self.strings
        return array.reshape(self.shape)


def _type_name(dtype: np.dtype[Any]) -> str:
    return "string" if dtype.kind == "O" else dtype.name


def _argument(array: Array) -> int | str:
    """An array as a run takes it: its place in memory, or its strings."""
    return json.dumps(array.ravel().tolist()) if array.dtype.kind == "O" else _address(array)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


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
