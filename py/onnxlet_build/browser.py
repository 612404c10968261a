"""The browser in which the build proves what it ships: a Chromium, found and driven through Playwright."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from onnxlet.errors import BuildError

if TYPE_CHECKING:
    from playwright.async_api import Browser

__all__ = ["find", "launched", "run_apart", "version_of"]

T = TypeVar("T")

NAMES = ("chromium", "chromium-browser", "google-chrome")
# WebGPU without a display, on Linux too.
FLAGS = ("--enable-unsafe-webgpu", "--enable-features=Vulkan,WebGPU")
SOFTWARE = "--use-webgpu-adapter=swiftshader"


def find(named: Path | None = None) -> Path | None:
    """The Chromium to use: the one that a person named, one on the PATH, else Playwright's own.

    Returns: None where there is none; `playwright install chromium` brings one.
    Raises: BuildError: the named one is not there.
    """
    if named is not None:
        path = shutil.which(named)
        if path is None:
            raise BuildError(f"{named}: is no program; name a Chromium or Chrome, or none to look for one")
        return Path(path)
    installed = next((path for name in NAMES if (path := shutil.which(name))), None)
    return Path(installed) if installed else run_apart(_playwrights_own())


def version_of(chromium: Path) -> str:
    """What a browser calls itself, such as "Chromium 150.0.7871.0"."""
    done = subprocess.run([chromium, "--version"], capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split()[:2]) or chromium.name


async def _playwrights_own() -> Path | None:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return path if path.is_file() else None


@asynccontextmanager
async def launched(executable: Path, *, software: bool) -> AsyncIterator["Browser"]:
    """A headless Chromium that is gone afterwards, even if it hangs.

    Args:
        software: compute WebGPU on the processor, where there is no graphics adapter.
    Raises: BuildError: it does not start.
    """
    from playwright.async_api import Error, async_playwright

    args = [*FLAGS, *([SOFTWARE] if software else [])]
    async with async_playwright() as playwright:
        try:
            browser = await playwright.chromium.launch(executable_path=executable, args=args)
        except Error as error:
            first = str(error).strip().splitlines()[0]
            raise BuildError(f"{executable}: does not start as a browser ({first}); name another Chromium") from error
        try:
            yield browser
        finally:
            await browser.close()


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end on an event loop in a thread of its own: the caller's thread may be in one already.

    Ctrl-C cancels it and waits until it has cleaned up.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    try:
        with ThreadPoolExecutor(1, "onnxlet-browser") as pool:
            future = pool.submit(loop.run_until_complete, task)
            try:
                return future.result()
            except BaseException:
                if not future.done():
                    loop.call_soon_threadsafe(task.cancel)
                raise
    finally:
        loop.close()
