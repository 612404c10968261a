"""What each byte of a visit is for: the parts of a site that an app's page fetches before its first answer, and later.

The visitor has an empty cache, and the backend that the build found best for the app's first model.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from .precompress import Weight

__all__ = ["FIRST", "KINDS", "LATER", "Part", "Visit", "visits"]

FIRST, LATER = "first", "later"
KINDS = ("page", "python", "onnxruntime", "packages", "app", "model")
# In the order in which they are shown, each with what a budget counts it as; other parts come later, and in no budget.
_PARTS = {
    "Page": "page",
    "Python": "python",
    "Standard library": "python",
    "Memory snapshot": "python",
    "numpy": "python",
    "onnxlet": "python",
    "ONNX Runtime": "onnxruntime",
    "Packages": "packages",
    "App": "app",
    "Model": "model",
}


_PLAIN = "Python without its snapshot"  # comes later, for a start at which the snapshot does not fit


@dataclass(frozen=True, slots=True)
class Part:
    """Files that are there for one thing.

    Args:
        name: for a person.
        kind: one of `KINDS`; "" for what comes later.
        when: `FIRST`, or `LATER`: after the first answer, or when somebody asks for it.
    """

    name: str
    kind: str
    when: str
    weight: Weight


@dataclass(frozen=True, slots=True)
class Visit:
    """The parts of one app, in the order in which they are shown."""

    app: str
    title: str
    parts: tuple[Part, ...]

    def first(self, *kinds: str) -> Weight:
        """What is fetched before the first answer; all of it, or only of some kinds."""
        weights = [part.weight for part in self.parts if part.when == FIRST and (not kinds or part.kind in kinds)]
        return reduce(add, weights, Weight(0, 0, 0))


def visits(
    site: Mapping[str, Any],
    folder: Path,
    page: Collection[str],
    weights: Mapping[str, Weight],
    roots: Mapping[str, Weight],
) -> list[Visit]:
    """The visit to each app of a site.

    Args:
        site: site.json.
        folder: where its files lie.
        page: the page's own files that every visitor's browser fetches.
        weights: of each file.
        roots: of what each app's visitor fetches from the site's root, by app.
    """
    return [_visit(site, app, folder, page, weights, roots[app["name"]]) for app in site["apps"]]


def _visit(
    site: Mapping[str, Any],
    app: Mapping[str, Any],
    folder: Path,
    page: Collection[str],
    weights: Mapping[str, Weight],
    root: Weight,
) -> Visit:
    place = _Places(site, app, folder, page)
    found: dict[str, Weight] = defaultdict(lambda: Weight(0, 0, 0), {"Page": root})
    for path, entry in site["files"].items():
        if name := place.of(path, entry["group"]):
            found[name] += weights[path]
    order = [*_PARTS, *sorted(found.keys() - _PARTS.keys())]
    parts = [Part(n, _PARTS.get(n, ""), FIRST if n in _PARTS else LATER, found[n]) for n in order if n in found]
    return Visit(app["name"], app["title"], tuple(parts))


class _Places:
    """Which part of one app's visit a file belongs to."""

    def __init__(self, site: Mapping[str, Any], app: Mapping[str, Any], folder: Path, page: Collection[str]) -> None:
        self.app = app
        self.page = page
        self.snapshot = "snapshot" in site["python"]
        own = [site["models"][id] for id in app["models"].values()]
        backend = own[0]["prefer"][0] if own else "wasm"
        self.runtime = "ort-jspi" if backend == "webgpu" else "ort-wasm"
        self.model = {path for model in own for path in _variant(model, model["prefer"][0])["parts"]}
        self.start = set(app["files"].values())
        sources = (folder / path for path in self.start if path.endswith(".py"))
        self.imports_pillow = any(re.search(rb"\bPIL\b", source.read_bytes()) for source in sources)

    def of(self, path: str, group: str) -> str:
        """The part's name; "" for what only other apps fetch."""
        kind, _, name = group.partition(":")
        if kind == "page":
            return "Page" if path in self.page else "Rest of the page"
        if kind == "python":
            return self._python(Path(path).name)
        if kind == "python-snapshot":
            return "Memory snapshot"
        if kind == "python-late":
            return "Rest of Python's library"
        if kind == "package":
            return self._package(name, Path(path).suffix)
        if kind.startswith("ort-"):
            return "ONNX Runtime" if kind == self.runtime else "ONNX Runtime, other builds"
        if kind in ("app", "direct"):
            own = "App" if path in self.start or kind == "direct" else "Examples"
            return own if name == self.app["name"] else ""
        if kind in ("model", "verify"):
            own = "Model" if path in self.model else "Other variants" if kind == "model" else "Verification"
            return own if name in self.app["models"].values() else ""
        return "Panels" if kind == "panel" else group

    def _python(self, name: str) -> str:
        if "stdlib" not in name:
            return "Python"
        return _PLAIN if self.snapshot else "Standard library"

    def _package(self, name: str, suffix: str) -> str:
        """Python's decoder of pictures comes after the first answer, unless the app imports it (app-files.js)."""
        if name in ("numpy", "onnxlet"):
            return _PLAIN if self.snapshot and suffix != ".wasm" else name
        if name not in self.app["packages"]:
            return ""
        return "Decoder of pictures" if name == "pillow" and not self.imports_pillow else "Packages"


def _variant(model: Mapping[str, Any], backend: str) -> Mapping[str, Any]:
    """What the page loads of a model on a backend: variants.js, in Python."""
    variants, chosen = model["variants"], model.get("choice", {}).get(backend)
    if chosen is not None:
        return variants[chosen]
    return next((variant for variant in variants if backend in variant["backends"]), variants[0])
