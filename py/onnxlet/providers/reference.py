"""NumpyExecutionProvider: every operator as the core defines it, in numpy. Slow, complete, and everywhere."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import ops
from ..dtypes import Narrow
from ..errors import InvalidInput, ProviderError
from ..execute import Program, Run, compile_model
from ..model import Model
from ..node_trace import Event, run_event
from .base import Value

if TYPE_CHECKING:
    from ..options import SessionOptions
    from ..source import ModelSource

__all__ = ["ReferenceExecutable", "ReferenceProvider"]

YIELD_S = 0.01  # how long `arun` computes before other tasks get a turn: under one frame of 16 ms


class ReferenceProvider:
    """The core's own operators (see `providers.base.Provider`)."""

    name = "NumpyExecutionProvider"

    def unavailable(self) -> str:
        return ""

    def load(self, source: ModelSource, options: SessionOptions) -> ReferenceExecutable:
        return ReferenceExecutable(source.model(), profiling=options.enable_profiling)


class ReferenceExecutable:
    """A model compiled for numpy (see `providers.base.Executable`).

    Every value of the main graph can be fetched by name, not only its outputs.

    Args:
        profiling: keep a time table.
    Attributes:
        profile: Chrome-trace events so far, one a node and one a run; None without profiling.
        started_s: `time.perf_counter` at their zero.
    """

    def __init__(self, model: Model, *, profiling: bool = False) -> None:
        ops.load_all()
        self.profile: list[Event] | None = [] if profiling else None
        self.started_s = time.perf_counter()
        self._program: Program | None = compile_model(model)

    def run(
        self, fetches: Sequence[str], feeds: Mapping[str, Value], *, cancelled: Callable[[], bool] | None = None
    ) -> list[Value]:
        """Compute `fetches`.

        Args:
            cancelled: asked between nodes; true stops the run.
        Raises:
            InvalidInput: an input is missing, or a fetch is no value of the main graph.
            ProviderError: an operator failed, or the run was cancelled; other errors as the operators raise them.
        """
        values: dict[str, Value] = {}
        for _ in self._steps(fetches, feeds, values, cancelled):
            pass
        return _handed_out(fetches, values)

    async def arun(
        self, fetches: Sequence[str], feeds: Mapping[str, Value], *, cancelled: Callable[[], bool] | None = None
    ) -> list[Value]:
        """The same, with a turn for the event loop between nodes at least every `YIELD_S` where nodes are short."""
        values: dict[str, Value] = {}
        turn_s = time.perf_counter()
        for _ in self._steps(fetches, feeds, values, cancelled):
            if time.perf_counter() - turn_s > YIELD_S:
                await asyncio.sleep(0)
                turn_s = time.perf_counter()
        return _handed_out(fetches, values)

    def trace(self) -> list[Event]:
        """Events so far (see `base.Traced`)."""
        events, self.profile = self.profile or [], None
        return events

    async def atrace(self) -> list[Event]:
        """The same."""
        return self.trace()

    def close(self) -> None:
        self._program = None

    def _steps(
        self,
        fetches: Sequence[str],
        feeds: Mapping[str, Value],
        values: dict[str, Value],
        cancelled: Callable[[], bool] | None,
    ) -> Iterator[None]:
        program = self._program
        if program is None:
            raise ProviderError("the session is closed; open another")
        unknown = [name for name in fetches if name not in program.names]
        if unknown:
            raise InvalidInput(f"nothing in the graph is named {unknown}; its outputs are {list(program.outputs)}")
        missing = [name for name in program.inputs if name not in feeds and name not in program.constants]
        if missing:
            raise InvalidInput(f"no value for the inputs {missing}")
        values.update((name, _guarded(value)) for name, value in feeds.items())
        begin_s = time.perf_counter()
        yield from program.walk(values, fetches, Run(cancelled, self.profile, self.started_s))
        if self.profile is not None:
            self.profile.append(run_event(begin_s - self.started_s, time.perf_counter() - begin_s))


def _guarded(value: Value) -> Value:
    """A read-only view of a feed: no operator may write into the caller's array."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    return value


def _handed_out(fetches: Sequence[str], values: Mapping[str, Value]) -> list[Value]:
    """The fetches as the caller's own arrays: contiguous, sharing no memory with feeds, weights or each other."""
    seen: set[int] = set()

    def own(value: Value) -> Value:
        if isinstance(value, Narrow):
            return Narrow(value.data_type, own(value.values))
        if isinstance(value, list):
            return [own(item) for item in value]
        if not isinstance(value, np.ndarray):
            return value
        shared = id(value) in seen or not (value.flags.owndata and value.flags.writeable and value.flags.c_contiguous)
        seen.add(id(value))
        return value.copy(order="C") if shared else value

    return [own(values[name]) for name in fetches]
