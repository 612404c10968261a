"""Drives the page as a visitor does: through what it shows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import poverty
from tests.browser.server import Host

__all__ = ["LOAD_MS", "Visitor", "visiting"]

LOAD_MS = 120_000  # the runtime on a busy two-core machine
RUN_MS = 60_000


class Visitor:
    """One page of a built site, and what its console complained of."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def _heard(self, kind: str, text: str) -> None:
        if kind == "error":
            self.complaints.append(text)

    def wait_ready(self) -> None:
        expect(self.page.locator("#status[data-state=ready]")).to_be_attached(timeout=LOAD_MS)

    def tab(self, name: str) -> "View":
        self.page.get_by_role("tab", name=name, exact=True).click()
        return self.view

    @property
    def view(self) -> "View":
        return View(self.page.locator(".view:not([hidden])"))


class View:
    """One function: its form and its result."""

    def __init__(self, root: Locator) -> None:
        self.root = root
        self.result = root.locator(".result-body")
        self.error = root.locator(".error")

    def field(self, name: str) -> Locator:
        return self.root.locator(f"[data-field={name}]")

    def run(self, timeout_ms: float = RUN_MS) -> Locator:
        """Press Run and wait for a new answer."""
        self.root.evaluate("view => view.querySelector('.result-body').firstElementChild?.setAttribute('data-old', '')")
        self.root.locator(".run").click()
        return self.wait(timeout_ms)

    def wait(self, timeout_ms: float = RUN_MS) -> Locator:
        """The answer that was not there when `run` was called."""
        expect(self.result.locator("> :is(.outputs, .error):not([data-old])")).to_be_attached(timeout=timeout_ms)
        return self.result


@contextmanager
def visiting(
    browser: Browser, host: Host, site: Path, page: str, conditions: str = "iso", init: str = "", **options: Any
) -> Iterator[Visitor]:
    """Open a page of a site in a fresh profile; `init` is JavaScript that runs before the page's own."""
    host.sites["visited"] = site
    context = browser.new_context(service_workers="block", **options)
    context.add_init_script((poverty.script(set(conditions.split("+"))) or ";") + init)
    visitor = Visitor(context.new_page())
    visitor.page.goto(host.url(conditions, "visited", page))
    try:
        yield visitor
    finally:
        context.close()
