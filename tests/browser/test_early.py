"""What the page begins before its code has come (early.js): used once, checked as ever, and never in the way."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import Visit
from tests.browser.server import BINARY

Visiting = Callable[..., Visit]

FAULTS = [
    ("nojspi+html~numpy.pack", "an HTML page instead"),
    ("404~pyodide.asm.wasm", "the host answered 404"),
    ("flip~pyodide.asm.wasm", "other contents than site.json says"),
    ("short~ort-wasm-simd-threaded.wasm", r"got \d+ of \d+ bytes"),
    ("flip~ort-wasm-simd-threaded.wasm", "other contents than site.json says"),
    ("empty~.onnx", "is empty on the host"),
    ("html~site.", r"site\.\w+\.json|not valid JSON"),
    ("404~worker.js", r"worker\.js: the host answered 404"),
    ("404~pyodide.asm.js", "the host answered 404"),
]
WORKS = [
    "plain+nocache",
    "plain+nocache+mime-octet",
    "plain+nocache+mime-text",
    "plain+nocache+nostreaming",
    "iso+csp+nocache",
    "iso+nojspi+nocache",
    "plain+nojspi+nocache",
]


def classified(page: Page) -> str:
    """The best class of the first example, through the form."""
    page.locator(".examples button").first.click()
    shown = page.locator(".view:not([hidden]) .result-body .outputs")
    expect(shown).to_be_attached(timeout=60_000)
    return shown.inner_text().split()[0]


@pytest.mark.parametrize("conditions", WORKS)
def test_what_the_page_began_is_fetched_once_and_answers(visit: Visiting, demo: Path, conditions: str):
    visitor = visit(demo, conditions)
    with visitor.host.watched() as asked:
        page = visitor.open("digits.html")
        answer = classified(page)
    assert re.fullmatch(r"\d", answer)
    times = Counter(path.rsplit("/", 1)[1] for path in asked if path.endswith((*BINARY, "worker.js", ".json", ".py")))
    if conditions.startswith("plain+nojspi"):  # Python computes alone there, and asks for the model again
        times = Counter({name: n for name, n in times.items() if not name.endswith(".onnx")})
    assert max(times.values()) == 1, times
    assert page.evaluate("document.documentElement.dataset.answer") in ("direct", "python")
    stages = page.evaluate("performance.getEntriesByType('mark').map(({ name }) => name)")
    assert {f"onnxlet:{stage}" for stage in ("page", "form", "client", "ready", "answer")} <= set(stages)


@pytest.mark.parametrize("backend", ["webgpu", "python"])
def test_another_backend_than_the_likely_one_starts_from_the_address_and_from_the_panel(
    visit: Visiting, demo: Path, backend: str
):
    visitor = visit(demo, "iso+nocache")
    with visitor.host.watched() as asked:
        page = visitor.open(f"digits.html?backend={backend}")
    assert not [path for path in asked if path.endswith("ort-wasm-simd-threaded.wasm")]
    assert re.fullmatch(r"\d", classified(page))
    page.locator("#status").click()
    page.locator(".segment:has([value=wasm])").click()
    expect(page.locator("#panel")).to_contain_text("Running on WASM", timeout=60_000)
    assert re.fullmatch(r"\d", classified(page))


@pytest.mark.parametrize(("fault", "says"), FAULTS)
def test_a_wrong_file_that_the_page_began_ends_with_its_name(visit: Visiting, demo: Path, fault: str, says: str):
    visitor = visit(demo, f"plain+{fault}")
    visitor.page.goto(visitor.url("digits.html"))
    alert = visitor.page.locator(".error, [role=alert]").first
    expect(alert).to_contain_text(re.compile(says), timeout=60_000)


def test_what_breaks_off_once_heals(visit: Visiting, demo: Path):
    once = "+".join(f"drop-once~{part}" for part in (".wasm", ".heap", ".onnx", "pyodide.asm.js"))
    visitor = visit(demo, f"plain+{once}")
    assert re.fullmatch(r"\d", classified(visitor.open("digits.html")))


def test_a_stop_before_the_start_is_over_starts_again(visit: Visiting, demo: Path):
    visitor = visit(demo, "plain")
    page = visitor.page
    page.goto(visitor.url("digits.html"))
    page.locator("html[data-form]").wait_for(state="attached")
    page.locator("#status").click()
    page.locator(".segment:has([value=python])").click()
    visitor.when_ready()
    assert re.fullmatch(r"\d", classified(page))
