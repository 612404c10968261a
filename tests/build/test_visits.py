"""What each byte is for, and budgets: every file of the site has its place, and what goes past a limit is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from onnxlet.errors import BuildError
from onnxlet_build import budget
from onnxlet_build.cli import main
from onnxlet_build.precompress import Weight
from onnxlet_build.visits import FIRST, LATER, Visit, visits

from .conftest import WriteApp

FILES = {
    "assets/web/page.js": "page",
    "assets/web/panel.js": "page",
    "assets/py/pyodide.asm.wasm": "python",
    "assets/py/python_stdlib.zip": "python",
    "assets/pkg/numpy.pack": "package:numpy",
    "assets/pkg/onnxlet.pack": "package:onnxlet",
    "assets/pkg/pillow.whl": "package:pillow",
    "assets/pkg/humanize.whl": "package:humanize",
    "assets/ort/wasm.wasm": "ort-wasm",
    "assets/ort/jspi.wasm": "ort-jspi",
    "assets/a/app.py": "app:a",
    "assets/a/picture.bin": "app:a",
    "assets/b/app.py": "app:b",
    "assets/m.fp32.onnx": "model:m",
    "assets/m.int8.onnx": "model:m",
    "assets/n.onnx": "model:n",
    "assets/m.npz": "verify:m",
    "assets/editor.js": "panel:editor",
}


def app(name: str, model: str, packages: list[str]) -> dict[str, Any]:
    files = {"app.py": f"assets/{name}/app.py"}
    models = {f"{model}.onnx": model}
    return {"name": name, "title": name.upper(), "files": files, "models": models, "packages": packages}


def site(prefer: str = "wasm") -> dict[str, Any]:
    variants = [
        {"parts": ["assets/m.fp32.onnx"], "backends": ["webgpu", "wasm"]},
        {"parts": ["assets/m.int8.onnx"], "backends": ["wasm"]},
    ]
    return {
        "python": {},
        "files": {path: {"group": group} for path, group in FILES.items()},
        "models": {
            "m": {"variants": variants, "prefer": [prefer], "choice": {"wasm": 1, "webgpu": 0}},
            "n": {"variants": [{"parts": ["assets/n.onnx"], "backends": ["wasm"]}], "prefer": ["wasm"]},
        },
        "apps": [app("a", "m", ["pillow"]), app("b", "n", ["pillow", "humanize"])],
    }


def found(folder: Path, description: dict[str, Any]) -> list[Visit]:
    """Visits where the file with the number n weighs 2 ** n."""
    for name, text in (("a", "import onnxlet"), ("b", "from PIL import Image")):
        (folder / "assets" / name).mkdir(parents=True, exist_ok=True)
        (folder / "assets" / name / "app.py").write_text(text)
    weights = {path: Weight(4 << i, 2 << i, 1 << i) for i, path in enumerate(FILES)}
    roots = {name: Weight(4, 2, 1) for name in "ab"}
    return visits(description, folder, {"assets/web/page.js"}, weights, roots)


def named(visit: Visit, when: str) -> dict[str, list[str]]:
    """Files by part, read back from the weights."""
    parts = {}
    for part in visit.parts:
        if part.when == when:
            weight = part.weight.br - (part.name == "Page")
            parts[part.name] = [path.split("/", 1)[1] for i, path in enumerate(FILES) if weight >> i & 1]
    return parts


def test_every_file_of_an_app_has_its_place(tmp_path: Path) -> None:
    a, b = found(tmp_path, site())
    assert named(a, FIRST) == {
        "Page": ["web/page.js"],
        "Python": ["py/pyodide.asm.wasm"],
        "Standard library": ["py/python_stdlib.zip"],
        "numpy": ["pkg/numpy.pack"],
        "onnxlet": ["pkg/onnxlet.pack"],
        "ONNX Runtime": ["ort/wasm.wasm"],
        "App": ["a/app.py"],
        "Model": ["m.int8.onnx"],
    }
    assert named(a, LATER) == {
        "Decoder of pictures": ["pkg/pillow.whl"],
        "Examples": ["a/picture.bin"],
        "ONNX Runtime, other builds": ["ort/jspi.wasm"],
        "Other variants": ["m.fp32.onnx"],
        "Panels": ["editor.js"],
        "Rest of the page": ["web/panel.js"],
        "Verification": ["m.npz"],
    }
    assert named(b, FIRST)["Packages"] == ["pkg/pillow.whl", "pkg/humanize.whl"], "it imports PIL itself"
    assert "Decoder of pictures" not in named(b, LATER)


def test_with_a_snapshot_what_python_starts_from_otherwise_comes_later(tmp_path: Path) -> None:
    a, _ = found(tmp_path, {**site(), "python": {"snapshot": {}}})
    first, later = named(a, FIRST), named(a, LATER)
    assert not {"Standard library", "numpy", "onnxlet"} & first.keys()
    plain = ["py/python_stdlib.zip", "pkg/numpy.pack", "pkg/onnxlet.pack"]
    assert later["Python without its snapshot"] == plain


def test_a_model_that_is_best_on_a_gpu_brings_that_build_and_that_file(tmp_path: Path) -> None:
    a, _ = found(tmp_path, site("webgpu"))
    assert named(a, FIRST)["ONNX Runtime"] == ["ort/jspi.wasm"]
    assert named(a, FIRST)["Model"] == ["m.fp32.onnx"]


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("", {}),
        ("12MB", {"total": 12_000_000}),
        ("1.5MiB", {"total": 1_572_864}),
        ("model=5MB, runtime = 8 mb", {"model": 5_000_000, "runtime": 8_000_000}),
        ("12MB,page=100kB", {"total": 12_000_000, "page": 100_000}),
    ],
)
def test_a_budget_is_a_size_or_sizes_by_name(text: str, limits: dict[str, int]) -> None:
    assert budget.parse(text) == limits


@pytest.mark.parametrize("text", ["much", "-1MB", "models=5MB", "12XB", "model="])
def test_what_is_no_budget_is_said(text: str) -> None:
    with pytest.raises(
        BuildError, match=r"--budget .*: expected a size such as 12MB, or NAME=SIZE, the name one of total"
    ):
        budget.parse(text)


def test_what_goes_past_a_budget_is_said_with_what_weighs_most(tmp_path: Path) -> None:
    both = found(tmp_path, site())
    total = both[0].first().br
    model = both[0].first("model").br
    assert budget.overruns(both, {"total": both[1].first().br, "model": 10**9}) == []
    (sentence,) = budget.overruns(both, {"total": total, "model": model - 1})[:1]
    assert sentence.startswith(
        "A: a first visit fetches 16.4 kB (model, brotli), the budget is 16.4 kB; most of it: Model"
    )
    assert [said[0] for said in budget.overruns(both, {"runtime": 1})] == ["A", "B"]
    assert budget.entry(both, {"total": 5})["apps"]["a"]["total"] == total


def test_a_budget_stands_in_the_manifest_and_fails_a_strict_build_that_is_past_it(
    write_app: WriteApp, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "dist"
    fast = ["--out", str(out), "--variants", "original", "--no-browser", "--precompress", "none"]
    demo = str(write_app())
    assert main([demo, *fast, "--strict", "--budget", "100MB"]) == 0
    printed = capsys.readouterr().out
    assert "before the first answer" in printed
    assert main([demo, *fast, "--budget", "1MB,model=1kB", "--json"]) == 0
    said = capsys.readouterr()
    (warning,) = json.loads(said.out)["warnings"]
    assert "Add: a first visit fetches" in warning
    assert "most of it: " in warning
    built = json.loads((out / "site.json").read_text())
    assert built["budget"]["limits"] == {"total": 1_000_000, "model": 1_000}
    counted = built["budget"]["apps"]["demo"]
    assert counted["total"] == sum(size for name, size in counted.items() if name != "total") > 5_000_000
    (visit,) = json.loads(said.out)["visits"]
    weights = [part["weight"]["bytes"] for part in visit["parts"] if part["name"] != "Page"]
    page = next(part["weight"]["bytes"] for part in visit["parts"] if part["name"] == "Page")
    assets = sum(entry["bytes"] for entry in built["files"].values())
    assert assets < sum(weights) + page < assets + 100_000, "every file of the site, its page and its manifest"
    assert main([demo, *fast, "--budget", "1MB", "--strict", "--quiet"]) == 1
    assert json.loads((out / "site.json").read_text())["budget"]["limits"] == {"total": 1_000_000}, "it is written"
    assert main([demo, *fast, "--budget", "1XB"]) == 1
    assert "error: --budget 1XB: expected a size" in capsys.readouterr().err
