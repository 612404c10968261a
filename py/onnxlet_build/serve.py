"""``build.py serve DIR``: a local server that does what a good static host does.

Right MIME types, what the site's ``_headers`` file says, ``/digits`` for ``digits.html``, and the ``.br`` or ``.gz``
beside a file where the browser takes it. For trying a site out: it has no TLS.
"""

import contextlib
import os
import re
import sys
import urllib.parse
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from onnxlet.errors import BuildError

from .headers import MIME, read_headers_file

__all__ = ["Server", "make_server"]

_CHUNK_BYTES = 1 << 20
_ENCODINGS = {"br": "br", "gzip": "gz"}  # Content-Encoding: suffix, the smaller first


class Server(ThreadingHTTPServer):
    """Serves one folder; `address` is where."""

    daemon_threads = True

    def __init__(self, folder: Path, host: str, port: int, isolation: bool, compress: bool, log: bool) -> None:
        self.folder = folder.resolve()
        self.compress = compress
        self.rules = read_headers_file(self.folder / "_headers") if isolation else []
        self.log = log
        super().__init__((host, port), _Handler)

    @property
    def address(self) -> str:
        """The URL of the folder. Browsers allow isolation on localhost without TLS, on other names only with it."""
        host, port = str(self.server_address[0]), self.server_address[1]
        host = "localhost" if host in ("127.0.0.1", "0.0.0.0", "::") else host
        return f"http://{host}:{port}/"


def make_server(
    folder: Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    *,
    isolation: bool = True,
    compress: bool = True,
    log: bool = False,
) -> Server:
    """A server that listens already; call its ``serve_forever``.

    Args:
        port: 0 takes a free one.
        isolation: send what the site's ``_headers`` asks for (COOP, COEP, the policy); False mimics a bare host.
        compress: send the .br and .gz that lie beside files to browsers that take them; False mimics a bare host.
    Raises: BuildError: no such folder, no site in it, or the port is taken.
    """
    if not folder.is_dir():
        raise BuildError(f"{folder}: is not a folder; build a site into it first: build.py APP --out {folder}")
    if not (folder / "index.html").is_file():
        raise BuildError(f"{folder}: has no index.html; give the folder that build.py wrote")
    try:
        return Server(folder, host, port, isolation, compress, log)
    except OSError as error:
        raise BuildError(
            f"{host}:{port}: cannot listen there ({error.strerror}); choose another with --port"
        ) from error


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, *, body: bool) -> None:
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        file = self._find(path)
        if file is None:
            self._fail(HTTPStatus.NOT_FOUND, f"{path}: not here\n", body=body)
            return
        if file.is_dir():  # without the slash, every relative address in the page would be wrong
            self.send_response(HTTPStatus.MOVED_PERMANENTLY)
            # One slash only: "//host" would be another host's address.
            self.send_header("Location", "/" + urllib.parse.quote(path.strip("/")) + "/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        sent, coding, several = self._choose(file)
        stat = sent.stat()
        tag = f'"{stat.st_mtime_ns:x}-{stat.st_size:x}{coding and "-"}{coding}"'  # each form has a tag of its own
        known = self.headers.get("If-None-Match") == tag
        self.send_response(HTTPStatus.NOT_MODIFIED if known else HTTPStatus.OK)
        if not known:
            self.send_header("Content-Type", MIME.get(file.suffix.lower(), "application/octet-stream"))
            self.send_header("Content-Length", str(stat.st_size))
            if coding:
                self.send_header("Content-Encoding", coding)
        self.send_header("ETag", tag)
        if several:
            self.send_header("Vary", "Accept-Encoding")
        if not file.is_relative_to(self.server.folder / "assets"):
            self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        if body and not known:
            with sent.open("rb") as stream:
                while chunk := stream.read(_CHUNK_BYTES):
                    self.wfile.write(chunk)

    def _choose(self, file: Path) -> tuple[Path, str, bool]:
        """The form of a file that this browser gets, its Content-Encoding, and whether others get another one."""
        if not self.server.compress:
            return file, "", False
        forms = {name: file.with_name(f"{file.name}.{suffix}") for name, suffix in _ENCODINGS.items()}
        forms = {name: form for name, form in forms.items() if form.is_file()}
        takes = _accepted(self.headers.get("Accept-Encoding", ""))
        coding = next((name for name in forms if name in takes), "")
        return forms.get(coding, file), coding, bool(forms)

    def _find(self, path: str) -> Path | None:
        """The file or folder that a URL path means; None where there is none, or it lies outside the site."""
        if "\0" in path or "\\" in path:
            return None
        root = self.server.folder
        plain = path.strip("/")
        candidates = [root / plain / "index.html"] if path.endswith("/") else [root / plain, root / f"{plain}.html"]
        for candidate in candidates:
            resolved = Path(os.path.realpath(candidate))
            if not resolved.is_relative_to(root):
                return None
            if resolved.is_file() or (resolved.is_dir() and (resolved / "index.html").is_file()):
                return resolved
        return None

    def _fail(self, status: HTTPStatus, text: str, *, body: bool) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)

    def end_headers(self) -> None:
        for prefix, headers in self.server.rules:
            if self.path.startswith(prefix):
                for key, value in headers.items():
                    self.send_header(key, value)
        super().end_headers()

    def handle(self) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the browser went away
            super().handle()

    def log_message(self, format: str, *args: object) -> None:
        if self.server.log:
            sys.stderr.write(f"{format % args}\n")


def _accepted(header: str) -> set[str]:
    """The codings that an Accept-Encoding header allows (RFC 9110, 12.5.3); "*" is taken for none that we have."""
    takes = set()
    for entry in header.lower().split(","):
        name, *parameters = (part.strip() for part in entry.split(";"))
        if not any(re.fullmatch(r"q=0(\.0*)?", parameter) for parameter in parameters):
            takes.add(name)
    return takes
