"""What an app's page asks for before any of its code has run (web/src/early.js): what most visits of it need."""

import posixpath
from collections.abc import Mapping
from typing import Any

__all__ = ["early_files"]

# Larger models wait for the worker, which takes them in pieces; while they come, so much else does.
_MODELS_BYTES = 32 * 2**20


def early_files(site: Mapping[str, Any], app: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """What the page begins to fetch, for an app on this site.

    Args:
        site: all of site.json.
        app: its entry there.
        folder: of the page's own modules.
    Returns: paths: "worker", and for "python", its "plain" start or the one from a "snapshot", and, where most visitors
        need the same, "ort": {"wasm": files to compile, "files": others, "imports": modules of the worker's}.
    """
    python = site["python"]
    base = python["folder"]
    packages = python["lock"]["packages"]
    packs = [posixpath.normpath(base + packages[name]["file_name"]) for name in python["packages"]]
    extensions = list(python.get("extensions", {}).values())
    found: dict[str, Any] = {
        "worker": f"{folder}worker.js",
        "python": {
            "wasm": [f"{base}pyodide.asm.wasm"],
            "files": list(app["files"].values()),
            "imports": [f"{base}pyodide.js", f"{base}pyodide.asm.js"],
        },
        "plain": {"wasm": [], "files": [f"{base}python_stdlib.zip", *packs, *extensions], "imports": []},
    }
    if snapshot := python.get("snapshot"):
        found["snapshot"] = {"wasm": extensions, "files": [snapshot["file"]], "imports": []}
    models = [site["models"][model] for model in dict.fromkeys(app["models"].values())]
    variants = [_on_wasm(model) for model in models]
    likely = all(variants) and all(model["prefer"][:1] == ["wasm"] for model in models)
    if likely and sum(variant["bytes"] for variant in variants if variant) <= _MODELS_BYTES:
        ort = site["ort"]["wasm"]
        folded = [function["direct"] for function in app["functions"] if function.get("direct")]
        graphs = [direct[part] for direct in folded for part in ("pre", "post") if direct.get(part)]
        parts = [*graphs, *(part for variant in variants if variant for part in variant["parts"])]
        found["ort"] = {"wasm": [ort["wasm"]], "files": parts, "imports": [ort["entry"], ort["mjs"]]}
    return found


def _on_wasm(model: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The variant that a page loads on WebAssembly, as variants.js chooses it."""
    variants: list[Mapping[str, Any]] = model["variants"]
    if choice := model.get("choice"):
        return variants[choice["wasm"]] if "wasm" in choice else None
    return next((variant for variant in variants if "wasm" in variant["backends"]), None)
