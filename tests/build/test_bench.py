"""What in the benchmark could be wrong without anybody noticing: its network, its count of bytes, its drawings."""

import http.client
import json
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.bench.line import Link
from tests.bench.report import Part, write
from tests.bench.rows import ratio
from tests.bench.start import Key, Starts
from tests.bench.visits import File, Stage, Timeline, Visit, Wire
from tests.bench.waterfall import waterfall
from tests.browser.server import serving


def get(host, page):
    """An answer's bytes, with status line and headers, and the milliseconds to its first and to its last byte."""
    connection = http.client.HTTPConnection(urlsplit(host.origin).netloc)
    begin = time.perf_counter()
    connection.request("GET", urlsplit(host.url("plain", "demo", page)).path, headers={"Accept-Encoding": "br"})
    response = connection.getresponse()
    first_ms = (time.perf_counter() - begin) * 1000
    body = response.read()
    last_ms = (time.perf_counter() - begin) * 1000
    connection.close()
    head = f"HTTP/1.1 {response.status} {response.reason}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in response.getheaders())
    return len(head) + 2 + len(body), body, first_ms, last_ms


@pytest.fixture
def host(tmp_path):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "large.bin").write_bytes(bytes(range(250)) * 400)
    with serving({"demo": tmp_path}) as host:
        yield host


def test_the_line_makes_answers_as_slow_as_it_is_and_shares_itself(host):
    host.line = Link(bytes_per_s=250_000, latency_s=0.08)
    _, _, first_ms, last_ms = get(host, "assets/large.bin")
    assert 80 <= first_ms < 300  # a busy machine adds to it, nothing takes from it
    assert 80 + 400 <= last_ms < 900
    begin = time.perf_counter()
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda _: get(host, "assets/large.bin"), range(3)))
    assert 80 + 3 * 400 <= (time.perf_counter() - begin) * 1000 < 2500  # latency once, bytes one after another


def test_the_count_of_bytes_is_what_a_client_sees(host):
    for page, host.compress in (("assets/large.bin", False), ("assets/large.bin", True), ("nothing.here", False)):
        seen, body, *_ = get(host, page)
        until = time.monotonic() + 5
        while len(host.sent) < 1 and time.monotonic() < until:
            time.sleep(0.01)  # the host notes an answer after it was read
        sent = host.sent.pop()
        assert (sent.bytes, sent.path.endswith(page)) == (seen, True)
        assert host.compress == (len(body) < 10_000 and page.endswith(".bin"))
        assert abs(sent.time_s - time.time()) < 5


def visit(*threads, answer_ms=1000.0, form_ms=200.0):
    return Visit(form_ms, answer_ms, "python", Wire(0, 0, 0, 0), list(threads))


def drawn(one):
    """The rectangles by class, and the texts, of a waterfall."""
    svg = ElementTree.fromstring(waterfall(one, "a & b"))
    rects = {}
    for rect in svg.iter("rect"):
        rects.setdefault(rect.get("class"), []).append(
            tuple(float(rect.get(name).rstrip("%")) for name in ("x", "width"))
        )
    return rects, [text.text for text in svg.iter("text")]


def test_a_waterfall_has_every_stage_and_file_in_its_place():
    stages = [Stage("python", 400.0, 400.0), Stage("session", 450.0, 650.0), Stage("ready", 5000.0, 5000.0)]
    files = [File("http://h/assets/web.0123abcd/py<>thon.0123abcd.wasm?x=1", 100.0, 150.0, 300.0)]
    rects, texts = drawn(visit(Timeline("worker", stages, files)))
    scale = 98 / 1060  # percent a millisecond: the axis ends 6% after the answer
    assert rects["stage"] == [
        pytest.approx((0, 400 * scale), abs=0.01),
        pytest.approx((450 * scale, 200 * scale), abs=0.01),
    ]
    assert rects["waits"] == [pytest.approx((100 * scale, 50 * scale), abs=0.01)]
    assert rects["comes"] == [pytest.approx((150 * scale, 150 * scale), abs=0.01)]
    assert {"worker", "python, 400 ms", "session, 650 ms", "py<>thon.wasm, 200 ms"} <= set(texts)
    assert not any("ready" in text for text in texts)  # it came after the answer


def test_a_waterfall_gathers_short_files_and_leaves_empty_threads_out():
    files = [File(f"http://h/{i}.js", 10.0, 12.0, 20.0 + i) for i in range(30)]
    rects, texts = drawn(visit(Timeline("page", [], files), Timeline("worker", [], [])))
    assert "20 more files" in texts
    assert (len(rects["comes"]), len(rects["comes many"])) == (10, 20)
    assert "worker" not in texts
    drawn(visit(Timeline("page", [], []), answer_ms=0.2, form_ms=0.0))  # nothing to divide by


def row(value, most=0.5):
    return ratio("answer", value, 1.0, lambda ms: f"{ms:.1f} ms", most)


def test_a_report_says_which_targets_are_missed_and_gives_every_visit(tmp_path):
    seen = Starts()
    for answer_ms in (900.0, 700.0, 5000.0):
        seen.add(Key("digits", "onnxlet", "none", "first"), visit(Timeline("page", [], []), answer_ms=answer_ms))
    parts = [Part("Start <of> it", [row(0.4), row(0.6), row(0.6, None)], seen)]
    html = write(tmp_path, parts, "Chromium 1", {"pyodide": "2"}, "python -m tests.bench").read_text()
    assert "<strong>1 of 2 targets</strong>" in html
    assert "Start &lt;of&gt; it" in html
    assert "900 ms, the median of 3 (700 to 5000 ms)" in html
    told = json.loads((tmp_path / "bench.json").read_text())["parts"][0]
    assert [one["met"] for one in told["rows"]] == [True, False, None]
    assert [one["answer_ms"] for one in told["cells"][0]["visits"]] == [900.0, 700.0, 5000.0]
