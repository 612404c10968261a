"""The page's modules and styles joined by esbuild: a slow network pays a round trip for each level of imports.

What is imported with ``import()`` stays apart and lazy. Results are cached by the contents of everything that goes in.
"""

import json
import os
import posixpath
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxlet.errors import BuildError

from . import fetch, paths
from .progress import Reporter

__all__ = ["ENTRIES", "Bundle", "bundle"]

# Files that something loads by name. Each list is joined by itself: what is shared across lists stands in each of them,
# and a thread's own file comes in one request.
ENTRIES = (
    ("page.js", "client.js"),
    ("gallery.js",),
    ("embed/app.js", "embed/element.js"),
    ("worker.js",),
    ("ort-worker.js",),
    ("gpu.js",),
    ("styles/page.css",),
)
_FLAGS = (
    "--bundle",
    "--splitting",
    "--format=esm",
    "--target=es2023",
    "--minify",
    "--entry-names=[dir]/[name]",
    "--chunk-names=[name]-[hash]",
    "--external:./vendor/tokenizers.js",  # stands only in sites that need it
    "--log-level=warning",
    "--metafile=meta.json",
    "--outbase=in",
    "--outdir=out",
)
_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Bundle:
    """What came out.

    Args:
        files: text by path.
        imports: of each entry, the files that it imports whenever it is imported, whatever stands between.
    """

    files: dict[str, str]
    imports: dict[str, list[str]]


def bundle(modules: Mapping[str, Path], report: Reporter) -> Bundle | None:
    """Join modules that import each other by relative addresses.

    Args:
        modules: by path, and style sheets; the entries are among them. An entry and what it shares with others may use
            ``import.meta.url`` as a module in the top folder does.
    Returns: None where Node or esbuild is missing: the page then ships its modules as they are.
    Raises: BuildError: esbuild failed.
    """
    esbuild = paths.find_node_module("esbuild")
    node = shutil.which("node")
    if node is None or esbuild is None:
        missing = "node is not installed" if node is None else "esbuild is not installed (run `npm ci` in web/)"
        report.warn(f"{missing}: the page gets its modules one by one, and starts slower on slow networks")
        return None
    version = json.loads((esbuild / "package.json").read_bytes())["version"]
    contents = {path: source.read_bytes() for path, source in sorted(modules.items())}
    digests = {path: fetch.sha256(content) for path, content in contents.items()}
    key = fetch.sha256(json.dumps([version, _FLAGS, ENTRIES, digests]).encode())
    kept = paths.cache("bundled", f"{key[:32]}.json")
    if kept.is_file():
        return Bundle(**json.loads(kept.read_bytes()))
    with report.step("Bundling the page's modules"), paths.scratch(kept.parent) as work:
        for path, content in contents.items():
            target = work / "in" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        made = Bundle({}, {})
        for entries in ENTRIES:
            _run(node, esbuild, work, [entry for entry in entries if entry in modules])
            outputs: dict[str, Any] = json.loads((work / "meta.json").read_bytes())["outputs"]
            names = {output: posixpath.relpath(output, "out") for output in outputs}
            made.files.update({name: (work / output).read_text(encoding="utf-8") for output, name in names.items()})
            made.imports.update({entry: _imported(f"out/{entry}", outputs, names) for entry in entries})
        paths.write_whole(kept, json.dumps({"files": made.files, "imports": made.imports}).encode())
    return made


def _run(node: str, esbuild: Path, work: Path, entries: list[str]) -> None:
    command = [node, str(esbuild / "bin" / "esbuild"), *(f"in/{entry}" for entry in entries), *_FLAGS]
    done = subprocess.run(
        command, cwd=work, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=os.environ
    )
    if done.returncode:
        raise BuildError(
            f"bundling the page's modules failed: {done.stderr.strip() or f'esbuild ended with {done.returncode}'}"
        )


def _imported(output: str, outputs: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """What an output imports, and what that imports, but for what is imported later (``import()``)."""
    found: dict[str, None] = {}
    todo = [output]
    while todo:
        for each in outputs[todo.pop()]["imports"]:
            path = each["path"]
            if each["kind"] == "import-statement" and path in names and names[path] not in found:
                found[names[path]] = None
                todo.append(path)
    return sorted(found)
