"""What apps hand over and give back, in the page as in CPython (rows P02-P05, W06, W07); the errors of wrong inputs."""

import importlib.util
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from tests.browser.conftest import APPS, ROOT
from tests.browser.driver import npy


@pytest.fixture(scope="module")
def native():
    """The same app file in CPython."""
    folder = APPS / "cases"
    before = os.getcwd()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("cases_app", folder / "app.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(folder))
        os.chdir(before)


@pytest.fixture(scope="module")
def page(browser, host, cases):
    """One page of the app for all tests here."""
    from tests.browser.driver import Visit

    host.sites["cases-app"] = cases
    context = browser.new_context(service_workers="block")
    visitor = Visit(host, context, "cases-app", "iso")
    ready = visitor.start("cases")
    assert "error" not in ready, ready
    yield visitor
    context.close()


def shown(answer):
    assert "error" not in answer, answer
    return answer["outputs"][0]["text"]


def test_every_array_gives_the_native_answer_or_the_native_refusal(page, native):
    mine, theirs = json.loads(shown(page.call("arrays"))), native.arrays()
    assert mine.keys() == theirs.keys()
    for name in native.GOOD:
        assert "y" in mine[name], (name, mine[name])
        assert mine[name] == theirs[name], name
    for name in native.OTHER:
        assert ("refused" in mine[name]) == ("refused" in theirs[name]), (name, mine[name], theirs[name])
        if "refused" in mine[name]:
            assert mine[name]["refused"].split(":")[0] == theirs[name]["refused"].split(":")[0], name
            assert "x" in mine[name]["refused"], name
    assert mine["nan"] is True


def test_numbers_keep_every_digit_and_text_stays_text(page):
    text = shown(page.call("numbers"))
    assert re.search(r'"id": 9007199254740993\b', text)
    assert '"id64": -9223372036854775808' in text
    assert '"f32": 0.1,' in text
    assert re.search(r'"nan": "?NaN', text)
    assert re.search(r'"inf": "?Inf', text)
    assert f"{10**30}" in text
    assert "</script>" in text


def test_results_are_text_on_the_page_not_markup(visit, cases):
    page = visit(cases, "plain").open("cases.html")
    page.get_by_role("tab", name="Numbers").click()
    panel = page.locator(".view:not([hidden])")
    panel.get_by_role("button", name="Run").click()
    text = panel.locator("pre").filter(has_text="id64")
    text.wait_for(timeout=60_000)
    assert "</script>'" in text.inner_text()


def test_modules_packages_and_files_with_names_from_anywhere_are_found(page, native):
    assert json.loads(shown(page.call("paths"))) == native.paths() == {"double": 8, "name": "Ω", "rows": 3, "k": 7}


def test_half_floats_booleans_and_bytes_keep_their_type(page, native):
    assert json.loads(shown(page.call("kinds"))) == native.kinds()


def test_runs_at_once_get_their_own_answers(page):
    assert json.loads(shown(page.call("at_once"))) == {"equal": [True] * 4}


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.zeros(3, np.float32), r"x.*rank|x.*shape|x.*dimension"),
        (np.zeros((1, 2, 3), np.float32), r"x.*rank|x.*shape|x.*dimension"),
        (np.array([["a"]]), r"x"),
    ],
    ids=["1-D", "3-D", "strings"],
)
def test_wrong_inputs_give_the_cores_error_and_leave_the_page_working(page, native, array, says):
    value, data = npy(array)
    error = page.call("increment", value, buffers=[data])["error"]
    with pytest.raises(Exception, match=says) as caught:
        native.increment(array)
    assert error["type"] == type(caught.value).__name__
    assert error["message"] == str(caught.value)
    assert "error" not in page.call("paths")


def test_a_mistake_in_the_app_comes_with_its_line(page):
    error = page.call("fail")["error"]
    assert error["type"] == "KeyError"
    assert re.search(r'File "/app/app\.py", line \d+, in fail', error["traceback"])


def test_a_damaged_picture_is_a_message(page):
    error = page.call(
        "size", {"kind": "image", "buffer": 0, "name": "x.png", "type": "image/png"}, buffers=[b"\x89PNG"]
    )
    assert error["error"]["type"] == "InvalidInput"


def test_a_function_that_is_not_there_is_a_message(page):
    assert "nothing" in page.call("nothing")["error"]["message"]


def test_memory_stays_level_over_many_calls(page):
    value, data = npy(np.ones((64, 64), np.float32))
    for _ in range(20):
        page.call("increment", value, buffers=[data])
    before = page.page.evaluate("client.status()")["memory_bytes"]
    for _ in range(100):
        page.call("increment", value, buffers=[data])
    assert page.page.evaluate("client.status()")["memory_bytes"] <= before + 2**20


def test_a_package_that_has_no_wheel_for_the_page_stops_the_build_and_is_named(tmp_path):
    app = tmp_path / "app.py"
    app.write_text(
        '# /// script\n# dependencies = ["numpy", "uvloop"]\n# ///\n'
        "from onnxlet import App\ndef run(x: float) -> float:\n    return x\napp = App(run)\n"
    )
    command = [sys.executable, "build.py", str(app), "--out", str(tmp_path / "dist")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0
    assert "uvloop" in done.stdout + done.stderr
    assert not (tmp_path / "dist").exists()
