"""Tasks that wait for a model in either way: written once as steps, run by ``run`` or awaited by ``arun``.

A task's steps are a generator: it yields what a session shall run, is sent the outputs, and returns what is shown.
Several runs, even of several models, are several yields.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ..session import InferenceSession

__all__ = ["Run", "Steps", "arun", "run"]

Result = TypeVar("Result")


class Run(NamedTuple):
    """One run of a session: the names of the outputs that are wanted (None: all), and the feeds by name."""

    session: InferenceSession
    outputs: Sequence[str] | None
    feeds: Mapping[str, Any]


Steps = Generator[Run, list[Any], Result]


def run(steps: Steps[Result]) -> Result:
    """Take the steps, each run blocking until its outputs are there. Returns: what the steps return."""
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send(wanted.session.run(wanted.outputs, wanted.feeds))
    except StopIteration as done:
        return done.value


async def arun(steps: Steps[Result]) -> Result:
    """The same for ``async def`` apps: each run is awaited."""
    try:
        wanted = next(steps)
        while True:
            wanted = steps.send(await wanted.session.arun(wanted.outputs, wanted.feeds))
    except StopIteration as done:
        return done.value
