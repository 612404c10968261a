"""`InferenceSession` with onnxruntime's Python API, over whichever provider takes the model.

Providers are tried in order. The first that takes the model runs it; one that refuses, even as late as the first run
(a page starts loading a model without waiting for it), hands over to the next with a warning.
Source of names and behaviour: onnxruntime 1.32, onnxruntime_inference_collection.py.
"""

from __future__ import annotations

import asyncio
import collections
import itertools
import json
import os
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

from . import feeds as _feeds
from . import providers as _providers
from .binding import IOBinding, OrtValue
from .errors import InvalidInput, OnnxletError, Refused
from .options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from .providers.base import Executable, Provider, Traced, Value
from .records import dataclass
from .source import ModelMetadata, ModelSource, NodeArg, Signature, watchers
from .turns import Turns

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtValue",
    "RunOptions",
    "SessionOptions",
    "get_all_providers",
    "get_available_providers",
    "get_device",
]

_PACKAGE = str(Path(__file__).parent)

Providers = Sequence[str | tuple[str, dict[Any, Any]]]


def get_available_providers() -> list[str]:
    """Names of the providers that can run here, the preferred one first."""
    return _providers.available()


def get_all_providers() -> list[str]:
    """Names of every provider that this package has, whether it can run here or not."""
    return [_providers.WEBGPU, _providers.CPU, _providers.NUMPY]


def get_device() -> str:
    """ "GPU" where WebGPU can be used, else "CPU"."""
    return "GPU" if _providers.WEBGPU in get_available_providers() else "CPU"


@dataclass(slots=True)
class Meter:
    """What running models took so far, for the page's time display."""

    runs: int = 0
    seconds: float = 0.0

    def add(self, begin_s: float) -> None:
        """Count a run that began then (`time.perf_counter`)."""
        self.runs += 1
        self.seconds += time.perf_counter() - begin_s


meter = Meter()
sessions: weakref.WeakValueDictionary[int, InferenceSession] = weakref.WeakValueDictionary()
"""The sessions that are alive, by number, in the order in which the app made them: for the page's status."""

observers: list[Callable[[InferenceSession, list[str], dict[str, Value]], None]] = []
"""Called with every run's session, fetches and feeds."""

_numbers = itertools.count(1)


