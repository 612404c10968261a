"""A host for tests: serves built sites under conditions that stand in the address.

`/iso/demo/index.html` is the file index.html of the site mounted as "demo", with isolation headers;
`/iso+cut~numpy/demo/...` also breaks off every download whose name has "numpy" in it. So each condition is a sub-path,
one server holds them all, and each combination is a scope of its own to a service worker.
"""

import gzip
import mimetypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

import brotli

from tests.browser import poverty

__all__ = ["BINARY", "Condition", "Host", "Line", "Sent", "serving"]

ISOLATION = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
POLICY = (
    "default-src 'none'; script-src 'self'{eval}; worker-src 'self' blob:; connect-src 'self'; "
    "img-src 'self' blob: data:; media-src 'self' blob:; style-src 'self'"
)
TYPES = {".js": "text/javascript", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml"}
BLANK = b"<!doctype html><link rel=icon href=data:,><title>blank</title>"
TEXT = (".js", ".json", ".css", ".html")
BINARY = (".wasm", ".pack", ".heap", ".whl", ".zip", ".onnx", ".data", ".npy")
HTML = b"<!doctype html><title>Not here</title><p>A page that a host sends instead of a file."
SLOW_BYTES_PER_S = 4_000_000
HELD_S = 120  # and no longer, whatever becomes of the test
HANG_S = 30  # longer than a test waits for an answer


@dataclass(frozen=True)
class Condition:
    """One condition, with the part of a file name that it strikes; without one it strikes the host's usual victims."""

    name: str
    part: str = ""

    @classmethod
    def parse(cls, text: str) -> "Condition":
        name, _, part = text.partition("~")
        return cls(name, part)

    def strikes(self, path: str) -> bool:
        return self.part in path if self.part else path.endswith(BINARY)


@dataclass(frozen=True)
class Sent:
    """One answer of the host: when it began, in seconds since 1970, and its bytes with status line and headers."""

    time_s: float
    path: str
    bytes: int


class Line(Protocol):
    """What the host's bytes go through: a network."""

    def wait(self) -> None:
        """Let the time pass from a request to the first byte of its answer."""

    def write(self, write: Callable[[bytes], object], data: bytes) -> None:
        """Hand data on, no faster than the line."""


def _squeezed(body: bytes) -> bytes:
    """Brotli about as good as it gets, without a wait that a test would notice."""
    return brotli.compress(body, quality=11 if len(body) < 1_000_000 else 9)


@dataclass
class Host:
    """What is served where, and what was asked for."""

    origin: str
    sites: dict[str, Path] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    compress: bool = False
    squeeze: Callable[[bytes], bytes] = _squeezed
    ready_made: bool = False  # whether .br beside a file is what is sent for it when the host compresses
    line: Line | None = None
    down: bool = False
    gate: threading.Event = field(default_factory=threading.Event)  # what is "held" comes once it is set
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _hooks: list[tuple[str, Callable[[], object]]] = field(default_factory=list)
    _seen: set[str] = field(default_factory=set)
    _small: dict[Path, bytes] = field(default_factory=dict)

    def url(self, conditions: str = "plain", site: str = "demo", page: str = "") -> str:
        return f"{self.origin}/{conditions}/{site}/{page}"

    @contextmanager
    def watched(self) -> Iterator[list[str]]:
        """The paths that reach the host while the block runs."""
        start = len(self.requests)
        seen: list[str] = []
        yield seen
        seen += self.requests[start:]

    def at(self, end: str, action: Callable[[], object]) -> None:
        """Do something once: before the answer to the next request for a path that ends so."""
        self._hooks.append((end, action))

    def forget_hooks(self) -> None:
        """Do nothing of what `at` was told any more."""
        self._hooks.clear()

    def met(self, path: str) -> None:
        """A request came."""
        with self._lock:
            hook = next((hook for hook in self._hooks if path.endswith(hook[0])), None)
            if hook:
                self._hooks.remove(hook)
        if hook:
            hook[1]()

    def first_time(self, path: str) -> bool:
        """Whether a path is asked for the first time."""
        first = path not in self._seen
        self._seen.add(path)
        return first

    def small(self, file: Path, body: bytes) -> bytes:
        """The body in brotli, made once a file."""
        if file not in self._small:
            made = file.with_name(f"{file.name}.br") if self.ready_made else None
            self._small[file] = made.read_bytes() if made and made.is_file() else self.squeeze(body)
        return self._small[file]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    host: Host

    def setup(self) -> None:
        super().setup()
        self.wire = _Wire(self.wfile.write, self.host)
        self.wfile.write = self.wire  # type: ignore[method-assign]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.host.requests.append(path)
        self.host.met(path)
        if self.host.down:
            self.close_connection = True
            return None
        names, mount, rest = (*path.removeprefix("/").split("/", 2), "", "")[:3]
        conditions = [Condition.parse(name) for name in names.split("+")]
        has = {condition.name for condition in conditions}
        folder = self.host.sites.get(mount)
        if folder is None:
            return self._send(404, b"", {}, "text/plain")
        headers = self._policies(has)
        if path.count("/") == 2 and "no-trailing-redirect" not in has:
            return self._send(301, b"", headers | {"Location": path + "/"}, "text/plain")
        if rest == "__blank__":
            return self._send(200, BLANK, headers, "text/html")
        if "clean" in has and rest.endswith(".html"):
            return self._send(308, b"", headers | {"Location": path.removesuffix(".html")}, "text/plain")
        file = folder / (rest + "index.html" if rest.endswith("/") or not rest else rest)
        if "clean" in has and not file.is_file():
            file = file.with_name(f"{file.name}.html")
        struck = {c.name for c in conditions if c.strikes(rest)}
        if not file.is_file() or "404" in struck:
            return self._send(404, HTML, headers, "text/html")
        body, kind = self._distort(file, path, struck, has)
        if has & poverty.SCRIPTS.keys() and path.endswith(("worker.js", "/sw.js")):
            body = poverty.script(has).encode() + body
        if "hang" in struck:
            time.sleep(HANG_S)
        if "held" in struck:
            self.host.gate.wait(HELD_S)
        headers |= self._caching(path, has)
        if "gz-declared" in has and rest.endswith(".gz"):
            headers["Content-Encoding"] = "gzip"
        elif self.host.compress or ("text-compressed" in has and rest.endswith(TEXT)):
            body = self.host.small(file, body)
            headers["Content-Encoding"] = "br"
        if "304" in struck or ("304-once" in struck and self.host.first_time(path)):
            return self._send(304, b"", headers, kind)
        cut = "cut" in struck or ("drop-once" in struck and self.host.first_time(path))
        status = 206 if "206" in struck else 200
        return self._send(status, body, headers, kind, cut=cut, slow="slow" in struck)

    def _policies(self, has: set[str]) -> dict[str, str]:
        headers = dict(ISOLATION) if "iso" in has else {}
        if "iso" in has and "corp-missing" not in has:
            headers["Cross-Origin-Resource-Policy"] = "same-origin"
        if "cors" in has:
            headers["Access-Control-Allow-Origin"] = "*"
        if "csp" in has:
            headers["Content-Security-Policy"] = POLICY.format(eval=" 'wasm-unsafe-eval'")
        if "csp-noeval" in has:
            headers["Content-Security-Policy"] = POLICY.format(eval="")
        if "mime-text" in has:
            headers["X-Content-Type-Options"] = "nosniff"
        return headers

    @staticmethod
    def _caching(path: str, has: set[str]) -> dict[str, str]:
        if "nocache" in has:
            return {"Cache-Control": "no-store"}
        return {"Cache-Control": "max-age=31536000, immutable" if "/assets/" in path else "no-cache"}

    @staticmethod
    def _distort(file: Path, path: str, struck: set[str], has: set[str]) -> tuple[bytes, str]:
        """The body and MIME type that this host sends."""
        body = file.read_bytes()
        kind = TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        if path.endswith(BINARY):
            kind = "application/octet-stream" if "mime-octet" in has else "text/plain" if "mime-text" in has else kind
        if "html" in struck:
            body, kind = HTML, "text/html"
        if "short" in struck:
            body = body[: len(body) // 2]
        if "empty" in struck:
            body = b""
        if "gzip" in struck:
            body = gzip.compress(body)
        if "crlf" in struck:
            body = body.replace(b"\n", b"\r\n")
        if "flip" in struck:
            body = body[:-1] + bytes([body[-1] ^ 1])
        return body, kind

    def _send(
        self, status: int, body: bytes, headers: dict[str, str], kind: str, *, cut: bool = False, slow: bool = False
    ) -> None:
        if self.host.line:
            self.host.line.wait()
        began, before = time.time(), self.wire.bytes
        self.send_response(status)
        for name, value in {**headers, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            if slow:
                for start in range(0, len(body), 65536):
                    self.wfile.write(body[start : start + 65536])
                    time.sleep(65536 / SLOW_BYTES_PER_S)
            else:
                self.wfile.write(body[: len(body) // 2] if cut else body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        if cut:
            self.close_connection = True
        path = unquote(urlsplit(self.path).path)
        self.host.sent.append(Sent(began, path, self.wire.bytes - before))


class _Wire:
    """Counts what a connection writes, and lets it through the host's line."""

    def __init__(self, write: Callable[[bytes], object], host: Host) -> None:
        self._write = write
        self._host = host
        self.bytes = 0

    def __call__(self, data: bytes) -> int:
        if self._host.line:
            self._host.line.write(self._write, data)
        else:
            self._write(data)
        self.bytes += len(data)
        return len(data)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def serving(sites: dict[str, Path]) -> Iterator[Host]:
    """Serve built sites on a free port of this machine."""
    server = _Server(("127.0.0.1", 0), _Handler)
    host = Host(f"http://127.0.0.1:{server.server_address[1]}", dict(sites))
    server.RequestHandlerClass = type("Handler", (_Handler,), {"host": host})
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
