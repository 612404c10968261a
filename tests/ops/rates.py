"""How many of ONNX's node tests pass, and where: ``python -m tests.ops.rates [--chromium] [--json FILE] [WAY ...]``.

Prints what fails, why it is excluded where it is, and the rates that README shows. Ways are numbers of rows; all of
them in Chromium take half an hour on two cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import generate_cases, runners
from .exclusions import reason

NUMPY, WASM, WEBGPU = "NumpyExecutionProvider", "CPUExecutionProvider", "WebGpuExecutionProvider"
ROWS = {  # what README's table has: title, where, way, provider
    "numpy": ("NumpyExecutionProvider, CPython", "cpython", "numpy", NUMPY),
    "numpy-page": ("NumpyExecutionProvider, Pyodide", "page", "numpy", NUMPY),
    "alone-wasm": ("ONNX Runtime Web alone, WebAssembly", "page", "alone", WASM),
    "alone-webgpu": ("ONNX Runtime Web alone, WebGPU and its CPU", "page", "alone", WEBGPU),
    "session-wasm": ("InferenceSession, WebAssembly", "page", "session", WASM),
    "session-webgpu": ("InferenceSession, WebGPU", "page", "session", WEBGPU),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", help="which rows; else those that need no browser")
    parser.add_argument("--chromium", action="store_true", help="all rows")
    parser.add_argument("--json", type=Path, help="write every case's outcome into this folder")
    options = parser.parse_args()
    cache = Path(".pytest_cache/d/onnxlet")
    cases = generate_cases.load(cache if cache.is_dir() else Path(tempfile.mkdtemp()))
    table = []
    for key in options.rows or (ROWS if options.chromium else ["numpy"]):
        title, where, way, provider = ROWS[key]
        begin_s = time.perf_counter()
        if where == "page":
            from tests.browser import page_cases

            with chromium() as browser:
                outcomes = page_cases.run(browser, cases, way, provider, _progress)
        else:
            outcomes = [(*one, False) for one in runners.outcomes(cases, way, provider)]
        took_s = time.perf_counter() - begin_s
        failed = [o for o in outcomes if o[1]]
        for name, error, *_ in failed:
            print(f"{key} {name}: {reason(name, page=where == 'page', session=way == 'session') or error}")
        passed = len(cases) - len(failed)
        table.append(f"| {title} | {passed} of {len(cases)} | {passed / len(cases):.1%} |")
        print(f"{table[-1]} {took_s:.0f} s", flush=True)
        if options.json:
            options.json.mkdir(exist_ok=True)
            (options.json / f"{key}.json").write_text(json.dumps(outcomes))
    print("\n| | pass | |\n|---|---|---|")
    print("\n".join(table))


def _progress(outcomes: Sequence[Any]) -> None:
    last = outcomes[-1]
    lost = f" (lost after {last[0]}: {last[1]})" if last[4] else ""
    print(f"{len(outcomes)}, {sum(bool(o[1]) for o in outcomes)} failed{lost}", file=sys.stderr, flush=True)


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser of the tests."""
    from playwright.sync_api import sync_playwright

    from tests.browser.conftest import FLAGS
    from tests.browser.conftest import chromium as found

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(args=[*FLAGS], executable_path=found())
        try:
            yield browser
        finally:
            browser.close()


if __name__ == "__main__":
    main()
