"""What a page takes of the machine's memory: its process at its worst, JavaScript's heaps, WebAssembly's memories."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, Playwright

from tests.bench.chrome import opened
from tests.bench.rows import Row, ratio, single
from tests.bench.sites import OURS, Sites
from tests.bench.visits import Target, look
from tests.browser.server import Host

__all__ = ["NOTE_MEMORIES", "Memory", "measured", "memories", "peak_bytes", "rows"]

ANSWER_MS = 20_000

# Before a page's scripts, and its worker's: notes every WebAssembly memory that the thread makes or is given.
NOTE_MEMORIES = """{
  const noted = (globalThis.benchMemories = new Set());
  const { get } = Object.getOwnPropertyDescriptor(WebAssembly.Instance.prototype, "exports");
  Object.defineProperty(WebAssembly.Instance.prototype, "exports", { configurable: true, get() {
    const all = get.call(this);
    for (const one of Object.values(all)) if (one instanceof Memory) noted.add(one);
    return all;
  } });
  const Memory = WebAssembly.Memory;
  WebAssembly.Memory = class extends Memory {
    constructor(...options) {
      super(...options);
      noted.add(this);
    }
    static [Symbol.hasInstance](value) { return value instanceof Memory; }
  };
}
"""
_SIZES = "[...(globalThis.benchMemories ?? [])].reduce((sum, { buffer }) => sum + buffer.byteLength, 0)"


KINDS = ("first", "repeat")
WORDS = {
    "page_heap": "JavaScript heap of the page",
    "worker_heap": "JavaScript heap of the worker",
    "wasm": "WebAssembly memories",
}
Cell = tuple[str, str]  # page, kind of visit


@dataclass(frozen=True)
class Memory:
    """In bytes, once the page has nothing left to do.

    Args:
        peak: the most that the page's process ever held in RAM (Linux' VmHWM), shared libraries included.
        page_heap, worker_heap: JavaScript objects; buffers and WebAssembly apart.
        wasm: WebAssembly memories of the page and its worker; they grow and never shrink.
    """

    peak: int
    page_heap: int
    worker_heap: int
    wasm: int


def memories(
    playwright: Playwright, host: Host, sites: Sites, targets: Mapping[str, Target], folder: Path
) -> dict[Cell, Memory]:
    """Visit each page twice in a fresh profile. Nothing is timed here: what notes the memories costs time."""
    found: dict[Cell, Memory] = {}
    for name, target in targets.items():
        profile = folder / f"memory-{name}"
        site = host.sites[target.mount]
        if target.ours:
            host.sites[target.mount] = sites.with_prelude(site, NOTE_MEMORIES)
        with opened(playwright, profile) as context:
            for visit in KINDS:
                at_end = partial(_note, found, (name, visit), profile)
                look(context, host, target, NOTE_MEMORIES, at_end)
        host.sites[target.mount] = site
    return found


def rows(found: Mapping[Cell, Memory]) -> list[Row]:
    """The peaks of an app's page beside its rivals', and where its own memory is."""
    made = []
    for visit in KINDS:
        ours = found[OURS, visit]
        for (name, kind), other in found.items():
            if kind == visit and name != OURS:
                label = f"{visit} visit, peak memory of the process, {name} page"
                made.append(ratio(label, ours.peak, other.peak, _mb))
        for what in ("page_heap", "worker_heap", "wasm"):
            made.append(single(f"{visit} visit, {WORDS[what]}", getattr(ours, what), _mb))
    return made


def _note(found: dict[Cell, Memory], cell: Cell, profile: Path, page: Page) -> None:
    found[cell] = measured(page, profile)


def _mb(value: float) -> str:
    return f"{value / 1e6:.1f} MB"


def measured(page: Page, profile: Path) -> Memory:
    """Measure a page of the browser that runs on a profile; needs NOTE_MEMORIES in its threads."""
    heaps = {"page": 0, "worker": 0}
    with _threads(page) as threads:
        for kind, thread in threads:
            heaps[kind] += int(thread.send("Runtime.getHeapUsage")["usedSize"])
    wasm = page.evaluate(_SIZES) + sum(worker.evaluate(_SIZES) for worker in page.workers)
    return Memory(peak_bytes(profile), heaps["page"], heaps["worker"], wasm)


def peak_bytes(profile: Path) -> int:
    """The peak of the largest renderer process of the browser that runs on a profile; 0 where there is no /proc."""
    parents: dict[int, int] = {}
    commands: dict[int, str] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            commands[int(entry.name)] = (entry / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:
            continue  # it has ended meanwhile
    ours = (pid for pid in commands if "--type=renderer" in commands[pid] and _belongs(pid, profile, parents, commands))
    return max(map(_high_water_bytes, ours), default=0)


def _belongs(pid: int, profile: Path, parents: Mapping[int, int], commands: Mapping[int, str]) -> bool:
    while pid in parents:
        if f"--user-data-dir={profile}" in commands.get(pid, ""):
            return True
        pid = parents[pid]
    return False


def _high_water_bytes(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


class _Worker:
    """A DevTools session of a worker, reached through its page's."""

    def __init__(self, page: Page, session: CDPSession, name: str, answers: dict[int, dict[str, Any]]) -> None:
        self._page = page
        self._session = session
        self._name = name
        self._answers = answers

    def send(self, method: str) -> dict[str, Any]:
        number = len(self._answers) + 1
        self._answers[number] = {}
        message = json.dumps({"id": number, "method": method})
        self._session.send("Target.sendMessageToTarget", {"sessionId": self._name, "message": message})
        waited = 0
        while not self._answers[number]:
            assert waited < ANSWER_MS, f"{method}: a worker does not answer"
            self._page.wait_for_timeout(10)
            waited += 10
        answer = self._answers[number]
        assert "error" not in answer, answer
        return answer["result"]


@contextmanager
def _threads(page: Page) -> Iterator[list[tuple[str, CDPSession | _Worker]]]:
    """DevTools sessions of a page and its workers."""
    session = page.context.new_cdp_session(page)
    workers: list[str] = []
    answers: dict[int, dict[str, Any]] = {}

    def attached(event: dict[str, Any]) -> None:
        if event["targetInfo"]["type"] == "worker":  # not the service worker, which is the site's
            workers.append(event["sessionId"])

    def heard(event: dict[str, Any]) -> None:
        answer = json.loads(event["message"])
        if "id" in answer:
            answers[answer["id"]] = answer

    session.on("Target.attachedToTarget", attached)
    session.on("Target.receivedMessageFromTarget", heard)
    session.send("Target.setAutoAttach", {"autoAttach": True, "waitForDebuggerOnStart": False, "flatten": False})
    page.wait_for_timeout(200)
    try:
        yield [("page", session), *(("worker", _Worker(page, session, name, answers)) for name in workers)]
    finally:
        session.detach()
