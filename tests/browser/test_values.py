"""Values in Chromium's Python: the same pictures, sounds and tables as in CPython."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime
from tests.browser.harness import PagePython, open_python


@pytest.fixture(scope="module")
def python(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagePython]:
    with open_python(browser, tmp_path_factory.mktemp("values"), models={}) as page_python:
        page_python.unpack(Runtime(Reporter(quiet=True)).wheel("pillow").read_bytes())
        yield page_python


@pytest.mark.parametrize("name", ["app", "wire", "images", "resize", "audio", "sound_features", "tables", "shown"])
def test_the_tests_of_values_pass_in_the_page(python: PagePython, name: str) -> None:
    status, output = python.pytest(f"tests/values/test_{name}.py", tests=("values", "data"))
    assert status == 0, output
