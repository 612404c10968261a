"""From inspected apps to a folder of static files. The folder appears whole or not at all."""

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnxlet
from onnxlet.errors import BuildError

from . import paths
from .core_wheel import core_wheel
from .fetch import sha256
from .headers import headers_file, policy
from .inspect_app import Inspected, inspect_app
from .manifest import CLOUDFLARE_LIMIT_BYTES, Tree, safe_json, safe_names
from .packages import Package, forget_resolved, resolve
from .precompile import Source, precompile
from .progress import Reporter
from .runtime import Runtime
from .site_models import SiteModels

__all__ = ["Options", "build_site"]

# Cloudflare's limit leaves no room for the WebGPU build that does without JSPI (25.5 MiB).
_GPU_BUILDS = {"": ("jspi", "webgpu"), "cloudflare": ("jspi",)}
_STDLIB = "python_stdlib.zip"
_INLINE_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>(.*?)</script>", re.S)


@dataclass(frozen=True, slots=True)
class Options:
    """What the person asked for.

    Args:
        host: "" or "cloudflare": no file over 24 MiB.
        title: of the gallery page.
    """

    host: str = ""
    title: str = "Demos"


@dataclass(slots=True)
class _Building:
    """The state of one build."""

    tree: Tree
    options: Options
    runtime: Runtime
    report: Reporter
    site: dict[str, Any] = field(default_factory=dict)


def build_site(
    apps: Sequence[Path], out: Path, options: Options, report: Reporter, *, refresh: bool = False
) -> dict[str, Any]:
    """Build the site of some apps into `out`.

    Returns: site.json's content.
    Raises: BuildError: see its text; `out` is then as it was.
    """
    out = out.resolve()
    _refuse_foreign(out)
    runtime = Runtime(report)
    if refresh:
        forget_resolved()
    with paths.scratch(out.parent, f".{out.name}-building-") as scratch:
        inspected = [inspect_app(app, scratch / f"app{i}", report, runtime) for i, app in enumerate(apps)]
        folder = scratch / "site"
        folder.mkdir()
        tree = Tree(folder, CLOUDFLARE_LIMIT_BYTES if options.host == "cloudflare" else None)
        building = _Building(tree, options, runtime, report)
        _write(building, inspected)
        _swap(folder, out, scratch / "old")
    return building.site


def _refuse_foreign(out: Path) -> None:
    """Never replace a folder that this program did not write."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    try:
        ours = "build" in json.loads((out / "site.json").read_bytes())
    except (OSError, ValueError):
        ours = False
    if not ours:
        raise BuildError(f"{out}: exists and is no site of build.py; choose another --out, or remove it yourself")


def _swap(folder: Path, out: Path, old: Path) -> None:
    if out.exists():
        os.rename(out, old)
    try:
        os.rename(folder, out)
    except OSError:
        if old.exists():
            os.rename(old, out)
        raise


def _write(building: _Building, inspected: Sequence[Inspected]) -> None:
    tree, report = building.tree, building.report
    names = _unique([app.name for app in inspected])
    models = SiteModels(tree, report)
    entries = []
    packages = resolve([r for app in inspected for r in app.requirements], building.runtime, report)
    with report.step("Writing apps and models"):
        for name, app in zip(names, inspected, strict=True):
            page = "index.html" if len(inspected) == 1 else f"{name}.html"
            entries.append(_app_entry(tree, name, page, app, models, packages))
    with report.step("Writing the runtime"):
        gpu = any("webgpu" in variant["backends"] for m in models.entries.values() for variant in m["variants"])
        pins = building.runtime.pins
        site: dict[str, Any] = {
            "format": 1,
            "build": {},
            "pages": [entry["page"] for entry in entries] + (["index.html"] if len(entries) > 1 else []),
            "files": tree.files,
            "python": _python(building, packages),
            "ort": _ort(building, gpu),
            "models": models.entries,
            "apps": entries,
        }
        assets = _web(building)
    identity = tree.identity(json.dumps(site, sort_keys=True), *_templates().values())
    site["build"] = {
        "id": identity,
        "onnxlet": onnxlet.__version__,
        "pyodide": pins["pyodide"]["version"],
        "onnxruntime_web": pins["ort"]["version"],
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    building.site = site
    _pages(building, assets)


def _unique(names: Sequence[str]) -> list[str]:
    unique: list[str] = []
    for name in names:
        number = 2
        candidate = name
        while candidate in unique or candidate == "index":
            candidate = f"{name}-{number}"
            number += 1
        unique.append(candidate)
    return unique


def _app_entry(
    tree: Tree, name: str, page: str, app: Inspected, models: SiteModels, packages: Sequence[Package]
) -> dict[str, Any]:
    group = f"app:{name}"
    safe = safe_names(list(app.files))
    prefix = tree.folder(f"app.{name}", {safe[path]: file for path, file in app.files.items()}, group)

    def keep(buffers: Sequence[Path]) -> list[str]:
        return [tree.file(f"{name}.bin", buffer, group) for buffer in buffers]

    return {
        "name": name,
        "title": app.title,
        "description": app.description,
        "live": app.live,
        "page": page,
        "module": app.module,
        "object": app.object,
        "files": {path: prefix + safe[path] for path in sorted(app.files)},
        "models": {path: models.add(file) for path, file in app.models.items()},
        "functions": app.functions,
        "examples": [
            {**example, "buffers": keep(example["buffers"]), "output_buffers": keep(example["output_buffers"])}
            for example in app.examples
        ],
        "packages": _closure(app, packages),
    }


def _closure(app: Inspected, packages: Sequence[Package]) -> list[str]:
    """The packages that one app needs, beyond those that every page has."""
    by_name = {package.name: package for package in packages}
    todo = list(app.package_names())
    found: set[str] = set()
    while todo:
        name = todo.pop()
        if name in by_name and name not in found:
            found.add(name)
            todo += by_name[name].depends
    return sorted(found - {"numpy"})


def _python(building: _Building, packages: Sequence[Package]) -> dict[str, Any]:
    tree, runtime = building.tree, building.runtime
    shipped = [name for name in runtime.pins["pyodide"]["files"] if not name.endswith(".json")]
    names = {name: name.replace(".mjs", ".js") for name in shipped}
    contents: dict[str, bytes | Path] = {safe: runtime.npm_file("pyodide", name) for name, safe in names.items()}
    wheel_name, wheel = core_wheel()
    compiled = _compiled(building, packages, wheel)
    if compiled:
        contents[_STDLIB] = compiled[_STDLIB]
        wheel_name, wheel = "onnxlet.pack", compiled["onnxlet.pack"]
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
        content: bytes | Path = compiled.get(f"{package.name}.pack", package.file)
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
    return {
        "folder": folder,
        "lock": {"info": runtime.lock["info"], "packages": dict(sorted(lock.items()))},
        "packages": ["numpy", "onnxlet"],
    }


def _compiled(building: _Building, packages: Sequence[Package], core: bytes) -> dict[str, bytes]:
    """What every page imports, as bytecode: the standard library, numpy and the core. Empty where Node is missing."""
    runtime = building.runtime
    version = runtime.pins["pyodide"]["python"]
    site_packages = f"/lib/python{version}/site-packages"
    numpy = next(package.file for package in packages if package.name == "numpy")
    stdlib = runtime.npm_file("pyodide", _STDLIB).read_bytes()
    sources = {
        _STDLIB: Source(stdlib, f"/lib/python{version.replace('.', '')}.zip"),
        "numpy.pack": Source(numpy.read_bytes(), site_packages),
        "onnxlet.pack": Source(core, site_packages),
    }
    return precompile(sources, building.report) or {}


def _package_file(tree: Tree, name: str, file_name: str, content: bytes | Path) -> str:
    """Write a wheel, whose name must stay: the folder carries the hash. Returns: its path from Pyodide's folder."""
    return "../" + (tree.folder("pkg", {file_name: content}, f"package:{name}") + file_name).removeprefix("assets/")


