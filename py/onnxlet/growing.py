"""Results that grow: what an app function yields, one value after the other, each in the place of the one before."""

from __future__ import annotations

import inspect
import typing
from collections import abc
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from .errors import InvalidInput

__all__ = ["each", "element", "grows", "is_async", "last"]

_ALWAYS = (abc.Iterator, abc.Generator, abc.AsyncIterator, abc.AsyncGenerator)
_IF_IT_YIELDS = (abc.Iterable, abc.AsyncIterable)  # of another function they are the annotation of a list


def element(hint: Any, call: Callable[..., Any]) -> Any:
    """The annotation of one value: X of Iterator[X], Generator[X, ...], AsyncIterator[X]; `hint` itself otherwise."""
    origin = typing.get_origin(hint) or hint
    if not isinstance(origin, type) or origin not in (*_ALWAYS, *(_IF_IT_YIELDS if _yields(call) else ())):
        return hint
    return next(iter(typing.get_args(hint)), inspect.Signature.empty)


def is_async(call: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await, or to iterate over with `async for`."""
    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in _codes(call))


def grows(result: Any) -> bool:
    """Whether this is a generator, not a value."""
    return isinstance(result, (Generator, AsyncGenerator))


async def each(result: Generator[Any, Any, Any] | AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, None]:
    """The values of a generator of either kind. Leaving early closes it, so that its `finally` blocks run."""
    if isinstance(result, AsyncGenerator):
        try:
            async for value in result:
                yield value
        finally:
            await result.aclose()
        return
    try:
        for value in result:
            yield value
    finally:
        result.close()


async def last(result: Any, name: str) -> Any:
    """The last value of a generator; anything else as it is.

    Args:
        name: the function's, for the error.
    Raises: InvalidInput: the generator ended without a value; and what the function raises.
    """
    if not grows(result):
        return result
    value = nothing = object()
    async for newer in each(result):
        value = newer
    if value is nothing:
        raise InvalidInput(nothing_came(name))
    return value


def nothing_came(name: str) -> str:
    """What to say of a generator that ended at once."""
    return f"{name}: expected at least one yield, and it ended without any; yield a value on every path through it"


def _yields(call: Callable[..., Any]) -> bool:
    return any(inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one) for one in _codes(call))


def _codes(call: Callable[..., Any]) -> tuple[Any, Any]:
    """The function, or the method that runs when an object is called."""
    return call, type(call).__call__