class InferenceSession:
    """A model, ready to run.

    Args:
        path_or_bytes: a path (in the working directory, else beside the calling file), the model's bytes, or a
            `ModelSource`. In the page, a model that the build recorded need not exist as a file.
        sess_options: how to load it.
        providers: names, or (name, options) tuples, the most wanted first; None takes the best that is available.
        provider_options: one dict a provider, where ``providers`` holds names only.
        kwargs: onnxruntime's ``enable_fallback`` (0: fail rather than try another provider); others are ignored.
    Raises: NoSuchFile, InvalidModel: the file; Refused, UnsupportedOp: no provider takes it. In the page these may come
        with the first run, because the constructor does not wait.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes | bytearray | memoryview | ModelSource,
        sess_options: SessionOptions | None = None,
        providers: Providers | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        self._source = path_or_bytes if isinstance(path_or_bytes, ModelSource) else ModelSource(path_or_bytes)
        self._options = sess_options or SessionOptions()
        self._fallback = bool(int(kwargs.get("enable_fallback", 1)))
        self._turns = Turns()
        self._executable: Executable | None = None
        self.fallen = ""  # why the first provider does not run the model any more
        self._signature: Signature | None = None
        self._inner: tuple[list[str], InferenceSession] | None = None
        self.last_call: tuple[list[str], dict[str, Value]] | None = None  # see `last_calls`
        for watch in watchers:
            watch(self._source)
        self.number = next(_numbers)
        sessions[self.number] = self
        self._start(providers, provider_options)

    # ---- what the model is -------------------------------------------------------------------------------------

    def get_inputs(self) -> list[NodeArg]:
        """What must be fed."""
        return list(self._described().inputs)

    def get_outputs(self) -> list[NodeArg]:
        """What comes out."""
        return list(self._described().outputs)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """Constants that may be fed as well."""
        return list(self._described().overridable)

    def get_modelmeta(self) -> ModelMetadata:
        """What the file says of itself."""
        return self._described().metadata

    def get_session_options(self) -> SessionOptions:
        """The options that the session was made with."""
        return self._options

    def get_providers(self) -> list[str]:
        """The provider that runs the model, then those that it may fall back to."""
        return [name for name, _ in self._chain]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """Options of each provider, as strings."""
        return {name: dict(options) for name, options in self._chain}

    def set_providers(
        self, providers: Providers | None = None, provider_options: Sequence[dict[Any, Any]] | None = None
    ) -> None:
        """Load the model again, with other providers."""
        self.close()
        self._start(providers, provider_options)

    def disable_fallback(self) -> None:
        """Fail rather than try another provider."""
        self._fallback = False

    def enable_fallback(self) -> None:
        """Try the next provider where one refuses the model (the default)."""
        self._fallback = True

    # ---- running it --------------------------------------------------------------------------------------------

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """Compute outputs.

        Args:
            output_names: which ones and in which order; None or empty for all. Any value inside the graph can be
                asked for by its name, at the price of loading the model once more.
            input_feed: an array by input name; see `feeds` for what is accepted.
            run_options: accepted; ``terminate`` set beforehand refuses the run.
        Returns: numpy arrays, lists (sequences) or lists of dicts (maps), as onnxruntime gives them.
        Raises: InvalidInput: a feed or a name does not fit; ProviderError: the runtime failed; OutOfMemory: the
            model or this run needs more memory than there is.
        """
        fetches, feeds = self._prepare(output_names, input_feed, run_options)
        if inner := self._exposing(fetches):
            return inner.run(fetches, feeds)
        with self._turns:
            while True:
                executable = self._loaded()
                begin_s = time.perf_counter()
                try:
                    results = executable.run(fetches, feeds)
                except Refused as refusal:
                    self._next(refusal)
                    continue
                meter.add(begin_s)
                return [_feeds.public(v) for v in results]

    async def arun(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: RunOptions | None = None,
    ) -> list[Any]:
        """`run` without blocking the event loop; works in every browser. Calls on one session queue."""
        if sys.platform != "emscripten":
            return await asyncio.to_thread(self.run, output_names, input_feed, run_options)
        fetches, feeds = self._prepare(output_names, input_feed, run_options)
        if inner := self._exposing(fetches):
            return await inner.arun(fetches, feeds)
        async with self._turns:
            while True:
                if self._chain[0][0] == _providers.NUMPY:
                    await self._source.fetch()
                executable = self._loaded()
                begin_s = time.perf_counter()
                try:
                    results = await executable.arun(fetches, feeds)
                except Refused as refusal:
                    self._next(refusal)
                    continue
                meter.add(begin_s)
                return [_feeds.public(v) for v in results]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """Compute in the background, then call ``callback(results, user_data, error)``; ``error`` is "" without one.

        Natively the callback comes from another thread, in the page from the event loop.
        """
        self._prepare(output_names, input_feed, run_options)  # what is wrong with the call is raised here and now

        def report(results: list[Any], error: str) -> None:
            callback(results, user_data, error)

        if sys.platform == "emscripten":

            async def later() -> None:
                try:
                    results = await self.arun(output_names, input_feed, run_options)
                except OnnxletError as error:
                    report([], str(error))
                else:
                    report(results, "")

            task = asyncio.ensure_future(later())
            _background.add(task)
            task.add_done_callback(_background.discard)
            return

        def work() -> None:
            try:
                results = self.run(output_names, input_feed, run_options)
            except OnnxletError as error:
                report([], str(error))
            else:
                report(results, "")

        threading.Thread(target=work, name="onnxlet-run", daemon=True).start()

    @property
    def source(self) -> ModelSource:
        """Where the model comes from."""
        return self._source

    @property
    def executable(self) -> Executable | None:
        """What runs the model now; None after `close`."""
        return self._executable

    def placement(self) -> dict[str, Any] | None:
        """Which node ran where, and the bytes that crossed (docs/architecture.md); None on the core alone."""
        report = getattr(self._executable, "placement", None)
        return report() if report else None

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """`run` on `OrtValue`s."""
        feeds = {name: value._value for name, value in input_dict_ort_values.items()}
        return [OrtValue(value) for value in self.run(output_names, feeds, run_options)]

    def io_binding(self) -> IOBinding:
        """Inputs and outputs to be bound, for `run_with_iobinding`."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """`run` on what is bound. Raises: ValueError: the binding is another session's."""
        if iobinding._session is not self:
            raise ValueError("IOBinding must be used with the session that created it.")
        iobinding._run()

    def end_profiling(self) -> str:
        """Write the trace that ``SessionOptions.enable_profiling`` asked for; returns its file name, "" without one."""
        if not (self._options.enable_profiling and isinstance(self._executable, Traced)):
            return ""
        events = self._executable.trace()
        path = f"{self._options.profile_file_prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json"
        Path(path).write_text(json.dumps(events))
        return path

    def close(self) -> None:
        """Give the model's memory back. The session loads it again when it is run again."""
        self._inner = None
        if self._executable:
            self._executable.close()
            self._executable = None

    def __del__(self) -> None:
        if getattr(self, "_executable", None):
            self.close()

    def __repr__(self) -> str:
        return f"<InferenceSession {self._source!r} on {self._chain[0][0]}>"

    # ---- inside ------------------------------------------------------------------------------------------------

    def _start(self, providers: Providers | None, provider_options: Sequence[dict[Any, Any]] | None) -> None:
        wanted = _normalize(providers, provider_options)
        self._chain = self._usable(wanted)
        self._loaded()

    def _usable(self, wanted: list[tuple[str, dict[str, str]]]) -> list[tuple[str, dict[str, str]]]:
        """The wanted providers that can run here, or the best one; the GPU has the CPU behind it."""
        chain: list[tuple[str, dict[str, str]]] = []
        for name, options in wanted:
            provider = _providers.find(name)
            reason = provider.unavailable() if provider else "it is not one of " + ", ".join(get_all_providers())
            if reason:
                _warn(f"{name} is not available: {reason}")
            else:
                chain.append((name, options))
        here = get_available_providers()
        if not chain:
            chain = [(self._source.preferred if self._source.preferred in here else here[0], {})]
        names = [name for name, _ in chain]
        if _providers.WEBGPU in names and _providers.CPU in here and _providers.CPU not in names:
            chain.append((_providers.CPU, {}))
        return chain

    def _loaded(self) -> Executable:
        while self._executable is None:
            name, _ = self._chain[0]
            provider = _providers.find(name)
            assert provider, "the chain holds providers that were found"
            try:
                lent = _lent(name, self._source, self._options)
                self._executable = lent or _load(provider, self._source, self._options)
            except Refused as refusal:
                self._next(refusal)
        return self._executable

    def _next(self, refusal: OnnxletError) -> None:
        """Give the model to the next provider, or up.

        The core's own operators come last even where nobody asked for them: they have what runtimes lack.
        """
        name, _ = self._chain[0]
        rest = self._chain[1:] or ([(_providers.NUMPY, {})] if name != _providers.NUMPY else [])
        if not self._fallback or not rest:
            raise refusal
        self.close()
        self.fallen = f"{name} does not take this model, {rest[0][0]} goes on: {refusal}"
        _warn(self.fallen)
        self._chain = rest

    def _exposing(self, fetches: Sequence[str]) -> InferenceSession | None:
        """A session of the same model with inner values as outputs, where the fetches name such; None where not."""
        inner = [name for name in fetches if name not in self._outputs]
        if not inner:
            return None
        if self._inner is None or self._inner[0] != inner:
            self._inner = inner, self.again(source=_with_outputs(self._source, inner))
        return self._inner[1]

    def again(self, options: SessionOptions | None = None, *, source: ModelSource | None = None) -> InferenceSession:
        """Another session on the same providers, which does not stand among `sessions`.

        Args:
            options, source: other ones than this session's.
        """
        session = InferenceSession(source or self._source, options or self._options, providers=list(self._chain))
        sessions.pop(session.number, None)
        return session

    def _described(self) -> Signature:
        if self._signature is None:
            known = getattr(self._executable, "signature", None)
            self._signature = known or self._source.signature()
        return self._signature

    @cached_property
    def _outputs(self) -> tuple[str, ...]:
        return tuple(a.name for a in self._described().outputs)

    @cached_property
    def _check(self) -> _feeds.FeedCheck:
        signature = self._described()
        return _feeds.FeedCheck(signature.inputs, signature.overridable, self._source.name)

    def _prepare(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: RunOptions | None
    ) -> tuple[list[str], dict[str, Value]]:
        outputs = self._outputs
        if isinstance(output_names, str):
            raise TypeError(f"output_names: expected a list of names, got the string {output_names!r}")
        if run_options is not None and run_options.terminate:
            raise InvalidInput("run: RunOptions.terminate is set, so nothing was run")
        fetches = list(output_names or outputs)
        feeds = self._check(input_feed)
        for observe in observers:
            observe(self, fetches, feeds)
        return fetches, feeds


