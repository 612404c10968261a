"""Every kind of input reaches Python, and every kind of output is drawn: one page, with the real runtime behind it."""

import io
import json
import wave
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser.server import Host
from tests.browser.visitor import Visitor, visiting


@pytest.fixture(scope="module")
def visitor(browser: Browser, host: Host, cases: Path) -> Iterator[Visitor]:
    with visiting(browser, host, cases, "kinds.html") as visitor:
        visitor.wait_ready()
        yield visitor
        assert visitor.complaints == []


def stroke(visitor: Visitor, pad: Locator, *points: tuple[float, float]) -> None:
    """Draw with the mouse; points in fractions of the pad."""
    pad.scroll_into_view_if_needed()
    box = pad.bounding_box()
    assert box
    mouse = visitor.page.mouse
    for i, (x, y) in enumerate(points):
        mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=5)
        if i == 0:
            mouse.down()
    mouse.up()


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def wav(samples: np.ndarray, rate: int) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes((samples * 32767).astype("<i2").tobytes())
    return out.getvalue()


def test_a_drawing_runs_by_itself_and_can_be_undone_and_cleared(visitor: Visitor):
    view = visitor.tab("Sketch")
    pad = view.root.locator("canvas.pad-canvas")
    stroke(visitor, pad, (0.7, 0.2), (0.75, 0.8))
    expect(view.result.locator(".headline strong")).to_have_text("right", timeout=30_000)
    stroke(visitor, pad, (0.2, 0.1), (0.2, 0.9))
    stroke(visitor, pad, (0.3, 0.1), (0.3, 0.9))
    expect(view.result.locator(".headline strong")).to_have_text("left", timeout=30_000)
    view.root.get_by_role("button", name="Undo").click()
    view.root.get_by_role("button", name="Undo").click()
    expect(view.result.locator(".headline strong")).to_have_text("right", timeout=30_000)
    view.root.get_by_role("button", name="Clear").click()
    expect(view.result.locator(".empty")).to_be_visible()


def test_an_example_fills_the_pad_and_gives_the_native_answer(visitor: Visitor, cases: Path):
    view = visitor.tab("Sketch")
    view.root.get_by_role("button", name="Try the example left.png").click()
    site = json.loads((cases / "site.json").read_text())
    (app,) = (app for app in site["apps"] if app["name"] == "kinds")
    native = next(example for example in app["examples"] if example["function"] == "sketch")["outputs"][0]["items"][0]
    expect(view.result.locator(".headline strong")).to_have_text(native["label"], timeout=30_000)
    expect(view.result.locator(".bar.best .bar-score")).to_have_text(f"{native['score']:.0%}")
    thumbnail = view.root.locator(".example img")
    thumbnail.scroll_into_view_if_needed()
    assert thumbnail.evaluate("async image => (await image.decode(), image.naturalWidth)") == 56


def test_text_numbers_switches_and_choices_arrive_as_python_values(visitor: Visitor):
    view = visitor.tab("Entries")
    view.root.get_by_label("Line", exact=True).fill("one ☃ line")
    view.root.get_by_label("Note").fill("two\nlines")
    view.root.get_by_label("Whole", exact=True).fill("9007199254740993")
    view.root.get_by_label("Share").fill("0.25")
    assert view.field("share").locator("input[type=range]").input_value() == "0.25"
    view.root.get_by_role("switch", name="Sure").check()
    view.root.get_by_role("radio", name="large").check()
    view.root.get_by_label("Colour").select_option(label="white")
    shown = view.run().locator("pre").inner_text()
    assert json.loads(shown) == {
        "line": "one ☃ line",
        "note": "two\nlines",
        "whole": 9007199254740993,
        "share": 0.25,
        "sure": True,
        "size": "large",
        "colour": "white",
    }
    assert "9007199254740993" in shown


def test_a_required_field_left_empty_is_asked_for_and_focused(visitor: Visitor):
    view = visitor.tab("Entries")
    line = view.root.get_by_label("Line", exact=True)
    line.fill("")
    view.root.locator(".run").click()
    expect(view.field("line").locator(".field-error")).to_have_text("“Line” is still empty.")
    expect(line).to_be_focused()
    expect(line).to_have_attribute("aria-invalid", "true")
    line.fill("there")
    expect(view.field("line").locator(".field-error")).to_be_hidden()


