"""The command line: sentences on stderr, results on stdout, exit codes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from onnxlet_build.cli import main

from .conftest import DATA, WriteApp, heed_ctrl_c

FAST = ("--variants", "original", "--no-browser", "--precompress", "none")
BUILD = Path(__file__).parents[2] / "build.py"


def test_building_prints_what_a_visitor_will_fetch(
    write_app: WriteApp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "dist"
    assert main([str(write_app()), "--out", str(out), "--json", *FAST]) == 0
    summary = json.loads(capsys.readouterr().out)
    groups = {row["group"]: row for row in summary["groups"]}
    assert {"app:demo", "model:add1", "ort-wasm", "package:numpy", "package:onnxlet", "page", "python"} <= set(groups)
    files = [p for p in (out / "assets").rglob("*") if p.is_file()]
    assert sum(row["files"] for row in groups.values()) == len(files)
    assert sum(row["bytes"] for row in groups.values()) == sum(p.stat().st_size for p in files)
    assert groups["ort-wasm"]["brotli_bytes"] < groups["ort-wasm"]["bytes"] / 3


def test_an_error_is_one_sentence_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-app.py"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "error: no-such-app.py: is not there; give the path of an app file or a model\n"
    assert printed.out == ""


def test_debug_adds_the_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["no-such-app.py", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(("command", "words"), [("build", "--host"), ("serve", "--no-isolation"), ("check", "--json")])
def test_every_command_explains_itself(command: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    assert words in capsys.readouterr().out


def test_the_script_works_from_any_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(BUILD), "--version"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"onnxlet \d+\.\d+\.\d+\n", done.stdout)


def test_serving_says_where_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>front")
    command = [sys.executable, str(BUILD), "serve", str(tmp_path), "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, preexec_fn=heed_ctrl_c) as process:
        assert process.stdout is not None
        assert re.search(r"http://localhost:\d+/ \(Ctrl-C ends it\)", process.stdout.readline())
        process.send_signal(2)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (0, "")


def test_the_cache_is_where_the_environment_says(write_app: WriteApp, tmp_path: Path) -> None:
    app = write_app("# /// script\n# dependencies = ['humanize']\n# ///\n")
    environment = {**os.environ, "ONNXLET_CACHE": str(tmp_path / "elsewhere")}
    command = [sys.executable, str(BUILD), str(app), "--out", str(tmp_path / "dist"), "--offline"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert "--offline forbids fetching it" in done.stderr
    assert str(tmp_path / "elsewhere") in done.stderr or (tmp_path / "elsewhere").is_dir()
    assert not (tmp_path / "dist").exists()


def test_a_model_without_an_app_gets_one_that_is_kept_to_be_edited(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, out = tmp_path / "net.onnx", tmp_path / "dist"
    model.write_bytes((DATA / "P_add1.onnx").read_bytes())
    fast = ["--out", str(out), "--json", *FAST]
    assert main([str(model), "--labels", "names.txt", *fast]) == 1
    assert "--labels: is not for tensors, which takes --example and --title; it is for" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["net.onnx"]
    assert main([str(model), "--title", "Nets", *fast]) == 0
    (written,) = json.loads(capsys.readouterr().out)["written"]
    app = Path(written)
    assert app == tmp_path / "dist-apps" / "net" / "app.py"
    assert 'title="Nets"' in app.read_text()
    assert main([str(model), "--title", "Other", *fast]) == 0  # what was written goes, as nobody has changed it
    assert 'title="Other"' in app.read_text()
    app.write_text(app.read_text() + "# mine\n")
    built = (out / "site.json").read_bytes()
    assert main([str(model), *fast]) == 1
    assert "is there already, and not what would be written; build it instead" in capsys.readouterr().err
    assert app.read_text().endswith("# mine\n")
    assert (out / "site.json").read_bytes() == built
    assert main([str(app), *fast]) == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["dist", "dist-apps", "net.onnx"]


def test_options_about_a_model_are_about_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["a.onnx", "b.onnx", "--task", "tensors", "--out", str(tmp_path / "dist")]) == 1
    assert capsys.readouterr().err == (
        "error: --task: is about one model without an app file, got 2; build each alone, then the folders of the apps "
        "that are written\n"
    )
    assert main(["app.py", "--labels", "names.txt", "--out", str(tmp_path / "dist")]) == 1
    assert "got 0; change it in the app" in capsys.readouterr().err
