"""The folder that a build leaves: whole, named by content, and the old one until then."""

import argparse
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from onnxlet.dtypes import DataType
from onnxlet.errors import BuildError
from onnxlet.model import Node
from onnxlet_build import paths, site_models
from onnxlet_build.commands import build as build_command
from onnxlet_build.fetch import sha256
from onnxlet_build.manifest import Tree, safe_json, safe_names
from onnxlet_build.progress import Reporter
from onnxlet_build.site import Options, build_site
from onnxlet_build.site_models import SiteModels
from tests.core.models import model

from .conftest import ADD1, DATA, WriteApp, heed_ctrl_c

BUILD = Path(__file__).parents[2] / "build.py"


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def build(out: Path, *apps: Path, host: str = "", codings: tuple[str, ...] = ()) -> dict[str, Any]:
    with ThreadPoolExecutor() as executor:
        return build_site(apps, out, Options(host, codings), Reporter(quiet=True), executor).site


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """One app, built: for tests that only look."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "demo").mkdir()
    app = folder / "demo" / "app.py"
    app.write_text(ADD1.replace('title="Add"', "title='A <b> & \"c\" </script>'"))
    app.with_name("add1.onnx").write_bytes((DATA / "P_add1.onnx").read_bytes())
    return folder / "dist", build(folder / "dist", app)


def test_compressed_files_lie_beside_the_others_and_change_nothing(
    built: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    plain, site = built
    app = plain.parent / "demo" / "app.py"
    gzipped = build(tmp_path / "dist", app, codings=("gz",))
    assert gzipped["build"]["id"] == site["build"]["id"]
    before, after = snapshot(plain), snapshot(tmp_path / "dist")
    added = {name: content for name, content in after.items() if name not in before}
    assert {name.rpartition(".")[2] for name in added} == {"gz"}
    assert all(gzip.decompress(content) == after[name.removesuffix(".gz")] for name, content in added.items())
    roots = {name.removesuffix(".gz") for name in added if "/" not in name}
    assert roots == {"index.html", "sw.js", "onnxlet.js", "site.json", f"site.{site['build']['id'][:8]}.json"}
    for path, entry in gzipped["files"].items():
        assert entry.get("gz") in (None, len(added.get(f"{path}.gz", b"")))
    worth = {path for path, entry in gzipped["files"].items() if "gz" in entry}
    assert {path for path in gzipped["files"] if path.endswith(".wasm")} <= worth
    assert not any("gz" in entry for entry in site["files"].values()), "what is not there is not promised"


def test_every_file_is_in_the_manifest_with_its_size_and_hash(built: tuple[Path, dict[str, Any]]) -> None:
    out, site = built
    files = {name for name in snapshot(out) if name.startswith("assets/")}
    assert files == set(site["files"])
    for name, entry in site["files"].items():
        data = (out / name).read_bytes()
        assert (len(data), sha256(data)) == (entry["bytes"], entry["sha256"])
        assert re.search(r"\.[0-9a-f]{8}[./]", name), f"{name} carries no hash"
    assert json.loads((out / "site.json").read_text()) == site
    assert (out / f"site.{site['build']['id'][:8]}.json").read_bytes() == (out / "site.json").read_bytes()
    assert {"index.html", "404.html", "_headers", ".nojekyll", "sw.js"} <= set(snapshot(out))


def test_the_manifest_points_at_files_that_exist(built: tuple[Path, dict[str, Any]]) -> None:
    out, site = built
    (app,) = site["apps"]
    assert app["page"] == "index.html"
    model = site["models"][app["models"]["add1.onnx"]]
    lock = [site["python"]["folder"] + p["file_name"] for p in site["python"]["lock"]["packages"].values()]
    named = [*app["files"].values(), *model["variants"][0]["parts"], *lock, *site["pages"]]
    named += [path for entry in site["ort"].values() for path in entry.values()]
    named += [site["python"]["folder"] + n for n in ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm")]
    for path in named:
        assert (out / path).is_file(), path
    assert set(site["python"]["lock"]["packages"]) == {"numpy", "onnxlet"}
    assert model["prefer"][0] == "wasm"
    assert "too small" in model["reason"]


def test_a_page_names_no_other_origin_and_no_placeholder_is_left(built: tuple[Path, dict[str, Any]]) -> None:
    out, site = built
    page = (out / "index.html").read_text()
    assert not re.findall(r"\{\{\w+\}\}", page + (out / "sw.js").read_text())
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page)
    assert "<title>A &lt;b&gt; &amp; &quot;c&quot; &lt;/script&gt;</title>" in page
    config = json.loads(re.search(r'id="onnxlet">(.*?)</script>', page)[1])  # type: ignore[index]
    early = config.pop("early")
    assert config == {"app": "demo", "site": f"site.{site['build']['id'][:8]}.json", "root": "./"}
    parts = [path for part in (early["python"], early["ort"]) for kind in part.values() for path in kind]
    assert {early["worker"], *parts} <= site["files"].keys()
    assert site["models"][site["apps"][0]["models"]["add1.onnx"]]["variants"][0]["parts"][0] in parts
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]  # type: ignore[index]
    assert "default-src &#x27;none&#x27;" in policy
    assert "&#x27;unsafe-eval&#x27;" not in policy
    assert "unsafe-inline" not in policy


def test_the_same_inputs_give_the_same_build(write_app: WriteApp, tmp_path: Path) -> None:
    app = write_app()
    out = tmp_path / "dist"
    first = build(out, app)
    before = snapshot(out / "assets")
    assert build(out, app)["build"]["id"] == first["build"]["id"]
    assert snapshot(out / "assets") == before
    app.write_text(app.read_text().replace("Adds one", "Adds 1"))
    changed = build(out, app)
    assert changed["build"]["id"] != first["build"]["id"]
    assert {name for name in snapshot(out) if name.startswith("assets/")} == set(changed["files"]), "old files are gone"
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_several_apps_share_one_runtime_and_get_a_gallery(write_app: WriteApp, tmp_path: Path) -> None:
    out = tmp_path / "dist"
    site = build(out, write_app(), write_app(ADD1.replace("Add", "Plus"), name="Index"), write_app(name="demo2"))
    assert [app["page"] for app in site["apps"]] == ["demo.html", "index-2.html", "demo2.html"]
    assert len(site["models"]) == 1, "the same model is written once"
    assert all((out / page).is_file() for page in [*site["pages"], "index.html"])
    assert '"app"' not in re.search(r'id="onnxlet">(.*?)</script>', (out / "index.html").read_text())[1]  # type: ignore[index]


def test_a_folder_of_something_else_is_never_replaced(write_app: WriteApp, tmp_path: Path) -> None:
    out = tmp_path / "precious"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work")
    with pytest.raises(BuildError, match=r"precious: exists and is no site of build.py; choose another --out"):
        build(out, write_app())
    assert snapshot(out) == {"thesis.tex": b"years of work"}


def test_a_build_that_fails_leaves_the_old_site(write_app: WriteApp, tmp_path: Path) -> None:
    out, app = tmp_path / "dist", write_app()
    out.mkdir()
    (out / "site.json").write_text('{"build": {}}')
    before = snapshot(out)
    (app.parent / "add1.onnx").write_bytes((DATA / "H04_truncated.onnx").read_bytes())
    with pytest.raises(BuildError):
        build(out, app)
    assert snapshot(out) == before
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_leaves_nothing_behind(
    ending: signal.Signals, write_app: WriteApp, tmp_path: Path
) -> None:
    app = write_app("import pathlib, time\npathlib.Path('started').touch()\ntime.sleep(100)\n")
    environment = {**os.environ, "ONNXLET_CACHE": str(paths.cache("x").parent)}
    process = subprocess.Popen(
        [sys.executable, str(BUILD), str(app), "--out", str(tmp_path / "dist")],
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd="/",
        preexec_fn=heed_ctrl_c,
    )
    while not app.with_name("started").exists():
        assert process.poll() is None
        time.sleep(0.1)
    process.send_signal(ending)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith("interrupted; nothing was changed\n")
    assert [p.name for p in tmp_path.iterdir()] == ["demo"]


def test_cloudflare_gets_no_file_over_its_limit(write_app: WriteApp, tmp_path: Path, report: Reporter) -> None:
    big = onnx.load(DATA / "P_add1.onnx")
    padding = onnx.TensorProto(name="padding", data_type=onnx.TensorProto.UINT8, dims=[30 * 2**20])
    padding.raw_data = os.urandom(30 * 2**20)
    big.graph.initializer.append(padding)
    app = write_app(model=False, **{"add1.onnx": big.SerializeToString()})
    out = tmp_path / "dist"
    with ThreadPoolExecutor() as executor:
        site = build_site([app], out, Options("cloudflare", ()), report, executor).site
    assert max(entry["bytes"] for entry in site["files"].values()) <= 24 * 2**20
    (variant,) = site["models"]["add1"]["variants"]
    whole = b"".join((out / part).read_bytes() for part in variant["parts"])
    assert (len(variant["parts"]), sha256(whole)) == (2, variant["sha256"])
    assert whole == (app.parent / "add1.onnx").read_bytes()
    assert set(site["ort"]) == {"wasm", "jspi"}
    assert any("left out the WebGPU build for browsers without JSPI" in warning for warning in report.warnings)


def test_a_large_model_is_cut_whatever_the_host_takes_and_says_what_a_run_needs(
    tmp_path: Path, report: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_models, "PART_BYTES", 1000)
    data = model(
        [Node("MatMul", ("x", "w"), ("h",), name="a"), Node("Relu", ("h",), ("y",), name="b")],
        {"x": (DataType.FLOAT, ["n", 16])},
        {"y": (DataType.FLOAT, ["n", 32])},
        {"w": np.ones((16, 32), np.float32)},
    )
    (tmp_path / "m.onnx").write_bytes(data)
    (tmp_path / "site").mkdir()
    tree = Tree(tmp_path / "site")
    models = SiteModels(tree, report)
    entry = models.entries[models.add(tmp_path / "m.onnx")]
    (variant,) = entry["variants"]
    assert len(variant["parts"]) == -(-len(data) // 1000)
    assert b"".join((tmp_path / "site" / part).read_bytes() for part in variant["parts"]) == data
    assert entry["activations"] == (32 + 32) * 4


@pytest.mark.parametrize(("text", "size"), [("900MB", 900_000_000), ("1.5g", 1_500_000_000), ("2048", 2048)])
def test_a_size_is_given_with_a_unit_or_in_bytes(text: str, size: int) -> None:
    parser = argparse.ArgumentParser()
    build_command.describe(parser)
    assert parser.parse_args(["app.py", "--memory-budget", text]).memory_budget == size


def test_a_file_that_cannot_be_cut_is_refused_where_the_host_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"data\..*\.bin: has 11 bytes, the host takes 10 a file"):
        Tree(tmp_path, limit_bytes=10).file("data.bin", b"x" * 11, "app:demo")


def test_names_that_hosts_may_mangle_are_numbered() -> None:
    names = safe_names(["app.py", "pkg/__init__.py", "data/O'Brien ☃ 100%.csv", "a/..b/c", "_x.py", "пакет/інше.py"])
    assert names["app.py"] == "app.py"
    assert names["pkg/__init__.py"] == "pkg/__init__.py"
    assert len(set(names.values())) == len(names)
    for path in set(names) - {"app.py", "pkg/__init__.py"}:
        assert re.fullmatch(r"file\d+(\.\w+)?", names[path]), names[path]


def test_json_in_a_page_cannot_end_its_script_element() -> None:
    assert "<" not in safe_json({"a": "</script><!--"})
    assert json.loads(safe_json({"a": "</script>"})) == {"a": "</script>"}
