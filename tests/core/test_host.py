"""What the page's host makes of exceptions; calling it needs a page (tests/browser/test_session_host.py)."""

import pytest

import onnxlet
from onnxlet import host


@pytest.fixture(autouse=True)
def _this_file_stands_for_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "_INSIDE", (*host._INSIDE, __file__))


def raised(source: str) -> dict[str, str]:
    try:
        exec(compile(source, "/app/app.py", "exec"), {})
    except Exception as error:
        return host.describe(error)
    pytest.fail("nothing was raised")


def test_a_traceback_begins_at_the_apps_first_line() -> None:
    error = raised("import json\n\ndef f(x):\n    return json.loads(x)\n\nf('{')")
    lines = [line.strip() for line in error["traceback"].splitlines() if line.startswith("  File")]
    assert lines[0].startswith('File "/app/app.py", line 6')
    assert lines[1].startswith('File "/app/app.py", line 4')
    assert "json" in lines[2]  # what the app called stays
    assert "test_host" not in error["traceback"]


def test_the_cause_of_an_error_is_trimmed_too() -> None:
    error = raised("try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('no ratio') from e")
    assert error["message"] == "no ratio"
    assert "ZeroDivisionError" in error["traceback"]
    assert "test_host" not in error["traceback"]


def test_messages_are_sentences_and_hints_say_what_to_do() -> None:
    assert raised("{}['labels']")["message"] == "there is no 'labels'"
    assert raised("raise ValueError")["message"] == "ValueError"
    assert 'add "nosuchpackage" to `dependencies`' in raised("import nosuchpackage.losses")["hint"]
    assert "hint" not in host.describe(onnxlet.InvalidInput("where, what, remedy"))
