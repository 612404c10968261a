"""Functions that yield, in the page: each value comes at once, the last one stays, and Stop closes the generator."""

import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from tests.browser.driver import Visit, assert_same, npy, until
from tests.browser.server import Host
from tests.browser.visitor import Visitor, visiting

FOLLOW = """async ({fn, inputs}) => {
  globalThis.seen = [];
  const answer = await client.call(fn, inputs, [], ({outputs}) => seen.push(outputs[0].text));
  return {answer, seen};
}"""

# where an element is that is replaced all the time
MIDDLE = """(view, selector) => {
  view.querySelector(selector).scrollIntoView({block: "center"});
  const {x, y, width, height} = view.querySelector(selector).getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""


@pytest.mark.parametrize(
    ("conditions", "backend", "waits"),
    [("plain", "wasm", "jspi"), ("iso+nojspi", "wasm", "atomics"), ("plain+nojspi", "auto", "none")],
)
def test_every_way_to_wait_hands_over_each_value(
    visit: Callable[..., Visit], cases: Path, conditions: str, backend: str, waits: str
):
    visitor = visit(cases, conditions)
    assert visitor.start("growing", backend)["waits"] == waits
    for fn in ("count", "acount"):
        got = visitor.page.evaluate(FOLLOW, {"fn": fn, "inputs": [{"kind": "number", "value": 4}]})
        assert got["answer"]["outputs"][0]["text"] == "4", got
        assert got["answer"]["timing"]["runs"] == 4
        assert got["seen"] == ["1", "2", "3", "4"]
    for index in range(3):
        assert_same(*visitor.run_example("growing", index))

    broken = visitor.page.evaluate(FOLLOW, {"fn": "breaks", "inputs": []})
    assert broken["answer"]["error"]["message"] == "there is no three"
    assert 'File "/app/app.py"' in broken["answer"]["error"]["traceback"]
    assert broken["seen"] == ["one", "two"]
    assert "silent: expected at least one yield" in visitor.call("silent")["error"]["message"]

    # Stop: at the next yield, in the same worker
    visitor.page.evaluate(
        "void (globalThis.endless = client.call('endless', [], [], () => (globalThis.grown ??= 0, grown += 1)))"
    )
    until(visitor.page, "globalThis.grown > 3")
    visitor.page.evaluate("client.stop()")
    assert visitor.page.evaluate("endless")["error"]["type"] == "Stopped"
    assert visitor.call("ended")["outputs"][0]["text"] == "endless"


def test_awaiting_apps_grow_where_nothing_else_waits(visit: Callable[..., Visit], cases: Path):
    visitor = visit(cases, "plain+nojspi")
    assert visitor.start("waiting", "wasm")["waits"] == "async"
    value, data = npy(np.zeros((1, 2), np.float32))
    answer = visitor.call("increments", value, buffers=[data])
    assert np.load(io.BytesIO(answer["buffers"][0])).tolist() == [[2, 2]]


def test_a_generator_that_does_not_come_to_its_next_yield_is_ended_with_the_worker(
    visit: Callable[..., Visit], cases: Path
):
    visitor = visit(cases, "plain")
    visitor.start("growing")
    visitor.page.evaluate("void (globalThis.stuck = client.call('stuck', [], [], () => (globalThis.grown = true)))")
    until(visitor.page, "globalThis.grown")
    visitor.page.evaluate("client.stop()")
    assert visitor.page.evaluate("stuck")["error"]["type"] == "Stopped"
    assert visitor.call("ended")["outputs"][0]["text"] == "nothing"  # another worker


@pytest.fixture(scope="module")
def visitor(browser: Browser, host: Host, cases: Path) -> Iterator[Visitor]:
    with visiting(browser, host, cases, "growing.html") as visitor:
        visitor.wait_ready()
        yield visitor
        assert visitor.complaints == []


def test_the_page_shows_what_there_is_so_far_and_stop_keeps_it(visitor: Visitor):
    view = visitor.tab("Endless")
    view.root.locator(".run").click()
    headline = view.result.locator(".headline strong")
    expect(headline).to_have_text(re.compile(r"step \d+"))
    expect(view.result.locator(".took")).to_have_text(re.compile(r"^\d+ updates in .*s, still running…$"))
    expect(view.result).to_have_css("opacity", "1")  # what grows is not dimmed
    # what a visitor presses holds still until it is let go, so that it is clicked
    visitor.page.mouse.move(*view.root.evaluate(MIDDLE, "summary"))
    visitor.page.mouse.down()
    early = headline.inner_text()
    visitor.page.wait_for_timeout(300)
    assert headline.inner_text() == early
    visitor.page.mouse.up()
    expect(headline).not_to_have_text(early)
    expect(view.result.locator("details")).to_have_attribute("open", "")  # what is unfolded stays so
    view.root.get_by_role("button", name="Stop").click()
    expect(view.root.locator(".run")).to_have_text("Run")
    expect(view.result.locator(".took")).to_have_text(re.compile(r"^Not complete: \d+ updates in "))
    expect(visitor.page.locator("#announce")).to_have_text("Stopped.")
    expect(headline).to_have_text(re.compile(r"step \d+"))
    view = visitor.tab("Ended")
    view.run()
    expect(view.result.locator(".prose")).to_have_text("endless")


def test_an_error_after_some_values_keeps_the_last_one(visitor: Visitor):
    view = visitor.tab("Breaks")
    view.root.locator(".run").click()
    expect(view.error.locator(".error-message")).to_have_text("there is no three")
    expect(view.result.locator(".prose")).to_have_text("two")
    expect(view.result.locator(".took")).to_have_text(re.compile("^Not complete: 2 updates"))


def test_the_end_is_shown_as_any_answer(visitor: Visitor):
    view = visitor.tab("Count")
    result = view.run()
    expect(result.locator(".prose")).to_have_text("3")
    expect(result.locator(".took")).to_have_text(re.compile("in total, .* of it in the model"))
    expect(visitor.page.locator("#announce")).to_have_text("Result: 3")
