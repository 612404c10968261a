"""A snapshot of the page's Python, numpy and the core imported: made by a headless Chromium, kept in the cache."""

import asyncio
import base64
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from onnxlet.errors import BuildError

from . import browser, fetch, paths
from .precompile import Library
from .progress import Reporter
from .runtime import Runtime
from .serve import make_server

__all__ = ["Snapshot", "Start", "make_snapshot"]

_MAKER = paths.PINS.parent / "snapshot" / "make.js"
_START = paths.PINS.parent / "start.py"
_PAGE_FILES = ("pack.js", "snapshot-file.js")
_HOME = "/app"  # as pyodide-boot.js has it
_LIMIT_S = 120

# In pieces: a string of tens of megabytes is more than the browser's protocol likes.
_ASK = """async (order) => {
  const worker = new Worker("make.js", { type: "module" });
  const answer = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = ({ message }) => reject(new Error(message || "the maker's modules cannot be loaded"));
    worker.postMessage(order);
  });
  worker.terminate();
  if (answer.error) throw new Error(answer.error);
  globalThis.snapshot = answer.snapshot;
  return answer.snapshot.length;
}"""
_TAKE = """([from, to]) => {
  let text = "";
  for (; from < to; from += 32768) text += String.fromCharCode(...snapshot.subarray(from, Math.min(to, from + 32768)));
  return btoa(text);
}"""
_PIECE_BYTES = 3 * 2**20


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was made.

    Args:
        content: the file, see web/src/snapshot-file.js.
        of: sha256 of all that it was made of; it says the same of itself.
    """

    content: bytes
    of: str


@dataclass(frozen=True, slots=True)
class Start:
    """Whether a site's Python starts from a snapshot.

    Args:
        wanted: "speed": it does; "size": it does not; "auto": where one can be made.
        chromium: makes it; None where there is none, or none is wanted.
    """

    wanted: Literal["auto", "speed", "size"] = "auto"
    chromium: Path | None = None

    def snapshot(self, library: Library | None, runtime: Runtime, report: Reporter) -> Snapshot | None:
        """The snapshot to ship; says which way the site starts and why.

        Raises: BuildError: it is wanted in any case, and cannot be made.
        """
        if self.wanted == "size":
            report.note("Python starts without a snapshot, as --start size asks: a slower start, less to download")
            return None
        try:
            if library is None:
                raise BuildError("there is no Node to compile Python with")
            if self.chromium is None:
                raise BuildError("there is no browser to make one with, or --no-browser forbids it")
            made = make_snapshot(library, runtime, self.chromium, report)
        except BuildError as error:
            if self.wanted == "speed":
                raise BuildError(f"--start speed: no snapshot of Python can be shipped: {error}") from error
            report.note(f"Python starts without a snapshot, and slower: {error}")
            return None
        report.note("Python starts from a snapshot; --start size leaves it out: a slower start, less to download")
        return made


def make_snapshot(library: Library, runtime: Runtime, chromium: Path, report: Reporter) -> Snapshot:
    """Make it, or take it from the cache.

    Raises: BuildError: the browser cannot make one; says why.
    """
    files = {name: runtime.npm_file("pyodide", name).read_bytes() for name in runtime.pins["pyodide"]["files"]}
    files = {name.replace(".mjs", ".js"): data for name, data in files.items() if not name.endswith(".json")}
    files |= {name: (paths.WEB / name).read_bytes() for name in _PAGE_FILES}
    files |= {"make.js": _MAKER.read_bytes(), "python_stdlib.zip": library.stdlib}
    files |= {f"{name}.pack": data for name, data in library.packs.items()}
    extensions = {path: f"{number}.wasm" for number, path in enumerate(library.extensions)}
    files |= {extensions[path]: data for path, data in library.extensions.items()}
    order: dict[str, Any] = {
        "packs": [f"{name}.pack" for name in library.packs],
        "extensions": extensions,
        "start": _START.read_text(),
        "lock": {"info": runtime.lock["info"], "packages": {}},
        "home": _HOME,
    }
    digests = {name: fetch.sha256(data) for name, data in files.items()}
    of = fetch.sha256(json.dumps([digests, order], sort_keys=True).encode())
    kept = paths.cache("snapshots", of)
    if not kept.is_file():
        with report.step("Making a snapshot of Python"):
            paths.write_whole(kept, browser.run_apart(_made(files, {**order, "of": of}, chromium)))
    return Snapshot(kept.read_bytes(), of)


async def _made(files: Mapping[str, bytes], order: Mapping[str, Any], chromium: Path) -> bytes:
    from playwright.async_api import Error

    with paths.scratch(paths.cache("tmp", "x").parent) as folder:
        for name, data in files.items():
            (folder / name).write_bytes(data)
        (folder / "index.html").write_text("<!doctype html><title>snapshot</title>")
        with make_server(folder, port=0, isolation=False) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                async with asyncio.timeout(_LIMIT_S), browser.launched(chromium, software=False) as started:
                    page = await (await started.new_context(service_workers="block")).new_page()
                    await page.goto(f"http://127.0.0.1:{server.server_address[1]}/")
                    size = await page.evaluate(_ASK, order)
                    starts = range(0, size, _PIECE_BYTES)
                    pieces = [await page.evaluate(_TAKE, [at, min(size, at + _PIECE_BYTES)]) for at in starts]
            except TimeoutError as error:
                raise BuildError(f"{chromium.name} made no snapshot within {_LIMIT_S} s") from error
            except Error as error:
                raise BuildError(f"{chromium.name} could not make a snapshot: {str(error).splitlines()[0]}") from error
            finally:
                server.shutdown()
    return b"".join(base64.b64decode(piece) for piece in pieces)
