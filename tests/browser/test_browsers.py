"""Browsers that lack something, and GPUs that fail: the app still runs, and the page says how (rows B02, B04, B05)."""

import re

import pytest

from tests.browser.driver import increments, until


def test_without_a_usable_gpu_webassembly_runs_and_the_page_says_why(visit, cases):
    visitor = visit(cases, "iso+hangadapter")
    ready = visitor.start("waiting", "webgpu")
    assert ready["backend"] == "wasm"
    assert "did not answer within" in ready["reason"]
    assert increments(visitor)


def test_a_gpu_that_is_lost_in_a_run_gives_the_answer_on_webassembly_and_says_so(visit, cases):
    visitor = visit(cases, "iso+loselater")
    assert visitor.start("waiting", "webgpu")["backend"] == "webgpu"
    for _ in range(8):
        assert increments(visitor)
    gone = visitor.wait_for_event("gone")
    assert "WebAssembly" in gone["reason"]
    until(visitor.page, "client.ready?.backend === 'wasm'")
    assert increments(visitor)


def test_half_floats_run_on_a_gpu_without_them(visit, cases):
    visitor = visit(cases, "iso+nof16")
    visitor.start("cases", "webgpu")
    answer = visitor.call("kinds")
    assert "error" not in answer, answer
    assert '"h2": {"dtype": "float16", "value": [1.0, -2.5, 60000.0]}' in answer["outputs"][0]["text"]


def test_without_jspi_an_isolated_page_waits_with_atomics(visit, cases):
    visitor = visit(cases, "iso+nojspi")
    ready = visitor.start("cases")
    assert (ready["waits"], ready["backend"]) == ("atomics", "wasm")
    assert '"double": 8' in visitor.call("paths")["outputs"][0]["text"]
    assert increments(visitor)


def test_without_jspi_and_isolation_an_async_app_runs_on_webassembly(visit, cases):
    visitor = visit(cases, "plain+nojspi")
    ready = visitor.start("waiting")
    assert (ready["waits"], ready["backend"]) == ("async", "wasm")
    assert increments(visitor)


def test_without_jspi_and_isolation_a_blocking_app_runs_on_numpy_and_says_so(visit, cases):
    visitor = visit(cases, "plain+nojspi")
    ready = visitor.start("cases")
    assert (ready["waits"], ready["backend"]) == ("none", "python")
    assert re.search("JSPI", ready["reason"])
    assert increments(visitor)


def test_without_shared_memory_one_thread_runs(visit, cases):
    visitor = visit(cases, "iso+nosab+cores4")
    ready = visitor.start("waiting")
    assert (ready["backend"], ready["threads"]) == ("wasm", 1)
    assert "no shared memory" in ready["reason"]
    assert increments(visitor)


@pytest.mark.parametrize("lacks", ["nof16array+nooffscreen+nostreaming", "nodecompress"])
def test_an_old_engine_runs_the_app_that_lacks(visit, cases, lacks):
    visitor = visit(cases, f"plain+{lacks}")
    assert "error" not in visitor.start("cases")
    assert increments(visitor)
    assert '"dtype": "float16"' in visitor.call("kinds")["outputs"][0]["text"]


@pytest.mark.parametrize("refused", ["nostore", "idberror"])
def test_a_private_window_runs_the_app_and_says_that_it_will_not_work_offline(visit, cases, refused):
    visitor = visit(cases, f"plain+{refused}", offline=True)
    assert "error" not in visitor.start("waiting")
    assert increments(visitor)
    assert visitor.wait_for_event("offline")["ready"] is False


def test_a_picture_larger_than_the_canvas_limit_is_not_read_as_zeros(visit, cases, tmp_path):
    from PIL import Image

    Image.new("RGB", (1600, 1200), (90, 90, 90)).save(tmp_path / "big.png")
    visitor = visit(cases, "plain+smallcanvas")
    page = visitor.open("cases.html")
    page.get_by_role("tab", name="Size").click()
    panel = page.locator(".view:not([hidden])")
    panel.locator("input[type=file]").first.set_input_files(tmp_path / "big.png")
    panel.get_by_role("button", name="Run").click()
    text = panel.locator("pre").filter(has_text="mean")
    text.wait_for(timeout=60_000)
    assert re.search(r'"size": \[1600, 1200\], "mean": 90\.0', text.inner_text())
