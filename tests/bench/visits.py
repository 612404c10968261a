"""One visit to a page: when its form could be used, when its answer was there, what came over the wire, the stages."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page
from playwright.sync_api import TimeoutError as LateError

from tests.browser.driver import RECORDED, START_MS, until
from tests.browser.server import Host, Sent

__all__ = ["File", "Stage", "Target", "Timeline", "Visit", "Wire", "look"]

PROBE = (Path(__file__).parent / "probe.js").read_text()
RESTS_MS = 1000  # a visitor looks at the answer before she goes; browsers write their caches then

TIMELINE = """() => ({
  origin: performance.timeOrigin,
  stages: [...performance.getEntriesByType("mark"), ...performance.getEntriesByType("measure")]
    .filter(({ name }) => name.startsWith("onnxlet:"))
    .map(({ name, startTime, duration }) => [name.slice(8), startTime, startTime + duration]),
  files: performance.getEntriesByType("resource")
    .map(({ name, startTime, responseStart, responseEnd }) => [name, startTime, responseStart, responseEnd]),
})"""


@dataclass(frozen=True)
class Target:
    """A page to visit, and how its first answer is recognized.

    Args:
        mount: the site's name on the host.
        example, answer, failure: CSS selectors; the example is clicked.
        expected: the text of the right answer.
        by: "python" where nothing else may answer.
        model: part of the model's address.
        most_bytes: that may come before the answer without the model; 0 for no limit.
    """

    mount: str
    url: str
    example: str
    answer: str
    failure: str
    expected: str
    ours: bool
    by: str
    model: str
    most_bytes: float = 0


@dataclass(frozen=True)
class Wire:
    """Bytes that the host sent, headers included.

    Args:
        before: in answers that began before the page's answer was there; before_model: those of the model's file.
        total: of the whole visit, with what was kept for the next one.
    """

    before: int
    before_model: int
    total: int
    requests: int


@dataclass(frozen=True)
class Stage:
    """A stage of a start, in milliseconds since the navigation; a mark ends where it starts."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class File:
    """A file that a thread fetched: asked for, first byte (0 where the browser does not tell), last byte."""

    address: str
    asked: float
    first: float
    done: float


@dataclass(frozen=True)
class Timeline:
    """What one thread noted."""

    thread: str
    stages: list[Stage]
    files: list[File]


@dataclass(frozen=True)
class Visit:
    """What was measured, in milliseconds since the navigation. `by`: what gave the answer, where the page says it."""

    form_ms: float
    answer_ms: float
    by: str
    wire: Wire
    threads: list[Timeline] = field(default_factory=list)


def look(
    context: BrowserContext,
    host: Host,
    target: Target,
    before: str = "",
    at_end: Callable[[Page], None] = lambda _: None,
) -> Visit:
    """Visit a page in a new tab until it has nothing left to do, then close the tab.

    Args:
        before: runs in the page before its own scripts.
        at_end: is given the page before it is closed.

    Raises: AssertionError: no answer, or a wrong one.
    """
    page = context.new_page()
    selectors = {"example": target.example, "answer": target.answer, "failure": target.failure}
    page.add_init_script(f"{before}{PROBE.rstrip().rstrip(';')}({json.dumps(selectors)});")
    first = len(host.sent)
    try:
        with page.expect_console_message(lambda message: message.text == "bench: answered", timeout=START_MS):
            page.goto(target.url)
    except LateError:
        raise AssertionError(f"{target.url}: no answer; the page shows: {page.inner_text('body')[:400]}") from None
    seen = page.evaluate("bench")
    assert seen["text"] == target.expected, f"{target.url}: {seen['text']!r} instead of {target.expected!r}"
    assert target.by != "python" or seen["by"] != "direct", f"{target.url}: Python was to answer"
    if target.ours:
        until(page, "'ready' in document.documentElement.dataset")
        if page.evaluate("Boolean(navigator.serviceWorker)"):
            until(page, RECORDED)
    page.wait_for_timeout(RESTS_MS)
    threads = _threads(page)
    answered_s = (page.evaluate("performance.timeOrigin") + seen["answer"]) / 1000
    at_end(page)
    page.close()
    wire = _wire(host.sent[first:], answered_s, target.model)
    return Visit(seen["form"], seen["answer"], seen["by"], wire, threads)


def _wire(sent: list[Sent], answered_s: float, model: str) -> Wire:
    before = [one for one in sent if one.time_s <= answered_s]
    of_model = sum(one.bytes for one in before if model in one.path)
    total = sum(one.bytes for one in sent)
    return Wire(sum(one.bytes for one in before), of_model, total, len(before))


def _threads(page: Page) -> list[Timeline]:
    """The page's timeline and those of its workers, on the page's clock."""
    own = page.evaluate(TIMELINE)
    threads = [_timeline("page", own, 0.0)]
    for number, worker in enumerate(page.workers):
        noted = worker.evaluate(TIMELINE)
        name = "worker" if number == 0 else f"worker {number + 1}"
        threads.append(_timeline(name, noted, noted["origin"] - own["origin"]))
    return threads


def _timeline(thread: str, noted: dict[str, Any], later_ms: float) -> Timeline:
    stages = [Stage(name, start + later_ms, end + later_ms) for name, start, end in noted["stages"]]
    files = [
        File(name, asked + later_ms, first + later_ms if first else 0.0, done + later_ms)
        for name, asked, first, done in noted["files"]
    ]
    return Timeline(thread, sorted(stages, key=lambda stage: stage.end), files)
