"""Drives the page's own client in a blank page of a site, and compares what it answers with the native answers."""

import base64
import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import BrowserContext, Page

from tests.browser.server import Host

__all__ = ["Visit", "assert_same", "increments", "npy", "snr_db", "until"]

FLOATS_DB = 100.0
START_MS = 120_000  # a shared machine of two cores; nothing here waits for it when all is well

RECORDED = "caches.match(new URL('__onnxlet__/record', location.href)).then(Boolean)"

START = """async ({app, backend, stall_s}) => {
  const config = document.getElementById("onnxlet"); // the site's own pages name their manifest
  const site = await (await fetch(config ? JSON.parse(config.textContent).site : "site.json")).json();
  const path = Object.keys(site.files).find((name) => name.endsWith("/client.js"));
  const { Client } = await import(new URL(path, location.href));
  globalThis.site = site;
  globalThis.client = new Client({ site, root: "./", app, stall_s });
  globalThis.events = [];
  for (const name of ["progress", "status", "gone", "update", "offline"]) {
    client.on(name, (event) => events.push([name, event]));
  }
  return client.start({ backend });
}"""

CALL = """async ({fn, inputs, buffers}) => {
  const unpack = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const pack = (bytes) => {
    let text = "";
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return btoa(text);
  };
  const answer = await client.call(fn, inputs, buffers.map(unpack));
  return "error" in answer ? answer : { ...answer, buffers: answer.buffers.map(pack) };
}"""


