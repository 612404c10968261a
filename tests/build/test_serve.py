"""The local server: right types and headers, nothing outside the folder."""

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onnxlet.errors import BuildError
from onnxlet_build.headers import headers_file
from onnxlet_build.serve import Server, make_server

Reply = tuple[int, dict[str, str], bytes]
Get = Callable[..., Reply]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A site with a page, a folder, an asset, and a secret beside it."""
    root = tmp_path / "dist"
    (root / "assets" / "ort.12345678").mkdir(parents=True)
    (root / "sub").mkdir()
    (root / "index.html").write_text("<p>front")
    (root / "digits.html").write_text("<p>digits")
    (root / "sub" / "index.html").write_text("<p>sub")
    (root / "sw.js").write_text("// sw")
    (root / "assets" / "ort.12345678" / "a.wasm").write_bytes(b"\0asm")
    (root / "_headers").write_text(headers_file())
    (tmp_path / "secret.txt").write_text("secret")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    return root


@contextmanager
def serving(folder: Path, isolation: bool = True) -> Iterator[tuple[Server, Get]]:
    with make_server(folder, port=0, isolation=isolation) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()

        def get(path: str, method: str = "GET", **headers: str) -> Reply:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
            connection.putrequest(method, path, skip_accept_encoding=True)
            for key, value in headers.items():
                connection.putheader(key.replace("_", "-"), value)
            connection.endheaders()
            response = connection.getresponse()
            reply = response.status, dict(response.getheaders()), response.read()
            connection.close()
            return reply

        try:
            yield server, get
        finally:
            server.shutdown()
            thread.join()


def test_files_have_their_types_and_isolation_headers(folder: Path) -> None:
    with serving(folder) as (_, get):
        for path, kind in [
            ("/", "text/html"),
            ("/sw.js", "text/javascript"),
            ("/assets/ort.12345678/a.wasm", "application/wasm"),
        ]:
            status, headers, _ = get(path)
            assert (status, headers["Content-Type"].split(";")[0]) == (200, kind)
            assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
            assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
            assert "'unsafe-eval'" not in headers["Content-Security-Policy"]
        assert get("/")[1]["Cache-Control"] == "no-cache"
        assert "immutable" in get("/assets/ort.12345678/a.wasm")[1]["Cache-Control"]


def test_a_bare_host_sends_none_of_them(folder: Path) -> None:
    with serving(folder, isolation=False) as (_, get):
        headers = get("/")[1]
        assert not [key for key in headers if key.startswith(("Cross-Origin", "Content-Security"))]
        assert headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/..%5csecret.txt",
        "//etc/passwd",
        "/link.txt",
        "/a%00b",
        "/nothing",
        "/assets/",
        "/%ff%fe",
    ],
)
def test_nothing_outside_the_folder_is_served(folder: Path, path: str) -> None:
    with serving(folder) as (_, get):
        status, _, body = get(path)
        assert status == 404
        assert b"secret\n" not in body
        assert b"root:" not in body


def test_pages_answer_without_their_suffix_and_folders_redirect_to_their_slash(folder: Path) -> None:
    with serving(folder) as (_, get):
        assert get("/digits")[2] == b"<p>digits"
        assert get("/digits.html?x=1")[2] == b"<p>digits"
        status, headers, _ = get("/sub")
        assert (status, headers["Location"]) == (301, "/sub/")
        assert get("/sub/")[2] == b"<p>sub"
        assert not get("//evil.example/..//sub")[1].get("Location", "/").startswith("//")


def test_head_has_no_body_and_a_known_file_is_not_sent_again(folder: Path) -> None:
    with serving(folder) as (_, get):
        status, headers, body = get("/", method="HEAD")
        assert (status, headers["Content-Length"], body) == (200, "8", b"")
        assert get("/", If_None_Match=headers["ETag"])[0] == 304


def test_the_address_is_one_that_browsers_isolate(folder: Path) -> None:
    with serving(folder) as (server, _):
        assert server.address == f"http://localhost:{server.server_address[1]}/"


def test_a_port_in_use_and_a_folder_without_a_site_are_said(folder: Path, tmp_path: Path) -> None:
    with serving(folder) as (server, _):
        port = int(server.server_address[1])
        with pytest.raises(BuildError, match=rf"127.0.0.1:{port}: cannot listen there .* choose another with --port"):
            make_server(folder, port=port)
    with pytest.raises(BuildError, match="is not a folder; build a site into it first"):
        make_server(tmp_path / "none")
    with pytest.raises(BuildError, match=r"has no index.html"):
        make_server(tmp_path)


@pytest.fixture
def compressed(folder: Path) -> Path:
    """The site, with compressed forms of its asset and its page beside them."""
    for name in ("index.html", "assets/ort.12345678/a.wasm"):
        (folder / f"{name}.br").write_bytes(b"brotli of " + name.encode())
        (folder / f"{name}.gz").write_bytes(b"gzip of " + name.encode())
    return folder


@pytest.mark.parametrize(
    ("accepts", "coding", "start"),
    [
        ("gzip, deflate, br, zstd", "br", b"brotli of"),
        ("br;q=0.5, gzip", "br", b"brotli of"),
        ("gzip, br;q=0", "gzip", b"gzip of"),
        ("GZIP", "gzip", b"gzip of"),
        ("deflate, *;q=0.1", None, b"\0asm"),
        ("", None, b"\0asm"),
    ],
)
def test_a_browser_gets_the_smallest_form_that_it_takes(
    compressed: Path, accepts: str, coding: str | None, start: bytes
) -> None:
    path = "/assets/ort.12345678/a.wasm"
    with serving(compressed) as (_, get):
        status, headers, body = get(path, Accept_Encoding=accepts)
        assert (status, headers.get("Content-Encoding"), body[: len(start)]) == (200, coding, start)
        assert int(headers["Content-Length"]) == len(body)
        assert (headers["Content-Type"], headers["Vary"]) == ("application/wasm", "Accept-Encoding")
        assert "immutable" in headers["Cache-Control"]
        again = get(path, Accept_Encoding=accepts, If_None_Match=headers["ETag"])
        assert (again[0], again[1]["Vary"], again[2]) == (304, "Accept-Encoding", b"")


def test_each_form_of_a_file_has_a_tag_of_its_own(compressed: Path) -> None:
    with serving(compressed) as (_, get):
        tags = {get("/", Accept_Encoding=coding)[1]["ETag"] for coding in ("br", "gzip", "")}
        assert len(tags) == 3
        assert "Vary" not in get("/digits")[1], "it has one form only"


def test_a_host_that_compresses_nothing_can_be_tried(compressed: Path) -> None:
    with make_server(compressed, port=0, compress=False) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
        connection.request("GET", "/", headers={"Accept-Encoding": "br, gzip"})
        response = connection.getresponse()
        assert (response.getheader("Content-Encoding"), response.getheader("Vary")) == (None, None)
        assert response.read() == b"<p>front"
        connection.request("GET", "/index.html.gz")
        response = connection.getresponse()
        assert (response.getheader("Content-Encoding"), response.read()) == (None, b"gzip of index.html")
        connection.close()
        server.shutdown()
        thread.join()
