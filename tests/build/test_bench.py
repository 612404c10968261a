"""What in the benchmark could be wrong without anybody noticing: its network, and its count of bytes."""

import http.client
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.bench.line import Link
from tests.browser.server import serving


def get(host, page, encoding=""):
    """An answer's bytes, with status line and headers, and the milliseconds to its first and to its last byte."""
    connection = http.client.HTTPConnection(urlsplit(host.origin).netloc)
    begin = time.perf_counter()
    connection.request("GET", urlsplit(host.url("plain", "demo", page)).path, headers={"Accept-Encoding": encoding})
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
    host.compress = True
    for page, encoding in (("assets/large.bin", ""), ("assets/large.bin", "br"), ("nothing.here", "")):
        seen, body, *_ = get(host, page, encoding)
        until = time.monotonic() + 5
        while len(host.sent) < 1 and time.monotonic() < until:
            time.sleep(0.01)  # the host notes an answer after it was read
        sent = host.sent.pop()
        assert (sent.bytes, sent.path.endswith(page)) == (seen, True)
        assert (encoding == "br") == (len(body) < 10_000 and page.endswith(".bin"))
        assert abs(sent.time_s - time.time()) < 5
