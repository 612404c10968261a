"""One run of a session at a time: for threads, for tasks, and for Python that pauses in the page."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque

from .errors import ProviderError

__all__ = ["Turns"]


class Turns:
    """A lock that is taken with `with` or `async with`.

    In the page there are no threads, but several calls of Python may be under way, each paused in the middle. One that
    blocked on a lock there would block for ever; so it pauses as well, and is let in by whoever leaves. Natively
    `async with` is for an event loop of one thread.

    Raises: ProviderError: the lock is taken, and Python cannot pause here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __enter__(self) -> None:
        if self._lock.acquire(blocking=sys.platform != "emscripten"):
            return
        turn = self._turn()
        try:
            asyncio.get_event_loop().run_until_complete(turn)  # in Pyodide it pauses
        except RuntimeError as error:
            turn.close()
            raise ProviderError(
                "another run of this session is under way, and this browser cannot pause Python until it ends: use "
                "`await session.arun(...)` in an `async def` app function"
            ) from error

    def __exit__(self, *error: object) -> None:
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():
                first.set_result(None)  # the lock stays taken, by them
                return
        self._lock.release()

    async def __aenter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            await self._turn()

    async def __aexit__(self, *error: object) -> None:
        self.__exit__()

    async def _turn(self) -> None:
        mine = asyncio.get_running_loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():  # let in and called off at once
                self.__exit__()
            raise
