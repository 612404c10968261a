"""The files in a site's root, which browsers ask for anew each time: pages, service worker, manifest, headers."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

from . import paths
from .early import early_files
from .headers import headers_file, policy
from .manifest import Tree, safe_json
from .report import style_hash
from .site_runtime import Web

__all__ = ["ROOT_FILES", "first_files", "manifest_text", "read_templates", "write_manifest", "write_pages"]

ROOT_FILES = ("sw.js", "onnxlet.js")  # beside pages and manifest, those of a site's root that pages ask for
_NAMED = re.compile(r"\{\{assets\}\}([\w./-]+)")
_INLINE_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>(.*?)</script>", re.S)

_MODULES = {"app.html": "page.js", "gallery.html": "gallery.js"}


def read_templates() -> dict[str, str]:
    """What lies in a site's root, before anything is filled in, by name."""
    names = ("app.html", "gallery.html", "early.js", "sw.js", "onnxlet.js")
    files = [*(paths.WEB / name for name in names), paths.TYPES]
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.is_file()}


def write_pages(
    tree: Tree, site: Mapping[str, Any], templates: Mapping[str, str], web: Web, title: str, *, gzipped: bool
) -> None:
    """Everything in a site's root but the manifest.

    Args:
        site: site.json.
        web: the page's own modules.
        title: of the gallery.
        gzipped: whether .gz will lie beside the files.
    """
    manifest = _manifest(site)
    hashes: set[str] = set()

    def page(name: str, template: str, heading: str, description: str, config: Mapping[str, Any]) -> None:
        text = _fill(templates[template], {"early": templates.get("early.js", "").strip()})
        inline = tuple(
            base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
            for script in _INLINE_SCRIPT.findall(text)
        )
        hashes.update(inline)
        values = {
            "title": html.escape(heading),
            "description": html.escape(description),
            "csp": html.escape(policy(inline)),
            "assets": web.folder,
            "preloads": _preloads(web, _MODULES[template]),
            "config": safe_json({**config, "site": manifest, "root": "./"}),
        }
        tree.page(name, _fill(text, values))

    for app in site["apps"]:
        page(
            app["page"],
            "app.html",
            app["title"],
            app["description"],
            {"app": app["name"], "early": {**early_files(site, app, web.folder), "gz": gzipped}},
        )
    if len(site["apps"]) > 1:
        titles = ", ".join(app["title"] for app in site["apps"])
        page("index.html", "gallery.html", title, titles, {})
    if "sw.js" in templates:
        tree.page("sw.js", _fill(templates["sw.js"], {"site": manifest, "build": site["build"]["id"]}))
    for name in ("onnxlet.js", paths.TYPES.name):
        tree.page(name, templates[name])
    tree.page("_headers", headers_file(tuple(sorted(hashes)), style_hash()))
    tree.page(".nojekyll", "")  # GitHub Pages would drop files whose names begin with "_"
    # Cloudflare Pages answers every unknown address with index.html and status 200, unless there is this file.
    tree.page("404.html", "<!doctype html>\n<title>Not found</title>\n<p>There is nothing at this address.</p>\n")


def write_manifest(tree: Tree, site: Mapping[str, Any]) -> list[str]:
    """site.json, and the same under a name that carries its hash. Returns: their names."""
    names = ["site.json", _manifest(site)]
    for name in names:
        tree.page(name, manifest_text(site))
    return names


def manifest_text(site: Mapping[str, Any]) -> str:
    """site.json as it is written."""
    return json.dumps(site, ensure_ascii=False, indent=1)


def _manifest(site: Mapping[str, Any]) -> str:
    return f"site.{site['build']['id'][:8]}.json"


def first_files(tree: Tree, web: Web, template: str) -> set[str]:
    """The page's own files that its visit fetches whatever the visitor does."""
    if not web.imports:  # modules import each other one by one
        return {path for path, entry in tree.files.items() if entry["group"] == "page"}
    named = {*_NAMED.findall(template), "worker.js"}
    for entry in ("page.js", "worker.js"):
        named.update(web.imports.get(entry, ()))
    return {web.folder + name for name in named} & tree.files.keys()


def _preloads(web: Web, entry: str) -> str:
    """Links for what a page's module imports: all of it is asked for at once, not level by level."""
    return "\n".join(f'<link rel="modulepreload" href="{web.folder}{path}">' for path in web.imports.get(entry, ()))


def _fill(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values.get(match[1], match[0]), template)
