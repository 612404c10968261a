"""What an `open` takes: a path, bytes, or an open file."""

import os
from pathlib import Path
from typing import BinaryIO

__all__ = ["Source", "read"]

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO


def read(source: Source, name: str = "") -> tuple[bytes, str]:
    """All bytes of a source, and what to call it in a message.

    Args:
        source: a path, bytes, or a file opened in binary mode.
        name: overrides the source's own name.
    Raises: OSError: the file cannot be read; TypeError: none of the three.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), name
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        return path.read_bytes(), name or path.name
    if hasattr(source, "read"):
        data = source.read()
        if not isinstance(data, bytes):
            raise TypeError("expected a file opened in binary mode, got one that reads text; open it with mode 'rb'")
        own = getattr(source, "name", "")
        return data, name or (Path(own).name if isinstance(own, str) else "")
    raise TypeError(f"expected a path, bytes or an open file, got {type(source).__name__}")