class Visit:
    """One visitor's browser profile on one site."""

    def __init__(self, host: Host, context: BrowserContext, mount: str, conditions: str) -> None:
        self.host = host
        self.context = context
        self.mount = mount
        self.conditions = conditions
        self.page: Page = context.new_page()

    @property
    def folder(self) -> Path:
        return self.host.sites[self.mount]

    @property
    def site(self) -> dict[str, Any]:
        """site.json of what is mounted now."""
        return json.loads((self.folder / "site.json").read_bytes())

    def url(self, page: str = "") -> str:
        return self.host.url(self.conditions, self.mount, page)

    def start(self, app: str, backend: str = "auto", stall_s: float = 90) -> dict[str, Any]:
        """Start an app's worker. Returns: Ready, or {"error"}."""
        self.page.goto(self.url("__blank__"))
        return self.page.evaluate(START, {"app": app, "backend": backend, "stall_s": stall_s})

    def start_here(self, app: str, backend: str = "auto") -> dict[str, Any]:
        """Start one more client in the page that is open."""
        return self.page.evaluate(START, {"app": app, "backend": backend, "stall_s": 90})

    def open(self, page: str = "") -> Page:
        """Open one of the site's own pages and wait until it is ready."""
        self.page.goto(self.url(page))
        return self.when_ready()

    def when_ready(self) -> Page:
        """Wait until the site's own page can run its app."""
        self.page.locator("html[data-ready]").wait_for(state="attached", timeout=START_MS)
        return self.page

    def when_offline(self) -> Page:
        """Wait until the service worker has everything that a visit without a network needs."""
        until(self.page, RECORDED)
        return self.page

    def keep(self, page: str = "") -> Page:
        """Open a page of the site and wait until it works offline."""
        self.open(page)
        return self.when_offline()

    def call(self, fn: str, *inputs: dict[str, Any], buffers: list[bytes] | None = None) -> dict[str, Any]:
        """Run an app function. Returns: the answer with its buffers as bytes, or {"error"}."""
        packed = [base64.b64encode(data).decode() for data in buffers or []]
        answer = self.page.evaluate(CALL, {"fn": fn, "inputs": list(inputs), "buffers": packed})
        if "buffers" in answer:
            answer["buffers"] = [base64.b64decode(text) for text in answer["buffers"]]
        return answer

    def run_example(self, app: str, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run an example. Returns: the page's answer, and the native one that the build stored."""
        entry = next(entry for entry in self.site["apps"] if entry["name"] == app)
        example = entry["examples"][index]
        answer = self.call(example["function"], *example["inputs"], buffers=self._read(example["buffers"]))
        return answer, {"outputs": example["outputs"], "buffers": self._read(example["output_buffers"])}

    def events(self, name: str) -> list[Any]:
        """What the client told its page so far."""
        return [event for kind, event in self.page.evaluate("events") if kind == name]

    def wait_for_event(self, name: str) -> Any:
        """The first such event, when it comes."""
        until(self.page, f"events.some(([kind]) => kind === '{name}')")
        return self.events(name)[0]

    def _read(self, paths: list[str]) -> list[bytes]:
        return [(self.folder / path).read_bytes() for path in paths]


def until(page: Page, condition: str | Callable[[], bool]) -> None:
    """Wait for a JavaScript expression or a function to hold. Playwright's own waiting breaks a strict policy."""
    deadline = time.monotonic() + START_MS / 1000
    while not (condition() if callable(condition) else page.evaluate(condition)):
        assert time.monotonic() < deadline, f"never came true: {condition}"
        page.wait_for_timeout(200)


def snr_db(got: Any, expected: Any) -> float:
    """Signal to noise in decibels: infinite where both are equal."""
    got, expected = (np.asarray(value, dtype=np.float64) for value in (got, expected))
    assert got.shape == expected.shape
    noise = float(np.sum((got - expected) ** 2))
    return np.inf if noise == 0 else 10 * np.log10(float(np.sum(expected**2)) / noise)


def assert_same(got: dict[str, Any], expected: dict[str, Any], floats_db: float = FLOATS_DB) -> None:
    """Two answers in wire form mean the same.

    Labels, text and whole numbers exactly; floats within `floats_db`; corners of boxes within half a pixel;
    pictures and masks, which a network made, within 2 levels, and within 16 where a threshold fell differently on at
    most one pixel of a thousand; numbers in tables within the last of their digits.
    """
    assert "error" not in got, got
    assert len(got["outputs"]) == len(expected["outputs"])
    for mine, theirs in zip(got["outputs"], expected["outputs"], strict=True):
        assert mine["kind"] == theirs["kind"]
        buffers = [(side["buffers"], value) for side, value in ((got, mine), (expected, theirs))]
        _SAME.get(mine["kind"], _same_exactly)(mine, theirs, buffers, floats_db)


def _same_labels(mine: dict[str, Any], theirs: dict[str, Any], _: Any, floats_db: float) -> None:
    assert [item["label"] for item in mine["items"]] == [item["label"] for item in theirs["items"]]
    scores = [[float(item["score"]) for item in value["items"]] for value in (mine, theirs)]
    assert snr_db(*scores) >= floats_db
    if mine["kind"] == "boxes":
        corners = [np.reshape([item["box"] for item in value["items"]], (-1, 4)) for value in (mine, theirs)]
        np.testing.assert_allclose(*corners, atol=0.5)
    if mine["kind"] == "spans":
        places = [[(i["start"], i["end"], i["word"]) for i in value["items"]] for value in (mine, theirs)]
        assert (mine["text"], places[0]) == (theirs["text"], places[1])


def _same_tensors(mine: dict[str, Any], theirs: dict[str, Any], buffers: Any, floats_db: float) -> None:
    a, b = (np.load(io.BytesIO(data[value["buffer"]])) for data, value in buffers)
    assert a.dtype == b.dtype
    if a.dtype.kind in "fc":
        assert snr_db(a, b) >= floats_db
    else:
        np.testing.assert_array_equal(a, b)


def _same_pictures(mine: dict[str, Any], theirs: dict[str, Any], buffers: Any, floats_db: float) -> None:
    assert _without_buffer(mine) == _without_buffer(theirs)
    a, b = (np.frombuffer(data[value["buffer"]], np.uint8).astype(int) for data, value in buffers)
    apart = np.abs(a - b)
    assert (apart > 2).mean() <= 0.001, f"{(apart > 2).sum()} of {apart.size} levels differ, by up to {apart.max()}"
    assert apart.max(initial=0) <= 16


def _same_tables(mine: dict[str, Any], theirs: dict[str, Any], *_: Any) -> None:
    assert mine["columns"] == theirs["columns"]
    assert len(mine["rows"]) == len(theirs["rows"])
    for row, other in zip(mine["rows"], theirs["rows"], strict=True):
        assert len(row) == len(other)
        assert all(a == b or _near(a, b) for a, b in zip(row, other, strict=True)), f"{row} is not {other}"


def _near(a: str, b: str) -> bool:
    """Whether two texts are numbers that differ by one unit of the last digit that both show."""
    try:
        digits = min(len(text.partition(".")[2]) for text in (a, b))
        return abs(float(a) - float(b)) <= 1.01 * 10**-digits
    except ValueError:
        return False


def _same_exactly(mine: dict[str, Any], theirs: dict[str, Any], buffers: Any, _: float) -> None:
    assert _without_buffer(mine) == _without_buffer(theirs)
    if "buffer" in mine:
        a, b = (data[value["buffer"]] for data, value in buffers)
        assert a == b


def _without_buffer(value: dict[str, Any]) -> dict[str, Any]:
    return {key: part for key, part in value.items() if key not in ("buffer", "picture")}


_SAME = {
    "labels": _same_labels,
    "boxes": _same_labels,
    "spans": _same_labels,
    "tensor": _same_tensors,
    "image": _same_pictures,
    "mask": _same_pictures,
    "table": _same_tables,
}


def npy(array: Any) -> tuple[dict[str, Any], bytes]:
    """A tensor input in wire form, and the buffer that it means as number 0."""
    stream = io.BytesIO()
    np.save(stream, np.asarray(array))
    return {"kind": "tensor", "buffer": 0, "name": "x.npy"}, stream.getvalue()


def increments(visitor: Visit) -> bool:
    """Whether the app's function `increment` adds one."""
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    value, data = npy(array)
    answer = visitor.call("increment", value, buffers=[data])
    assert "error" not in answer, answer
    return np.array_equal(np.load(io.BytesIO(answer["buffers"][answer["outputs"][0]["buffer"]])), array + 1)
