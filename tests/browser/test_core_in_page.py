"""The core's own unit tests, run again by the Python that runs in the page."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.harness import PagePython, open_python

ROOT = Path(__file__).parents[2]
# What a test file needs and a page does not have: the oracles that the core is compared with in CPython.
ONLY_IN_CPYTHON = {
    "subprocess": "a page starts no other Python",
    "onnx": "its wheel for the page needs ml_dtypes, which has none",
    "onnxruntime": "native; in the page this name is the core itself",
    "hypothesis": "generates thousands of cases: too slow in WebAssembly",
    "scipy": "an oracle only; 12 MB to load",
    "PIL": "an oracle only; tests/browser/test_values.py loads it",
    "onnxlet_build": "the build runs in CPython",
    "tokenizers": "an oracle only; tests/browser/test_tokenizers.py compares the page with it",
    "sentencepiece": "an oracle only",
}

# Tests whose expected values are CPython's, with the reason.
OTHERWISE_IN_WASM = {
    "tests/ops/test_cases.py::test_a_reported_fault_does_not_occur[G13_cast_range]": "its second run casts NaN and "
    "infinity to integers: the spec leaves the result open, and WebAssembly saturates",
}


def needs(path: Path) -> set[str]:
    """The packages that a test file imports as it loads, itself or through another test module."""
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            module = f"tests.{path.parent.name}" if node.level else node.module or ""
            module += f".{node.module}" if node.level and node.module else ""
            names = [module, *(f"{module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.startswith("tests.") and (other := ROOT / (name.replace(".", "/") + ".py")).is_file():
                found |= needs(other)
            found.add(name.partition(".")[0])
    return found


FILES = [path for folder in ("core", "ops") for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))]
HERE = [path for path in FILES if not needs(path) & ONLY_IN_CPYTHON.keys()]


@pytest.fixture(scope="module")
def python(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagePython]:
    with open_python(browser, tmp_path_factory.mktemp("core"), models={}) as page_python:
        yield page_python


@pytest.mark.parametrize("path", HERE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_cores_tests_pass_in_the_page(python: PagePython, path: Path) -> None:
    left_out = [f"--deselect={name}" for name in OTHERWISE_IN_WASM]
    status, output = python.pytest(path.relative_to(ROOT).as_posix(), *left_out, tests=("core", "ops", "data"))
    assert status == 0, output
