"""The Python library of a page: bytecode of what every start imports, and the rest, which comes afterwards.

The page's own Python, in Node, compiles and says what a start imports, so that the host's version of Python does not
matter; wasm/precompile.mjs is what runs. Results are cached by the contents of everything that goes in. Nothing is
compressed here: a host's brotli does that better, for a whole file.
"""

import io
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from onnxlet.errors import BuildError

from . import fetch, paths
from .progress import Reporter

__all__ = ["Library", "precompile"]

_TIMEOUT_S = 600
_SCRIPTS = ("precompile.mjs", "precompile.py", "start.py")
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time that a zip file can hold
_SITE = "site-packages/"


@dataclass(frozen=True, slots=True)
class Library:
    """What was made.

    Args:
        stdlib: a zip file of the standard library's modules that a start imports.
        packs: tar files of numpy's and the core's such modules, by package; unpacked into site-packages.
        extensions: numpy's extension modules that `import numpy` loads, by their path in site-packages.
        rest: a tar file of everything else, unpacked beside site-packages, into the folder that holds it.
        late: the modules in it, as Python imports them.
    """

    stdlib: bytes
    packs: dict[str, bytes]
    extensions: dict[str, bytes]
    rest: bytes
    late: frozenset[str]


def precompile(stdlib: bytes, numpy: bytes, core: bytes, python: str, report: Reporter) -> Library | None:
    """Compile and divide Python's library.

    Args:
        stdlib: Pyodide's python_stdlib.zip.
        numpy: its wheel.
        core: the same of the core.
        python: version, such as "3.14".
    Returns: None where Node is missing: the page then starts from source.
    Raises: BuildError: the compiler failed.
    """
    site_packages = f"/lib/python{python}/site-packages"
    sources = {
        "stdlib": (stdlib, f"/lib/python{python.replace('.', '')}.zip"),
        "numpy": (numpy, site_packages),
        "onnxlet": (core, site_packages),
    }
    made = _made(sources, report)
    if made is None:
        return None
    started = frozenset(json.loads(made["modules"]))
    archives = {name: _contents(made[name]) for name in sources}
    first = {name: data for name, data in archives["stdlib"].items() if _module(name) in started}
    rest = {name: data for name, data in _contents(stdlib).items() if _module(name) not in started}
    rest = {name: data for name, data in rest.items() if name in archives["stdlib"] or f"{name}c" in archives["stdlib"]}
    extensions: dict[str, bytes] = {}
    packs: dict[str, bytes] = {}
    for package in ("numpy", "onnxlet"):
        needed = {name: data for name, data in archives[package].items() if _module(name) in started}
        extensions |= {name: data for name, data in needed.items() if name.endswith(".so")}
        packs[package] = _tar({name: data for name, data in needed.items() if name not in extensions})
        rest |= {_SITE + name: data for name, data in archives[package].items() if name not in needed}
    late = frozenset(module for name in rest if (module := _module(name.removeprefix(_SITE))))
    names = {"NAMES": late, "FIRST": started}
    lines = [f"{name} = frozenset({' '.join(sorted(modules))!r}.split())\n" for name, modules in names.items()]
    first["_onnxlet_late.py"] = "".join(lines).encode()
    return Library(_zip(first), packs, extensions, _tar(rest), late)


def _module(path: str) -> str:
    """The module that a file holds; "" for other files."""
    if not path.endswith((".py", ".pyc", ".so")):
        return ""
    *packages, base = PurePosixPath(path).parts
    name = base.partition(".")[0]
    return ".".join(packages if name == "__init__" else [*packages, name])


def _made(sources: Mapping[str, tuple[bytes, str]], report: Reporter) -> dict[str, bytes] | None:
    """The archives compiled, and "modules": a JSON list of those that a start imports."""
    folder = paths.PINS.parent
    scripts = b"".join((folder / name).read_bytes() for name in _SCRIPTS) + paths.PINS.read_bytes()
    keys = {name: fetch.sha256(scripts + content) for name, (content, _) in sources.items()}
    keys["modules"] = fetch.sha256("".join(keys.values()).encode())
    kept = {name: paths.cache("precompiled", f"{key[:32]}-{name}") for name, key in keys.items()}
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
            _run(node, folder, work, sources, [name for name in missing if name in sources])
            for name in missing:
                made = work / ("modules.json" if name == "modules" else name)
                paths.write_whole(kept[name], made.read_bytes())
    return {name: path.read_bytes() for name, path in kept.items()}


def _run(node: str, folder: Path, work: Path, sources: Mapping[str, tuple[bytes, str]], wanted: Iterable[str]) -> None:
    jobs = []
    for name in wanted:
        content, root = sources[name]
        (work / f"{name}.in").write_bytes(content)
        jobs.append({"source": f"{name}.in", "target": name, "root": root})
    for name in ("numpy", "onnxlet"):
        (work / f"{name}.whl").write_bytes(sources[name][0])
    (work / "jobs.json").write_text(json.dumps(jobs))
    command = [node, str(folder / "precompile.mjs"), str(paths.node_modules("pyodide")), str(work)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        said = [line for line in lines if re.match(r"\w*(Error|Exception)\b", line.strip())] or lines
        why = said[-1].strip() if said else f"node ended with {done.returncode}"
        raise BuildError(f"compiling Python for the page failed: {why}")


def _contents(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist() if not name.endswith("/")}


def _zip(files: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), data)
    return stream.getvalue()


def _tar(files: Mapping[str, bytes]) -> bytes:
    """What web/src/pack.js reads."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(files.items()):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()
