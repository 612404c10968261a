"""How the page looks and reads: contrast, targets, widths, names, motion, words, headers. No runtime is needed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.server import Host
from tests.browser.visitor import Visitor, visiting

SOURCE = Path(__file__).parents[2] / "web" / "src"
TABS = ("Sketch", "Picture", "Entries", "Files")

CONTRAST = """() => {
  const canvas = new OffscreenCanvas(1, 1);
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    return [...pen.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const backdrop = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const [r, g, b, a] = rgba(getComputedStyle(at).backgroundColor);
      if (a === 255) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility()) continue;
    if (node.closest("script, noscript, :disabled, .pad, .unseen, .skip")) continue;
    const ink = rgba(getComputedStyle(node).color).slice(0, 3);
    const [a, b] = [luminance(ink), luminance(backdrop(node))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) faint.push(`${text.data.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return faint;
}"""

SMALL_TARGETS = """() => {
  const small = [];
  for (const node of document.querySelectorAll("button, a[href], select, textarea, input, summary")) {
    if (!node.checkVisibility() || node.closest(".skip")) continue;
    const target = node.closest("label") ?? node;
    const { width, height } = target.getBoundingClientRect();
    if (height < 40 || width < 40) small.push(`${node.outerHTML.slice(0, 80)}: ${width} x ${height}`);
  }
  return small;
}"""

NAMELESS = """() => {
  const nameless = [];
  const kinds = "button, a[href], select, textarea, input, canvas, [role=group], [role=radiogroup]";
  for (const node of document.querySelectorAll(kinds)) {
    if (!node.checkVisibility() || node.closest("[aria-hidden=true]")) continue;
    const ids = (node.getAttribute("aria-labelledby") ?? "").split(" ");
    const by = [...ids.map((id) => document.getElementById(id)), ...(node.labels ?? []), node];
    const name = [node.getAttribute("aria-label"), ...by.map((one) => one?.textContent)].join("");
    if (!name.trim()) nameless.push(node.outerHTML.slice(0, 100));
  }
  return nameless;
}"""


FOCUSED = """() => {
  const node = document.activeElement;
  return node.closest("[data-field]")?.dataset.field ?? node.className;
}"""


@pytest.fixture(scope="module")
def visitor(browser: Browser, host: Host, cases: Path) -> Iterator[Visitor]:
    """The page while its runtime never comes, so that nothing moves."""
    with visiting(browser, host, cases, "kinds.html", "plain+404~pyodide.js") as visitor:
        expect(visitor.page.locator(".view").first).to_be_visible()
        visitor.page.locator("#status").click()
        expect(visitor.page.locator(".error").first).to_be_visible(timeout=30_000)
        yield visitor


def every_state(page: Page) -> Iterator[str]:
    for tab in TABS:
        page.get_by_role("tab", name=tab, exact=True).click()
        yield tab


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_aa_contrast(visitor: Visitor, scheme: str):
    visitor.page.emulate_media(color_scheme=scheme)
    visitor.page.wait_for_timeout(300)  # transitions
    for tab in every_state(visitor.page):
        assert visitor.page.evaluate(CONTRAST) == [], tab


@pytest.mark.parametrize("width", [320, 390, 768, 1440])
def test_nothing_is_wider_than_the_screen(visitor: Visitor, width: int):
    visitor.page.set_viewport_size({"width": width, "height": 844})
    for tab in every_state(visitor.page):
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= width, tab


def test_touch_targets_are_at_least_40_pixels(visitor: Visitor):
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    for tab in every_state(visitor.page):
        assert visitor.page.evaluate(SMALL_TARGETS) == [], tab


def test_every_control_has_a_name(visitor: Visitor):
    for tab in every_state(visitor.page):
        assert visitor.page.evaluate(NAMELESS) == [], tab


def test_reduced_motion_stops_every_animation(visitor: Visitor):
    visitor.page.emulate_media(reduced_motion="reduce")
    longest = """() => Math.max(...document.getAnimations().map((one) => one.effect.getComputedTiming().endTime), 0)"""
    assert visitor.page.evaluate(longest) <= 1
    visitor.page.emulate_media(reduced_motion="no-preference")


def test_keyboard_reaches_everything_in_reading_order(visitor: Visitor):
    page = visitor.page
    page.set_viewport_size({"width": 1440, "height": 900})
    page.get_by_role("tab", name="Entries").click()
    page.locator(".skip").focus()
    expect(page.locator(".skip")).to_be_in_viewport()
    order = []
    for _ in range(40):
        page.keyboard.press("Tab")
        order.append(
            page.evaluate(
                "document.activeElement.closest('[data-field]')?.dataset.field ?? document.activeElement.className"
            )
        )
        if "run" in order[-1]:
            break
    assert order[-1] == "button primary run"
    fields = [
        name for name in dict.fromkeys(order) if name in ("line", "note", "whole", "share", "sure", "size", "colour")
    ]
    assert fields == ["line", "note", "whole", "share", "sure", "size", "colour"]


def test_arrow_keys_move_between_tabs(visitor: Visitor):
    page = visitor.page
    page.get_by_role("tab", name="Sketch").click()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Picture")).to_be_focused()
    expect(page.get_by_role("tabpanel", name="Picture")).to_be_visible()
    page.keyboard.press("End")
    expect(page.get_by_role("tab", name="Slow")).to_have_attribute("aria-selected", "true")


def test_a_load_that_failed_says_so_and_offers_another_start(visitor: Visitor):
    view = visitor.tab("Words")
    expect(view.error).to_contain_text("pyodide.js")
    expect(view.error.get_by_role("button", name="Start again")).to_be_visible()
    expect(visitor.page.locator("#status-text")).to_have_text("Not running")


def test_both_languages_have_the_same_words_with_the_same_gaps(visitor: Visitor, host: Host):
    host.sites["modules"] = SOURCE
    load = "async (url) => { const m = await import(url); return Object.values(m)[0]; }"
    english, spanish = (
        visitor.page.evaluate(load, host.url("plain", "modules", f"words/{n}.js")) for n in ("en", "es")
    )
    assert list(english) == list(spanish)
    for key, text in english.items():
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", spanish[key])), key


def test_no_word_is_left_over():
    files = [file for file in SOURCE.rglob("*") if file.suffix in (".js", ".html") and file.parent.name != "words"]
    used = "".join(file.read_text() for file in files)
    put_together = re.compile(r"^(stage|backend|waits|device)_|_(one|other)$")
    words = re.findall(r"^  (\w+):", (SOURCE / "words" / "en.js").read_text(), flags=re.M)
    assert len(words) > 100
    assert [word for word in words if not put_together.search(word) and f'"{word}"' not in used] == []


def test_the_page_speaks_the_browsers_language(browser: Browser, host: Host, cases: Path):
    with visiting(browser, host, cases, "kinds.html", "plain+404~pyodide.js", locale="es-MX") as visitor:
        expect(visitor.page.locator("html")).to_have_attribute("lang", "es")
        expect(visitor.view.root.locator(".run")).to_have_text("Ejecutar")
        expect(visitor.page.locator("h1")).to_have_text("Kinds")


@pytest.mark.parametrize(
    ("conditions", "sentence"),
    [("csp-noeval", "Content-Security-Policy forbids WebAssembly"), ("nowasm", "no WebAssembly")],
)
def test_where_webassembly_cannot_run_a_sentence_stands_in_the_place_of_the_form(
    browser: Browser, host: Host, cases: Path, conditions: str, sentence: str
):
    host.sites["visited"] = cases
    context = browser.new_context(service_workers="block")
    try:
        page = context.new_page()
        if conditions == "nowasm":
            page.add_init_script("delete globalThis.WebAssembly;")
        with host.watched() as asked:
            page.goto(host.url(conditions, "visited", "kinds.html"))
            expect(page.get_by_role("alert")).to_contain_text(sentence)
        assert not [path for path in asked if path.endswith((".wasm", ".whl", "worker.js"))]
    finally:
        context.close()


def test_the_gallery_shows_a_card_an_app_with_what_it_weighs(browser: Browser, host: Host, cases: Path):
    site = json.loads((cases / "site.json").read_text())
    with visiting(browser, host, cases, "", "plain", viewport={"width": 390, "height": 844}) as visitor:
        cards = visitor.page.locator(".gallery-card")
        expect(cards.locator("h2")).to_have_text([app["title"] for app in site["apps"]])
        expect(cards.first).to_contain_text(re.compile(r"\d MB for the first visit"))
        assert visitor.page.evaluate(CONTRAST) == []
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
        visitor.page.get_by_role("link", name="Kinds").click()
        expect(visitor.page.locator("h1")).to_have_text("Kinds")
        visitor.page.get_by_role("link", name="All demos").click()
        expect(cards.first).to_be_visible()
        assert visitor.complaints == []
