"""Whether the folded functions of a finished site say in a real browser what its Python says there, on the examples."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import browser
from ..progress import Reporter
from ..proof_lab import START_S, Fault, Lab, ask

if TYPE_CHECKING:
    from playwright.async_api import Page, Route

__all__ = ["TOLERANCE", "differing"]

TOLERANCE = 1e-6  # of a score
PAGE = "site.json"  # a page of the site that starts nothing by itself
PYTHON = "pyodide.asm.wasm"  # without which it does not start
HELD_S = 10.0  # examples that only Python reads wait so long
SCRIPT = Path(__file__).with_name("in_browser.js")


def differing(folder: Path, site: Mapping[str, Any], chromium: Path, report: Reporter) -> dict[tuple[str, str], str]:
    """Ask every app that has folded functions.

    Args:
        folder: the site; site: its site.json.
    Returns: why a function must wait for Python, by the names of app and function; those that are right are left out.
        An example that Python alone can read says nothing of its function.
    """
    apps = [app for app in site["apps"] if any("direct" in function for function in app["functions"])]
    if not apps:
        return {}
    with report.bar("Asking before Python is up", len(apps)) as advance:
        return browser.run_apart(_ask_all(apps, Lab(folder, chromium, PAGE), lambda: advance(1)))


async def _ask_all(apps: Sequence[Mapping[str, Any]], lab: Lab, done: Any) -> dict[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {}
    async with lab.open():
        for app in apps:
            try:
                async with lab.page(isolated=False) as page:
                    wrong = await _ask(app, page)
            except Fault as fault:
                wrong = {f["name"]: f"in the browser: {fault}" for f in app["functions"] if "direct" in f}
            found |= {(app["name"], function): why for function, why in wrong.items()}
            done()
    return found


async def _ask(app: Mapping[str, Any], page: Page) -> dict[str, str]:
    """Before Python, which is held back until all have answered that can, or for a while; and after."""
    begin = asyncio.Event()

    async def hold(route: Route) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(HELD_S):
                await begin.wait()
        await route.continue_()

    await page.route(f"**/{PYTHON}", hold)
    await page.evaluate(SCRIPT.read_text(encoding="utf-8"))
    early = await ask(page, "early", {"app": app["name"]}, START_S)
    begin.set()
    return _wrong(app, early, await ask(page, "late", None, START_S))


def _wrong(
    app: Mapping[str, Any], early: Sequence[Mapping[str, Any]], late: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    wrong: dict[str, str] = {}
    for example, one, other in zip(app["examples"], early, late, strict=True):
        if one.get("direct") and (why := _difference(one, other)):
            wrong[example["function"]] = f'in the browser, example "{example["label"]}": {why}'
    return wrong


def _difference(early: Mapping[str, Any], late: Mapping[str, Any]) -> str:
    """How the answers differ in a way that a visitor may see; "" where they do not."""
    if "error" in late:
        return f"Python says {late['error']['message']}"
    for one, other in zip(early["outputs"], late["outputs"], strict=True):
        ours, theirs = ({**shown, "items": [i["label"] for i in shown.get("items", ())]} for shown in (one, other))
        if ours != theirs:
            return f"{ours} is not Python's {theirs}"
        pairs = zip(one.get("items", ()), other.get("items", ()), strict=True)
        if (worst := max((abs(a["score"] - b["score"]) for a, b in pairs), default=0.0)) > TOLERANCE:
            return f"scores differ from Python's by up to {worst:.2g}"
    return ""
