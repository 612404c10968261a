"""What each session was last asked, so that it can be run on it once more: see `inside`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from . import session as _session
from .errors import InvalidInput
from .providers.base import Value
from .session import InferenceSession

__all__ = ["Call", "has_run", "keeping_last", "last_call", "session_of", "watch"]


class Call(NamedTuple):
    """What a session was asked."""

    fetches: list[str]
    feeds: dict[str, Value]


def watch() -> None:
    """Remember the last feeds of every session from now on, by reference: an array that the app changes is changed."""

    if _note not in _session.observers:
        _session.observers.append(_note)


def _note(session: InferenceSession, fetches: list[str], feeds: dict[str, Value]) -> None:
    session.last_call = fetches, feeds


@contextmanager
def keeping_last(session: InferenceSession) -> Iterator[None]:
    """Runs of ours, in the block, are not the app's: its last feeds stay the last ones."""
    before = session.last_call
    try:
        yield
    finally:
        session.last_call = before


def session_of(number: int) -> InferenceSession:
    """A session of the app, by its number. Raises: InvalidInput: there is none."""
    session = _session.sessions.get(number)
    if session is None:
        raise InvalidInput(
            f"there is no session {number}; the app has {', '.join(map(str, _session.sessions)) or 'none'}"
        )
    return session


def has_run(session: InferenceSession) -> bool:
    """Whether there are feeds to run it on again."""
    return session.last_call is not None


def last_call(number: int) -> tuple[InferenceSession, Call]:
    """A session and what it was last asked. Raises: InvalidInput: no such session, or it has not run yet."""
    session = session_of(number)
    if session.last_call is None:
        raise InvalidInput(f"{session.source.name} has not run yet; run the app once, then look again")
    return session, Call(*session.last_call)
