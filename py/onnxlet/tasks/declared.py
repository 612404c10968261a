"""App functions that are a task and nothing else.

The build may fold such a function's steps before and after the model into graphs (`onnxlet_build.folding`), so that
the page answers before Python is there. Functions with code of a person's own carry no declaration; none is guessed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..records import dataclass

__all__ = ["Declared", "declare", "declared", "described"]

_ATTRIBUTE = "__onnxlet_declared__"


@dataclass(frozen=True, slots=True)
class Declared:
    """What an app function does with its arguments: it calls a task.

    Args:
        task: such as an `ImageClassifier`.
        top_k: as the task takes it.
        features: where the arguments are cells of a row: the names of parameter and feature, in pairs.
    """

    task: object
    top_k: int | None = 5
    features: tuple[tuple[str, str], ...] = ()


def declare(function: Callable[..., Any], what: Declared) -> None:
    """Say what a function does; wrappers made by `functools.wraps` say the same."""
    setattr(function, _ATTRIBUTE, what)


def declared(function: Callable[..., Any]) -> Declared | None:
    """What was said of a function; None of one with code of its own."""
    return getattr(function, _ATTRIBUTE, None)


def described(
    call: Callable[..., Any], name: str, doc: str, parameters: list[inspect.Parameter], returns: Any
) -> Callable[..., Any]:
    """Give a function the name, docstring and signature that the form is made of."""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    call.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
    call.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": returns}
    return call
