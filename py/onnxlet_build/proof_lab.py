"""A browser to prove variants in, and the site under two servers; whatever harms the browser ends it, not the build."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import browser
from .serve import make_server

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Page

__all__ = ["START_S", "Adapter", "Fault", "Harm", "Lab", "ask"]

START_S = 120.0  # the runtime's own start, on a busy machine; no variant is to blame for it
CLOSE_S = 10.0


class Fault(Exception):
    """Why a variant may not be offered on a backend."""


class Harm(Fault):
    """The same, and the browser is not to be used again."""


@dataclass(slots=True)
class Adapter:
    """The graphics adapter of the browser, as gpu.js finds it."""

    name: str = ""
    fault: str = ""
    f16: bool = False
    emulated: bool = False


class Lab:
    """A browser, and the site under two servers: one that isolates its pages, for threads, and one that does not.

    Args:
        page: what is opened of the site; by default its first page, which has proof.js in it.
    """

    def __init__(self, site: Path, chromium: Path, page: str = "") -> None:
        self._page = page
        self._site = site
        self._chromium = chromium
        self._browser: Browser | None = None
        self._closing = AsyncExitStack()
        self._addresses: dict[bool, str] = {}
        self._adapter: Adapter | None = None
        self._software = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Serve the site while the block runs."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._close)
            for isolated in (True, False):
                server = stack.enter_context(make_server(self._site, port=0, isolation=isolated))
                threading.Thread(target=server.serve_forever, daemon=True).start()
                stack.callback(server.shutdown)
                self._addresses[isolated] = f"http://127.0.0.1:{server.server_address[1]}/"
            yield

    @asynccontextmanager
    async def page(self, *, isolated: bool) -> AsyncIterator["Page"]:
        """A page of a fresh profile. A browser that was harmed is closed with it."""
        from playwright.async_api import Error

        try:
            started = await self._started()
            context = await started.new_context(service_workers="block")
            page = await context.new_page()
            await page.goto(self._addresses[isolated] + self._page)
        except Error as error:
            await self._close()
            raise Fault(_words(error)) from error
        try:
            yield page
        except Harm:
            await self._close()
            raise
        finally:
            if self._browser:
                await self._shut(context)

    async def adapter(self) -> Adapter:
        """The graphics adapter: a real one, else one that the processor emulates."""
        if self._adapter is None:
            self._adapter = await self._probe()
            if self._adapter.fault:
                await self._close()
                self._software = True
                self._adapter = await self._probe()
        return self._adapter

    async def _probe(self) -> Adapter:
        try:
            async with self.page(isolated=True) as page:
                return Adapter(**await ask(page, "adapter", None, START_S))
        except Fault as error:
            return Adapter(fault=f"the browser did not say what graphics it has ({error})")

    async def _started(self) -> "Browser":
        if self._browser is None:
            launching = browser.launched(self._chromium, software=self._software)
            self._browser = await self._closing.enter_async_context(launching)
        return self._browser

    async def _shut(self, context: "BrowserContext") -> None:
        from playwright.async_api import Error

        try:
            async with asyncio.timeout(CLOSE_S):
                await context.close()
        except (Error, TimeoutError):
            await self._close()

    async def _close(self) -> None:
        """End the browser, whatever it does."""
        closing, self._closing, self._browser = self._closing.pop_all(), AsyncExitStack(), None
        with suppress(Exception):
            async with asyncio.timeout(CLOSE_S):
                await closing.aclose()


async def ask(page: "Page", what: str, request: object, limit_s: float) -> Any:
    """Call a function of proof.js.

    Raises: Fault: it answers with an error; Harm: it does not answer in time, or the browser is gone.
    """
    from playwright.async_api import Error

    try:
        async with asyncio.timeout(limit_s):
            answer = await page.evaluate(f"(request) => proof.{what}(request)", request)
    except TimeoutError:
        raise Harm(f"gave no answer within {limit_s:.0f} s") from None
    except Error as error:
        raise Harm(_words(error)) from error
    if isinstance(answer, dict) and "error" in answer:
        raise Fault(answer["error"]["message"].strip())
    return answer


def _words(error: Exception) -> str:
    return f"the browser failed: {str(error).strip().splitlines()[0]}"
