"""Evaluate a graph with the core's own operators.

A graph is compiled once into a `Program`: operators found, attributes converted, constants decoded. Running it walks
the nodes that the wanted values need, in order, and frees every value after its last use.
Subgraphs are closures: a node that holds one counts the outer values it reads among its own inputs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .check_graph import describe
from .dtypes import Narrow
from .errors import InvalidModel, OnnxletError, ProviderError, UnsupportedOp
from .model import Attribute, Function, Graph, Model, Node, SparseTensor, Tensor, ValueInfo
from .node_trace import shapes_text, trace_event
from .ops.narrow import call_widened
from .ops.registry import Operator, find
from .providers.base import Value
from .records import dataclass, field
from .tensors import to_array, to_dense

__all__ = ["Program", "Run", "Subgraph", "compile_model", "python_value"]

MAX_DEPTH = 64  # subgraphs and functions inside each other; real models stay under 10
FOLD_BYTES = 128 << 20  # results of constant nodes that a graph keeps: all of an int8 model of 30 MB as float32
NEWEST = 1 << 31  # for a domain that the model does not import: its newest opset

_OURS = ("", "ai.onnx.ml", "com.microsoft")  # what apps register themselves may count its calls
_RANDOM = frozenset(
    ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
_GRAPH, _GRAPHS = 5, 10  # AttributeProto.AttributeType


@dataclass(slots=True)
class Run:
    """What one run carries along: when to stop, and where to write the time table.

    Args:
        cancelled: asked between nodes; true ends the run.
        trace: receives one Chrome-trace event a node, with onnxruntime's names; None for no table.
        started_s: `time.perf_counter` at the trace's zero.
    """

    cancelled: Callable[[], bool] | None = None
    trace: list[dict[str, Any]] | None = None
    started_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Scope:
    """What a graph sees from around it while it is compiled."""

    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str, str], Function]
    outer: frozenset[str] = frozenset()
    references: Mapping[str, Attribute] | None = None  # attributes of the function call being compiled
    depth: int = 0
    bodies: dict[Any, Program] = field(default_factory=dict)  # of functions, by function and attributes

    def deeper(self, **changes: Any) -> Scope:
        if self.depth >= MAX_DEPTH:
            raise InvalidModel(f"graphs or functions are nested over {MAX_DEPTH} deep; a function may call itself")
        return replace(self, depth=self.depth + 1, **changes)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One node, ready to run: `call` takes the values of `inputs`, those of `captures` by name, and the run."""

    node: Node
    index: int
    captures: frozenset[str]
    call: Callable[[list[Value], Mapping[str, Value], Run], Sequence[Value]]
    repeatable: bool = False  # gives the same for the same inputs
    since: int = 0  # the operator's version; 0 for a function

    @property
    def uses(self) -> set[str]:
        return {name for name in self.node.inputs if name} | self.captures

    @property
    def label(self) -> str:
        return describe(self.node, self.index)

    def run(self, values: dict[str, Value], run: Run) -> None:
        """Compute the node's outputs into `values`.

        Raises: OnnxletError of the class that the operator raised, or ProviderError; the text names node and op.
        """
        if run.cancelled is not None and run.cancelled():
            raise ProviderError(f"stopped before {self.label}: the run was cancelled")
        inputs = [values[name] if name else None for name in self.node.inputs]
        captured = {name: values[name] for name in self.captures}
        begin_s = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                outputs = self.call(inputs, captured, run)
        except OnnxletError as e:
            e.args = (f"{self.label}: {e.args[0] if e.args else e}", *e.args[1:])
            raise
        except Exception as e:
            raise ProviderError(f"{self.label}: {type(e).__name__}: {e} ({shapes_text(inputs)})") from e
        if len(outputs) < len(self.node.outputs):
            raise InvalidModel(
                f"{self.label}: gives {len(outputs)} outputs, the node names {len(self.node.outputs)}; drop the rest"
            )
        for name, value in zip(self.node.outputs, outputs, strict=False):
            if name:
                values[name] = value
        if run.trace is not None:
            took_s = time.perf_counter() - begin_s
            run.trace.append(trace_event(self.node, self.index, inputs, outputs, begin_s - run.started_s, took_s))


