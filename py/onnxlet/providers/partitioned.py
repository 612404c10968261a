"""Run a model on a provider that does not take all of it: what it refuses runs in Python.

The whole graph is tried first, as it is. Every refusal teaches which nodes the provider does not take; the graph is
cut around them (`partition.cut`) and tried again, until the provider takes its parts. Nothing is known beforehand of
what a provider can do.
"""

from __future__ import annotations

import re
import time
import warnings
import weakref
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import ops
from ..dtypes import DataType, Narrow, from_numpy
from ..errors import InvalidModel, OnnxletError, ProviderError, Refused
from ..execute import Run, compile_model
from ..model import MapType, Model, OptionalType, SequenceType, TensorType, Type
from ..node_trace import Event, merge_traces
from ..partition import Part, changed_since, cut, declared_types, find_nodes, infer_types, name_nodes, part_model
from ..source import ModelSource, NoSuchFile, Signature
from ..tensors import to_array, to_dense
from . import faults
from .base import Executable, Provider, Traced, Understudied, Value
from .reference import ReferenceExecutable

if TYPE_CHECKING:
    from ..options import SessionOptions

__all__ = ["PartitionedExecutable", "load"]

# What onnxruntime's messages say besides node names. Source: onnxruntime 1.30 and 1.32.
_NODE = re.compile(r"""[Nn]ode(?: with name| name:|,)?[ (:'"]*([\w/][\w./-]*)""")
_OPERATOR = re.compile(r"([\w.]+):(\w+)\(-?\d+\) is not a registered")
_KERNEL = re.compile(r"implementation for (\w+)\(-?\d+\)")
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_OPSET_LIMIT = re.compile(r"domain ai\.onnx is till opset (\d+)")


class _Wrong(Refused):
    """It is we who refuse: the provider would take the node and answer wrongly."""


class _Call(NamedTuple):
    """A run that the driver makes, blocking or not."""

    executable: Executable
    fetches: Sequence[str]
    feeds: Mapping[str, Value]


_Work = Generator[_Call, list[Value], Any]


@dataclass(slots=True)
class _Stage:
    """A part and what runs it, once that is loaded."""

    part: Part
    executable: Executable | None = None

    def unload(self) -> None:
        if self.executable:
            self.executable.close()
            self.executable = None


