"""Static hosts as they are: wrong MIME types, cut downloads, sub-paths, policies (rows H01, H04, H07, H08)."""

import re

import pytest

from tests.browser.driver import increments

GOOD_HOSTS = ["plain", "iso", "iso+corp-missing", "csp", "iso+csp", "mime-octet", "mime-text", "drop-once", "slow"]
PACKAGE = "numpy.pack"


@pytest.mark.parametrize("conditions", GOOD_HOSTS)
def test_the_app_works_on_a_host_that_is(visit, cases, conditions):
    visitor = visit(cases, conditions)
    ready = visitor.start("waiting")
    assert "error" not in ready, ready
    assert increments(visitor)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (f"404~{PACKAGE}", "the host answered 404"),
        (f"html~{PACKAGE}", "an HTML page instead"),
        (f"cut~{PACKAGE}", r"\d+ of \d+ bytes"),
        (f"short~{PACKAGE}", r"got \d+ of \d+ bytes"),
        (f"empty~{PACKAGE}", r"is empty on the host, expected \d+ bytes"),
        (f"crlf~{PACKAGE}", r"of \d+ bytes"),
        (f"flip~{PACKAGE}", "has other contents|but other contents"),
        ("gzip~.onnx", "came as gzip that the host does not declare"),
        ("html~.onnx", "an HTML page instead"),
        ("404~.onnx", "the host answered 404"),
        ("short~.onnx", r"got \d+ of \d+ bytes"),
        ("404~pyodide.asm.wasm", "the host answered 404"),
        ("html~ort-wasm-simd-threaded.wasm", "an HTML page instead"),
        ("short~python_stdlib", r"got \d+ of \d+ bytes"),
        ("404~pyodide.asm.js", "the host answered 404"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong_and_what_to_do(visit, cases, fault, says):
    visitor = visit(cases, f"plain+{fault}")
    error = visitor.start("waiting")["error"]
    assert fault.partition("~")[2].strip(".") in error["message"]
    assert re.search(says, error["message"]), error["message"]
    assert "upload the whole folder" in error["message"]


@pytest.mark.parametrize("name", ["pyodide.asm.js", "python_stdlib", "ort.wasm.min.js", ".onnx"])
def test_a_download_that_breaks_off_once_heals(visit, cases, name):
    visitor = visit(cases, f"plain+drop-once~{name}")
    assert "error" not in visitor.start("waiting")
    assert increments(visitor)


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
    visitor.page.evaluate("globalThis.endless = client.call('forever', [], [])")
    visitor.page.wait_for_timeout(300)
    ready = visitor.page.evaluate("client.stop()")
    assert ready["backend"]
    assert visitor.page.evaluate("endless")["error"]["type"] == "Stopped"
    assert "error" not in visitor.call("paths")
