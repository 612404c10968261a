"""A real network from its PyTorch weights: exported, quantized, proven in Chromium, right on unseen pictures."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import ROOT
from tests.browser.driver import Visit, assert_same
from tests.browser.test_direct import HELD, both, examples


@pytest.fixture(scope="module")
def photo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The photo example, with the variant that suits a convolutional network on WebAssembly."""
    folder = tmp_path_factory.mktemp("photo")
    (folder / "photo").mkdir()
    for name in ("app.py", "model.py"):
        shutil.copy(ROOT / "examples" / "photo" / name, folder / "photo" / name)
    command = [
        sys.executable,
        "build.py",
        str(folder / "photo"),
        "--variants",
        "int8-static",
        "--max-drop",
        "3%",
        "--prefer",
        "size",
        "--precompress",
        "none",
    ]
    done = subprocess.run(
        [*command, "--out", str(folder / "dist")], cwd=ROOT, capture_output=True, text=True, timeout=1500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


def study(site: Path) -> dict[str, Any]:
    (found,) = json.loads((site / "report.json").read_bytes())["models"]
    return found


def test_the_export_was_compared_with_pytorch(photo: Path) -> None:
    assert "PyTorch 2.13" in study(photo)["verified"]


def test_webassembly_loads_int8_a_quarter_of_the_size_and_right_on_unseen_pictures(photo: Path) -> None:
    (model,) = json.loads((photo / "site.json").read_bytes())["models"].values()
    chosen = model["variants"][model["choice"]["wasm"]]
    assert chosen["name"] == "int8-static"
    found = study(photo)
    sizes = {candidate["name"]: candidate["bytes"] for candidate in found["candidates"]}
    assert sizes["original"] >= 3.5 * chosen["bytes"]
    (proof,) = (p for p in found["proofs"] if (p["variant"], p["backend"]) == ("int8-static", "wasm"))
    assert proof["accuracy"]["samples"] >= 20
    assert proof["accuracy"]["top1"] >= 0.97
    (quantized,) = (c for c in found["candidates"] if c["name"] == "int8-static")
    assert quantized["accuracy"]["top1"] >= 0.97
    assert isinstance(quantized["float_nodes"], list)


@pytest.mark.parametrize("backend", ["wasm", "webgpu"])
def test_the_page_names_the_pictures(backend: str, photo: Path, visit: Callable[..., Visit]) -> None:
    visitor = visit(photo)
    assert "error" not in visitor.start("photo", backend)
    for number, label in enumerate(["espresso", "Egyptian cat"]):
        answer, _ = visitor.run_example("photo", number)
        assert answer["outputs"][0]["items"][0]["label"] == label


def test_the_pictures_are_named_before_python_is_up_as_they_are_later(photo: Path, visit: Callable[..., Visit]) -> None:
    visitor = visit(photo, HELD)
    answers = both(visitor, "photo", *examples(visitor, "photo")[0], backend="wasm")
    assert [answer["direct"] for answer in answers["early"]] == [True, True]
    for early, late in zip(answers["early"], answers["late"], strict=True):
        assert_same(early, late, floats_db=120)
