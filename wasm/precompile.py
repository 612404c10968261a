"""Turn Python files into what starts fastest: bytecode instead of source, without what a page never uses.

Runs inside Pyodide (precompile.mjs). /jobs/jobs.json holds a list of {"source": NAME, "target": NAME, "root": PATH}: a
zip file or wheel in /jobs, the zip file to write there, and the folder from which the page will import it.

Bytecode is optimized (-OO) and unchecked: there is no source beside it that it could differ from. Nothing is
compressed, since a host does that once, and better for a whole file.
"""

import json
import py_compile
import zipfile
from collections.abc import Iterator
from pathlib import Path

WORK = Path("/jobs")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time that a zip file can hold: the same input gives the same bytes
# Tests, what only type checkers and compilers read, and build tools that cannot run in a page.
DROPPED_FOLDERS = {"tests", "include", "f2py", "distutils", "_pyinstaller", "idlelib", "ensurepip", "pydoc_data"}
# Give numpy's C objects their docstrings and do nothing else; bytecode has none of its own either.
DOCS = {"numpy/_core/_add_newdocs.py", "numpy/_core/_add_newdocs_scalars.py"}
DROPPED_SUFFIXES = (".pyi", ".h", ".a", ".pxd", ".pyx", ".c", ".ini", ".typed")


def members(archive: zipfile.ZipFile, root: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of what stays, Python files compiled."""
    for info in archive.infolist():
        name = info.filename
        *folders, base = name.split("/")
        if not base or DROPPED_FOLDERS & set(folders) or name.endswith(DROPPED_SUFFIXES) or base == "RECORD":
            continue
        data = b"" if name in DOCS else archive.read(info)
        if not name.endswith(".py"):
            yield name, data
            continue
        try:
            yield name + "c", compiled(data, f"{root}/{name}")
        except py_compile.PyCompileError:
            yield name, data  # a template, or syntax of another Python: it fails, or not, as it would have


def compiled(source: bytes, path: str) -> bytes:
    """A .pyc file's content; `path` is what tracebacks will say."""
    Path("/tmp/source.py").write_bytes(source)
    py_compile.compile(
        "/tmp/source.py",
        "/tmp/source.pyc",
        dfile=path,
        doraise=True,
        optimize=2,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        quiet=2,
    )
    return Path("/tmp/source.pyc").read_bytes()


for job in json.loads((WORK / "jobs.json").read_text()):
    with (
        zipfile.ZipFile(WORK / job["source"]) as archive,
        zipfile.ZipFile(WORK / job["target"], "w", zipfile.ZIP_STORED) as compiled_archive,
    ):
        for name, data in members(archive, job["root"]):
            compiled_archive.writestr(zipfile.ZipInfo(name, EPOCH), data)