def _load(provider: Provider, source: ModelSource, options: SessionOptions) -> Executable:
    """Load a model on a provider; what a runtime refuses of it runs in Python."""
    if provider.name == _providers.NUMPY:
        return provider.load(source, options)
    from .providers import partitioned

    return partitioned.load(provider, source, options)


_lenders: list[InferenceSession] = []


@contextmanager
def lending(lenders: Sequence[InferenceSession]) -> Iterator[None]:
    """Inside the block, a new session takes over the loaded model of one of `lenders` that is alike.

    Alike are sessions of one model that the build recorded, on one provider, with equal options. A model that runs
    partly in Python is loaded anew: the operators there may be others now. Where the block raises, every model is its
    former session's again.
    """
    taken = [(session, session._executable) for session in lenders]
    _lenders[:] = lenders
    try:
        yield
    except BaseException:
        for session in list(sessions.values()):
            if any(session._executable is executable for _, executable in taken):
                session._executable = None
        for session, executable in taken:
            session._executable = executable
        raise
    finally:
        _lenders.clear()


def _lent(provider: str, source: ModelSource, options: SessionOptions) -> Executable | None:
    for session in _lenders:
        executable = session._executable
        report = getattr(executable, "placement", None)
        if not (executable and report and source.page_id and source.page_id == session._source.page_id):
            continue
        whole = report()["whole"] and report()["provider"] == provider == session._chain[0][0]
        if whole and vars(session._options) == vars(options):
            session._executable = None
            return executable
    return None