def test_files_of_every_kind_are_previewed_and_arrive(visitor: Visitor):
    view = visitor.tab("Files")
    tone = np.sin(np.arange(8000) / 5)
    view.field("anything").locator("input[type=file]").set_input_files(
        {"name": "naïve.bin", "mimeType": "application/octet-stream", "buffer": b"\0\1\2"}
    )
    view.field("sound").locator("input[type=file]").set_input_files(
        {"name": "tone.wav", "mimeType": "audio/wav", "buffer": wav(tone, 8000)}
    )
    view.field("rows").locator("textarea").fill('name\tvalue\n"a"\t1,5\nb\t2')
    view.field("tensor").locator("input[type=file]").set_input_files(
        {"name": "x.npy", "mimeType": "", "buffer": npy(np.array([[1, np.nan], [3, 4]], np.float32))}
    )
    expect(view.field("anything")).to_contain_text("naïve.bin, 3 bytes")
    expect(view.field("tensor")).to_contain_text("<f4 [2, 2]")
    expect(view.field("rows").locator("th")).to_have_text(["name", "value"])
    result = view.run()
    assert json.loads(result.locator(".output-json pre").inner_text()) == {"name": "naïve.bin", "bytes": 3}
    expect(result.locator(".output-audio")).to_contain_text("1 s, 8,000 Hz, 1 channel")
    length = """async (audio) => {
      while (audio.readyState < 1) await new Promise(requestAnimationFrame);
      return audio.duration;
    }"""
    assert result.locator("audio").evaluate(length) == pytest.approx(1.0)
    expect(result.locator(".output-table td")).to_have_text(["a", "1,5", "b", "2"])
    expect(result.locator(".output-tensor .facts")).to_contain_text("2 × 2")
    expect(result.locator(".output-tensor .facts dd")).to_have_text(["float32", "2 × 2", "1", "2.6667", "4"])
    expect(result.locator(".output-tensor")).to_contain_text("1 not finite")


def test_a_file_over_the_limit_is_refused_with_both_sizes(visitor: Visitor):
    view = visitor.tab("Files")
    view.field("anything").locator("input[type=file]").set_input_files(
        {"name": "big.bin", "mimeType": "", "buffer": bytes(2000)}
    )
    error = view.field("anything").locator(".field-error")
    expect(error).to_have_text("big.bin has 2 kB; this field takes at most 1 kB.")


def test_a_picture_dropped_anywhere_and_one_pasted_both_run(visitor: Visitor):
    view = visitor.tab("Picture")
    give = """async (target, {name, kind}) => {
      const canvas = new OffscreenCanvas(40, 20);
      const pen = canvas.getContext("2d");
      pen.fillStyle = "#ff0000"; pen.fillRect(0, 0, 20, 20);
      pen.fillStyle = "#ffffff"; pen.fillRect(20, 0, 20, 20);
      const file = new File([await canvas.convertToBlob()], name, {type: "image/png"});
      const data = new DataTransfer();
      data.items.add(file);
      const shared = {bubbles: true, cancelable: true};
      const event = kind === "paste" ? new ClipboardEvent("paste", {...shared, clipboardData: data})
        : new DragEvent("drop", {...shared, dataTransfer: data});
      target.dispatchEvent(event);
    }"""
    visitor.page.locator("footer").evaluate(give, {"name": "dropped.png", "kind": "drop"})
    expect(view.field("picture")).to_contain_text("dropped.png")
    result = view.wait()
    pixel = "canvas => [...canvas.getContext('2d').getImageData(2, 2, 1, 1).data]"
    assert result.locator(".output-image canvas").evaluate(pixel) == [255, 255, 255, 255]  # mirrored: white comes first
    expect(result.locator(".output-boxes .legend")).to_have_text("left half 75%")
    rect = result.locator(".output-boxes rect")
    assert [rect.get_attribute(name) for name in ("x", "y", "width", "height")] == ["0", "0", "20", "20"]
    cover = result.locator(".output-mask canvas.cover")
    levels = "canvas => [2, 38].map((x) => canvas.getContext('2d').getImageData(x, 2, 1, 1).data[3])"
    assert cover.evaluate(levels) == [0, 255]
    result.get_by_label("Opacity").fill("0.2")
    assert cover.evaluate("canvas => getComputedStyle(canvas).opacity") == "0.2"

    visitor.page.locator("body").evaluate(give, {"name": "pasted.png", "kind": "paste"})
    expect(view.field("picture")).to_contain_text("pasted.png")
    with visitor.page.expect_download() as download:
        result.locator(".output-image").get_by_role("button", name="Download").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


def test_without_camera_and_microphone_the_fields_say_what_to_do(visitor: Visitor):
    view = visitor.tab("Picture")
    view.root.get_by_role("button", name="Camera").click()
    expect(view.field("picture").locator(".field-error")).to_contain_text("camera")
    view = visitor.tab("Files")
    view.root.get_by_role("button", name="Record", exact=True).click()
    expect(view.field("sound").locator(".field-error")).to_contain_text("microphone")


def test_an_apps_text_stays_text_and_its_traceback_is_behind_a_fold(visitor: Visitor):
    evil = "</script><img src=x onerror=alert(1)>\u2028'\"&"
    view = visitor.tab("Words")
    view.root.get_by_label("Text").fill(evil)
    assert view.run().locator(".prose").text_content() == evil
    view = visitor.tab("Fail")
    view.root.get_by_label("Text").fill(evil)
    view.run()
    expect(view.error.locator(".error-message")).to_contain_text("no use for </script><img")
    expect(view.error.locator("pre")).to_be_hidden()
    view.error.get_by_text("Python traceback").click()
    expect(view.error.locator("pre")).to_contain_text("ValueError")
    assert visitor.page.locator("main script, main img[src=x]").count() == 0