class Program:
    """A compiled graph.

    Args:
        name: for messages.
        nodes: in topological order.
        inputs: names; those also in `constants` have a default.
        outputs: names.
        constants: values by name.
        scope: what surrounds the graph.
    Raises:
        InvalidModel: a name is read before anything gives it, or an attribute does not fit.
        UnsupportedOp: an operator is unknown.
    """

    def __init__(
        self,
        name: str,
        nodes: Sequence[Node],
        inputs: Sequence[str],
        outputs: Sequence[str],
        constants: dict[str, Value],
        scope: Scope,
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.constants = constants
        local = {*inputs, *constants, ""}
        captures: set[str] = set()
        steps: list[Step] = []
        for index, node in enumerate(nodes):
            step = _compile_node(node, index, scope, local)
            for used in step.uses - local:
                if used not in scope.outer:
                    raise InvalidModel(f'{step.label}: reads "{used}", which no input, constant or earlier node gives')
                captures.add(used)
            local.update(node.outputs)
            steps.append(step)
        for output in self.outputs:
            if output not in local:
                if output not in scope.outer:
                    raise InvalidModel(f'graph "{name}": nothing gives its output "{output}"')
                captures.add(output)
        self.steps = tuple(steps)
        self.captures = frozenset(captures)
        self.names = local - {""}
        self._plans: dict[tuple[str, ...], list[tuple[Step, tuple[str, ...]]]] = {}
        self._fixed = constants.keys() - set(inputs)  # values that are the same in every run
        self._fold_bytes = FOLD_BYTES

    def walk(self, values: dict[str, Value], fetches: Sequence[str], run: Run) -> Iterator[None]:
        """Compute `fetches` into `values`, yielding after every node.

        Args:
            values: inputs and captured values by name; on return it holds the fetches (and unread inputs).
        """
        for name, constant in self.constants.items():
            values.setdefault(name, constant)
        for step, dead in self._plan(tuple(fetches)):
            step.run(values, run)
            if step.repeatable and self._fixed.issuperset(step.uses):
                self._fold(step, values)
            for name in dead:
                del values[name]
            yield

    def __call__(
        self, inputs: Sequence[Value], captured: Mapping[str, Value], run: Run, fetches: Sequence[str] | None = None
    ) -> tuple[Value, ...]:
        """The outputs for positional inputs."""
        values = {**captured, **dict(zip(self.inputs, inputs, strict=False))}
        fetches = self.outputs if fetches is None else fetches
        for _ in self.walk(values, fetches, run):
            pass
        return tuple(values[name] for name in fetches)

    def _fold(self, step: Step, values: Mapping[str, Value]) -> None:
        """Keep what a node made of constants alone, as long as there is room: later runs skip it."""
        made = {name: values[name] for name in step.node.outputs if name}
        arrays = [v.values if isinstance(v, Narrow) else v for v in made.values()]
        if not all(isinstance(array, np.ndarray) for array in arrays):
            return
        size = 0 if step.node.op_type == "Constant" else sum(array.nbytes for array in arrays)
        if size > self._fold_bytes:
            return
        self._fold_bytes -= size
        self.constants.update((name, _frozen(value)) for name, value in made.items())
        self._fixed |= made.keys()
        self._plans.clear()

    def _plan(self, fetches: tuple[str, ...]) -> list[tuple[Step, tuple[str, ...]]]:
        """The steps that `fetches` need, each with the names that nothing reads after it."""
        if fetches in self._plans:
            return self._plans[fetches]
        wanted = set(fetches)
        plan: list[tuple[Step, tuple[str, ...]]] = []
        for step in reversed(self.steps):
            given = {name for name in step.node.outputs if name}
            if wanted.isdisjoint(given) or self._fixed.issuperset(given):
                continue
            dead = (step.uses | given) - wanted
            wanted |= step.uses
            plan.append((step, tuple(dead)))
        plan.reverse()
        self._plans[fetches] = plan
        return plan


@dataclass(frozen=True, slots=True, eq=False)
class Subgraph:
    """A GRAPH attribute as an operator sees it: call it with the subgraph's inputs, get its outputs."""

    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    program: Program
    captured: Mapping[str, Value] = field(default_factory=dict)
    run: Run = field(default_factory=Run)

    def __call__(self, *inputs: Value) -> tuple[Value, ...]:
        if len(inputs) != len(self.inputs):
            raise InvalidModel(f'subgraph "{self.program.name}" has {len(self.inputs)} inputs, expected {len(inputs)}')
        return self.program(inputs, self.captured, self.run)


def compile_model(model: Model) -> Program:
    """Make a model runnable. Raises: InvalidModel, UnsupportedOp: as `Program` does."""
    functions = {(_domain(f.domain), f.name, f.overload): f for f in model.functions}
    return _compile_graph(model.graph, Scope(model.opset_imports, functions))


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _compile_graph(graph: Graph, scope: Scope) -> Program:
    constants = {tensor.name: _frozen(to_array(tensor)) for tensor in graph.initializers}
    for sparse in graph.sparse_initializers:
        constants[sparse.name] = _frozen(to_dense(sparse))
    inputs = [v.name for v in graph.inputs]
    return Program(graph.name, graph.nodes, inputs, [v.name for v in graph.outputs], constants, scope)


def _frozen(value: Value) -> Value:
    """The same array, read-only: an operator that writes into a constant fails at once."""
    array = value.values if isinstance(value, Narrow) else value
    array.flags.writeable = False
    return value


def _compile_node(node: Node, index: int, scope: Scope, local: set[str]) -> Step:
    try:
        attributes = _resolve(node.attributes, scope)
        key = (_domain(node.domain), node.op_type, node.overload)
        if key in scope.functions:
            return _compile_call(node, index, scope.functions[key], attributes, scope)
        return _compile_operator(node, index, attributes, scope, local)
    except OnnxletError as e:
        e.args = (f"{describe(node, index)}: {e.args[0]}",)
        raise


def _resolve(attributes: Mapping[str, Attribute], scope: Scope) -> dict[str, Attribute]:
    """Attributes with those that refer to the enclosing function's filled in, or left out where it has none."""
    resolved = {}
    for name, attribute in attributes.items():
        if attribute.ref_attr_name:
            if scope.references is None:
                raise InvalidModel(f'attribute "{name}" refers to "{attribute.ref_attr_name}" outside a function')
            given = scope.references.get(attribute.ref_attr_name)
            if given is None:
                continue
            attribute = given
        resolved[name] = attribute
    return resolved


def _compile_call(
    node: Node, index: int, function: Function, attributes: Mapping[str, Attribute], scope: Scope
) -> Step:
    """A node that calls a model-local function: its body, compiled for these attributes."""
    if len(node.inputs) > len(function.inputs) or len(node.outputs) > len(function.outputs):
        raise InvalidModel(
            f"the function has {len(function.inputs)} inputs and {len(function.outputs)} outputs, "
            f"the node {len(node.inputs)} and {len(node.outputs)}"
        )
    inner = scope.deeper(
        opsets=function.opset_imports or scope.opsets,
        outer=frozenset(),
        references={**function.attribute_defaults, **attributes},
    )
    # Calls with the same attributes share a body: functions that call functions twice would double at every level.
    key = (id(function), id(inner.opsets), *sorted((k, id(a)) for k, a in (inner.references or {}).items()))
    if key not in scope.bodies:
        scope.bodies[key] = Program(function.name, function.nodes, function.inputs, function.outputs, {}, inner)
    body = scope.bodies[key]
    fetches = function.outputs[: len(node.outputs)]
    absent = [None] * (len(function.inputs) - len(node.inputs))

    def call(inputs: list[Value], captured: Mapping[str, Value], run: Run) -> Sequence[Value]:
        return body([*inputs, *absent], {}, run, fetches)

    return Step(node, index, frozenset(), call)


def _compile_operator(
    node: Node, index: int, attributes: Mapping[str, Attribute], scope: Scope, local: set[str]
) -> Step:
    domain = _domain(node.domain)
    operator = find(domain, node.op_type, scope.opsets.get(domain, NEWEST))
    _check_signature(operator, node, attributes)
    keywords: dict[str, Any] = {}
    graphs: dict[str, Subgraph] = {}
    for name, attribute in attributes.items():
        if attribute.type == _GRAPH:
            graph = attribute.value
            program = _compile_graph(graph, scope.deeper(outer=scope.outer | local))
            graphs[name] = Subgraph(graph.inputs, graph.outputs, program)
        elif attribute.type == _GRAPHS:
            raise UnsupportedOp(f'attribute "{name}" is a list of graphs, which no operator of ONNX has')
        else:
            keywords[name] = python_value(attribute.value)
    if operator.wants_n_outputs:
        keywords["n_outputs"] = len(node.outputs)
    captures = frozenset(name for g in graphs.values() for name in g.program.captures)
    function = operator.function if operator.narrow else partial(call_widened, operator.function)

    def call(inputs: list[Value], captured: Mapping[str, Value], run: Run) -> Sequence[Value]:
        bodies = {k: Subgraph(g.inputs, g.outputs, g.program, captured, run) for k, g in graphs.items()}
        result = function(*inputs, **keywords, **bodies)
        return tuple(map(_value, result)) if isinstance(result, tuple) else (_value(result),)

    repeatable = not graphs and domain in _OURS and node.op_type not in _RANDOM
    return Step(node, index, captures, call, repeatable, operator.since)


def _check_signature(operator: Operator, node: Node, attributes: Mapping[str, Attribute]) -> None:
    if len(node.inputs) > len(operator.inputs) and not operator.variadic:
        raise InvalidModel(f"has {len(node.inputs)} inputs, expected at most {len(operator.inputs)}")
    for position, name in enumerate(operator.inputs):
        if name in operator.needed and (position >= len(node.inputs) or not node.inputs[position]):
            raise InvalidModel(f"input {position} ({name}) is missing, and it is not optional")
    for name in operator.required - attributes.keys():
        raise InvalidModel(f'attribute "{name}" is missing, and it has no default')
    unknown = set() if operator.open_attributes else attributes.keys() - operator.attributes
    for name in unknown:
        known = ", ".join(sorted(operator.attributes)) or "none"
        raise UnsupportedOp(f'attribute "{name}" is unknown for opset {operator.since}; known: {known}')


def python_value(value: Any) -> Any:
    """An attribute's value as an operator takes it."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, Tensor):
        return _frozen(to_array(value))
    if isinstance(value, SparseTensor):
        return _frozen(to_dense(value))
    if isinstance(value, tuple):
        return tuple(python_value(item) for item in value)
    return value


def _value(result: Any) -> Value:
    """What an operator returned, with numpy's and Python's scalars as arrays of rank 0."""
    return np.asarray(result) if isinstance(result, np.generic | bool | int | float) else result
