"""From inspected apps to a folder of static files. The folder appears whole or not at all."""

import json
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import onnxlet
from onnxlet.errors import BuildError

from . import paths
from .apps import Wanted, flag, keep, name_of, refuse_changed, write_app
from .browser import version_of
from .folding import Direct, differing
from .hosts import HOSTS
from .imports import needs_late
from .inspect_app import Inspected, inspect_app
from .manifest import Tree, safe_names
from .packages import Package, forget_resolved, resolve
from .progress import Reporter
from .report import Context, write_report
from .runtime import Runtime
from .site_models import SiteModels
from .site_pages import first_files, read_templates, write_manifest, write_pages
from .site_panels import write_panels
from .site_runtime import library_of, write_ort, write_python, write_web
from .site_weight import weigh_site
from .sizes import Row, summarize
from .snapshot import Start
from .study import Evidence, Settings, study
from .variants import Study
from .visits import Visit

__all__ = ["Built", "Options", "build_site"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the person asked for.

    Args:
        host: a name in `HOSTS`.
        codings: compressed files to write, of `CODINGS`; the host's own choice where there is none.
        title: of the gallery page.
        settings: which variants, how good, proven by which browser.
        command: a shell line that builds the same again, for the report.
        wanted: what is said of the model that has no app file.
        memory_budget: bytes that the models of a page may take together; None leaves it to the visitor's device.
        budget: bytes that a first visit may weigh, by name (budget.py); more is a warning.
        start: whether Python starts from a snapshot.
    """

    host: str = ""
    codings: tuple[str, ...] | None = None
    title: str = "Demos"
    settings: Settings = field(default_factory=Settings)
    command: str = ""
    wanted: Wanted = field(default_factory=Wanted)
    memory_budget: int | None = None
    budget: Mapping[str, int] = field(default_factory=dict)
    start: Start = field(default_factory=Start)

    @property
    def compressed(self) -> tuple[str, ...]:
        """The compressed files to write."""
        return HOSTS[self.host].codings if self.codings is None else self.codings


@dataclass(frozen=True, slots=True)
class Built:
    """A site that was built.

    Args:
        site: site.json's content.
        rows: what the site holds.
        visits: what the page of each app fetches.
        studies: what was found out about each model.
        written: app files that were written for models without one, beside `out`, for the person to edit.
    """

    site: dict[str, Any]
    rows: list[Row]
    visits: tuple[Visit, ...]
    studies: tuple[Study, ...]
    written: tuple[Path, ...] = ()


def build_site(
    apps: Sequence[Path], out: Path, options: Options, report: Reporter, executor: Executor, *, refresh: bool = False
) -> Built:
    """Build the site of some apps into `out`.

    Args:
        apps: app files, folders of an app.py, or models, which get an app of their own.
        executor: where variants are measured.
        refresh: resolve packages and measure variants again.
    Raises: BuildError: see its text; `out` is then as it was.
    """
    out = out.resolve()
    _refuse_foreign(out)
    _refuse_many(apps, options.wanted)
    runtime = Runtime(report)
    if refresh:
        forget_resolved()
    with paths.scratch(out.parent, f".{out.name}-building-") as scratch:
        written = {path: _write_app(path, scratch / f"written{i}", out, options, report) for i, path in _models(apps)}
        files = [written.get(path, path) for path in apps]
        inspected = [inspect_app(app, scratch / f"app{i}", report, runtime) for i, app in enumerate(files)]
        studies = _studies(inspected, options.settings, scratch, report, executor, runtime, refresh=refresh)
        for folder in (scratch / "site", scratch / "without"):
            folder.mkdir()
            tree = Tree(folder, HOSTS[options.host].limit_bytes)
            site, page = _write(tree, inspected, studies, options, runtime, report)
            if not _deny(inspected, site, folder, options.settings.chromium, report):
                break
        weights, visited = weigh_site(tree, site, page, options.compressed, options.budget, report, executor)
        rows = summarize(site, weights)
        found = tuple(studies.values())
        context = replace(_context(site, options, found), direct=_told(inspected, site))
        write_report(tree, found, rows, context, visited)
        _swap(folder, out, scratch / "old")
        kept = tuple(keep(app, _kept(out)) for app in written.values())
    return Built(site, rows, tuple(visited), found, kept)


def _deny(
    inspected: Sequence[Inspected], site: Mapping[str, Any], folder: Path, chromium: Path | None, report: Reporter
) -> bool:
    """Let functions wait for Python that answer otherwise before it is there. Returns: whether any does."""
    wrong = differing(folder, site, chromium, report) if chromium else {}
    for entry, app in zip(site["apps"], inspected, strict=True):
        for function in app.direct:
            if why := wrong.get((entry["name"], function)):
                app.direct[function] = Direct(waits=why)
                report.warn(f"{app.name}: {function} waits for Python: {why}")
    return bool(wrong)


def _told(inspected: Sequence[Inspected], site: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """For the report: which of the functions that are tasks answer before Python is there."""
    return tuple(
        {"app": e["name"], "function": name, "waits": f.waits, "samples": f.samples, "max_abs": f.max_abs}
        for e, app in zip(site["apps"], inspected, strict=True)
        for name, f in app.direct.items()
    )


def _models(apps: Sequence[Path]) -> list[tuple[int, Path]]:
    """Those that are no apps but models, which get an app of their own, with their places."""
    return [(i, path) for i, path in enumerate(apps) if not (path.suffix == ".py" or (path / "app.py").is_file())]


def _refuse_many(apps: Sequence[Path], wanted: Wanted) -> None:
    said = [name for name in wanted.given() if name != "title"]
    if said and (models := len(_models(apps))) != 1:
        alone = "build each alone, then the folders of the apps that are written" if models else "change it in the app"
        raise BuildError(f"{flag(said[0])}: is about one model without an app file, got {models}; {alone}")


def _kept(out: Path) -> Path:
    """Where written apps lie, a folder each, for the person to edit."""
    return out.with_name(f"{out.name}-apps")


def _write_app(path: Path, folder: Path, out: Path, options: Options, report: Reporter) -> Path:
    app = write_app(path, folder / name_of(path), report, options.wanted)
    refuse_changed(app, _kept(out))
    return app


def _studies(
    apps: Sequence[Inspected],
    settings: Settings,
    scratch: Path,
    report: Reporter,
    executor: Executor,
    runtime: Runtime,
    *,
    refresh: bool,
) -> dict[Path, Study]:
    """A study of each model; apps that open the same file share the first one's."""
    studies: dict[Path, Study] = {}
    for app in apps:
        for name, file in app.models.items():
            if file not in studies:
                folder = scratch / f"study{len(studies)}"
                evidence = Evidence.of(app, name, settings, folder.with_name(f"{folder.name}-samples"))
                studies[file] = study(file, evidence, settings, folder, report, executor, runtime, refresh=refresh)
    return studies


def _context(site: Mapping[str, Any], options: Options, studies: Sequence[Study]) -> Context:
    """What the report says of the whole build."""
    title = site["apps"][0]["title"] if len(site["apps"]) == 1 else options.title
    web = {"onnxruntime-web": site["build"]["onnxruntime_web"], "pyodide": site["build"]["pyodide"]}
    proofs = [proof for study in studies for proof in study.proofs]
    browser = version_of(options.settings.chromium) if options.settings.chromium and proofs else ""
    adapter = next((proof.adapter for proof in proofs if proof.adapter), "")
    return Context.here(title, (options.command,) if options.command else (), web, browser, adapter)


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
    tree: Tree,
    inspected: Sequence[Inspected],
    studies: Mapping[Path, Study],
    options: Options,
    runtime: Runtime,
    report: Reporter,
) -> tuple[dict[str, Any], set[str]]:
    """Everything but the report. Returns: site.json, and the page's own files that every visit fetches."""
    names = _unique([app.name for app in inspected])
    models = SiteModels(tree, report)
    ids = {file: _add(models, file, found, options.settings) for file, found in studies.items()}
    entries = []
    packages = resolve([r for app in inspected for r in app.requirements], runtime, report)
    library = library_of(runtime, packages, report)
    with report.step("Writing apps and models"):
        for name, app in zip(names, inspected, strict=True):
            page = "index.html" if len(inspected) == 1 else f"{name}.html"
            entry = _app_entry(tree, name, page, app, ids, packages)
            entry["whole_library"] = bool(library and needs_late(app.files.values(), entry["packages"], library.late))
            entries.append(entry)
    snapshot = options.start.snapshot(library, runtime, report)
    with report.step("Writing the runtime"):
        gpu = any("webgpu" in variant["backends"] for m in models.entries.values() for variant in m["variants"])
        pins = runtime.pins
        site: dict[str, Any] = {
            "format": 1,
            "build": {},
            "pages": [entry["page"] for entry in entries] + (["index.html"] if len(entries) > 1 else []),
            "files": tree.files,
            "python": write_python(tree, runtime, packages, library, snapshot),
            "ort": write_ort(tree, runtime, options.host, gpu, report),
            "models": models.entries,
            "apps": entries,
            "report": "report.html",
            **({"memory_budget": options.memory_budget} if options.memory_budget else {}),
            "panels": write_panels(tree, runtime, report),
        }
        web = write_web(tree, runtime, report, tokenizers=any(app.tokenizers for app in inspected))
    templates = read_templates()
    identity = tree.identity(json.dumps(site, sort_keys=True), *templates.values())
    site["build"] = {
        "id": identity,
        "onnxlet": onnxlet.__version__,
        "pyodide": pins["pyodide"]["version"],
        "onnxruntime_web": pins["ort"]["version"],
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_pages(tree, site, templates, web, options.title, gzipped="gz" in options.compressed)
    write_manifest(tree, site)
    return site, first_files(tree, web, templates["app.html"])


def _add(models: SiteModels, file: Path, found: Study, settings: Settings) -> str:
    """Write what was chosen of a model's variants; the model itself where nobody has proven any."""
    if not found.proofs:
        return models.add(file)
    return models.add(file, found.candidates, found.proofs, settings.choose(found), found.references)


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
    tree: Tree, name: str, page: str, app: Inspected, ids: Mapping[Path, str], packages: Sequence[Package]
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
        "cards": app.cards,
        "page": page,
        "module": app.module,
        "object": app.object,
        "files": {path: prefix + safe[path] for path in sorted(app.files)},
        "models": {path: ids[file] for path, file in app.models.items()},
        "tokenizers": app.tokenizers,
        "functions": [
            {**function, **_direct(tree, name, app.direct.get(function["name"]), ids)} for function in app.functions
        ],
        "examples": [
            {**example, "buffers": keep(example["buffers"]), "output_buffers": keep(example["output_buffers"])}
            for example in app.examples
        ],
        "packages": _closure(app, packages),
    }


def _direct(tree: Tree, name: str, found: Direct | None, ids: Mapping[Path, str]) -> dict[str, Any]:
    """By what a function answers before Python is there, where it can: its graphs and the app's model."""
    if found is None or found.described is None or found.model not in ids:
        return {}
    graphs = {"pre": found.pre, "post": found.post}
    files = {part: tree.file(f"{part}.onnx", file, f"direct:{name}") for part, file in graphs.items() if file}
    return {"direct": {"model": ids[found.model], **files, **found.described}}


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
