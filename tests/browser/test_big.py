"""A model of 1.2 GB, built and run for real.

python -m pytest -m big -s tests/browser/test_big.py    # 10 GB of memory, some minutes
"""

import time
from pathlib import Path

import pytest

from tests.browser.conftest import build_once
from tests.browser.driver import assert_same

pytestmark = pytest.mark.big
PART_BYTES = 128 << 20


def test_a_model_of_more_than_a_gigabyte_comes_in_parts_and_runs(visit, tmp_path_factory):
    site = build_once([Path(__file__).parent / "big_app" / "app.py"], "big", tmp_path_factory)
    visitor = visit(site, "plain")
    (variant,) = visitor.site["models"]["big"]["variants"]
    parts = [visitor.site["files"][path]["bytes"] for path in variant["parts"]]
    assert variant["bytes"] == sum(parts) > 1.2e9
    assert max(parts) <= PART_BYTES

    began = time.monotonic()
    ready = visitor.start("big_app", "wasm")
    assert "error" not in ready, ready
    started = time.monotonic()
    answer, expected = visitor.run_example("big_app", 0)
    first = time.monotonic()
    assert_same(answer, expected, floats_db=60)
    visitor.run_example("big_app", 0)
    second = time.monotonic()
    memory = visitor.page.evaluate("client.status()")["memory_bytes"]
    print(
        f"{variant['bytes']:,} bytes in {len(parts)} parts: ready after {started - began:.1f} s, first answer "
        f"{first - started:.1f} s later, the next takes {second - first:.2f} s; WebAssembly {memory:,} bytes"
    )
    assert memory < 1.8 * variant["bytes"]
