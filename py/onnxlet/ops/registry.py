"""Which function computes which operator.

An operator is one Python function. Its positional parameters are the operator's inputs in the spec's order (optional
ones default to None, or are annotated ``| None`` where required ones follow; variadic ones are ``*xs``), its
keyword-only parameters are the attributes by their ONNX names with the spec's defaults, so that the signature
documents the operator::

    @op("Softmax", since=13)
    def Softmax(x: Array, *, axis: int = -1) -> Array: ...

An attribute without a default is required. Attribute values come as Python's: int, float, str, tuple, numpy array
(TENSOR), `model.Type` (TYPE_PROTO), callable (GRAPH: called with the subgraph's inputs, returns a tuple of its
outputs; its ``inputs`` and ``outputs`` are the declared `ValueInfo`). A keyword-only parameter named ``n_outputs``
is not an attribute: it receives how many outputs the node asks for.
The function returns one value, or a tuple of as many as it has. Values are numpy arrays, `Narrow` arrays,
lists (sequences), dicts (maps), or None (an empty optional). A function never writes into its inputs.

Most functions never see a `Narrow`: the executor widens such inputs and rounds the outputs back to the type of the
first narrow input. A function that must see the types (Cast, QuantizeLinear) is registered with ``narrow=True``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import UnsupportedOp
from ..records import dataclass

__all__ = ["Operator", "Table", "find", "op", "registered", "use"]

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Operator:
    """A registered operator: `function` holds from opset `since` until the next registration of the name.

    Args:
        inputs: names of the positional parameters.
        needed: those of them that a node must give.
        variadic: more inputs than `inputs` are welcome.
        attributes: names of the keyword-only parameters; `required` are those without a default.
        open_attributes: the function takes ``**attributes``, so any name is welcome.
    """

    name: str
    domain: str
    since: int
    function: Callable[..., Any]
    narrow: bool
    inputs: tuple[str, ...]
    needed: tuple[str, ...]
    variadic: bool
    attributes: frozenset[str]
    required: frozenset[str]
    open_attributes: bool
    wants_n_outputs: bool
    infer: Callable[..., Any] | None

    @property
    def builtin(self) -> bool:
        """Whether this package registered it, not an app."""
        return self.function.__module__.startswith(f"{__package__}.")


Table = dict[tuple[str, str], list[Operator]]
"""Operators by domain and name, each with its versions, the newest first."""

_TABLE: Table = {}  # this package's
_apps: Table = {}  # what the app that is current registered; it goes before this package's


def use(table: Table) -> Table:
    """Have another app's operators in place of those that are. Returns: the latter."""
    global _apps
    before, _apps = _apps, table
    return before


def op(
    name: str,
    *,
    domain: str = "",
    since: int = 1,
    narrow: bool = False,
    infer: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Register the decorated function as an operator.

    Registering the same name and opset again replaces it, but nothing of this package replaces what an app registered.

    Args:
        name: op_type.
        domain: "" is ai.onnx.
        since: the first opset version of the domain with these semantics.
        narrow: pass `Narrow` arrays through instead of widening them.
        infer: optional type inference, called before anything runs: takes the inputs' types (`model.Type`, None where
            unknown) and the attributes as the function takes inputs and attributes; returns the output's type, None
            where it cannot tell, or a tuple of these. Without it types are learned from the first run.
    """
    domain = "" if domain == "ai.onnx" else domain

    def register(function: F) -> F:
        entry = _describe(name, domain, since, function, narrow, infer)
        table = _TABLE if entry.builtin else _apps
        versions = [v for v in table.get((domain, name), []) if v.since != since]
        table[domain, name] = sorted([*versions, entry], key=lambda v: -v.since)
        return function

    return register


def _describe(
    name: str,
    domain: str,
    since: int,
    function: Callable[..., Any],
    narrow: bool,
    infer: Callable[..., Any] | None,
) -> Operator:
    parameters = list(inspect.signature(function).parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    keywords = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    wants = keywords.pop("n_outputs", None) is not None
    return Operator(
        name=name,
        domain=domain,
        since=since,
        function=function,
        narrow=narrow,
        inputs=tuple(p.name for p in positional),
        needed=tuple(p.name for p in positional if p.default is p.empty and "None" not in str(p.annotation)),
        variadic=any(p.kind is p.VAR_POSITIONAL for p in parameters),
        attributes=frozenset(keywords),
        required=frozenset(k for k, p in keywords.items() if p.default is p.empty),
        open_attributes=any(p.kind is p.VAR_KEYWORD for p in parameters),
        wants_n_outputs=wants,
        infer=infer,
    )


def find(domain: str, name: str, opset: int) -> Operator:
    """The operator as of an opset version.

    Raises: UnsupportedOp: nobody registered it, or only for later opsets.
    """
    versions = _versions(domain, name)
    for entry in versions:
        if entry.since <= opset:
            return entry
    full = f"{domain or 'ai.onnx'}::{name}"
    if versions:
        raise UnsupportedOp(f"{full} exists from opset {versions[-1].since}, the model imports {opset}")
    raise UnsupportedOp(
        f'{full} is not implemented; an app can supply it with @onnxlet.op("{name}", domain="{domain}")'
    )


def registered() -> dict[tuple[str, str], tuple[int, ...]]:
    """Every (domain, name) and the opsets at which its semantics change, newest first."""
    return {key: tuple(v.since for v in _versions(*key)) for key in sorted({**_TABLE, **_apps})}


def _versions(domain: str, name: str) -> list[Operator]:
    own = _apps.get((domain, name), [])
    theirs = _TABLE.get((domain, name), [])
    if not own:
        return theirs
    replaced = {v.since for v in own}
    return sorted([*own, *(v for v in theirs if v.since not in replaced)], key=lambda v: -v.since)
