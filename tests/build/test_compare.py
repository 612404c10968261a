"""`build.py compare`: the node at which two ways of running a model part."""

from pathlib import Path

import numpy as np
import pytest

from onnxlet_build.cli import main
from tests.core.test_comparison import encoder, with_error_in


@pytest.fixture
def models(tmp_path: Path) -> tuple[str, str]:
    right, wrong = tmp_path / "right.onnx", tmp_path / "wrong.onnx"
    right.write_bytes(encoder())
    wrong.write_bytes(with_error_in(encoder(), "w2"))
    return str(right), str(wrong)


def test_a_model_agrees_with_the_definition(models: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", models[0], "--dim", "batch=3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("CPUExecutionProvider against NumpyExecutionProvider: 18 tensors, 0 under 60 dB")
    assert "3x16" in out


def test_a_planted_error_is_the_first_row_and_the_status(
    models: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", np.ones((2, 16), np.float32))
    assert main(["compare", *models, "--input", str(tmp_path / "x.npy")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("matmul2")
    assert "2x16" in lines[2]
    assert lines[2].endswith("first below the tolerance")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "y=x.npy"], "one of the inputs x"),
        (["--input", "x=gone.npy"], "is no .npy file"),
        (["--dim", "batch=two"], "expected NAME=SIZE"),
    ],
)
def test_what_does_not_fit_is_a_sentence(
    models: tuple[str, str], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", models[0], *arguments]) == 1
    assert message in capsys.readouterr().err
