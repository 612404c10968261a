"""What every page of a site shares: Python, ONNX Runtime Web, and the page's own modules."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import onnxlet

from . import paths
from .bundle import bundle
from .core_wheel import core_wheel
from .fetch import sha256
from .manifest import Tree
from .packages import Package
from .precompile import Library, precompile
from .progress import Reporter
from .runtime import Runtime
from .site_netron import NETRON
from .site_panels import EDITOR
from .snapshot import Snapshot

__all__ = ["Web", "library_of", "write_ort", "write_python", "write_web"]

# Cloudflare's limit leaves no room for the WebGPU build that does without JSPI (25.5 MiB).
_GPU_BUILDS = {"cloudflare": ("jspi",)}
_STDLIB = "python_stdlib.zip"


def library_of(runtime: Runtime, packages: Sequence[Package], report: Reporter) -> Library | None:
    """Python's library for a page, numpy and the core included, as bytecode. Returns: None where Node is missing."""
    numpy = next(package.file for package in packages if package.name == "numpy")
    stdlib = runtime.npm_file("pyodide", _STDLIB).read_bytes()
    return precompile(stdlib, numpy.read_bytes(), core_wheel()[1], runtime.pins["pyodide"]["python"], report)


def write_python(
    tree: Tree,
    runtime: Runtime,
    packages: Sequence[Package],
    library: Library | None,
    snapshot: Snapshot | None = None,
) -> dict[str, Any]:
    """Pyodide, the core, and the packages of every app. Returns: site.json's "python".

    Args:
        library: None ships sources.
        snapshot: of the same library; None starts every page without.
    """
    shipped = [name for name in runtime.pins["pyodide"]["files"] if not name.endswith(".json")]
    names = {name: name.replace(".mjs", ".js") for name in shipped}
    contents: dict[str, bytes | Path] = {safe: runtime.npm_file("pyodide", name) for name, safe in names.items()}
    wheel_name, wheel = core_wheel()
    compiled = library.packs if library else {}
    if library:
        contents[_STDLIB] = library.stdlib
        wheel_name, wheel = "onnxlet.pack", compiled["onnxlet"]
    folder = tree.folder("pyodide", contents, "python")
    lock = {
        "onnxlet": {
            "name": "onnxlet",
            "version": onnxlet.__version__,
            "file_name": _package_file(tree, "onnxlet", wheel_name, wheel),
            "install_dir": "site",
            "sha256": sha256(wheel),
            "package_type": "package",
            "imports": ["onnxlet"],
            "depends": ["numpy"],
        }
    }
    for package in packages:
        content: bytes | Path = compiled.get(package.name, package.file)
        file_name = package.file.name if isinstance(content, Path) else f"{package.name}.pack"
        lock[package.name] = {
            "name": package.name,
            "version": package.version,
            "file_name": _package_file(tree, package.name, file_name, content),
            "install_dir": package.install_dir,
            "sha256": package.sha256 if isinstance(content, Path) else sha256(content),
            "package_type": package.package_type,
            "imports": list(package.imports),
            "depends": list(package.depends),
        }
    entry: dict[str, Any] = {
        "folder": folder,
        "lock": {"info": runtime.lock["info"], "packages": dict(sorted(lock.items()))},
        "packages": ["numpy", "onnxlet"],
    }
    if library:
        # hosts compress what they know to be WebAssembly, and browsers may compile it as it comes
        names = {path: f"{PurePosixPath(path).name.partition('.')[0]}.wasm" for path in library.extensions}
        modules = {names[path]: data for path, data in library.extensions.items()}
        folder = tree.folder("extensions", modules, "package:numpy")
        entry["extensions"] = {path: folder + name for path, name in names.items()}
        entry["rest"] = tree.file("library.pack", library.rest, "python-late")
    if snapshot:
        entry["snapshot"] = {"file": tree.file("python.heap", snapshot.content, "python-snapshot"), "of": snapshot.of}
    return entry


def _package_file(tree: Tree, name: str, file_name: str, content: bytes | Path) -> str:
    """Write a wheel, whose name must stay: the folder carries the hash. Returns: its path from Pyodide's folder."""
    return "../" + (tree.folder("pkg", {file_name: content}, f"package:{name}") + file_name).removeprefix("assets/")


def write_ort(tree: Tree, runtime: Runtime, host: str, gpu: bool, report: Reporter) -> dict[str, dict[str, str]]:
    """The builds of ONNX Runtime Web that the site needs. Returns: site.json's "ort".

    Args:
        gpu: whether any model can run on WebGPU.
    """
    pins = runtime.pins["ort"]
    wanted = ["wasm"]
    if gpu:
        wanted += _GPU_BUILDS.get(host, ("jspi", "webgpu"))
        if host == "cloudflare":
            report.warn(
                "left out the WebGPU build for browsers without JSPI: Cloudflare Pages does not take its 25.5 MiB; "
                "those browsers use WebAssembly"
            )
    entries = {}
    for build in wanted:
        files = {kind: pins["builds"][build][kind] for kind in ("entry", "mjs", "wasm")}
        safe = {kind: Path(name).name.replace(".mjs", ".js") for kind, name in files.items()}
        contents = {safe[kind]: runtime.npm_file("ort", name) for kind, name in files.items()}
        folder = tree.folder("ort", contents, f"ort-{build}")
        entries[build] = {kind: folder + name for kind, name in safe.items()}
    return entries


@dataclass(frozen=True, slots=True)
class Web:
    """The page's own files.

    Args:
        folder: where they lie.
        imports: of each file that something loads by name, what it imports; empty where modules are not joined.
    """

    folder: str
    imports: dict[str, list[str]]


def write_web(tree: Tree, runtime: Runtime, report: Reporter, *, tokenizers: bool) -> Web:
    """The page's own modules, styles and words.

    Args:
        tokenizers: whether any app makes a Tokenizer.
    """
    root = [paths.WEB / name for name in ("early.js", "sw.js", "onnxlet.js")]
    sources = {
        path.relative_to(paths.WEB).as_posix(): path
        for path in sorted(paths.WEB.rglob("*"))
        if path.is_file()
        and path.suffix != ".html"
        and not path.name.endswith(".d.ts")
        and path not in root
        and path.parent not in (EDITOR, NETRON)
    }
    contents: dict[str, bytes | Path] = {path: source for path, source in sources.items() if _apart(path)}
    if tokenizers:
        contents["vendor/tokenizers.js"] = runtime.npm_file(
            "tokenizers", next(iter(runtime.pins["tokenizers"]["files"]))
        )
    modules = {path: source for path, source in sources.items() if not _apart(path)}
    modules["vendor/comlink.js"] = runtime.npm_file("comlink", next(iter(runtime.pins["comlink"]["files"])))
    styles = {path: source for path, source in sources.items() if path.endswith(".css")}
    bundled = bundle(modules | styles, report)
    contents |= {path: text.encode() for path, text in bundled.files.items()} if bundled else modules
    return Web(tree.folder("web", contents, "page"), bundled.imports if bundled else {})


def _apart(path: str) -> bool:
    """Whether a file is no module, or one that no other imports."""
    return not path.endswith(".js") or path.endswith("-worklet.js")
