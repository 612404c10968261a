"""What a log says of long work."""

import pytest

from onnxlet_build import progress
from onnxlet_build.progress import Reporter


def test_a_log_hears_of_long_work_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "QUIET_S", 0.0)
    with Reporter().bar("Proving", 3) as advance:
        advance(2)
    assert capsys.readouterr().err.strip() == "Proving: 2 of 3"


def test_short_and_quiet_work_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Reporter().bar("Proving", 3) as advance, Reporter(quiet=True).bar("Proving", 3) as other:
        advance(2)
        other(2)
    assert capsys.readouterr().err == ""
