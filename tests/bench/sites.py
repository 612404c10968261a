"""What is measured: built sites, and rivals' pages around the same model; both are kept for the next run."""

import hashlib
import html
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import brotli

from onnxlet_build.fetch import files_from_npm
from onnxlet_build.paths import cache, write_whole
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime
from tests.browser.conftest import ROOT, build
from tests.browser.server import Host

__all__ = ["APPS", "DIRECT", "OURS", "RIVALS", "VISITS", "App", "Sites", "compress", "model_file"]

HERE = Path(__file__).parent
OURS = "onnxlet"  # its answers come through Python
DIRECT = "direct"  # the same page, where graphs of the build answer before Python is there
RIVALS = ("tutorial", "plain", "transformers")
KEPT = 3  # builds of one app: that of the last commit and those before


@dataclass(frozen=True)
class App:
    """An example that is measured, and what its rivals need to know of its model.

    Args:
        output: of the model, whose largest element names the answer.
        names: the answers in the model's order; None takes names.json beside the app.
        rivals: the pages that do the same.
        visits: the kinds of visit that a whole run measures, by network.
        rounds: at most so many; 0 for as many as asked for.
    """

    name: str
    output: str
    names: str | None
    rivals: tuple[str, ...]
    visits: Mapping[str, tuple[str, ...]]
    rounds: int = 0

    @property
    def folder(self) -> Path:
        """Of the example."""
        return ROOT / "examples" / self.name


VISITS = ("first", "repeat", "relaunch", "offline")
EVERYTHING = {"none": VISITS, "20mbit": ("first", "repeat")}
APPS = {
    "digits": App("digits", "probabilities", "0123456789", ("tutorial", "plain"), EVERYTHING),
    "photo": App("photo", "", None, ("plain", "transformers"), {"none": ("first", "repeat")}, rounds=3),
}

# Transformers.js brings its own version of ONNX Runtime Web, built for WebGPU and WebAssembly; these are what its page
# loads from a CDN unless told otherwise. Apache-2.0 and MIT.
TRANSFORMERS = "@huggingface/transformers@4.3.2"
TRANSFORMERS_ORT = "onnxruntime-web@1.31.0-dev.20260914-8d85527a0"
TRANSFORMERS_FILES = {
    TRANSFORMERS: {
        "dist/transformers.min.js": "8b5a3171f8876bab2b1820a7d65eb87628e3d30bb5ea85b9dd398e76eb34decb",
    },
    TRANSFORMERS_ORT: {
        "dist/ort-wasm-simd-threaded.asyncify.mjs": "0966b6105cd936744498aa60df7a22cbd47af3374dbc64a9ab561c08a71e3611",
        "dist/ort-wasm-simd-threaded.asyncify.wasm": "49871f5a4409519797e127440868a6d1923339d9185907f301a5b2a1d90af082",
    },
}


