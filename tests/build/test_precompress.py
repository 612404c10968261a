"""Compressed files beside the site's: right, kept by content, and only where they gain."""

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import brotli
import numpy as np
import pytest

from onnxlet_build import precompress as module
from onnxlet_build.fetch import sha256
from onnxlet_build.precompress import Weight, compress_pages, note_gzipped, precompress
from onnxlet_build.progress import Reporter

WEIGHTS = np.random.default_rng(0).standard_normal(100_000, np.float32).tobytes()
CONTENTS = {
    "assets/module.1.js": b"export const value = 1;\n" * 40_000,  # large: goes to a worker
    "assets/small.2.js": b"import './module.js';\n" * 100,
    "assets/weights.3.onnx": WEIGHTS,
    "assets/noise.4.bin": os.urandom(300_000),
    "assets/empty.5.txt": b"",
    "assets/twin.6.js": b"import './module.js';\n" * 100,
}


@pytest.fixture
def site(tmp_path: Path, empty_cache: Path) -> tuple[Path, dict[str, dict[str, Any]]]:
    """A folder of files as site.json lists them, and an empty cache."""
    files = {}
    for path, content in CONTENTS.items():
        target = tmp_path / "site" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        files[path] = {"bytes": len(content), "sha256": sha256(content), "group": "page"}
    return tmp_path / "site", files


def run(site: tuple[Path, dict[str, dict[str, Any]]], *codings: str) -> dict[str, Weight]:
    folder, files = site
    with ThreadPoolExecutor(2) as executor:
        return precompress(files, folder, codings, Reporter(quiet=True), executor)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if path.suffix in (".br", ".gz")}


def test_what_gains_gets_both_files_and_they_hold_the_same(site: Any) -> None:
    folder, files = site
    weights = run(site, "br", "gz")
    gaining = {"module.1.js", "small.2.js", "weights.3.onnx", "twin.6.js"}
    assert names(folder) == {f"{name}.{coding}" for name in gaining for coding in ("br", "gz")}
    for path, content in CONTENTS.items():
        if Path(path).name in gaining:
            small = {coding: (folder / f"{path}.{coding}").read_bytes() for coding in ("br", "gz")}
            assert brotli.decompress(small["br"]) == gzip.decompress(small["gz"]) == content
            assert weights[path] == Weight(len(content), len(small["gz"]), len(small["br"]))
        else:
            assert weights[path] == Weight(len(content), len(content), len(content))
    assert set(files["assets/module.1.js"]) == {"bytes", "sha256", "group"}, "the build's identity is made of these"


def test_what_is_known_is_not_compressed_again(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = site
    first = run(site, "br", "gz")
    before = {path.name: path.read_bytes() for path in folder.rglob("*") if path.suffix in (".br", ".gz")}
    for path in folder.rglob("*.[bg][rz]"):
        path.unlink()
    monkeypatch.setattr(module, "compress", None)
    assert run(site, "br", "gz") == first
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.suffix in (".br", ".gz")} == before


def test_nothing_is_written_for_a_host_that_compresses_but_all_is_weighed(site: Any) -> None:
    folder, _ = site
    weights = run(site)
    assert names(folder) == set()
    module_ = weights["assets/module.1.js"]
    assert module_.br < module_.gz < module_.bytes / 100
    only = run(site, "gz")
    assert {Path(name).suffix for name in names(folder)} == {".gz"}
    assert only["assets/module.1.js"].br == module_.br, "measured as before"


def test_the_page_is_told_of_a_gz_that_is_worth_a_request(site: Any) -> None:
    folder, files = site
    run(site, "gz")
    note_gzipped(files, folder)
    told = {path: entry["gz"] for path, entry in files.items() if "gz" in entry}
    assert told == {"assets/module.1.js": (folder / "assets/module.1.js.gz").stat().st_size}, "weights save 8%"


def test_a_job_that_fails_leaves_no_file_half_written(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = site

    def fails(content: Any, coding: str) -> bytes:
        raise MemoryError(f"{coding} of {content!r:.20}")

    monkeypatch.setattr(module, "compress", fails)
    with pytest.raises(MemoryError):
        run(site, "br", "gz")
    assert names(folder) == set()
    monkeypatch.undo()


def test_pages_are_compressed_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "site.json").write_text(json.dumps({"files": {f"a{i}": {"bytes": i} for i in range(500)}}))
    (tmp_path / "sw.js").write_text("")
    compress_pages(tmp_path, ["site.json", "sw.js"], ["br", "gz"])
    assert names(tmp_path) == {"site.json.br", "site.json.gz"}
    assert brotli.decompress((tmp_path / "site.json.br").read_bytes()) == (tmp_path / "site.json").read_bytes()
