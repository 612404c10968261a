"""A browser with a profile on disk, as a visitor has: what is kept there meets the next start of the browser."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, Playwright

from tests.browser.conftest import FLAGS, chromium

__all__ = ["browser_name", "opened"]


def browser_name() -> str:
    """The browser's name and version."""
    said = subprocess.run([chromium() or "chromium", "--version"], capture_output=True, text=True, check=False).stdout
    return " ".join(said.split()[:2])


@contextmanager
def opened(playwright: Playwright, profile: Path) -> Iterator[BrowserContext]:
    """Chromium on a profile, which is made where there is none; closed as a person closes it."""
    context = playwright.chromium.launch_persistent_context(str(profile), executable_path=chromium(), args=[*FLAGS])
    try:
        yield context
    finally:
        context.close()
