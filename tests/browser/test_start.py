"""How Python starts: what comes first, what comes late, and what happens when a shortcut is broken."""

import hashlib
import json
import os
import shutil

import pytest

from tests.browser.driver import increments

PROMPT = """async (line) => {
  const said = [];
  const answer = await client.prompt(line, (kind, text) => said.push(text));
  return answer.error ? answer : said.join("");
}"""
LATE = "library."  # of the file that no start needs


def prompt(visitor, line):
    """What the console of the current app says to a line."""
    return visitor.page.evaluate(PROMPT, line)


@pytest.fixture
def tampered(cases, tmp_path):
    """Builds the site again around another snapshot."""

    def site(change):
        folder = tmp_path / "site"
        shutil.copytree(cases, folder, copy_function=os.link)
        manifest = json.loads((cases / "site.json").read_bytes())
        path = manifest["python"]["snapshot"]["file"]
        data = change((cases / path).read_bytes())
        manifest["files"][path] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, content in ((path, data), ("site.json", json.dumps(manifest).encode())):
            (folder / name).unlink()
            (folder / name).write_bytes(content)
        return folder

    return site


def test_python_starts_from_the_snapshot_and_is_whole(visit, cases):
    visitor = visit(cases, "iso")
    ready = visitor.start("waiting")
    assert ready.get("python_start") == {"snapshot": True, "why": ""}, ready
    assert increments(visitor)
    for line, says in {
        "import numpy as np; np.linalg.eigvalsh(np.diag([1.0, 2.0])).tolist()": "[1.0, 2.0]",
        "np.random.default_rng(5).integers(0, 9, 4).tolist()": "[6, 7, 0, 7]",
        "np.fft.ifft(np.fft.fft([1, 2])).real.tolist()": "[1.0, 2.0]",
        "import csv, io; list(csv.reader(io.StringIO('a,b')))": "[['a', 'b']]",
        "from decimal import Decimal; Decimal('0.1') + 1": "Decimal('1.1')",
        "import gzip; gzip.decompress(gzip.compress(b'abc'))": "b'abc'",
        "from pyodide.ffi import run_sync; import asyncio; run_sync(asyncio.sleep(0.01, 'slept'))": "slept",
        "import js; js.Array.new(3, 1, 2).sort(lambda a, b: a - b).to_py()": "[1, 2, 3]",
        "fails = lambda: 1 / 0": "",
        "fails()": "line 1, in <lambda>",
        "import sys; sys.path.count('')": "1",
    }.items():  # fmt: skip
        assert says in prompt(visitor, line), line


def test_what_was_frozen_is_the_visitors_own_again(visit, cases):
    seen = []
    for zone in ("Asia/Kathmandu", "America/Bogota"):
        visitor = visit(cases, "iso", timezone_id=zone, locale="de-AT")
        assert visitor.start("waiting")["python_start"]["snapshot"]
        ask = "import random, tempfile, time, os; [random.random(), time.timezone, os.environ['LANG']]"
        name = "next(tempfile._get_candidate_names())"
        seen.append((prompt(visitor, ask), prompt(visitor, name)))
    (one, name), (other, other_name) = seen
    assert one.split(",")[0] != other.split(",")[0]
    assert name != other_name
    assert "-20700" in one
    assert "18000" in other
    assert "de_AT.UTF-8" in one


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("404~.heap", "404"),
        ("flip~.heap", "other contents"),
        ("short~.heap", "bytes"),
        ("html~.heap", "HTML page"),
        ("nojspi", "no JSPI"),
    ],
)
def test_without_its_snapshot_python_starts_the_plain_way(visit, cases, condition, why):
    visitor = visit(cases, f"iso+{condition}")
    ready = visitor.start("waiting")
    assert "error" not in ready, ready
    assert not ready["python_start"]["snapshot"]
    assert why in ready["python_start"]["why"]
    assert increments(visitor)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: data.replace(b'"pyodide":"314.', b'"pyodide":"313.'), "made for Pyodide 313."),
        (lambda data: data.replace(b'"of":"', b'"of":"0', 1).replace(b'"heapBytes"', b'"heapByte"', 1), "other files"),
        (lambda data: data[: len(data) // 2 // 8 * 8], "cut"),
        (lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2), ""),
        (lambda data: data.replace(b"_multiarray_umath", b"_multiarray_umatx", 1), "_multiarray_umatx"),
        (lambda data: b"", ""),
    ],
    ids=["another Pyodide", "other files", "cut", "zeros", "another library", "empty"],
)
def test_a_snapshot_that_does_not_fit_is_not_used(visit, tampered, change, why):
    visitor = visit(tampered(change), "iso")
    ready = visitor.start("waiting")
    assert "error" not in ready, ready
    assert not ready["python_start"]["snapshot"]
    assert why in ready["python_start"]["why"]
    assert increments(visitor)


def test_an_import_that_the_start_left_out_is_fetched_by_itself(visit, cases, host):
    visitor = visit(cases, "iso")
    with host.watched() as first:
        assert "error" not in visitor.start("waiting")
    with host.watched() as then:
        assert "2.0" in prompt(visitor, "import numpy; float(numpy.fft.fft([1, 1])[0].real)")
    assert [sum(LATE in path for path in asked) for asked in (first, then)] == [0, 1]
    assert "<a />" in prompt(visitor, "import xml.etree.ElementTree as e; e.tostring(e.Element('a'), 'unicode')")
    assert "json.tool" in prompt(visitor, "import json.tool; json.tool")
    assert "да" in prompt(visitor, "bytes([228, 224]).decode('cp1251')")


def test_a_late_part_that_is_missing_is_named_and_the_app_goes_on(visit, cases):
    visitor = visit(cases, f"iso+404~{LATE}")
    assert "error" not in visitor.start("waiting")
    said = str(prompt(visitor, "import xml.dom.minidom"))  # the console itself comes late
    assert "ImportError" in said
    assert "the host answered 404" in said
    assert increments(visitor)


def test_an_app_that_imports_late_modules_has_them_as_it_starts(visit, cases, host):
    site = json.loads((cases / "site.json").read_bytes())
    assert {app["name"]: app["whole_library"] for app in site["apps"]}["cases"]
    assert not {app["name"]: app["whole_library"] for app in site["apps"]}["waiting"]
