"""Files, mapped into memory and written whole."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["map_file", "write_whole"]


def map_file(path: Path) -> memoryview:
    """A file's bytes, mapped into memory where the file system can."""
    with path.open("rb") as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):  # ValueError: an empty file
            return memoryview(file.read())


def write_whole(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file that appears with all its parts or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.writelines(parts)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
