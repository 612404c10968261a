"""Live input, with Chromium's fake devices: frames are dropped, sound is not, and nothing goes on unseen."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Playwright, expect

from tests.browser.conftest import ROOT
from tests.browser.driver import until
from tests.browser.server import Host
from tests.browser.visitor import View, Visitor, visiting

# What the page was given: every device that it opened, and every block of sound that it heard.
WITNESS = """{
  globalThis.tracks = [];
  globalThis.blocks = [];
  const open = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async (constraints) => {
    const stream = await open(constraints);
    tracks.push(...stream.getTracks());
    return stream;
  };
  globalThis.AudioWorkletNode = class extends AudioWorkletNode {
    constructor(...args) {
      super(...args);
      globalThis.tap = this.port;
      this.port.addEventListener("message", ({ data }) => blocks.push(data));
    }
  };
  globalThis.hide = (hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  };
}"""
OPEN = "tracks.filter(({ readyState }) => readyState === 'live').length"
# SHA-256 of so many samples as the page heard them
HEARD = """async (samples) => {
  const all = new Float32Array(await new Blob(blocks).arrayBuffer()).slice(0, samples);
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", all));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}"""


VOICES = ROOT / "examples" / "voice" / "two-voices.wav"


@pytest.fixture(scope="module")
def devices(playwright: Playwright, browser_type_launch_args: dict[str, Any]) -> Iterator[Browser]:
    """A camera that shows a turning disc, and a microphone that hears two voices again and again."""
    fake = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    fake.append(f"--use-file-for-fake-audio-capture={VOICES}")
    args = {**browser_type_launch_args, "args": [*browser_type_launch_args["args"], *fake]}
    browser = playwright.chromium.launch(**args)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def visitor(devices: Browser, host: Host, cases: Path) -> Iterator[Visitor]:
    tall = {"width": 1280, "height": 2000}  # the panel on top does not push the view out of sight
    with visiting(devices, host, cases, "live.html", init=WITNESS, viewport=tall) as visitor:
        visitor.wait_ready()
        yield visitor
        assert visitor.complaints == []


def said(view: View) -> dict[str, Any]:
    """What the function last said of itself."""
    return json.loads(view.result.locator(".output-json pre").inner_text())


def begin(view: View, name: str) -> None:
    view.root.get_by_role("button", name=name).click()
    expect(view.root.locator(".live-meter")).to_have_text(re.compile(r"\d per second · .* each"))


def calls(view: View, more: int) -> int:
    """Wait for so many more calls. Returns: how many there were."""
    before = said(view)["calls"]
    until(view.root.page, lambda: said(view)["calls"] >= before + more)
    return said(view)["calls"] - before


def test_a_camera_is_asked_about_all_the_time_and_frames_are_dropped_where_the_function_is_slow(visitor: Visitor):
    view = visitor.tab("Camera")
    page = visitor.page
    begin(view, "Live camera")
    assert said(view)["size"] == [640, 480]
    assert page.evaluate(OPEN) == 1
    expect(view.root.locator(".run")).to_be_hidden()
    expect(view.root.locator(".stop")).to_be_focused()

    # memory settles: frames come and go
    visitor.page.locator("#status").click()
    figure = page.locator("#panel p.figure").last
    calls(view, 10)
    expect(figure).to_have_text(re.compile(r"\d MB"))
    before = figure.inner_text()
    calls(view, 100)
    assert figure.inner_text() == before
    visitor.page.locator("#status").click()

    # a change of another input counts from the next call on
    view.field("wait").locator("input[type=number]").fill("0.4")
    meter = view.root.locator(".live-meter")
    expect(meter).to_have_text(re.compile(r"^[12][.\d]* per second · \S+\s\S+ each · \d+ of \d+ frames skipped$"))
    start = page.evaluate(
        "document.querySelector('.viewfinder:not([hidden]) video').getVideoPlaybackQuality().totalVideoFrames"
    )
    asked = calls(view, 4)
    frames = (
        page.evaluate(
            "document.querySelector('.viewfinder:not([hidden]) video').getVideoPlaybackQuality().totalVideoFrames"
        )
        - start
    )
    assert frames > 2 * asked  # the rest was dropped, not queued: nothing comes after Stop
    view.root.locator(".stop").click()
    expect(view.root.locator(".result")).to_have_attribute("aria-busy", "false")
    after = said(view)["calls"]
    page.wait_for_timeout(1200)
    assert said(view)["calls"] == after
    assert page.evaluate(OPEN) == 0
    expect(view.root.locator(".run")).to_be_visible()
    expect(meter).to_be_empty()
    view.field("wait").locator("input[type=number]").fill("0")


def test_nothing_is_asked_while_nobody_looks_and_it_goes_on_afterwards(visitor: Visitor):
    view = visitor.tab("Camera")
    page = visitor.page
    begin(view, "Live camera")
    page.evaluate("hide(true)")
    expect(view.root.locator(".result")).to_have_attribute("aria-busy", "false")
    page.wait_for_timeout(300)  # the last answer is drawn
    seen = said(view)["calls"]
    page.wait_for_timeout(800)
    assert said(view)["calls"] == seen
    page.evaluate("hide(false)")
    calls(view, 3)

    # another tab of the page lets go of the device; coming back opens it again
    visitor.tab("Drawing")
    until(page, f"{OPEN} === 0")
    view = visitor.tab("Camera")
    until(page, f"{OPEN} === 1")
    calls(view, 3)

    # scrolled away
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<div id=far></div>')")
    page.evaluate("Object.assign(far.style, {height: '500vh'}); scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(500)
    seen = said(view)["calls"]
    page.wait_for_timeout(800)
    assert said(view)["calls"] == seen
    page.evaluate("far.remove(); scrollTo(0, 0)")
    calls(view, 3)
    view.root.locator(".stop").click()
    until(page, f"{OPEN} === 0")


@pytest.mark.parametrize(("tab", "button"), [("Camera", "Live camera"), ("Microphone", "Live microphone")])
def test_a_device_that_is_allowed_after_the_visitor_has_left_is_let_go(visitor: Visitor, tab: str, button: str):
    page = visitor.page
    page.evaluate(
        """() => {
          globalThis.devices = navigator.mediaDevices.getUserMedia;
          navigator.mediaDevices.getUserMedia = async (constraints) => {
            await new Promise((resolve) => (globalThis.allow = resolve));
            return devices(constraints);
          };
        }"""
    )
    before = page.evaluate("tracks.length")
    view = visitor.tab(tab)
    view.root.get_by_role("button", name=button).click()
    until(page, "typeof allow === 'function'")
    visitor.tab("Microphone" if tab == "Camera" else "Camera")
    page.evaluate("allow(); delete globalThis.allow; navigator.mediaDevices.getUserMedia = devices; 0")
    until(page, f"tracks.length > {before} && {OPEN} === 0")
    view = visitor.tab(tab)
    expect(view.root.get_by_role("button", name=button)).to_be_visible()


def test_a_failure_ends_it_and_lets_go_of_the_camera(visitor: Visitor):
    view = visitor.tab("Camera")
    begin(view, "Live camera")
    view.field("most").locator("input").fill("1")
    expect(view.error.locator(".error-message")).to_have_text(re.compile("expected at most 1 calls"))
    until(visitor.page, f"{OPEN} === 0")
    expect(view.root.get_by_role("button", name="Live camera")).to_be_visible()
    view.field("most").locator("input").fill("1000000")


def test_a_microphone_is_heard_sample_by_sample_also_by_a_function_that_lags(visitor: Visitor):
    view = visitor.tab("Microphone")
    page = visitor.page
    page.evaluate("blocks.length = 0")
    view.root.get_by_role("button", name="Live microphone").click()
    until(page, lambda: view.result.locator(".output-json").count() and said(view)["pieces"] >= 3)
    view.field("wait").locator("input[type=number]").fill("0.6")  # longer than a piece: pieces are joined
    last = said(view)["pieces"]
    until(page, lambda: said(view)["pieces"] >= last + 4)
    heard = said(view)
    assert heard["gapless"], heard
    assert heard["samples"] / heard["rate"] > 0.25 * heard["pieces"] * 1.2  # some pieces were longer
    assert page.evaluate("(n) => blocks.reduce((sum, block) => sum + block.length, 0) >= n", heard["samples"])
    assert heard["sha256"] == page.evaluate(HEARD, heard["samples"])
    view.root.locator(".stop").click()
    until(page, f"{OPEN} === 0")

    # a new recording begins at 0
    expect(view.root.locator(".result")).to_have_attribute("aria-busy", "false")
    view.root.get_by_role("button", name="Live microphone").click()
    until(page, lambda: said(view)["pieces"] < heard["pieces"])
    assert said(view)["gapless"]

    # 15 seconds at once are more than it will catch up with
    page.evaluate("for (let i = 0; i < 30; i += 1) tap.onmessage({ data: new Float32Array(24000) })")
    expect(view.root.locator(".live-meter")).to_have_text(re.compile(r"\d\ss of sound lost: the model is slower"))
    until(page, lambda: not said(view)["gapless"])
    view.root.locator(".stop").click()


def test_the_voice_example_hears_live_when_somebody_speaks(devices: Browser, host: Host, gallery: Path):
    with visiting(devices, host, gallery, "voice.html") as visitor:
        visitor.wait_ready()
        view = visitor.tab("Hear live")
        view.root.get_by_role("button", name="Live microphone").click()
        headline = view.result.locator(".headline strong")
        for truth in ("speech", "no speech", "speech"):
            expect(headline).to_have_text(truth)
        assert visitor.complaints == []


def test_a_drawing_is_answered_in_the_middle_of_a_stroke(visitor: Visitor):
    view = visitor.tab("Drawing")
    page = visitor.page
    box = view.root.locator("canvas.pad-canvas").bounding_box()
    assert box
    page.mouse.move(box["x"] + 30, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 90)
    headline = view.result.locator(".headline strong")
    expect(headline).to_have_text("left")
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + 90, steps=3)
    page.mouse.move(box["x"] + box["width"] - 60, box["y"] + 150, steps=3)
    page.mouse.move(box["x"] + box["width"] - 10, box["y"] + 200, steps=3)
    page.mouse.move(box["x"] + box["width"] - 60, box["y"] + 240, steps=3)
    expect(headline).to_have_text("right")
    assert view.root.evaluate("view => getComputedStyle(view.querySelector('.result-body')).opacity") == "1"
    page.mouse.up()
    expect(page.locator("#announce")).to_have_text(re.compile("^Result: right"))


def test_answers_to_frames_may_grow(visitor: Visitor):
    view = visitor.tab("Growing")
    view.root.get_by_role("button", name="Live camera").click()
    for step in (1, 0, 2):  # of other frames
        expect(view.result.locator(".prose")).to_have_text(f"step {step} of 640")
    view.root.locator(".stop").click()
    until(visitor.page, f"{OPEN} === 0")


@pytest.mark.parametrize(
    ("refusal", "says"),
    [
        ("NotAllowedError", "not allowed to use the camera. Allow it in the site settings"),
        ("NotFoundError", "No camera was found"),
    ],
)
def test_a_camera_that_cannot_be_had_is_a_sentence(devices: Browser, host: Host, cases: Path, refusal: str, says: str):
    refuse = f"navigator.mediaDevices.getUserMedia = async () => {{ throw new DOMException('no', '{refusal}'); }};"
    with visiting(devices, host, cases, "live.html", init=refuse) as visitor:
        view = visitor.view  # before the model has loaded
        view.root.get_by_role("button", name="Live camera").click()
        expect(view.field("frame").locator(".field-error")).to_contain_text(says)
        expect(view.root.get_by_role("button", name="Live camera")).to_be_visible()
        assert visitor.complaints == []
