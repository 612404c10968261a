"""Camera and microphone, with Chromium's fake devices."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Playwright, expect

from tests.browser.server import Host
from tests.browser.visitor import visiting


def test_a_photograph_and_a_recording_reach_python(
    playwright: Playwright, browser_type_launch_args: dict[str, Any], host: Host, cases: Path
):
    fake = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
    args = {**browser_type_launch_args, "args": [*browser_type_launch_args["args"], *fake]}
    browser = playwright.chromium.launch(**args)
    try:
        with visiting(browser, host, cases, "kinds.html") as visitor:
            visitor.wait_ready()
            view = visitor.tab("Files")
            view.root.get_by_role("button", name="Record", exact=True).click()
            stop = view.root.get_by_role("button", name="Stop recording (")
            expect(stop).to_contain_text("1", timeout=10_000)  # a second has passed
            stop.click()
            expect(view.field("sound").locator("audio")).to_be_visible()
            expect(view.run().locator(".output-audio")).to_contain_text("1 channel")

            view = visitor.tab("Picture")
            view.root.get_by_role("button", name="Camera").click()
            video = view.root.locator("video")
            video.evaluate("async video => { while (!video.videoWidth) await new Promise(requestAnimationFrame); }")
            view.root.get_by_role("button", name="Take the picture").click()
            expect(video).to_be_hidden()
            expect(view.wait().locator(".output-image canvas")).to_be_visible()
            assert visitor.complaints == []
    finally:
        browser.close()
