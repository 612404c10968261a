"""Static hosts as they are: wrong MIME types, cut downloads, sub-paths, policies (rows H01, H04, H07, H08)."""

import io
import json
import re
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from onnxlet_build.paths import WEB
from tests.browser.driver import increments

GOOD_HOSTS = ["csp", "iso+csp+corp-missing", "mime-octet", "mime-text+slow", "206+304-once~.onnx"]


@pytest.mark.parametrize("conditions", GOOD_HOSTS)
def test_the_app_works_on_a_host_that_is(visit, cases, conditions):
    visitor = visit(cases, conditions)
    ready = visitor.start("waiting")
    assert "error" not in ready, ready
    assert increments(visitor)


def test_downloads_that_break_off_once_heal(visit, cases, host):
    visitor = visit(cases, "plain+drop-once+drop-once~pyodide.asm.js+drop-once~ort.wasm.min.js")
    with host.watched() as asked:
        assert "error" not in visitor.start("waiting")
        assert increments(visitor)
    again = [path.rsplit("/", 1)[1] for path, times in Counter(asked).items() if times > 1]
    for part in ("pyodide.asm.js", "ort.wasm.min.js", ".onnx"):
        assert any(part in name for name in again), (part, again)


@pytest.fixture(scope="module")
def blank(browser, host, cases):
    """A blank page, for what needs no Python."""
    host.sites["files"] = cases
    context = browser.new_context()
    page = context.new_page()
    page.goto(host.url("plain", "files", "__blank__"))
    yield page
    context.close()


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("404", "the host answered 404"),
        ("304", "the host answered 304"),
        ("html", "an HTML page instead"),
        ("cut", r"broke off after \d+ of \d+ bytes|could not be fetched"),
        ("short", r"got \d+ of \d+ bytes"),
        ("empty", r"is empty on the host, expected \d+ bytes"),
        ("crlf", r"got more than \d+ of \d+ bytes"),
        ("flip", r"has the right size \(\d+ bytes\) but other contents"),
        ("gzip", "came as gzip that the host does not declare"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_what_to_do(blank, host, cases, fault, says):
    site = json.loads((cases / "site.json").read_bytes())
    path = next(path for path in site["files"] if path.endswith(".onnx"))
    load = """async ({module, site, root, path}) => {
      const { Assets } = await import(module);
      return new Assets(site, root).bytes(path).then(() => "nothing", (error) => error.message);
    }"""
    host.sites["modules"] = WEB
    message = blank.evaluate(
        load,
        {
            "module": host.url("plain", "modules", "assets.js"),
            "site": site,
            "root": host.url(f"plain+{fault}~.onnx", "files"),
            "path": path,
        },
    )
    assert message.startswith(f"{path}: ")
    assert re.search(says, message), message
    assert "upload the whole folder" in message


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("nojspi+html~numpy.pack", "an HTML page instead"),
        ("404~.onnx", "the host answered 404"),
        ("404~pyodide.asm.wasm", "the host answered 404"),
        ("html~ort-wasm-simd-threaded.wasm", "an HTML page instead"),
        ("nojspi+short~python_stdlib", r"got \d+ of \d+ bytes"),
        ("404~pyodide.asm.js", "the host answered 404"),
    ],
)
def test_a_start_with_a_wrong_file_ends_with_its_name(visit, cases, fault, says):
    visitor = visit(cases, f"plain+{fault}")
    error = visitor.start("waiting")["error"]
    assert fault.partition("~")[2].strip(".") in error["message"]
    assert re.search(says, error["message"]), error["message"]


def test_a_worker_that_is_missing_is_named(visit, cases):
    error = visit(cases, "plain+404~worker.js").start("waiting")["error"]
    assert re.search(r"worker\.js: the host answered 404", error["message"])


def test_a_policy_that_forbids_webassembly_is_a_message(visit, cases):
    visitor = visit(cases, "csp-noeval")
    visitor.page.goto(visitor.url("waiting.html"))
    notice = visitor.page.locator("[role=alert]").first
    notice.wait_for()
    assert re.search(r"WebAssembly|wasm-unsafe-eval", notice.inner_text())


def test_a_start_that_hangs_ends_with_a_sentence(visit, cases):
    error = visit(cases, "plain+hang~.onnx").start("waiting", stall_s=8)["error"]
    assert "no progress for 8 s" in error["message"]


@pytest.mark.parametrize("conditions", ["plain", "no-trailing-redirect"])
def test_the_site_opens_from_a_folder_without_its_slash(visit, cases, conditions):
    visitor = visit(cases, conditions)
    visitor.page.goto(visitor.url().rstrip("/"))
    link = visitor.page.get_by_role("link", name=re.compile("Waiting"))
    link.click()
    visitor.when_ready()


def test_stopping_ends_a_run_that_never_ends(visit, cases):
    visitor = visit(cases, "iso")
    visitor.start("cases")
    visitor.page.evaluate("void (globalThis.endless = client.call('forever', [], []))")  # evaluate awaits promises
    visitor.page.wait_for_timeout(300)
    ready = visitor.page.evaluate("client.stop()")
    assert ready["backend"]
    assert visitor.page.evaluate("endless")["error"]["type"] == "Stopped"
    assert "error" not in visitor.call("paths")


def test_a_png_waits_for_no_decoder_and_another_picture_is_told_what_is_missing(visit, cases):
    visitor = visit(cases, "iso+404~pillow")
    assert "error" not in visitor.start("cases")
    stream = io.BytesIO()
    pixels = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
    Image.fromarray(pixels).save(stream, "PNG")
    given = {"kind": "image", "buffer": 0, "name": "a.png", "type": "image/png"}
    answer = visitor.call("size", given, buffers=[stream.getvalue()])
    assert '"size": [7, 5]' in re.sub(r"\s+", " ", answer["outputs"][0]["text"]).replace("[ ", "[").replace(" ]", "]")
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG")
    answer = visitor.call("size", given, buffers=[stream.getvalue()])
    assert "pillow" in answer["error"]["message"].lower()
