"""The throwaway site in which variants are proven: one app a variant, all of them proof_app/app.py."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .headers import headers_file
from .inspect_app import Inspected
from .manifest import Tree, safe_json, safe_names
from .packages import resolve
from .progress import Reporter
from .runtime import Runtime
from .samples import Samples
from .site_models import SiteModels
from .site_runtime import library_of, write_ort, write_python, write_web
from .variants import Candidate

__all__ = ["ProofSite", "write_proof_site"]

APP = Path(__file__).parent / "proof_app"
MODULE = "__proof__"
VARIANT = "__variant__.onnx"  # as app.py opens it
THREADED_CORES = 4  # a page takes half of the cores (engine.js), which must leave two threads to prove anything


@dataclass(frozen=True, slots=True)
class ProofSite:
    """What was written.

    Args:
        gpu_faults: why a variant cannot run on WebGPU, known without trying, by its name.
        half: names of the variants that compute in float16.
        samples: address of each, relative to the site.
    """

    folder: Path
    gpu_faults: dict[str, str]
    half: frozenset[str]
    samples: tuple[str, ...]


def write_proof_site(
    folder: Path,
    candidates: Sequence[Candidate],
    samples: Samples,
    app: Inspected | None,
    runtime: Runtime,
    report: Reporter,
) -> ProofSite:
    """Write it, of the very parts that a person's site is made of.

    Args:
        folder: is made.
        app: registers the models' own operators; its files and its models come along.
    """
    folder.mkdir(parents=True)
    tree = Tree(folder)
    models = SiteModels(tree, report)
    packages = resolve(app.requirements if app else [], runtime, report)
    files = {f"{MODULE}.py": APP / "app.py"}
    others: dict[str, str] = {}
    if app:
        files |= app.files
        others = {path: models.add(file) for path, file in app.models.items()}
    safe = safe_names(list(files))
    prefix = tree.folder("app", {safe[path]: file for path, file in files.items()}, "app:proof")
    shipped = {path: prefix + safe[path] for path in files}
    if app:
        shipped["__operators__.txt"] = tree.file("operators.txt", app.module.encode(), "app:proof")
    gpu_faults: dict[str, str] = {}
    half: set[str] = set()
    apps = []
    for candidate in candidates:
        assert candidate.path, "a refused candidate has no file to run"
        model_id = models.add(candidate.path)
        entry = models.entries[model_id]
        (variant,) = entry["variants"]
        if "webgpu" not in variant["backends"]:
            gpu_faults[candidate.name] = entry["reason"]
        if variant["half"]:
            half.add(candidate.name)
        apps.append(_app(candidate.name, shipped, {**others, VARIANT: model_id}, [p.name for p in packages]))
    site: dict[str, Any] = {
        "format": 1,
        "build": {"id": "0" * 16},  # no service worker: nothing is kept
        "files": tree.files,
        "python": write_python(tree, runtime, packages, library_of(runtime, packages, report)),
        "ort": write_ort(tree, runtime, "", True, report),
        "models": models.entries,
        "apps": apps,
        "cores": max(THREADED_CORES, os.cpu_count() or 1),
    }
    write_web(tree, runtime, report, tokenizers=False)
    tree.page("site.json", safe_json(site))
    tree.page("_headers", headers_file())
    for name in ("index.html", "proof.js"):
        tree.page(name, (APP / name).read_text(encoding="utf-8"))
    (folder / "samples").mkdir()
    names = [f"samples/{number:06}.npz" for number in range(len(samples))]
    for name, path in zip(names, samples.paths, strict=True):
        shutil.copyfile(path, folder / name)
    return ProofSite(folder, gpu_faults, frozenset(half), tuple(names))


def _app(name: str, files: dict[str, str], models: dict[str, str], packages: Sequence[str]) -> dict[str, Any]:
    functions = [{"name": function, "async": True} for function in ("run", "measure", "on_cpu")]
    return {
        "name": name,
        "title": name,
        "module": MODULE,
        "object": "app",
        "files": files,
        "models": models,
        "functions": functions,
        "examples": [],
        "packages": [package for package in packages if package != "numpy"],
    }
