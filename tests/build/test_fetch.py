"""Files come from the cache, the CDN or PyPI, and only their hash makes them right."""

import re
import zipfile
from pathlib import Path

import pytest

from onnxlet.errors import BuildError
from onnxlet_build import fetch
from onnxlet_build.core_wheel import core_wheel
from onnxlet_build.paths import scratch, write_whole
from onnxlet_build.runtime import Runtime


def test_a_kept_file_is_found_by_its_hash(empty_cache: Path) -> None:
    path = fetch.keep("folder/a.bin", b"content")
    assert fetch.cached("elsewhere/a.bin", fetch.sha256(b"content")) == path
    assert path.read_bytes() == b"content"


def test_a_file_that_changed_in_the_cache_is_not_used(empty_cache: Path) -> None:
    path = fetch.keep("a.bin", b"content")
    path.write_bytes(b"<!doctype html>")
    assert fetch.cached("a.bin", fetch.sha256(b"content")) is None
    assert not path.exists()


def test_a_wheel_that_no_source_has_is_refused_with_what_each_source_said(empty_cache: Path, runtime: Runtime) -> None:
    with pytest.raises(BuildError) as caught:
        runtime.wheel("numpy")
    text = str(caught.value)
    assert text.startswith("numpy-2.4.3-cp314-cp314-pyemscripten_2026_0_wasm32.whl: no source has it")
    assert "cache: not there" in text
    assert "Pyodide's CDN: not asked, --offline" in text
    assert re.search(r"carrier on PyPI: open-webui==\S+: not in the cache", text)
    assert "put a file with sha256 0cad9c1b" in text


def test_numpy_is_the_file_that_pyodide_names(runtime: Runtime) -> None:
    assert fetch.sha256(runtime.wheel("numpy").read_bytes()).startswith("0cad9c1b91f0082e")


def test_a_file_of_an_npm_package_that_is_not_the_pinned_one_is_refused(runtime: Runtime) -> None:
    runtime.pins["comlink"]["files"] = {"package.json": "0" * 64}
    with pytest.raises(BuildError, match=r"npm package comlink: package.json has sha256 .*, expected 000.*`npm ci`"):
        runtime.npm_file("comlink", "package.json")


def test_a_member_with_another_hash_is_refused() -> None:
    with pytest.raises(BuildError, match=r"METADATA from cowsay==6.1: sha256 is .*, expected 000"):
        fetch.from_pypi("cowsay==6.1", "cowsay-6.1.dist-info/METADATA", "0" * 64)


def test_a_member_that_the_wheel_lacks_is_named() -> None:
    with pytest.raises(BuildError, match=r"cowsay==6.1: its wheel has no moo.onnx"):
        fetch.from_pypi("cowsay==6.1", "moo.onnx", "0" * 64)


def test_a_version_that_does_not_exist_is_named_in_pips_words() -> None:
    with pytest.raises(BuildError, match="cowsay==99: Could not find a version"):
        fetch.from_pypi("cowsay==99", "x", "0" * 64)


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"old")
    with pytest.raises(TypeError):
        write_whole(tmp_path / "a", "no bytes")  # type: ignore[arg-type]
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_scratch_folder_is_gone_after_an_error(tmp_path: Path) -> None:
    def interrupted() -> None:
        with scratch(tmp_path) as folder:
            (folder / "file").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_the_cores_wheel_is_the_same_every_time_and_holds_the_core_alone(tmp_path: Path) -> None:
    name, data = core_wheel()
    assert (name, data) == core_wheel()
    (tmp_path / name).write_bytes(data)
    with zipfile.ZipFile(tmp_path / name) as archive:
        tops = {member.split("/")[0] for member in archive.namelist()}
        assert "onnxlet/session.py" in archive.namelist()
    assert tops == {"onnxlet", name.replace("-py3-none-any.whl", ".dist-info")}