def _with_outputs(source: ModelSource, names: Sequence[str]) -> ModelSource:
    """The model with more of its values as outputs. Raises: InvalidInput: the graph has no such value."""
    from .model import ValueInfo

    model = source.model()
    graph = model.graph
    inside = {value for node in graph.nodes for value in node.outputs}
    inside |= {v.name for v in (*graph.inputs, *graph.outputs)} | {t.name for t in graph.initializers}
    for name in names:
        if name not in inside:
            given = ", ".join(repr(v.name) for v in graph.outputs)
            raise InvalidInput(
                f"Invalid output name: {name!r}; the model gives {given}, or any value inside it by name"
            )
    declared = {v.name: v for v in (*graph.value_info, *graph.inputs)}
    outputs = (*graph.outputs, *(declared.get(name, ValueInfo(name)) for name in names))
    changed = replace(model, graph=replace(graph, outputs=outputs))
    return ModelSource(changed, name=source.name, base=source.base)


_background: set[asyncio.Future[None]] = set()
"""Tasks of `run_async`: an event loop keeps only weak references to them."""


def _normalize(
    providers: Providers | None, provider_options: Sequence[dict[Any, Any]] | None
) -> list[tuple[str, dict[str, str]]]:
    """Providers as (name, options of strings), checked as onnxruntime checks them."""
    if providers is None:
        return []
    if isinstance(providers, str) or not isinstance(providers, collections.abc.Sequence):
        raise ValueError(f"'providers' should be a sequence of names, got {providers!r}")
    if provider_options is not None:
        if not isinstance(provider_options, collections.abc.Sequence) or len(providers) != len(provider_options):
            raise ValueError("'providers' and 'provider_options' should be the same length if both are given.")
        if not all(isinstance(p, str) for p in providers):
            raise ValueError("Only string values for 'providers' are supported if 'provider_options' is given.")
        if not all(isinstance(o, dict) for o in provider_options):
            raise ValueError("'provider_options' values must be dicts.")
        providers = [(str(p), o) for p, o in zip(providers, provider_options, strict=True)]
    wanted: dict[str, dict[str, str]] = {}
    for provider in providers:
        name, options = (provider, {}) if isinstance(provider, str) else _pair(provider)
        if name in wanted:
            _warn(f"Duplicate provider {name!r} encountered, ignoring.")
            continue
        wanted[name] = {str(k): str(v) for k, v in options.items()}
    return list(wanted.items())


def _warn(message: str) -> None:
    """Warn at the line of the caller's own code."""
    level = 1
    frame: FrameType | None = sys._getframe()
    while frame and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, stacklevel=level)


def _pair(provider: Any) -> tuple[str, dict[Any, Any]]:
    if (
        not isinstance(provider, tuple)
        or len(provider) != 2
        or not isinstance(provider[0], str)
        or not isinstance(provider[1], dict)
    ):
        raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
    return provider
