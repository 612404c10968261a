"""Which operators the kernels take, and how each becomes instructions.

A rule is a function with the operator's signature, as in `ops`: inputs are `Value`s, attributes are keywords. It emits
instructions, and returns the outputs' values. Nodes of which everything is known never reach a rule: the core's own
operators compute them while compiling. A rule that cannot take what it gets raises `Unfit`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ...dtypes import Array
from .program import Builder, Held, Value

__all__ = ["RULES", "Entry", "Unfit", "apply", "known_numbers", "rule"]

Rule = Callable[..., Any]
R = TypeVar("R", bound=Rule)


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule, and the version of its operator from which on it is right."""

    function: Rule
    since: int


RULES: dict[tuple[str, str], Entry] = {}


class Unfit(Exception):
    """The kernels do not have this node for these types and shapes."""


def rule(*names: str, domain: str = "", since: int = 1) -> Callable[[R], R]:
    """Register a rule for operators.

    Args:
        since: the operator's version, as in the registry of operators, from which on the rule is right.
    """

    def register(function: R) -> R:
        RULES.update(((domain, name), Entry(function, since)) for name in names)
        return function

    return register


def apply(
    entry: Entry, builder: Builder, inputs: list[Value | None], attributes: dict[str, Any], n_outputs: int
) -> tuple[Any, ...]:
    """Call a rule. Raises: Unfit: the rule knows no such input or attribute, or does not take it."""
    signature = inspect.signature(entry.function)
    if "n_outputs" in signature.parameters:
        attributes = {**attributes, "n_outputs": n_outputs}
    try:
        bound = signature.bind(builder, *inputs, **attributes)
    except TypeError as error:
        raise Unfit(str(error)) from None
    result = entry.function(*bound.args, **bound.kwargs)
    outputs = result if isinstance(result, tuple) else (result,)
    if n_outputs > len(outputs):
        raise Unfit(f"{n_outputs} outputs, of {len(outputs)}")
    return outputs


def known_numbers(value: Value | Sequence[int]) -> Array:
    """Integers that are an input, or in older opsets an attribute, as [n]. Raises: Unfit: they are computed."""
    if isinstance(value, Held):
        raise Unfit("shapes or axes that are computed")
    return np.asarray(value).reshape(-1)
