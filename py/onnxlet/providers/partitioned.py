"""Run a model on a provider that does not take all of it: what it refuses runs in Python.

The whole graph is tried first, as it is; where the provider refuses it, it runs in parts (`stages`). Nothing is known
beforehand of what a provider can do.
"""

from __future__ import annotations

import time
import warnings
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InvalidModel, OnnxletError, ProviderError, Refused
from ..source import ModelSource, NoSuchFile, Signature
from . import NUMPY
from .base import Executable, Provider, Traced, Understudied, Value

if TYPE_CHECKING:
    from ..node_trace import Event
    from ..options import SessionOptions
    from .reference import ReferenceExecutable
    from .stages import Stages

__all__ = ["Aside", "Call", "PartitionedExecutable", "Work", "Wrong", "load"]


class Wrong(Refused):
    """It is we who refuse: the provider would take the node and answer wrongly."""


class Aside(NamedTuple):
    """Another provider has to do a run, because the one that has the model would answer wrongly."""

    provider: Provider
    why: str


class Call(NamedTuple):
    """A run that the driver makes, blocking or not."""

    executable: Executable
    fetches: Sequence[str]
    feeds: Mapping[str, Value]


Work = Generator[Call, list[Value], Any]


def load(provider: Provider, source: ModelSource, options: SessionOptions) -> PartitionedExecutable:
    """Load a model on a provider, with Python for what that refuses.

    Raises:
        Refused: the provider takes no node of it (a provider that loads later raises it with the first run).
        InvalidModel: the model is broken.
    """
    return PartitionedExecutable(provider, source, options)


