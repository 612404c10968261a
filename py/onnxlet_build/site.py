"""From inspected apps to a folder of static files. The folder appears whole or not at all."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnxlet
from onnxlet.errors import BuildError

from . import paths
from .inspect_app import Inspected, inspect_app
from .manifest import CLOUDFLARE_LIMIT_BYTES, Tree, safe_names
from .packages import Package, forget_resolved, resolve
from .progress import Reporter
from .runtime import Runtime
from .site_models import SiteModels
from .site_pages import read_templates, write_pages
from .site_runtime import write_ort, write_python, write_web

__all__ = ["Options", "build_site"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the person asked for.

    Args:
        host: "" or "cloudflare": no file over 24 MiB.
        title: of the gallery page.
    """

    host: str = ""
    title: str = "Demos"


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
        site = _write(tree, inspected, options, runtime, report)
        _swap(folder, out, scratch / "old")
    return site


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
    """Put the new site in the old one's place; whatever happens, one of them is there afterwards."""
    try:
        if out.exists():
            os.rename(out, old)
        os.rename(folder, out)
    except BaseException:
        if old.exists() and not out.exists():
            os.rename(old, out)
        raise


def _write(
    tree: Tree, inspected: Sequence[Inspected], options: Options, runtime: Runtime, report: Reporter
) -> dict[str, Any]:
    names = _unique([app.name for app in inspected])
    models = SiteModels(tree, report)
    entries = []
    packages = resolve([r for app in inspected for r in app.requirements], runtime, report)
    with report.step("Writing apps and models"):
        for name, app in zip(names, inspected, strict=True):
            page = "index.html" if len(inspected) == 1 else f"{name}.html"
            entries.append(_app_entry(tree, name, page, app, models, packages))
    with report.step("Writing the runtime"):
        gpu = any("webgpu" in variant["backends"] for m in models.entries.values() for variant in m["variants"])
        pins = runtime.pins
        site: dict[str, Any] = {
            "format": 1,
            "build": {},
            "pages": [entry["page"] for entry in entries] + (["index.html"] if len(entries) > 1 else []),
            "files": tree.files,
            "python": write_python(tree, runtime, packages, report),
            "ort": write_ort(tree, runtime, options.host, gpu, report),
            "models": models.entries,
            "apps": entries,
        }
        assets = write_web(tree, runtime)
    templates = read_templates()
    identity = tree.identity(json.dumps(site, sort_keys=True), *templates.values())
    site["build"] = {
        "id": identity,
        "onnxlet": onnxlet.__version__,
        "pyodide": pins["pyodide"]["version"],
        "onnxruntime_web": pins["ort"]["version"],
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_pages(tree, site, templates, assets, options.title)
    return site


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
