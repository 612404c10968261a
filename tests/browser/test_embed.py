"""Apps in pages of somebody else's: two elements and JavaScript callers, one runtime."""

import base64
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.driver import until
from tests.browser.server import Host, serving
from tests.browser.visitor import LOAD_MS

PAGES = Path(__file__).parent / "embedding"
RUNTIME = (".wasm", ".pack", ".heap", ".zip", ".whl", ".onnx", ".min.js", "worker.js", "site.json")


@contextmanager
def page_of(browser: Browser, **options: Any) -> Iterator[tuple[Page, list[str]]]:
    """A page in a fresh profile, and what its console complains of."""
    context = browser.new_context(service_workers="block", **options)
    complaints: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    try:
        yield page, complaints
    finally:
        context.close()


@pytest.fixture
def embedding(host: Host, demo: Path) -> Callable[[str], str]:
    """The address of the embedding page under conditions of the host."""
    host.sites |= {"embedded": demo, "embedding": PAGES}
    return lambda conditions: host.url(conditions, "embedding", "index.html")


def example(site: Path, app: str, number: int) -> dict[str, Any]:
    apps = json.loads((site / "site.json").read_bytes())["apps"]
    return next(entry for entry in apps if entry["name"] == app)["examples"][number]


def assert_labels(got: list[dict[str, Any]], native: dict[str, Any]) -> None:
    assert [item["label"] for item in got] == [item["label"] for item in native["items"]]
    assert [item["score"] for item in got] == pytest.approx([item["score"] for item in native["items"]], abs=1e-5)


def test_two_elements_and_a_caller_share_one_worker_and_one_download_and_answer_as_native(
    browser: Browser, host: Host, demo: Path, embedding: Callable[[str], str]
):
    digits, filetype = (example(demo, name, 0) for name in ("digits", "filetype"))
    with page_of(browser) as (page, complaints), host.watched() as asked:
        page.goto(embedding("csp"))  # a policy without inline styles and eval
        for name in ("digits", "filetype"):
            element = page.locator(f"#{name}")
            expect(element.locator(".embed-status")).to_have_attribute("data-state", "ready", timeout=LOAD_MS)
            element.locator(".example").first.click()
            expect(element.locator(".outputs")).to_be_attached(timeout=LOAD_MS)
        buffer = base64.b64encode((demo / digits["buffers"][0]).read_bytes()).decode() if digits["buffers"] else ""
        labels = page.evaluate(
            """async ({strokes, buffer}) => {
              const app = await load("digits");
              const bytes = Uint8Array.from(atob(buffer), (c) => c.charCodeAt(0));
              const given = strokes ?? new File([bytes], "drawing.png", { type: "image/png" });
              const both = [await app.classify(given), await app.classify({ drawing: given })];
              app.close(); // the element goes on
              return [...both, await document.querySelector("#digits").app.classify(given)];
            }""",
            {"strokes": digits["inputs"][0] if not buffer else None, "buffer": buffer},
        )
        assert len(page.workers) == 1
        heard = page.evaluate("heard")
        results = {name: detail for name, event, detail in heard if event == "result"}
    for each in (*labels, results["digits"]["results"][0]):
        assert_labels(each, digits["outputs"][0])
    assert results["filetype"]["function"] == filetype["function"]
    assert results["filetype"]["results"][0] == filetype["outputs"][0]["text"]
    assert_labels(results["filetype"]["results"][1], filetype["outputs"][1])
    assert sorted(name for name, event, _ in heard if event == "ready") == ["digits", "filetype"]
    assert complaints == []
    runtime = [path for path in asked if path.endswith(RUNTIME)]
    assert len(runtime) > 5
    assert sorted(runtime) == sorted(set(runtime))


def test_no_style_passes_between_page_and_app_and_the_theme_is_the_pages(
    browser: Browser, embedding: Callable[[str], str]
):
    with page_of(browser, color_scheme="dark") as (page, complaints):
        page.goto(embedding("plain"))
        title, run = page.locator("#digits .embed-title"), page.locator("#digits .run")
        expect(title).to_be_visible()
        expect(title).to_have_css("text-align", "start")
        expect(title).to_have_css("letter-spacing", re.compile(r"^-"))
        expect(title).to_have_css("text-transform", "none")
        expect(run).to_have_css("background-color", "rgb(11, 95, 74)")  # a light page, whatever the system prefers
        expect(page.locator("body > button")).to_have_css("border-top-color", "rgb(220, 20, 60)")
        page.locator("html").evaluate("html => html.classList.add('dark')")
        expect(run).to_have_css("background-color", "rgb(111, 220, 182)")
        page.locator("#digits").evaluate("element => element.setAttribute('theme', 'light')")
        expect(run).to_have_css("background-color", "rgb(11, 95, 74)")
        assert complaints == []


