"""What stands behind the tabs of a page, for who opens one: the editor of the Python panel, the picture of a graph."""

import re

from onnxlet.errors import BuildError

from . import paths
from .fetch import Unreachable
from .manifest import Tree
from .progress import Reporter
from .runtime import Runtime
from .site_netron import write_netron

__all__ = ["EDITOR", "write_panels"]

EDITOR = paths.WEB / "editor"  # modules of our own that import CodeMirror by its names
_IMPORT = re.compile(r"""^((?:import|export)\s[^'"();=]*?\bfrom\s*|import\s*)(['"])([^'"./][^'"]*)\2""", re.M)


def write_panels(tree: Tree, runtime: Runtime, report: Reporter) -> dict[str, str]:
    """Everything behind the tabs.

    Returns: site.json's "panels"; a part that cannot be had is left out, with a warning.
    """
    panels = {"editor": _write_editor(tree, runtime)}
    try:
        panels["netron"] = write_netron(tree, runtime)
    except Unreachable as error:
        report.warn(f"left out the picture of the graph in the model panel: {error}")
    return panels


def _write_editor(tree: Tree, runtime: Runtime) -> str:
    """CodeMirror's modules beside our own.

    npm's modules import each other by package name, which a page resolves only with an import map, and a map is an
    inline script: so each name is written as the file that it means.

    Returns: the path of the module to import.
    Raises: BuildError: a file is not the pinned one, or imports what is not pinned.
    """
    pins = runtime.pins["editor"]
    names = {package: f"{package.removeprefix('@').replace('/', '-')}.js" for package in pins}
    contents: dict[str, str] = {path.name: path.read_text(encoding="utf-8") for path in sorted(EDITOR.glob("*.js"))}
    licences = []
    for package, pin in pins.items():
        for name in pin["files"]:
            text = runtime.pinned(pin, name).read_text(encoding="utf-8")
            if name.endswith(".js"):
                contents[names[package]] = text
            else:
                licences.append(f"{package} {pin['version']}\n\n{text}")
    files = {path: _resolved(path, text, names).encode() for path, text in contents.items()}
    return (
        tree.folder("editor", {**files, "licences.txt": "\n\n".join(licences).encode()}, "panel:editor") + "editor.js"
    )


def _resolved(path: str, text: str, names: dict[str, str]) -> str:
    def name(match: re.Match[str]) -> str:
        package = match[3]
        if package not in names:
            raise BuildError(f"{path}: imports {package}, which wasm/pins.toml does not pin under [editor]")
        return f"{match[1]}{match[2]}./{names[package]}{match[2]}"

    return _IMPORT.sub(name, text)
