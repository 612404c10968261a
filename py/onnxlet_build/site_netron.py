"""The picture of a graph in the model panel: Netron's viewer as a page of its own, which a frame shows.

Its files come out of the PyPI package, each pinned by sha256. Only those that read ONNX are shipped, and not its own
host for browsers, which asks an address service and reports use: `web/src/netron/frame.js` stands in for that one.
"""

import json
import re
from typing import Any

from onnxlet.errors import BuildError

from . import fetch, paths
from .manifest import Tree
from .runtime import Runtime

__all__ = ["NETRON", "write_netron"]

NETRON = paths.WEB / "netron"  # our own modules for the frame
_PAGE, _METADATA = "index.html", "onnx-metadata.json"
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
)
# Of an operator's documentation the picture needs names and types; the rest is 90% of the file.
_UNUSED = {"description", "examples", "type_constraints"}
_LICENCE = """Netron {version}

MIT License

Copyright (c) Lutz Roeder

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


def write_netron(tree: Tree, runtime: Runtime) -> str:
    """Netron's viewer and the page that runs it.

    Returns: the path of that page.
    Raises: Unreachable: PyPI is out of reach and the cache has it not; BuildError: a file is not the pinned one.
    """
    pin = runtime.pins["netron"]
    members = {f"{pin['folder']}/{name}": digest for name, digest in pin["files"].items()}
    found = {path.name: path for path in fetch.files_from_pypi(pin["requirement"], members)}
    html, css = _page(found.pop(_PAGE).read_text(encoding="utf-8"))
    contents: dict[str, Any] = {**found, **{path.name: path for path in sorted(NETRON.glob("*.js"))}}
    operators = json.loads(found[_METADATA].read_bytes())
    contents[_METADATA] = json.dumps(_slim(operators), separators=(",", ":")).encode()
    contents |= {_PAGE: html.encode(), "netron.css": css.encode()}
    contents["licence.txt"] = _LICENCE.format(version=pin["requirement"].partition("==")[2]).encode()
    return tree.folder("netron", contents, "panel:netron") + _PAGE


def _slim(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _slim(one) for key, one in value.items() if key not in _UNUSED}
    return [_slim(one) for one in value] if isinstance(value, list) else value


def _page(text: str) -> tuple[str, str]:
    """Netron's page without scripts, first screen, title bar and menu. Returns: HTML and style sheet."""
    css = _between(text, "<style>", "</style>")
    body = _between(text, '<body class="welcome spinner">', '<div id="logo"')
    message = '<div id="message"' + _between(text, '<div id="message"', '<div id="titlebar"')
    if re.search(r"\son\w+=|\sstyle=|<script|https?://(?!www\.w3\.org/)", body + message):
        raise BuildError("netron: its page has changed: it holds scripts, inline styles or addresses where it had none")
    head = (
        f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>Netron</title>\n'
        '<link rel="stylesheet" href="netron.css">\n<link rel="stylesheet" href="grapher.css">\n'
        '<script type="module" src="frame.js"></script>\n'
    )
    start = f'<!doctype html>\n<html lang="en">\n<head>\n{head}</head>\n<body class="welcome spinner">\n'
    return f"{start}{body}{message}</body>\n</html>\n", css


def _between(text: str, start: str, end: str) -> str:
    _, found, rest = text.partition(start)
    inner, ended, _ = rest.partition(end)
    if not (found and ended):
        raise BuildError(f"netron: its page has no {start if not found else end}; look into it for where that went")
    return inner