def _ort(building: _Building, gpu: bool) -> dict[str, dict[str, str]]:
    pins = building.runtime.pins["ort"]
    wanted = ["wasm"]
    if gpu:
        wanted += _GPU_BUILDS[building.options.host]
        if building.options.host == "cloudflare":
            building.report.warn(
                "left out the WebGPU build for browsers without JSPI: Cloudflare Pages does not take its 25.5 MiB; "
                "those browsers use WebAssembly"
            )
    entries = {}
    for build in wanted:
        files = {kind: pins["builds"][build][kind] for kind in ("entry", "mjs", "wasm")}
        safe = {kind: Path(name).name.replace(".mjs", ".js") for kind, name in files.items()}
        contents = {safe[kind]: building.runtime.npm_file("ort", name) for kind, name in files.items()}
        folder = building.tree.folder("ort", contents, f"ort-{build}")
        entries[build] = {kind: folder + name for kind, name in safe.items()}
    return entries


def _web(building: _Building) -> str:
    """The page's own modules, styles and words."""
    contents: dict[str, bytes | Path] = {
        path.relative_to(paths.WEB).as_posix(): path
        for path in sorted(paths.WEB.rglob("*"))
        if path.is_file() and path.suffix != ".html" and not path.name.endswith(".d.ts") and path != paths.WEB / "sw.js"
    }
    comlink = building.runtime.pins["comlink"]
    contents["vendor/comlink.js"] = building.runtime.npm_file("comlink", next(iter(comlink["files"])))
    return building.tree.folder("web", contents, "page")


def _templates() -> dict[str, str]:
    names = ("app.html", "gallery.html", "sw.js")
    return {name: (paths.WEB / name).read_text(encoding="utf-8") for name in names if (paths.WEB / name).is_file()}


def _pages(building: _Building, assets: str) -> None:
    tree, site, templates = building.tree, building.site, _templates()
    manifest = f"site.{site['build']['id'][:8]}.json"
    hashes: set[str] = set()

    def page(name: str, template: str, title: str, description: str, config: Mapping[str, str]) -> None:
        inline = tuple(
            base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            for script in _INLINE_SCRIPT.findall(templates[template])
        )
        hashes.update(inline)
        values = {
            "title": html.escape(title),
            "description": html.escape(description),
            "csp": html.escape(policy(inline)),
            "assets": assets,
            "config": safe_json({**config, "site": manifest, "root": "./"}),
        }
        tree.page(name, _fill(templates[template], values))

    for app in site["apps"]:
        page(app["page"], "app.html", app["title"], app["description"], {"app": app["name"]})
    if len(site["apps"]) > 1:
        titles = ", ".join(app["title"] for app in site["apps"])
        page("index.html", "gallery.html", building.options.title, titles, {})
    if "sw.js" in templates:
        tree.page("sw.js", _fill(templates["sw.js"], {"site": manifest, "build": site["build"]["id"]}))
    text = json.dumps(site, ensure_ascii=False, indent=1)
    tree.page("site.json", text)
    tree.page(manifest, text)
    tree.page("_headers", headers_file(tuple(sorted(hashes))))
    tree.page(".nojekyll", "")  # GitHub Pages would drop files whose names begin with "_"
    # Cloudflare Pages answers every unknown address with index.html and status 200, unless there is this file.
    tree.page("404.html", "<!doctype html>\n<title>Not found</title>\n<p>There is nothing at this address.</p>\n")


def _fill(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values.get(match[1], match[0]), template)