@dataclass(slots=True)
class _Learned:
    """What refusals taught so far."""

    refused: set[int] = field(default_factory=set)
    opset_limit: int | None = None
    wants_types: bool = False


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
        self._stages: list[_Stage] = []
        self._model: Model | None = None  # with named nodes, once the graph must be cut
        self._types: dict[str, Type] = {}
        self._learned = _Learned()
        self._crossed: dict[str, int] = {}
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
        return merge_traces([(e.trace(), self._ended_s(e)) for e in self._traced()])

    async def atrace(self) -> list[Event]:
        """The same, awaited."""
        return merge_traces([(await e.atrace(), self._ended_s(e)) for e in self._traced()])

    def _traced(self) -> list[Traced]:
        """What ran under profiling and is still there."""
        executables: list[Any] = [self._whole, self._python, *(stage.executable for stage in self._stages)]
        return [e for e in executables if isinstance(e, Traced) and e in self._ended]

    def _ended_s(self, executable: Traced) -> float:
        return self._ended[executable] - self.started_s

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """Raises: Refused: the provider takes no node; else what the provider and the operators raise."""
        work = self._work(fetches, feeds)
        step: Callable[[], _Call] = partial(next, work)
        while True:
            try:
                call = step()
            except StopIteration as done:
                return list(done.value)
            try:
                step = partial(work.send, call.executable.run(call.fetches, call.feeds))
                if self._options.enable_profiling:
                    self._ended[call.executable] = time.perf_counter()
            except OnnxletError as error:
                step = partial(work.throw, error)

    async def arun(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """The same; the event loop goes on where the parts' providers let it."""
        if self._fault or (self._whole and not self._overridable.isdisjoint(feeds)):
            await self._source.fetch()
        work = self._work(fetches, feeds)
        step: Callable[[], _Call] = partial(next, work)
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
        for executable in (self._whole, self._understudy, self._python, *(stage.executable for stage in self._stages)):
            if executable is not None:
                executable.close()
        self._whole = self._understudy = self._python = None
        self._stages = []

    def placement(self) -> dict[str, Any]:
        """Which node runs where.

        Returns: ``provider``: the provider's name; ``whole``: whether it runs everything; ``reason``: why not;
            ``parts``: in order, each with ``provider`` and ``nodes``, a list of names; ``crossing_bytes``: size of each
            value that went from one part to another in the last run. Parts are empty while the provider has it all.
        """
        here = self._provider.name
        python = "NumpyExecutionProvider"
        parts = []
        if self._model and not self._python:
            names = [node.name for node in self._model.graph.nodes]
            parts = [
                {"provider": here if s.part.on_provider else python, "nodes": [names[i] for i in s.part.nodes]}
                for s in self._stages
            ]
        return {
            "provider": python if self._python else here,
            "whole": self._whole is not None or self._python is not None,
            "reason": self._reason,
            "parts": parts,
            "crossing_bytes": dict(self._crossed),
        }

    # ---- inside ------------------------------------------------------------------------------------------------

    def _refuse_faults(self) -> None:
        """Raises: Refused: the provider takes the model, and is known to answer wrongly (`faults`)."""
        try:
            found = faults.known(self._source.model(), self._provider.name)
        except NoSuchFile:
            raise
        except InvalidModel:
            return  # the provider may read what we cannot, and has words of its own for what it cannot
        if found:
            raise _Wrong(next(iter(found.values())))

    def _work(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> _Work:
        while True:
            if self._python:
                return (yield _Call(self._python, fetches, feeds))
            if self._fault:
                self._cut_up(_Wrong(self._fault))
            if not (self._whole or self._stages):
                raise ProviderError("the model is closed; open it again")
            if aside := self._understudy_for and self._understudy_for(feeds):
                return (yield from self._run_aside(*aside, fetches, feeds))
            try:
                if self._whole and self._overridable.isdisjoint(feeds):
                    return (yield _Call(self._whole, fetches, feeds))
                if self._whole:
                    self._cut_up(Refused("a default is fed, which some runtimes keep as a constant"))
                if self._learned.wants_types:
                    self._trace(fetches, feeds)
                results = yield from self._run_stages(fetches, feeds)
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
        model = name_nodes(self._source.model())
        if self._whole:
            self._whole.close()
            self._whole = None
        self._model = model
        self._types = declared_types(model)
        infer_types(model, self._types)
        self._reason = str(refusal)
        self._fault = ""
        self._learned.refused |= faults.known(model, self._provider.name).keys()
        everything = Part(True, tuple(range(len(model.graph.nodes))), (), ())
        if not isinstance(refusal, _Wrong):
            self._learn(refusal, everything, first=True)
        self._replan(refusal)

    def _replan(self, refusal: OnnxletError) -> None:
        """Cut by what was learned, keep the parts that are the same, and load what can be loaded before a run."""
        assert self._model
        while True:
            plan = cut(self._model, self._learned.refused)
            if not any(part.on_provider for part in plan.parts):
                self.close()
                raise refusal
            loaded = {stage.part: stage.executable for stage in self._stages if stage.executable}
            self._stages = [_Stage(part, loaded.pop(part, None)) for part in plan.parts]
            for executable in loaded.values():
                executable.close()
            for stage in self._stages:
                try:
                    if all(name in self._types for name in stage.part.inputs):
                        self._load(stage)
                except (Refused, InvalidModel) as again:
                    if not stage.part.on_provider:
                        raise
                    refusal = again
                    self._learn(refusal, stage.part)
                    break
            else:
                return
            if self._learned.wants_types:
                return

    def _load(self, stage: _Stage) -> Executable:
        assert self._model
        if stage.executable is None:
            if stage.part.on_provider:
                model = part_model(self._model, stage.part, self._types, self._learned.opset_limit)
                source = ModelSource(model, name=f"{self._source.name or 'model'} (part)")
                stage.executable = self._provider.load(source, self._options)
            else:
                model = part_model(self._model, stage.part, self._types, keep_sparse=True)
                stage.executable = ReferenceExecutable(model, profiling=self._options.enable_profiling)
        return stage.executable

    def _run_stages(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> _Work:
        """Run the parts in order, freeing values after their last use. None: something was learned, run again."""
        values = {**self._defaults, **feeds}
        stages = self._needed(fetches)
        for k, stage in enumerate(stages):
            part = stage.part
            read_later = set().union(*(s.part.inputs for s in stages[k + 1 :]))
            wanted = [name for name in part.outputs if name in read_later or name in fetches]
            for name in part.inputs:
                self._types.setdefault(name, _type_of(values[name]))
            given = {name: values[name] for name in part.inputs}
            if part.on_provider and (aside := self._understudy_for and self._understudy_for(given)):
                return (yield from self._run_aside(*aside, fetches, feeds))
            try:
                executable = self._load(stage)
                results = yield _Call(executable, wanted, given)
            except (Refused, InvalidModel) as refusal:
                if not part.on_provider:
                    raise
                stage.unload()
                self._learn(refusal, part)
                if not self._learned.wants_types:
                    self._replan(refusal)
                return None
            for name in set(values).difference(read_later, fetches):
                del values[name]
            for name, value in zip(wanted, results, strict=True):
                values[name] = value
                if name in read_later:
                    self._crossed[name] = _size_bytes(value)
        return [values[name] for name in fetches]

    def _run_aside(self, provider: Provider, why: str, fetches: Sequence[str], feeds: Mapping[str, Value]) -> _Work:
        """Have this one run done by another provider, or in Python where that takes nothing of the model."""
        if self._understudy is None:
            warnings.warn(f"{provider.name} runs the model on such feeds: {why}", RuntimeWarning, stacklevel=3)
        try:
            self._understudy = self._understudy or load(provider, self._source, self._options)
            return (yield _Call(self._understudy, fetches, feeds))
        except Refused:
            self._understudy = ReferenceExecutable(self._source.model(), profiling=self._options.enable_profiling)
            return (yield _Call(self._understudy, fetches, feeds))

    @cached_property
    def _defaults(self) -> dict[str, Value]:
        """Constants that come from no part: defaults of inputs, and constants that are outputs."""
        assert self._model
        graph = self._model.graph
        names = {v.name for v in (*graph.inputs, *graph.outputs)}
        dense: dict[str, Value] = {t.name: to_array(t) for t in graph.initializers if t.name in names}
        return dense | {t.name: to_dense(t) for t in graph.sparse_initializers if t.name in names}

    def _needed(self, fetches: Sequence[str]) -> list[_Stage]:
        wanted = set(fetches)
        needed = []
        for stage in reversed(self._stages):
            if not wanted.isdisjoint(stage.part.outputs):
                wanted.update(stage.part.inputs)
                needed.append(stage)
        return needed[::-1]

    def _learn(self, refusal: OnnxletError, part: Part, *, first: bool = False) -> None:
        """Take from a refusal what it says.

        Args:
            first: the whole graph as it is in the file was refused; naming its nodes may teach more.
        Raises: refusal: it says nothing that was not known.
        """
        model, learned = self._model, self._learned
        assert model
        if getattr(refusal, "final", False) or self._provider.unavailable():
            self.close()
            raise refusal
        text = str(refusal)
        named = [*getattr(refusal, "nodes", ()), *_NODE.findall(text)]
        operators = [f"{domain}:{op_type}" for domain, op_type in _OPERATOR.findall(text)]
        domains = {node.domain or "ai.onnx" for node in model.graph.nodes}
        if not first:  # else all nodes of the operator, because the one without a kernel may have had no name
            operators += [f"{domain}:{op_type}" for op_type in _KERNEL.findall(text) for domain in domains]
        quoted = [a or b for a, b in _QUOTED.findall(text)]
        if limit := _OPSET_LIMIT.search(text):
            opset = int(limit[1])
            if learned.opset_limit is None or opset < learned.opset_limit:
                learned.opset_limit = opset
                learned.refused |= changed_since(model, opset)
                for stage in self._stages:
                    stage.unload()
                return
        untyped = {name for name in part.outputs if name not in self._types}
        if not learned.wants_types and untyped.intersection(quoted):
            learned.wants_types = True
            return
        for names in (named, operators, quoted):
            if found := find_nodes(model, part, names) - learned.refused:
                learned.refused |= found.union(*(self._alike(i) for i in found))
                return
        if untyped and not learned.wants_types:
            learned.wants_types = True
        elif not first:
            self.close()
            raise refusal

    def _alike(self, index: int) -> set[int]:
        """Nodes of the same operator on inputs of the same types: the provider would refuse them one after another."""
        assert self._model
        nodes = self._model.graph.nodes

        def signature(node: Any) -> tuple[Any, ...]:
            types = [self._types.get(name) for name in node.inputs]
            return node.domain, node.op_type, [t.elem_type if isinstance(t, TensorType) else t for t in types]

        if any(name and name not in self._types for name in nodes[index].inputs):
            return set()
        wanted = signature(nodes[index])
        return {i for i, node in enumerate(nodes) if signature(node) == wanted}

    def _trace(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> None:
        """Run everything in Python once, to note the type of every value."""
        assert self._model
        ops.load_all()
        values = dict(feeds)
        for _ in compile_model(self._model).walk(values, fetches, Run()):
            for name in reversed(values):  # new ones are last
                if name in self._types and name not in feeds:
                    break
                self._types.setdefault(name, _type_of(values[name]))
        self._learned.wants_types = False
        self._replan(Refused(self._reason))

    def _fall_back(self, failure: ProviderError, fetches: Sequence[str], feeds: Mapping[str, Value]) -> _Work:
        """Run in Python from now on, unless Python fails too: then the feeds are at fault, or the model.

        Raises: failure: Python failed too.
        """
        try:
            python = ReferenceExecutable(self._source.model(), profiling=self._options.enable_profiling)
            results = yield _Call(python, fetches, feeds)
        except (OnnxletError, MemoryError) as error:
            raise failure from error
        self.close()
        self._python = python
        self._reason = f"{self._provider.name} failed, Python goes on for the rest of the session: {failure}"
        warnings.warn(self._reason, RuntimeWarning, stacklevel=3)
        return results


def _type_of(value: Value) -> Type:
    """A value's type, without its shape, which the next run may change."""
    match value:
        case None:
            return OptionalType(None)
        case Narrow():
            return TensorType(value.data_type)
        case list():
            return SequenceType(_type_of(value[0]) if value else None)
        case dict():
            key, item = next(iter(value.items()), ("", 0.0))
            key_type = DataType.STRING if isinstance(key, str) else DataType.INT64
            return MapType(key_type, _type_of(np.asarray(item)))
    return TensorType(from_numpy(np.asarray(value).dtype))


def _size_bytes(value: Value) -> int:
    match value:
        case Narrow():
            return value.values.size * value.data_type.bits // 8
        case list():
            return sum(map(_size_bytes, value))
        case np.ndarray() if value.dtype.kind == "O":
            return sum(len(str(item)) for item in value.ravel())
    return int(getattr(value, "nbytes", 0))
