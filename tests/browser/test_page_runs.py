"""When the page runs, stops, waits and switches; what its panel says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.server import Host
from tests.browser.visitor import LOAD_MS, Visitor, visiting


@pytest.fixture(scope="module")
def visitor(browser: Browser, host: Host, cases: Path) -> Iterator[Visitor]:
    with visiting(browser, host, cases, "kinds.html", locale="en-GB") as visitor:
        yield visitor
        assert visitor.complaints == []


def test_a_click_while_loading_waits_and_then_runs_with_the_latest_values(visitor: Visitor):
    view = visitor.tab("Words")
    view.root.get_by_label("Text").fill("early")
    view.root.locator(".run").click()
    expect(view.root.locator(".run")).to_have_text("Will run when ready")
    expect(visitor.page.locator("#status-text")).to_have_text(re.compile(r"^(Loading \d+%.* / .* MB|.*…)$"))
    view.root.get_by_label("Text").fill("later")
    expect(view.result.locator(".prose")).to_have_text("later", timeout=LOAD_MS)
    expect(view.root.locator(".run")).to_have_text("Run")
    expect(visitor.page.locator("#announce")).to_have_text("Result: later")


def test_stop_ends_a_run_keeps_the_old_result_and_leaves_a_page_that_works(visitor: Visitor):
    visitor.wait_ready()
    view = visitor.tab("Slow")
    view.root.get_by_label("Seconds").fill("0")
    view.run()
    view.root.get_by_label("Seconds").fill("60")
    view.root.locator(".run").click()
    expect(view.root.locator(".result")).to_have_attribute("aria-busy", "true")
    expect(view.result.locator(".prose")).to_have_text("done")
    view.root.get_by_role("button", name="Stop").click()
    expect(view.root.get_by_role("button", name="Stop")).to_be_hidden()
    expect(view.result.locator(".prose")).to_have_text("done")
    visitor.wait_ready()
    view.root.get_by_label("Seconds").fill("0")
    view.run()
    expect(view.result.locator(".prose")).to_have_text("done")


def test_the_panel_says_what_runs_and_why_and_draws_each_run(visitor: Visitor):
    visitor.wait_ready()
    page = visitor.page
    chip, panel = page.locator("#status"), page.locator("#panel")
    expect(chip).to_have_attribute("aria-expanded", "false")
    chip.click()
    expect(chip).to_have_attribute("aria-expanded", "true")
    expect(panel).to_contain_text(re.compile(r"Running on (WASM|WebGPU|Python)"))
    expect(panel).to_contain_text(re.compile(r"Python waits by\s*(stack switching|a second worker|await)"))
    expect(panel).to_contain_text(re.compile(r"From start to ready\s*[\d.,]+\s*m?s"))
    expect(panel).to_contain_text(re.compile(r"\d MB"))
    view = visitor.tab("Words")
    view.root.get_by_label("Text").fill("x")
    view.run()  # the first one is a figure, not a bar
    expect(panel).to_contain_text("First run")
    before = panel.locator("rect.chart-rest").count()
    for n in range(1, 4):
        view.run()
        expect(panel.locator("rect.chart-rest")).to_have_count(before + n)
    expect(panel).to_contain_text("Typical run after that")
    page.locator("#panel input:checked").focus()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(chip).to_be_focused()


def test_switching_the_backend_restarts_on_it(visitor: Visitor):
    visitor.wait_ready()
    visitor.page.locator("#status").click()
    visitor.page.get_by_role("radio", name="Python").check()
    expect(visitor.page.locator("#status-text")).to_have_text("Python", timeout=LOAD_MS)
    visitor.wait_ready()
    expect(visitor.page.locator("#panel")).to_contain_text("Running on Python")
    view = visitor.tab("Words")
    view.root.get_by_label("Text").fill("on Python")
    view.run()
    expect(view.result.locator(".prose")).to_have_text("on Python")


def test_losing_the_network_shows_a_badge(visitor: Visitor):
    badge = visitor.page.locator("#offline")
    expect(badge).to_be_hidden()
    visitor.page.context.set_offline(True)
    expect(badge).to_be_visible()
    visitor.page.context.set_offline(False)
    expect(badge).to_be_hidden()
