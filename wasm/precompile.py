"""Turn Python files into what starts fastest: bytecode instead of source, without what a page never uses.

Runs inside Pyodide (precompile.mjs). /jobs/jobs.json holds a list of {"source": NAME, "target": NAME, "root": PATH}: a
zip file or wheel in /jobs, what to write there, and the folder from which the page will import it. A target named *.zip
becomes a zip file (zipimport reads it); any other becomes a "pack": a gzipped tar file, so that the page inflates it in
one piece and lays its files down (web/src/pack.js).

Bytecode is optimized (-OO) and unchecked: there is no source beside it that it could differ from.
"""

import gzip
import io
import json
import py_compile
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

WORK = Path("/jobs")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the oldest time that a zip file can hold: the same input gives the same bytes
# Tests, what only type checkers and compilers read, and build tools that cannot run in a page.
DROPPED_FOLDERS = {"tests", "include", "f2py", "distutils", "_pyinstaller", "idlelib", "ensurepip", "pydoc_data"}
# Standard library that starts nothing and that few apps import: stays source, which is half the size.
COLD = {
    "_pydatetime.py", "_pydecimal.py", "_pyio.py", "_pyrepl", "concurrent", "ctypes", "curses", "dbm", "doctest.py",
    "ftplib.py", "html", "http", "imaplib.py", "ipaddress.py", "mailbox.py", "multiprocessing", "optparse.py", "pdb.py",
    "pickletools.py", "poplib.py", "profile.py", "pstats.py", "pydoc.py", "smtplib.py", "socketserver.py", "sqlite3",
    "tkinter", "turtle.py", "turtledemo", "unittest", "venv", "wsgiref", "xml", "xmlrpc", "zoneinfo",
}  # fmt: skip
HOT_ENCODINGS = {"__init__.py", "aliases.py", "ascii.py", "cp437.py", "latin_1.py", "utf_8.py", "utf_8_sig.py"}
DROPPED_SUFFIXES = (".pyi", ".h", ".a", ".pxd", ".pyx", ".c", ".ini", ".typed")


def members(archive: zipfile.ZipFile, root: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of what stays, Python files compiled."""
    for info in archive.infolist():
        name = info.filename
        *folders, base = name.split("/")
        if not base or DROPPED_FOLDERS & set(folders) or name.endswith(DROPPED_SUFFIXES) or base == "RECORD":
            continue
        data = archive.read(info)
        if (
            not name.endswith(".py")
            or name.split("/")[0] in COLD
            or (folders == ["encodings"] and base not in HOT_ENCODINGS)
        ):
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


def write_zip(path: Path, files: Iterator[tuple[str, bytes]]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files:
            info = zipfile.ZipInfo(name, EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)


def write_pack(path: Path, files: Iterator[tuple[str, bytes]]) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    path.write_bytes(gzip.compress(stream.getvalue(), 9, mtime=0))


for job in json.loads((WORK / "jobs.json").read_text()):
    with zipfile.ZipFile(WORK / job["source"]) as archive:
        write = write_zip if job["target"].endswith(".zip") else write_pack
        write(WORK / job["target"], members(archive, job["root"]))
