"""An app's packages: what it asks for, what that needs, and what cannot go to the page."""

from pathlib import Path

import pytest

from onnxlet.errors import BuildError
from onnxlet_build import fetch
from onnxlet_build.imports import check_imports, required_imports
from onnxlet_build.packages import Package, resolve, script_requirements
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime


def names(packages: list[Package]) -> set[str]:
    return {package.name for package in packages}


def asked(*requirements: str) -> list[tuple[str, str]]:
    return [(requirement, "app.py") for requirement in requirements]


def test_a_script_block_gives_its_dependencies() -> None:
    source = (
        '"""Doc."""\n# /// script\n# requires-python = ">=3.11"\n# dependencies = [\n#   "pillow>=11",\n# ]\n# ///\n'
    )
    assert script_requirements(source, "app.py") == ["pillow>=11"]


@pytest.mark.parametrize("source", ["", "import numpy\n", "# requirements: numpy, uvloop\n"])
def test_a_file_without_a_block_asks_for_nothing(source: str) -> None:
    assert script_requirements(source, "app.py") == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("# /// script\n# dependencies = [\n# ///\n", "app.py: its `# /// script` block is not TOML"),
        ("# /// script\n# dependencies = 'a'\n# ///\n", "must be a list of strings"),
        ("# /// script\n# x = 1\n# ///\n\n# /// script\n# x = 1\n# ///\n", "has 2 `# /// script` blocks"),
    ],
)
def test_a_broken_block_is_refused(source: str, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        script_requirements(source, "app.py")


def test_every_page_has_numpy_and_what_the_lock_has_comes_as_the_lock_says(runtime: Runtime, report: Reporter) -> None:
    packages = {p.name: p for p in resolve(asked("Pillow>=11", "onnxruntime>=1.20", "onnxlet"), runtime, report)}
    assert set(packages) == {"numpy", "pillow"}
    assert packages["pillow"].sha256 == runtime.lock["packages"]["pillow"]["sha256"]
    assert packages["pillow"].imports == ("PIL",)


def test_packages_from_pypi_bring_their_dependencies_by_the_pages_markers(runtime: Runtime, report: Reporter) -> None:
    packages = resolve(
        asked(
            "requests[socks]",  # in the lock; the extra is not
            'humanize; sys_platform == "emscripten"',
            'cowsay; sys_platform == "linux"',
            'six; python_version < "3.14"',
        ),
        runtime,
        report,
    )
    assert {"requests", "urllib3", "pysocks", "humanize"} <= names(packages)
    assert not {"cowsay", "six"} & names(packages)
    requests = next(p for p in packages if p.name == "requests")
    assert {"certifi", "pysocks"} <= set(requests.depends)


def test_what_was_resolved_once_needs_no_network(
    runtime: Runtime, report: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = resolve(asked("humanize"), runtime, report)
    monkeypatch.setattr(fetch, "offline", True)
    assert resolve(asked("humanize"), runtime, report) == first


def test_every_package_without_a_usable_wheel_is_named_at_once(runtime: Runtime, report: Reporter) -> None:
    with pytest.raises(BuildError) as caught:
        resolve(asked("numpy", "uvloop", "ruff>=0.1.7", "psutil", "humanize"), runtime, report)
    text = str(caught.value)
    assert text.startswith("3 packages cannot go to the page: uvloop, ruff, psutil.")
    assert "ruff>=0.1.7 in pure Python or for pyemscripten_2026_0_wasm32; asked for by app.py (ruff>=0.1.7)" in text
    assert "humanize" not in text
    assert "Leave them out of the page" in text


def test_a_version_that_the_page_does_not_have_is_refused_with_who_asks(runtime: Runtime, report: Reporter) -> None:
    with pytest.raises(BuildError, match=r"numpy: Pyodide 314.0.3 has 2.4.3 only; asked for by .*app.py \(numpy<2\)"):
        resolve(asked("numpy<2"), runtime, report)


@pytest.mark.parametrize("text", ["not a requirement!", "a @ https://example.org/a.whl"])
def test_what_is_no_name_and_version_is_refused(text: str, runtime: Runtime, report: Reporter) -> None:
    with pytest.raises(BuildError, match=r"no requirement|asked for by name|ask for it by name"):
        resolve(asked(text), runtime, report)


def test_only_imports_that_must_succeed_count() -> None:
    source = """
import os.path, scipy.stats as stats
from . import sibling
from PIL import Image
if True:
    import regex
try:
    import torch
except ImportError:
    torch = None
def later():
    import tensorflow
if __name__ == "__main__":
    import matplotlib
"""
    assert set(required_imports(source, Path("app.py"))) == {"os", "scipy", "PIL", "regex"}


def test_a_syntax_error_is_named_with_its_line() -> None:
    with pytest.raises(BuildError, match=r"app.py: line 2: is not Python"):
        required_imports("x = 1\ny = = 2\n", Path("app.py"))


def test_undeclared_imports_are_named_with_the_package_to_declare(tmp_path: Path, runtime: Runtime) -> None:
    app = tmp_path / "app.py"
    app.write_text("import json, numpy, onnxruntime, helper\nfrom PIL import Image\nimport uvloop, tkinter\n")
    (tmp_path / "helper.py").write_text("")
    with pytest.raises(BuildError) as caught:
        check_imports([app], tmp_path, [], runtime.lock["packages"])
    text = str(caught.value)
    assert "imports 3 modules that the page will not have" in text
    assert 'PIL (app.py line 2): add "pillow" to `dependencies`' in text
    assert 'uvloop (app.py line 3): add "uvloop"' in text
    assert "tkinter (app.py line 3): Python in the page has no such module" in text
