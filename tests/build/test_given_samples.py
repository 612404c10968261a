"""Samples from a folder that a person names, and what the command line says of a model or a budget that cannot be."""

from pathlib import Path

import numpy as np
import pytest

from onnxlet.errors import BuildError
from onnxlet_build.accuracy import Budget
from onnxlet_build.cli import main
from onnxlet_build.given_samples import given_samples
from onnxlet_build.inspect_app import inspect_app
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime

from .conftest import DATA, WriteApp

BRIGHTNESS = """
    import numpy as np
    from onnxlet import App, Image, InferenceSession

    session = InferenceSession("add1.onnx")

    def brightness(picture: Image) -> np.ndarray:
        feeds = {"x": np.full((1, 1), picture.gray().array.mean(), np.float32)}
        return session.run(None, feeds)[0]

    app = App(brightness, examples=["in.png"])
"""


def test_files_for_the_app_are_found_from_the_folder_of_the_command(
    write_app: WriteApp, tmp_path: Path, report: Reporter, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = (DATA / "I02_alpha.png").read_bytes()
    path = write_app(BRIGHTNESS, **{"in.png": picture})
    (tmp_path / "pictures").mkdir()
    for name in ("I02_alpha.png", "I07_line300.png"):
        (tmp_path / "pictures" / name).write_bytes((DATA / name).read_bytes())
    app = inspect_app(path, tmp_path / "work", report, runtime)
    monkeypatch.chdir(tmp_path)
    (model,) = app.models.values()
    samples = given_samples(Path("pictures"), model, tmp_path / "samples", app)
    assert len(samples) == 2
    assert all(np.isfinite(array).all() for feeds in samples for array in feeds.values())


@pytest.mark.parametrize("text", ["hello", "150%", "nan", "nandB", "infdB"])
def test_a_budget_that_no_variant_can_meet_or_miss_is_refused(text: str) -> None:
    with pytest.raises(BuildError, match=f"--max-drop {text}: expected a share such as 1% or 0.01, or decibels"):
        Budget.parse(text)


@pytest.mark.parametrize("command", [["quantize", "--out", "variants"], ["--out", "dist"]])
def test_a_model_that_is_missing_is_called_missing(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*command, "none.onnx"]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(("error: none.onnx: is not there", "error: none.onnx: cannot be read"))
    assert not list(tmp_path.iterdir())


def test_quantize_names_a_damaged_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cut.onnx").write_bytes((DATA / "H04_truncated.onnx").read_bytes())
    (tmp_path / "samples").mkdir()
    np.save(tmp_path / "samples" / "0.npy", np.zeros(1, np.float32))
    assert main(["quantize", "cut.onnx", "--calibration", "samples", "--out", "variants"]) == 1
    assert capsys.readouterr().err.startswith("error: cut.onnx: ")
    assert not (tmp_path / "variants").exists()


def test_a_sample_that_does_not_fit_is_named_by_its_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((1, 1), np.float32))
    np.save(tmp_path / "b.npy", np.zeros((1, 1), np.complex64))
    with pytest.raises(BuildError, match=r"b\.npy does not fit P_add1\.onnx: .*complex64"):
        given_samples(tmp_path, DATA / "P_add1.onnx", tmp_path / "samples")