class Sites:
    """Builds and rivals' pages in a folder, made when what they are made of has changed.

    Args:
        folder: where they are kept.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runtime = Runtime(Reporter(quiet=True))

    def built(self, source: Path, name: str, *options: str) -> Path:
        """The site of an app.

        Args:
            source: its app.py.
            options: of build.py, beside those of the tests.
        """
        parts = [source.parent, ROOT / "py", ROOT / "web" / "src", ROOT / "web" / "package-lock.json", ROOT / "wasm"]
        key = _key(parts, " ".join(options))
        out = self._folder / f"{name}-{key}"
        if not (out / "site.json").exists():
            shutil.rmtree(out, ignore_errors=True)
            build([source], out, *options)
            older = sorted(self._folder.glob(f"{name}-????????????"), key=lambda path: path.stat().st_mtime)
            for path in older[:-KEPT]:
                shutil.rmtree(path)
        return out

    def without_direct(self, site: Path) -> Path:
        """A built site whose functions all wait for Python."""
        manifest = _manifest(site)
        for app in manifest["apps"]:
            for function in app["functions"]:
                function.pop("direct", None)
        return self._copied(site, "python", manifest, {})

    def with_prelude(self, site: Path, script: str) -> Path:
        """A built site whose worker runs a script before its own code."""
        manifest = _manifest(site)
        files = manifest["files"].items()
        worker = next(path for path, file in files if path.endswith("/worker.js") and file["group"] == "page")
        body = script.encode() + (site / worker).read_bytes()
        manifest["files"][worker] |= {"bytes": len(body), "sha256": hashlib.sha256(body).hexdigest()}
        return self._copied(site, "noting", manifest, {worker: body})

    def _copied(self, site: Path, name: str, manifest: dict[str, Any], changed: dict[str, bytes]) -> Path:
        out = self._folder / f"{name}-{site.name.rpartition('-')[0]}"
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(site, out, copy_function=os.link)
        text = json.dumps(manifest).encode()
        for path, body in {**changed, **{path.name: text for path in out.glob("site*.json")}}.items():
            for name in (path, f"{path}.br", f"{path}.gz"):
                (out / name).unlink(missing_ok=True)  # the original keeps its own
            (out / path).write_bytes(body)
        return out

    def versions(self) -> dict[str, str]:
        """Of what the pages are made of."""
        pins = self._runtime.pins
        return {"pyodide": pins["pyodide"]["version"], "onnxruntime-web": pins["ort"]["version"]}

    def rival(self, kind: str, app: App, site: Path) -> Path:
        """A rival's page: an HTML file, what it loads below assets/, and the model and the example of a built site."""
        out = self._folder / f"{kind}-{app.name}"
        shutil.rmtree(out, ignore_errors=True)
        assets = out / "assets"
        assets.mkdir(parents=True)
        manifest = _manifest(site)
        (model,) = manifest["models"].values()
        example = manifest["apps"][0]["examples"][0]
        shutil.copy(site / example["buffers"][0], assets / "example.png")
        names = list(app.names or json.loads((app.folder / "names.json").read_bytes()))
        if kind == "transformers":
            self._transformers(assets, site / model_file(model), names)
        else:
            shutil.copy(site / model_file(model), assets / "model.onnx")
            shutil.copy(HERE / "rivals" / "inputs" / f"{app.name}.js", assets / "input.js")
            (assets / "names.json").write_text(json.dumps(names))
            self._onnxruntime(assets / "ort")
        if kind == "tutorial":
            self._pyodide(assets / "pyodide")
        task = {"input": model["inputs"][0]["name"], "output": app.output or model["outputs"][0]["name"]}
        page = (HERE / "rivals" / f"{kind}.html").read_text()
        (out / "index.html").write_text(page.replace("TASK", html.escape(json.dumps(task), quote=False)))
        shutil.copy(HERE / "rivals" / f"{kind}.js", assets / "page.js")
        return out

    def _onnxruntime(self, folder: Path) -> None:
        folder.mkdir()
        for name in self._runtime.pins["ort"]["builds"]["wasm"].values():
            shutil.copy(self._runtime.npm_file("ort", name), folder / Path(name).name)

    def _pyodide(self, folder: Path) -> None:
        folder.mkdir()
        for name in self._runtime.pins["pyodide"]["files"]:
            shutil.copy(self._runtime.npm_file("pyodide", name), folder / name)
        shutil.copy(self._runtime.wheel("numpy"), folder / self._runtime.lock["packages"]["numpy"]["file_name"])

    @staticmethod
    def _transformers(assets: Path, model: Path, names: list[str]) -> None:
        """Transformers.js, and the model as a folder of its kind: EfficientNet with the names it wants."""
        import onnx

        for package, digests in TRANSFORMERS_FILES.items():
            for path in files_from_npm(package, digests):
                shutil.copy(path, assets / path.name)
        folder = assets / "models" / "photo"
        (folder / "onnx").mkdir(parents=True)
        graph = onnx.load(model)
        _rename(graph.graph, {graph.graph.input[0].name: "pixel_values", graph.graph.output[0].name: "logits"})
        onnx.save(graph, folder / "onnx" / "model.onnx")
        config = {
            "architectures": ["EfficientNetForImageClassification"],
            "model_type": "efficientnet",
            "id2label": dict(enumerate(names)),
        }
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "preprocessor_config.json").write_text((HERE / "rivals" / "preprocessor_config.json").read_text())


def _manifest(site: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((site / "site.json").read_bytes())
    return manifest


def _rename(graph: Any, names: dict[str, str]) -> None:
    for value in (*graph.input, *graph.output):
        value.name = names.get(value.name, value.name)
    for node in graph.node:
        for values in (node.input, node.output):
            values[:] = [names.get(name, name) for name in values]


def model_file(model: dict[str, Any]) -> str:
    """The file of a model of site.json that the app loads on WebAssembly."""
    return model["variants"][model.get("choice", {}).get("wasm", 0)]["parts"][0]


def compress(host: Host) -> None:
    """Have a host send its sites in brotli at its best: as builds have it, else made now and kept for the next run."""
    host.squeeze = _squeezed
    host.ready_made = True
    host.compress = True
    with ThreadPoolExecutor() as pool:  # brotli lets other threads run
        list(pool.map(lambda path: host.small(path, path.read_bytes()), _visited(host)))


def _squeezed(data: bytes) -> bytes:
    kept = cache("brotli", hashlib.sha256(data).hexdigest())
    if not kept.exists():
        write_whole(kept, brotli.compress(data, quality=11))
    return kept.read_bytes()


def _visited(host: Host) -> Iterator[Path]:
    """The files that visits may ask for: not those for other devices or behind the page's tabs."""
    for site in host.sites.values():
        manifest = site / "site.json"
        listed = json.loads(manifest.read_bytes())["files"] if manifest.exists() else {}
        for path in site.rglob("*"):
            group = listed.get(path.relative_to(site).as_posix(), {}).get("group", "")
            if (
                path.is_file()
                and path.suffix not in (".br", ".gz")
                and not group.startswith(("ort-jspi", "ort-webgpu", "panel:"))
            ):
                yield path


def _key(parts: Iterable[Path], more: str) -> str:
    """A hash over files and folders, those that git ignores left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *map(str, parts)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.split(b"\0")
    total = hashlib.sha256(more.encode())
    for name in sorted(set(listed)):
        path = ROOT / name.decode()
        if name and path.is_file():
            total.update(name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:12]