def test_an_element_works_by_keyboard_and_tells_its_page_of_answers_and_errors(
    browser: Browser, host: Host, cases: Path
):
    host.sites["embedded"] = cases
    with page_of(browser, viewport={"width": 390, "height": 800}) as (page, complaints):
        page.goto(host.url("plain", "embedded", "__blank__"))
        page.evaluate(
            """async () => {
              await import(new URL("onnxlet.js", location.href));
              const made = ["kinds.html", "kinds.html"].map((src) => {
                const element = document.createElement("onnxlet-app");
                element.setAttribute("src", src);
                return element;
              });
              const [kinds, lazy] = made;
              lazy.setAttribute("loading", "lazy");
              lazy.setAttribute("function", "words");
              lazy.style.cssText = "display: block; margin-top: 3000px";
              globalThis.heard = [];
              kinds.addEventListener("error", ({ detail }) => heard.push([detail.name, detail.message]));
              kinds.addEventListener("result", ({ detail }) => heard.push([detail.function, ...detail.results]));
              document.body.append(...made);
            }"""
        )
        kinds, lazy = (page.locator("onnxlet-app").nth(i) for i in (0, 1))
        kinds.get_by_role("tab", name="Sketch").focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        expect(kinds.get_by_role("tab", name="Words")).to_be_focused()
        view = kinds.locator(".view:not([hidden])")
        view.locator(".run").focus()
        page.keyboard.press("Enter")
        expect(view.locator(".field-error")).to_have_text("“Text” is still empty.")
        expect(view.get_by_label("Text")).to_be_focused()
        page.keyboard.type("typed")
        view.locator(".run").focus()
        page.keyboard.press("Enter")
        expect(view.locator(".outputs")).to_contain_text("typed", timeout=LOAD_MS)
        kinds.get_by_role("tab", name="Fail").click()
        view.get_by_label("Text").fill("that")
        view.locator(".run").click()
        expect(view.locator(".error-message")).to_have_text("no use for that")
        assert page.evaluate("heard") == [["words", "typed"], ["ValueError", "no use for that"]]
        page.evaluate(
            """async () => { // an element that is moved goes on as it was
              const place = document.createElement("div");
              document.body.prepend(place);
              place.append(document.querySelector("onnxlet-app"));
              await new Promise((resolve) => setTimeout(resolve, 500));
            }"""
        )
        expect(view.get_by_label("Text")).to_have_value("that")
        expect(view.locator(".error-message")).to_have_text("no use for that")
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390
        assert lazy.evaluate("element => element.shadowRoot") is None
        lazy.scroll_into_view_if_needed()
        expect(lazy.locator(".view")).to_have_count(1)
        expect(lazy.locator(".embed-status")).to_have_attribute("data-state", "ready")
        assert len(page.workers) == 1
        page.evaluate("document.querySelectorAll('onnxlet-app').forEach((element) => element.remove())")
        until(page, lambda: not page.workers)
        assert complaints == []


def test_an_app_that_cannot_start_says_so_and_leaves_the_other_alone(
    browser: Browser, host: Host, demo: Path, embedding: Callable[[str], str]
):
    native = example(demo, "digits", 0)["outputs"][0]
    with page_of(browser) as (page, _):
        page.goto(embedding("plain+404~app.filetype"))
        error = page.locator("#filetype .error-message")
        expect(error).to_contain_text("the host answered 404", timeout=LOAD_MS)
        expect(page.locator("#digits .embed-status")).to_have_attribute("data-state", "ready", timeout=LOAD_MS)
        page.locator("#digits .example").first.click()
        expect(page.locator("#digits .headline strong")).to_have_text(native["items"][0]["label"])
        failed = page.evaluate("load('filetype').catch((error) => [error.name, error.message])")
        assert failed[0] == "AssetError"
        assert re.search(r"app\.filetype.*the host answered 404.*upload the whole folder", failed[1])
        assert len(page.workers) == 1
        assert ["filetype", "error", failed[1]] in page.evaluate("heard")


