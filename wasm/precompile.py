"""Turn Python files into what starts fastest: bytecode instead of source, without what a page never uses.

Runs inside Pyodide (precompile.mjs). /jobs/jobs.json holds a list of {"source": NAME, "target": NAME, "root": PATH}: a
zip file or wheel in /jobs, the zip file to write there, and the folder from which the page will import it.

Bytecode is optimized (-OO) and unchecked: there is no source beside it that it could differ from. Nothing is
compressed, since a host does that once, and better for a whole file. Of the standard library and numpy, whose sources
no page has, tracebacks name the functions but not the lines.
"""

import json
import types
import zipfile
from collections.abc import Iterator
from importlib import _bootstrap_external  # type: ignore[attr-defined]
from importlib.util import source_hash
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
            yield name + "c", compiled(data, f"{root}/{name}", lines=name.startswith("onnxlet/"))
        except (SyntaxError, ValueError):
            yield name, data  # a template, or syntax of another Python: it fails, or not, as it would have


def compiled(source: bytes, path: str, *, lines: bool) -> bytes:
    """A .pyc file's content; `path` is what tracebacks will say, `lines` whether they say the line in a function."""
    code = compile(source, path, "exec", dont_inherit=True, optimize=2)
    code = code if lines else without_lines(code)
    return _bootstrap_external._code_to_hash_pyc(code, source_hash(source), False)


def without_lines(code: types.CodeType) -> types.CodeType:
    """Code whose every instruction stands on the line on which it begins: a tenth less to load.

    Format of a line table: InternalDocs/code_objects.md of CPython; kind 13 is a line without columns.
    """
    units = len(code.co_code) // 2
    full, rest = divmod(units, 8)
    table = bytes([0x80 | 13 << 3 | 7, 0]) * full + (bytes([0x80 | 13 << 3 | rest - 1, 0]) if rest else b"")
    constants = (without_lines(part) if isinstance(part, types.CodeType) else part for part in code.co_consts)
    return code.replace(co_linetable=table, co_consts=tuple(constants))


for job in json.loads((WORK / "jobs.json").read_text()):
    with (
        zipfile.ZipFile(WORK / job["source"]) as archive,
        zipfile.ZipFile(WORK / job["target"], "w", zipfile.ZIP_STORED) as compiled_archive,
    ):
        for name, data in members(archive, job["root"]):
            compiled_archive.writestr(zipfile.ZipInfo(name, EPOCH), data)
