"""Bytecode instead of source for what every page imports: Python in a page then starts in about half the time.

The compiler is the page's own Python, in Node, so that the host's version of Python does not matter; wasm/precompile.py
is what it runs. Results are cached by the contents of everything that goes in.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from onnxlet.errors import BuildError

from . import fetch, paths
from .progress import Reporter

__all__ = ["Source", "precompile"]

_TIMEOUT_S = 600
_SCRIPTS = ("precompile.mjs", "precompile.py")


@dataclass(frozen=True, slots=True)
class Source:
    """A zip file or wheel, and the folder from which the page imports its files."""

    content: bytes
    root: str


def precompile(sources: Mapping[str, Source], report: Reporter) -> dict[str, bytes] | None:
    """Compile the Python files in some archives.

    Args:
        sources: by the name of the result: ``*.zip`` stays a zip file, ``*.pack`` becomes a gzipped tar file.
    Returns: the results' bytes by name; None where Node is missing: the page then starts from source.
    Raises: BuildError: the compiler failed.
    """
    folder = paths.PINS.parent
    scripts = b"".join((folder / name).read_bytes() for name in _SCRIPTS)
    kept = {
        name: paths.cache(
            "precompiled", f"{fetch.sha256(scripts + paths.PINS.read_bytes() + source.content)[:32]}-{name}"
        )
        for name, source in sources.items()
    }
    missing = [name for name, path in kept.items() if not path.is_file()]
    if missing:
        node = shutil.which("node")
        if node is None:
            report.warn("node is not installed: the page gets Python's source instead of bytecode, and starts slower")
            return None
        with (
            report.step("Compiling Python for the page"),
            paths.scratch(paths.cache("precompiled", "x").parent) as work,
        ):
            _run(node, folder, work, {name: sources[name] for name in missing})
            for name in missing:
                paths.write_whole(kept[name], (work / name).read_bytes())
    return {name: path.read_bytes() for name, path in kept.items()}


def _run(node: str, folder: Path, work: Path, sources: Mapping[str, Source]) -> None:
    jobs = []
    for number, (name, source) in enumerate(sources.items()):
        (work / f"{number}.in").write_bytes(source.content)
        jobs.append({"source": f"{number}.in", "target": name, "root": source.root})
    (work / "jobs.json").write_text(json.dumps(jobs))
    command = [node, str(folder / "precompile.mjs"), str(paths.node_modules("pyodide")), str(work)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise BuildError(
            f"compiling Python for the page failed: {lines[-1] if lines else f'node ended with {done.returncode}'}"
        )