def test_a_wrong_address_is_a_sentence(browser: Browser, host: Host, embedding: Callable[[str], str]):
    with page_of(browser) as (page, _):
        page.goto(embedding("plain"))
        faults = page.evaluate(
            """async () => {
              const wrong = ["nobody", "../embedding/x.html", "../embedded/", "../embedded", "../embedded/index.html"];
              const told = (address) => load(address).then(() => "nothing", ({ name, message }) => [name, message]);
              return Promise.all(wrong.map(told));
            }"""
        )
        assert {name for name, _ in faults} == {"StartError"}
        assert faults[0][1].endswith('this site has no app "nobody"; it has "digits", "filetype"')
        assert re.search(r"embedding/x\.html: there is no site\.json beside it", faults[1][1])
        for _, message in faults[2:]:
            assert message.endswith('this site has several apps; name one: "digits", "filetype"')
        page.locator("#digits").evaluate("element => element.setAttribute('function', 'guess')")
        expect(page.locator("#digits [role=alert]")).to_have_text('digits has no function "guess"; it has classify')
        page.locator("#digits").evaluate("element => element.setAttribute('src', '/nowhere/')")
        expect(page.locator("#digits [role=alert]")).to_contain_text("/nowhere/: there is no site.json beside it")


def test_a_stopped_run_and_an_error_of_one_app_leave_the_other_to_answer(browser: Browser, host: Host, cases: Path):
    host.sites["embedded"] = cases
    with page_of(browser) as (page, _):
        page.goto(host.url("plain", "embedded", "__blank__"))
        told = page.evaluate(
            """async () => {
              const { load } = await import(new URL("onnxlet.js", location.href));
              const [kinds, waiting] = await Promise.all([load("kinds"), load("waiting")]);
              const told = {};
              told.error = await kinds.fail("it").catch(({ name, message, cause }) => ({ name, message, cause }));
              const x = { data: Float32Array.of(1, 2, 3), shape: [1, 3] };
              told.after = Array.from((await waiting.increment(x)).data);
              const giveUp = new AbortController();
              const slow = kinds.call("slow", [60], { signal: giveUp.signal });
              const behind = waiting.increment(x); // waits behind the run that is stopped
              setTimeout(() => giveUp.abort(), 1500);
              told.aborted = await slow.catch(({ name }) => name);
              told.behind = Array.from((await behind).data);
              told.words = await kinds.words("still there");
              told.stream = [];
              for await (const part of waiting.stream("increments", [x])) told.stream.push(Array.from(part.data));
              const again = await load("kinds"); // the same app through another object
              const brief = new AbortController();
              const left = kinds.call("slow", [2], { signal: brief.signal });
              const waits = again.words("still waits");
              setTimeout(() => brief.abort(), 500);
              told.left = await left.catch(({ name }) => name);
              told.waits = await waits;
              told.once = [];
              for await (const part of kinds.stream("words", ["once"])) told.once.push(part);
              return told;
            }"""
        )
        assert len(page.workers) == 1
    assert told["error"]["name"] == "ValueError"
    assert told["error"]["message"] == "no use for it"
    assert "in fail\n" in told["error"]["cause"]
    assert told["after"] == told["behind"] == [2, 3, 4]
    assert told["aborted"] == "AbortError"
    assert told["words"] == "still there"
    assert (told["left"], told["waits"]) == ("AbortError", "still waits")
    assert told["stream"] == [[2, 3, 4], [3, 4, 5]]
    assert told["once"] == ["once"]


