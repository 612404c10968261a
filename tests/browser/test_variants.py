"""A page with several variants of its model: each device loads its own, shows it, and can verify it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from onnxlet_build.paths import WEB
from onnxlet_build.variants import ORIGINAL
from tests.browser.driver import Visit
from tests.browser.proving import build_with, damaged, proven_network
from tests.browser.server import Host
from tests.browser.test_page_look import CONTRAST, NAMELESS, SMALL_TARGETS
from tests.browser.visitor import LOAD_MS, Visitor, visiting

DEVICES = """async (module) => {
  const { variantFor } = await import(module);
  const variants = ["a", "b", "c"].map((name) => ({ name, backends: ["wasm", "webgpu"] }));
  const names = (choice) => [["wasm"], ["webgpu"], ["webgpu", true], ["python"]].map(
    (device) => variantFor({ choice, variants }, ...device)?.name ?? null);
  return [names({ wasm: 0, webgpu: 1, "webgpu-f16": 2 }), names({ wasm: 2, webgpu: 1 }), names({}), names(undefined)];
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """WebAssembly loads the int8 variant, WebGPU and Python the original."""
    with pytest.MonkeyPatch.context() as patch:
        yield build_with(proven_network(), tmp_path_factory.mktemp("variants") / "dist", patch)


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same, but the int8 variant was damaged after it had been proven."""
    folder = tmp_path_factory.mktemp("wrong")
    with pytest.MonkeyPatch.context() as patch:
        found = proven_network()
        yield build_with(found, folder / "dist", patch, int8=damaged(found.path("int8"), folder / "damaged.onnx"))


@pytest.fixture(scope="module")
def verified(browser: Browser, host: Host, site: Path) -> Iterator[Visitor]:
    """The page on WebAssembly after its visitor has verified it."""
    with visiting(browser, host, site, "index.html", locale="en-GB") as visitor:
        verify(visitor)
        expect(visitor.page.locator(".inside-verification")).to_be_visible(timeout=LOAD_MS)
        yield visitor
        assert visitor.complaints == []


def verify(visitor: Visitor) -> None:
    """Press the button that is inside the panel."""
    panel(visitor)
    visitor.page.get_by_text("Inside the model").click()
    visitor.page.get_by_role("button", name="Verify on this device").click()


def panel(visitor: Visitor) -> Locator:
    visitor.wait_ready()
    if visitor.page.locator("#panel").is_hidden():
        visitor.page.locator("#status").click()
    return visitor.page.locator("#panel")


def runs_on(page: Page, backend: str) -> None:
    expect(page.locator("#panel")).to_contain_text(f"Running on {backend}", timeout=LOAD_MS)


@pytest.mark.parametrize(("backend", "variant"), [("wasm", "int8"), ("webgpu", ORIGINAL), ("python", ORIGINAL)])
def test_each_device_loads_the_file_that_was_chosen_for_it_and_no_other(
    visit: Callable[..., Visit], site: Path, backend: str, variant: str
):
    visitor = visit(site)
    with visitor.host.watched() as requests:
        ready = visitor.start("mlp", backend)
    assert (ready.get("backend"), ready["variant"]["name"]) == (backend, variant), ready
    (model,) = visitor.site["models"].values()
    (chosen,) = [one for one in model["variants"] if one["name"] == variant]
    assert [path for path in requests if path.endswith(".onnx")] == [f"/iso/{visitor.mount}/{chosen['parts'][0]}"]
    assert not any(path.endswith(".npz") for path in requests), "references wait until somebody asks"


def test_a_class_without_a_choice_has_no_file_and_a_site_without_choices_takes_the_first(verified: Visitor, host: Host):
    host.sites["modules"] = WEB
    assert verified.page.evaluate(DEVICES, host.url("plain", "modules", "variants.js")) == [
        ["a", "b", "c", None],
        ["c", "b", "b", None],
        ["a", "a", "a", None],
        ["a", "a", "a", None],
    ]


def test_the_page_says_which_file_runs_and_how_near_to_the_original_it_is(verified: Visitor):
    shown = panel(verified)
    expect(shown.locator(".facts").first).to_contain_text("int8, 2")
    expect(shown.locator(".facts").first).to_contain_text("dB from the original, same best class in 100%")


def test_a_right_device_is_told_so_with_both_figures(verified: Visitor):
    found = verified.page.locator(".inside-verification")
    expect(found.locator(".verdict")).to_have_text("WASM on this device answers as it did when the page was built.")
    rows = [row.split("\t") for row in found.locator("tbody tr").all_inner_texts()]
    snr, top1, _, samples = rows
    here, build = (float(cell.removesuffix(" dB")) for cell in snr[1:])
    assert abs(here - build) < 10
    assert top1 == ["Same best class", "100.0%", "100.0%"]
    assert samples[1] == "3"
    expect(verified.page.locator(".untrusted")).to_have_count(0)


def test_verifying_leaves_the_other_buttons_as_they_were(verified: Visitor):
    expect(verified.page.get_by_role("button", name="Time the nodes")).to_be_disabled()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_verification_is_legible_and_fits(verified: Visitor, scheme: str, width: int):
    page = verified.page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_timeout(300)  # transitions
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(SMALL_TARGETS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_backend_that_answers_wrong_is_left_for_the_next_and_comes_back_when_the_visitor_says(
    browser: Browser, host: Host, wrong: Path
):
    with visiting(browser, host, wrong, "index.html", locale="en-GB") as visitor:
        page = visitor.page
        panel(visitor)
        runs_on(page, "WASM")
        verify(visitor)
        expect(page.locator(".notice")).to_contain_text("WASM answers wrong on this device", timeout=LOAD_MS)
        runs_on(page, "Python")
        expect(page.locator("#panel")).to_contain_text("WebAssembly answered wrong on this device")
        expect(page.locator(".untrusted")).to_contain_text("dB, expected 3")

        page.reload()
        panel(visitor)
        runs_on(page, "Python")
        page.locator(".untrusted").get_by_role("button", name="Use WASM again").click()
        runs_on(page, "WASM")
        expect(page.locator(".untrusted")).to_have_count(0)
        assert visitor.complaints == []


def test_a_private_window_goes_on_with_the_next_backend_too(browser: Browser, host: Host, wrong: Path):
    with visiting(browser, host, wrong, "index.html", "iso+nolocal", locale="en-GB") as visitor:
        verify(visitor)
        expect(visitor.page.locator(".notice")).to_contain_text("WASM answers wrong on this device", timeout=LOAD_MS)
        runs_on(visitor.page, "Python")
        assert visitor.complaints == []
