"""Python in a real browser's worker, without a built site: what the core's tests run in.

    with open_python(browser, folder, models={"m.onnx": data}) as python:
        python.run("import onnxlet; onnxlet.InferenceSession('m.onnx').run(None, {'x': [1.0]})[0].tolist()")

The worker is the page's own in all but the form: pyodide-boot.js starts Python, bridge.js makes the bridge, host.py
connects it. `conditions` are those of tests.browser.server, such as "iso", "plain", "iso+nojspi".
"""

import base64
import hashlib
import importlib.metadata
import io
import json
import shutil
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime
from tests.browser.server import Host, serving

__all__ = ["PagePython", "build_site", "open_python", "pure_packages"]

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent


_PYTEST = """
import contextlib, io, pytest
_out = io.StringIO()
with contextlib.redirect_stdout(_out), contextlib.redirect_stderr(_out):
    _status = int(pytest.main({!r}))
[_status, _out.getvalue()]
"""


class PagePython:
    """The worker's Python. `run` and `js` raise RuntimeError with the worker's traceback."""

    def __init__(self, page: Any, host: Host) -> None:
        self.page = page
        self.host = host
        self._has_pytest = False

    def run(self, code: str, *, timeout_s: float = 0) -> Any:
        """Run code with top-level await; returns the last expression's value, which JSON has to hold.

        Args:
            timeout_s: raise TimeoutError after it, 0 for never; the worker goes on, so open another.
        """
        return self._ask({"op": "python", "code": code}, timeout_s)

    def js(self, body: str) -> Any:
        """Run the body of an async function in the worker; `pyodide`, `bridge` and `host` are in scope."""
        return self._ask({"op": "js", "code": body})

    def put(self, path: str, data: bytes) -> None:
        """Write a file into Python's file system."""
        self._ask({"op": "put", "path": path, "data": base64.b64encode(data).decode()})

    def unpack(self, archive: bytes, folder: str = "") -> None:
        """Unpack a zip archive, into site-packages unless told otherwise."""
        self._ask({"op": "unpack", "data": base64.b64encode(archive).decode(), "folder": folder})

    def pytest(self, *args: str, tests: Iterable[str] = ("core", "data")) -> tuple[int, str]:
        """Run tests inside this Python, as CPython runs them.

        Args:
            args: of pytest; paths relative to the repository, such as "tests/core/test_feeds.py".
            tests: folders under tests/ that they need.
        Returns: pytest's exit status and what it wrote.
        """
        if not self._has_pytest:
            self.unpack(pure_packages("pytest", "pluggy", "iniconfig", "packaging", "pygments"))
            self._has_pytest = True
        self.unpack(_tests(tests), "/app")
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--import-mode=importlib", "--rootdir=/app"]
        return tuple(self.run(_PYTEST.format([*options, *args])))

    def _ask(self, message: dict[str, Any], timeout_s: float = 0) -> Any:
        answer = self.page.evaluate("([message, timeoutMs]) => ask(message, timeoutMs)", [message, timeout_s * 1000])
        if answer.get("late"):
            raise TimeoutError(f"the worker did not answer within {timeout_s} s")
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer.get("value")


@contextmanager
def open_python(
    browser: Browser,
    folder: Path,
    *,
    conditions: str = "iso",
    backend: str = "auto",
    isolated: bool = True,
    models: Mapping[str, bytes | Mapping[str, Any]] | None = None,
    functions: Iterable[Mapping[str, Any]] = (),
    cores: int = 0,
    memory_budget: int = 0,
) -> Iterator[PagePython]:
    """Serve a site made for the purpose and start Python in it.

    Args:
        folder: an empty folder for the site.
        conditions: of the host and the browser.
        backend: what the visitor chose.
        models: by name; bytes, or a dict with "data" and site.json's other keys; "cuts" are where its file is cut.
        functions: of the app, for site.json ({"async": true} makes an async app).
        cores: what the browser says that the machine has; 0 leaves it as it is.
        memory_budget: bytes that models may take; 0 leaves it to the device.
    """
    build_site(folder, models or {}, functions, memory_budget)
    context = browser.new_context()
    try:
        with serving({"demo": folder}) as host:
            page = context.new_page()
            page.goto(
                host.url(conditions, "demo", f"index.html?backend={backend}&isolated={int(isolated)}&cores={cores}")
            )
            python = PagePython(page, host)
            python._ask({"op": "ready"})
            yield python
    finally:
        context.close()