def test_values_of_javascript_become_pythons_and_come_back(browser: Browser, host: Host, cases: Path):
    host.sites["embedded"] = cases
    pixels = np.random.default_rng(0).integers(0, 256, (5, 8, 4), np.uint8)
    pixels[..., 3] = 255
    stream = io.BytesIO()
    PIL.Image.fromarray(pixels).save(stream, "PNG")
    with page_of(browser) as (page, complaints):
        page.goto(host.url("plain", "embedded", "__blank__"))
        told = page.evaluate(
            """async (png) => {
              const { load } = await import(new URL("onnxlet.js", location.href));
              const kinds = await load("kinds.html");
              const bytes = Uint8Array.from(atob(png), (c) => c.charCodeAt(0));
              const told = {};
              const image = new Image();
              image.src = URL.createObjectURL(new Blob([bytes]));
              await image.decode();
              const canvas = document.createElement("canvas");
              [canvas.width, canvas.height] = [image.width, image.height];
              canvas.getContext("2d").drawImage(image, 0, 0);
              const data = canvas.getContext("2d").getImageData(0, 0, 8, 5);
              const bitmap = await createImageBitmap(image);
              const given = [bytes, bytes.buffer, new File([bytes], "a.png"), image, canvas, data, bitmap];
              told.pictures = [];
              for (const one of given) {
                const [flipped, boxes, mask] = await kinds.picture(one);
                const again = await kinds.picture(flipped);
                const parts = { flipped: [...flipped.data], again: [...again[0].data], mask: [...mask.data] };
                told.pictures.push({ ...parts, boxes });
                told.png = [(await mask.toBlob()).type, mask.toImageData().data.length];
              }
              told.named = await kinds.entries({ line: "a", whole: 7n, share: "0.25", sure: 1, size: "large" });
              told.placed = await kinds.entries("b", undefined, 4);
              told.digits = (await kinds.entries({ line: "no. 12345678901234567, \\"so\\"" })).line;
              const sound = { samples: [Float32Array.of(0, 0.5, -0.5), Float32Array.of(1, 0, -1)], sampleRate: 8000 };
              const rows = [{ name: "x", n: 1 }, { name: "y, z", n: 2.5 }];
              const tensor = { data: BigInt64Array.of(1n, -2n), shape: [2, 1] };
              const [file, heard, table, array] = await kinds.files(new Blob(["abc"]), sound, rows, tensor);
              told.files = [file, heard.sampleRate, heard.channels.map((c) => [...c]), [...heard.samples], table,
                array.dtype, array.shape, [...array.data].map(String)];
              told.nothing = (await kinds.files(null, sound, rows, tensor))[0];
              told.wrong = await kinds.entries({ line: "a", whole: "many" }).catch(({ message }) => message);
              told.more = await kinds.words("a", "b").catch(({ message }) => message);
              told.python = await kinds.entries().catch(({ name, message }) => [name, message]);
              return told;
            }""",
            base64.b64encode(stream.getvalue()).decode(),
        )
        assert complaints == []
    grey = np.asarray(PIL.Image.fromarray(pixels).convert("RGB").convert("L"))
    for shown in told["pictures"]:
        assert shown["flipped"] == pixels[:, ::-1].ravel().tolist()
        assert shown["again"] == pixels.ravel().tolist()
        assert shown["boxes"] == [{"label": "left half", "score": 0.75, "box": [0, 0, 4, 5]}]
        assert shown["mask"] == np.where(grey > 127, 255, 0).ravel().tolist()
    assert told["png"] == ["image/png", 160]
    rest = {"note": "", "sure": True, "colour": "blue"}
    assert told["named"] == {**rest, "line": "a", "whole": 7, "share": 0.25, "size": "large"}
    assert told["placed"] == {**rest, "line": "b", "whole": 4, "share": 0.5, "size": "medium", "sure": False}
    assert told["digits"] == 'no. 12345678901234567, "so"'
    assert told["nothing"] is None
    assert told["files"] == [
        {"name": "", "bytes": 3},
        8000,
        [[0, 0.5, -0.5], [1, 0, -1]],
        [0, 0.5, -0.5],
        {"columns": ["name", "n"], "rows": [["x", "1"], ["y, z", "2.5"]]},
        "int64",
        [2, 1],
        ["1", "-2"],
    ]
    assert told["wrong"] == 'entries: "whole": expected a number, got String'
    assert told["more"] == "words: expected at most 1 values (text), got 2"
    assert told["python"][0] == "InvalidInput"


def test_a_site_of_another_origin_runs_where_it_allows_it_and_says_so_where_not(
    browser: Browser, host: Host, demo: Path
):
    native = example(demo, "digits", 0)["outputs"][0]
    with serving({"demo": demo}) as other, page_of(browser) as (page, _):
        host.sites["embedded"] = demo
        page.goto(host.url("plain", "embedded", "__blank__"))
        page.evaluate("url => import(url).then(() => {})", other.url("iso+cors", "demo", "onnxlet.js"))
        page.evaluate(
            """src => {
              const element = Object.assign(document.createElement("onnxlet-app"), { id: "digits" });
              element.setAttribute("src", src);
              document.body.append(element);
            }""",
            other.url("iso+cors", "demo", "digits.html"),
        )
        expect(page.locator("#digits .embed-status")).to_have_text("Running on WASM, 1 thread", timeout=LOAD_MS)
        expect(page.locator("#digits .run")).to_have_css("background-color", "rgb(11, 95, 74)")
        page.locator("#digits .example").first.click()
        expect(page.locator("#digits .headline strong")).to_have_text(native["items"][0]["label"])
        refused = page.evaluate(
            "([entry, url]) => import(entry).then(({ load }) => load(url)).catch(({ message }) => message)",
            [other.url("iso+cors", "demo", "onnxlet.js"), other.url("plain", "demo", "digits.html")],
        )
        assert "has to send Access-Control-Allow-Origin" in refused
