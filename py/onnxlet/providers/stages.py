"""A model in parts, on a provider and in Python, cut around what the provider refuses.

Every refusal teaches which nodes the provider does not take; the graph is cut around them (`partition.cut`) and tried
again, until the provider takes its parts. A page whose provider takes the whole model never imports this.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ops
from ..dtypes import DataType, Narrow, from_numpy
from ..errors import InvalidModel, OnnxletError, Refused
from ..execute import Run, compile_model
from ..model import MapType, OptionalType, SequenceType, TensorType, Type
from ..partition import Part, changed_since, cut, declared_types, find_nodes, infer_types, name_nodes, part_model
from ..records import dataclass, field
from ..source import ModelSource
from ..tensors import to_array, to_dense
from . import NUMPY, faults
from .base import Executable, Provider, Understudied, Value
from .partitioned import Aside, Call, Work, Wrong
from .reference import ReferenceExecutable

if TYPE_CHECKING:
    from ..options import SessionOptions

__all__ = ["Stages"]

# What onnxruntime's messages say besides node names. Source: onnxruntime 1.30 and 1.32.
_NODE = re.compile(r"""[Nn]ode(?: with name| name:|,)?[ (:'"]*([\w/][\w./-]*)""")
_OPERATOR = re.compile(r"([\w.]+):(\w+)\(-?\d+\) is not a registered")
_KERNEL = re.compile(r"implementation for (\w+)\(-?\d+\)")
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")
_OPSET_LIMIT = re.compile(r"domain ai\.onnx is till opset (\d+)")


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


class Stages:
    """The parts of one model, in order, and what refusals taught of it.

    Args:
        source: the model, which is at hand.
    Attributes:
        reason: why the model is in parts.
        stages: none once it is closed.
        crossed: bytes of each value that went from one part to another in the last run.
    Raises: InvalidModel: the model is broken.
    """

    def __init__(self, provider: Provider, source: ModelSource, options: SessionOptions) -> None:
        self._provider = provider
        self._understudy_for = provider.understudy if isinstance(provider, Understudied) else None
        self._options = options
        self._name = source.name or "model"
        self._model = name_nodes(source.model())
        self._types = declared_types(self._model)
        infer_types(self._model, self._types)
        self._learned = _Learned(set(faults.known(self._model, provider.name)))
        self.reason = ""
        self.stages: list[_Stage] = []
        self.crossed: dict[str, int] = {}

    def cut(self, refusal: OnnxletError) -> None:
        """Go from the whole graph, which was refused, to parts.

        Raises: refusal: nothing is left for the provider; InvalidModel: the model is broken.
        """
        self.reason = str(refusal)
        everything = Part(True, tuple(range(len(self._model.graph.nodes))), (), ())
        if not isinstance(refusal, Wrong):
            self._learn(refusal, everything, first=True)
        self._replan(refusal)

    def placement(self) -> list[dict[str, Any]]:
        """``provider`` and ``nodes``, a list of names, of each part."""
        names = [node.name for node in self._model.graph.nodes]
        return [
            {
                "provider": self._provider.name if stage.part.on_provider else NUMPY,
                "nodes": [names[i] for i in stage.part.nodes],
            }
            for stage in self.stages
        ]

    def executables(self) -> Iterator[Executable]:
        """What runs the parts that are loaded."""
        return (stage.executable for stage in self.stages if stage.executable)

    def close(self) -> None:
        """Give the memory back."""
        for executable in self.executables():
            executable.close()
        self.stages = []

    def _replan(self, refusal: OnnxletError) -> None:
        """Cut by what was learned, keep the parts that are the same, and load what can be loaded before a run."""
        while True:
            plan = cut(self._model, self._learned.refused)
            if not any(part.on_provider for part in plan.parts):
                self.close()
                raise refusal
            loaded = {stage.part: stage.executable for stage in self.stages if stage.executable}
            self.stages = [_Stage(part, loaded.pop(part, None)) for part in plan.parts]
            for executable in loaded.values():
                executable.close()
            for stage in self.stages:
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
        if stage.executable is None:
            if stage.part.on_provider:
                model = part_model(self._model, stage.part, self._types, self._learned.opset_limit)
                source = ModelSource(model, name=f"{self._name} (part)")
                stage.executable = self._provider.load(source, self._options)
            else:
                model = part_model(self._model, stage.part, self._types, keep_sparse=True)
                stage.executable = ReferenceExecutable(model, profiling=self._options.enable_profiling)
        return stage.executable

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> Work:
        """Run the parts in order, freeing values after their last use.

        Returns: what the fetches name; `Aside`: who has to do this run; None: something was learned, run again.
        Raises: what the parts raise.
        """
        if self._learned.wants_types:
            self._trace(fetches, feeds)
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
                return Aside(*aside)
            try:
                executable = self._load(stage)
                results = yield Call(executable, wanted, given)
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
                    self.crossed[name] = _size_bytes(value)
        return [values[name] for name in fetches]

    @cached_property
    def _defaults(self) -> dict[str, Value]:
        """Constants that come from no part: defaults of inputs, and constants that are outputs."""
        graph = self._model.graph
        names = {v.name for v in (*graph.inputs, *graph.outputs)}
        dense: dict[str, Value] = {t.name: to_array(t) for t in graph.initializers if t.name in names}
        return dense | {t.name: to_dense(t) for t in graph.sparse_initializers if t.name in names}

    def _needed(self, fetches: Sequence[str]) -> list[_Stage]:
        wanted = set(fetches)
        needed = []
        for stage in reversed(self.stages):
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
                for stage in self.stages:
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
        ops.load_all()
        values = dict(feeds)
        for _ in compile_model(self._model).walk(values, fetches, Run()):
            for name in reversed(values):  # new ones are last
                if name in self._types and name not in feeds:
                    break
                self._types.setdefault(name, _type_of(values[name]))
        self._learned.wants_types = False
        self._replan(Refused(self.reason))


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