def build_site(
    folder: Path,
    models: Mapping[str, bytes | Mapping[str, Any]],
    functions: Iterable[Mapping[str, Any]],
    memory_budget: int = 0,
) -> dict[str, Any]:
    """Lay out a site with Python, ONNX Runtime Web and models, and its manifest."""
    runtime = Runtime(Reporter(quiet=True))
    files: dict[str, bytes | Path] = {}
    for name in ("pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"):
        files[f"assets/pyodide/{name}"] = runtime.npm_file("pyodide", name)
    files["assets/pyodide/pyodide.js"] = runtime.npm_file("pyodide", "pyodide.mjs")
    files["assets/pyodide/pyodide.asm.js"] = runtime.npm_file("pyodide", "pyodide.asm.mjs")
    files["assets/pyodide/numpy.whl"] = runtime.wheel("numpy")
    files["assets/pyodide/onnxlet.whl"] = _archive(ROOT / "py", ["onnxlet"])
    ort, ort_files = _onnxruntime()
    files |= ort_files
    for source in (ROOT / "web" / "src").rglob("*.js"):
        files[f"assets/web/{source.relative_to(ROOT / 'web' / 'src').as_posix()}"] = source
    files["assets/web/harness-worker.js"] = HERE / "harness-worker.js"
    described = {name: _model(name, model, files) for name, model in models.items()}
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            target.write_bytes(content)
        else:
            target.symlink_to(content)
    site = {
        "format": 1,
        "build": {"id": "0" * 16},
        "files": {path: _facts(folder / path) for path in files},
        "python": {"folder": "assets/pyodide/", "lock": _lock(runtime, folder), "packages": ["numpy", "onnxlet"]},
        "ort": ort,
        "models": described,
        "apps": [
            {
                "name": "demo",
                "title": "Demo",
                "module": "app",
                "object": "app",
                "files": {},
                "models": {name: name for name in models},
                "functions": list(functions),
                "examples": [],
                "packages": [],
            }
        ],
    }
    if memory_budget:
        site["memory_budget"] = memory_budget
    (folder / "site.json").write_text(json.dumps(site))
    shutil.copy(HERE / "index.html", folder / "index.html")
    shutil.copy(HERE / "index.js", folder / "index.js")
    return site


def pure_packages(*names: str) -> bytes:
    """Installed packages without native code, as an archive for `PagePython.unpack`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            for file in importlib.metadata.files(name) or []:
                path = Path(str(file.locate()))
                if path.suffix != ".pyc" and ".." not in file.parts and path.is_file():
                    archive.write(path, file.as_posix())
    return buffer.getvalue()


def _tests(folders: Iterable[str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for folder in ("", *folders):
            for file in (ROOT / "tests" / folder).glob("**/*" if folder else "*.py"):
                if file.is_file() and file.suffix != ".pyc":
                    archive.write(file, file.relative_to(ROOT).as_posix())
    return buffer.getvalue()


def _onnxruntime() -> tuple[dict[str, Any], dict[str, bytes | Path]]:
    dist = ROOT / "web" / "node_modules" / "onnxruntime-web" / "dist"
    builds = {"wasm": "", "jspi": ".jspi", "webgpu": ".asyncify"}
    ort, files = {}, {}
    for build, suffix in builds.items():
        names = {
            "entry": (f"ort.{build}.min.mjs", f"ort.{build}.min.js"),
            "mjs": (f"ort-wasm-simd-threaded{suffix}.mjs", f"ort-wasm-simd-threaded{suffix}.js"),
            "wasm": (f"ort-wasm-simd-threaded{suffix}.wasm", f"ort-wasm-simd-threaded{suffix}.wasm"),
        }
        ort[build] = {role: f"assets/ort/{served}" for role, (_, served) in names.items()}
        files |= {f"assets/ort/{served}": dist / source for source, served in names.values()}
    return ort, files


def _model(name: str, model: bytes | Mapping[str, Any], files: dict[str, bytes | Path]) -> dict[str, Any]:
    from onnxlet.source import ModelSource

    entry: dict[str, Any] = {"data": model} if isinstance(model, bytes) else dict(model)
    data = entry.pop("data")
    edges = [0, *entry.pop("cuts", ()), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]
    parts = [f"assets/models/{name}" + (f".part{i}" if len(pieces) > 1 else "") for i in range(len(pieces))]
    files |= zip(parts, pieces, strict=True)
    signature = ModelSource(data).signature()
    variant = {"parts": parts, "bytes": len(data), "format": "fp32", "backends": ["webgpu", "wasm", "python"]}
    return {
        "name": name,
        "variants": [variant | entry.pop("variant", {})],
        "inputs": [{"name": a.name, "type": a.type, "shape": a.shape} for a in signature.inputs],
        "outputs": [{"name": a.name, "type": a.type, "shape": a.shape} for a in signature.outputs],
        "overridable": [{"name": a.name, "type": a.type, "shape": a.shape} for a in signature.overridable],
        "metadata": {},
        "prefer": ["wasm", "webgpu"],
        **entry,
    }


def _archive(root: Path, folders: Iterable[str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for folder in folders:
            for path in sorted((root / folder).rglob("*.py")):
                archive.write(path, path.relative_to(root).as_posix())
    return buffer.getvalue()


def _lock(runtime: Runtime, folder: Path) -> dict[str, Any]:
    packages = {}
    for name in ("numpy", "onnxlet"):
        packages[name] = {
            "name": name,
            "version": "0",
            "file_name": f"{name}.whl",
            "install_dir": "site",
            "sha256": _facts(folder / f"assets/pyodide/{name}.whl")["sha256"],
            "package_type": "package",
            "imports": [name],
            "depends": [],
        }
    return {"info": runtime.lock["info"], "packages": packages}


def _facts(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "group": "page"}
