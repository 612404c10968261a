"""The page's modules, joined into few files."""

import re
import shutil
from pathlib import Path

import pytest

from onnxlet.errors import BuildError
from onnxlet_build import paths
from onnxlet_build.bundle import ENTRIES, Bundle, bundle
from onnxlet_build.progress import Reporter
from tests.fetching import skip_outside_ci

IMPORT = re.compile(r'(?:import|export)(?:[^"\';]*?from)?\s*"(\./[^"]+|\.\./[^"]+)"')


@pytest.fixture(scope="module")
def made() -> Bundle:
    _needs_esbuild()
    made = bundle(_modules(), Reporter())
    assert made
    return made


def _needs_esbuild() -> None:
    if shutil.which("node") is None or paths.find_node_module("esbuild") is None:
        skip_outside_ci("needs Node and esbuild")


def _modules() -> dict[str, Path]:
    sources = [*paths.WEB.rglob("*.js"), *paths.WEB.rglob("*.css")]
    modules = {path.relative_to(paths.WEB).as_posix(): path for path in sources}
    return modules | {"vendor/comlink.js": paths.node_modules("comlink") / "dist/esm/comlink.min.mjs"}


def test_a_thread_comes_in_one_file(made: Bundle) -> None:
    assert made.imports["worker.js"] == made.imports["ort-worker.js"] == []
    assert len(made.imports["page.js"]) <= 6


def test_every_import_is_listed_and_is_there(made: Bundle) -> None:
    for entry in (name for names in ENTRIES for name in names):
        needed: set[str] = set()
        todo = [entry]
        while todo:
            name = todo.pop()
            for other in IMPORT.findall(made.files[name]):
                path = (Path(name).parent / other).as_posix().removeprefix("embed/../")
                if path not in needed:
                    needed.add(path)
                    todo.append(path)
        assert sorted(needed) == made.imports[entry], entry
        assert needed <= made.files.keys()


def test_what_a_visitor_may_never_open_is_apart(made: Bundle) -> None:
    first = "".join(made.files[name] for name in ["page.js", *made.imports["page.js"]])
    for text in ("vendor/tokenizers.js", "createEditor"):
        assert text not in first
    assert {"inside", "model", "python", "tokenizers"} <= {name.partition("-")[0] for name in made.files}


def test_only_files_of_the_top_folder_ask_where_they_lie(made: Bundle) -> None:
    assert [name for name, text in made.files.items() if "/" in name and "import.meta" in text] == []


def test_a_module_that_cannot_be_joined_is_named(tmp_path: Path) -> None:
    (tmp_path / "page.js").write_text('import "./missing.js";\n')
    _needs_esbuild()
    with pytest.raises(BuildError, match=r"missing\.js"):
        bundle({"page.js": tmp_path / "page.js"}, Reporter())


def test_without_esbuild_the_modules_ship_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = _modules()
    monkeypatch.setattr(paths, "find_node_module", lambda _: None)
    assert bundle(modules, Reporter()) is None
    assert "npm ci" in "".join(capsys.readouterr())