class PartitionedExecutable:
    """A model on a provider and in Python (see `base.Executable`)."""

    def __init__(self, provider: Provider, source: ModelSource, options: SessionOptions) -> None:
        self._provider = provider
        self._understudy_for = provider.understudy if isinstance(provider, Understudied) else None
        self._source = source
        self._options = options
        self._whole: Executable | None = None
        self._understudy: Executable | None = None  # for runs on feeds that the provider gets wrong
        self._python: ReferenceExecutable | None = None
        self._stages: Stages | None = None  # once the graph must be cut
        self._ended: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()  # last runs under profiling
        self.started_s = time.perf_counter()
        self._reason = ""
        self._fault = self._source.fault(provider.name)  # of a model that may have to be waited for: see `_work`
        try:
            if not source.page_id:
                self._refuse_faults()
            if not self._fault:
                self._whole = provider.load(source, options)
        except NoSuchFile:
            raise
        except (Refused, InvalidModel) as refusal:
            self._cut_up(refusal)

    @property
    def signature(self) -> Signature | None:
        """What the provider knows of the model's inputs and outputs, where it runs the whole."""
        return getattr(self._whole, "signature", None)

    def trace(self) -> list[Event]:
        """Events of the parts that ran, on one clock whose zero is `started_s` (see `base.Traced`)."""
        from ..node_trace import merge_traces

        return merge_traces([(e.trace(), self._ended_s(e)) for e in self._traced()])

    async def atrace(self) -> list[Event]:
        """The same, awaited."""
        from ..node_trace import merge_traces

        return merge_traces([(await e.atrace(), self._ended_s(e)) for e in self._traced()])

    def _traced(self) -> list[Traced]:
        """What ran under profiling and is still there."""
        executables: list[Any] = [self._whole, self._python, *(self._stages.executables() if self._stages else ())]
        return [e for e in executables if isinstance(e, Traced) and e in self._ended]

    def _ended_s(self, executable: Traced) -> float:
        return self._ended[executable] - self.started_s

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """Raises: Refused: the provider takes no node; else what the provider and the operators raise."""
        failure: OnnxletError | None = None
        if (whole := self._plain(feeds)) is not None:
            try:
                return whole.run(fetches, feeds)
            except OnnxletError as error:
                failure = error
        work = self._work(fetches, feeds)
        step: Callable[[], Call] = partial(next, work)
        while True:
            try:
                call = step()
            except StopIteration as done:
                return list(done.value)
            if failure:  # of this very call
                step, failure = partial(work.throw, failure), None
                continue
            try:
                step = partial(work.send, call.executable.run(call.fetches, call.feeds))
                if self._options.enable_profiling:
                    self._ended[call.executable] = time.perf_counter()
            except OnnxletError as error:
                step = partial(work.throw, error)

    def _plain(self, feeds: Mapping[str, Value]) -> Executable | None:
        """What runs the whole model on such feeds, where a run is one call of it: as nearly always in a page."""
        if self._whole is None or self._options.enable_profiling or not self._overridable.isdisjoint(feeds):
            return None
        return None if self._understudy_for and self._understudy_for(feeds) else self._whole

    async def arun(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """The same; the event loop goes on where the parts' providers let it."""
        if self._fault or (self._whole and not self._overridable.isdisjoint(feeds)):
            await self._source.fetch()
        work = self._work(fetches, feeds)
        step: Callable[[], Call] = partial(next, work)
        while True:
            try:
                call = step()
            except StopIteration as done:
                return list(done.value)
            try:
                step = partial(work.send, await call.executable.arun(call.fetches, call.feeds))
                if self._options.enable_profiling:
                    self._ended[call.executable] = time.perf_counter()
            except OnnxletError as error:
                await self._source.fetch()  # whatever comes next needs the model, and cannot wait for it
                step = partial(work.throw, error)

    def close(self) -> None:
        """Give the memory back."""
        for executable in (self._whole, self._understudy, self._python, self._stages):
            if executable is not None:
                executable.close()
        self._whole = self._understudy = self._python = None

    def placement(self) -> dict[str, Any]:
        """Which node runs where.

        Returns: ``provider``: the provider's name; ``whole``: whether it runs everything; ``reason``: why not;
            ``parts``: in order, each with ``provider`` and ``nodes``, a list of names; ``crossing_bytes``: size of each
            value that went from one part to another in the last run. Parts are empty while the provider has it all.
        """
        parts = self._stages.placement() if self._stages and not self._python else []
        return {
            "provider": NUMPY if self._python else self._provider.name,
            "whole": self._whole is not None or self._python is not None,
            "reason": self._reason,
            "parts": parts,
            "crossing_bytes": dict(self._stages.crossed) if self._stages else {},
        }

    # ---- inside ------------------------------------------------------------------------------------------------

    def _refuse_faults(self) -> None:
        """Raises: Refused: the provider takes the model, and is known to answer wrongly (`faults`)."""
        from . import faults

        try:
            found = faults.known(self._source.model(), self._provider.name)
        except NoSuchFile:
            raise
        except InvalidModel:
            return  # the provider may read what we cannot, and has words of its own for what it cannot
        if found:
            raise Wrong(next(iter(found.values())))

    def _work(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> Work:
        while True:
            if self._python:
                return (yield Call(self._python, fetches, feeds))
            if self._fault:
                self._cut_up(Wrong(self._fault))
            stages = self._stages
            if not (self._whole or (stages and stages.stages)):
                raise ProviderError("the model is closed; open it again")
            if aside := self._understudy_for and self._understudy_for(feeds):
                return (yield from self._run_aside(*aside, fetches, feeds))
            try:
                if self._whole and self._overridable.isdisjoint(feeds):
                    return (yield Call(self._whole, fetches, feeds))
                if self._whole:
                    self._cut_up(Refused("a default is fed, which some runtimes keep as a constant"))
                assert self._stages
                results = yield from self._stages.run(fetches, feeds)
                if isinstance(results, Aside):
                    return (yield from self._run_aside(*results, fetches, feeds))
                if results is not None:
                    return results
            except (Refused, InvalidModel) as refusal:
                if not self._whole:
                    raise
                self._cut_up(refusal)
            except ProviderError as failure:
                return (yield from self._fall_back(failure, fetches, feeds))

    @cached_property
    def _overridable(self) -> frozenset[str]:
        """Inputs with a default. In a part they are plain inputs, which any provider can be fed."""
        signature = self.signature or self._source.signature()
        return frozenset(arg.name for arg in signature.overridable)

    def _cut_up(self, refusal: OnnxletError) -> None:
        """Go from the whole graph to parts.

        Raises: refusal: nothing is left for the provider; InvalidModel: the model is broken.
        """
        from .stages import Stages

        self._stages = Stages(self._provider, self._source, self._options)
        if self._whole:
            self._whole.close()
            self._whole = None
        self._reason = str(refusal)
        self._fault = ""
        self._stages.cut(refusal)

    def _run_aside(self, provider: Provider, why: str, fetches: Sequence[str], feeds: Mapping[str, Value]) -> Work:
        """Have this one run done by another provider, or in Python where that takes nothing of the model."""
        if self._understudy is None:
            warnings.warn(f"{provider.name} runs the model on such feeds: {why}", RuntimeWarning, stacklevel=3)
        try:
            self._understudy = self._understudy or load(provider, self._source, self._options)
            return (yield Call(self._understudy, fetches, feeds))
        except Refused:
            self._understudy = self._in_python()
            return (yield Call(self._understudy, fetches, feeds))

    def _fall_back(self, failure: ProviderError, fetches: Sequence[str], feeds: Mapping[str, Value]) -> Work:
        """Run in Python from now on, unless Python fails too: then the feeds are at fault, or the model.

        Raises: failure: Python failed too.
        """
        try:
            python = self._in_python()
            results = yield Call(python, fetches, feeds)
        except (OnnxletError, MemoryError) as error:
            raise failure from error
        self.close()
        self._python = python
        self._reason = f"{self._provider.name} failed, Python goes on for the rest of the session: {failure}"
        warnings.warn(self._reason, RuntimeWarning, stacklevel=3)
        return results

    def _in_python(self) -> ReferenceExecutable:
        from .reference import ReferenceExecutable

        return ReferenceExecutable(self._source.model(), profiling=self._options.enable_profiling)
