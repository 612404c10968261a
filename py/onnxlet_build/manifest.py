"""The files of a site and its site.json. Names carry a content hash, so a host may let browsers keep them for ever."""

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from onnxlet.errors import BuildError

from .fetch import sha256

__all__ = ["Tree", "safe_json"]

_SAFE_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9_+.-]*")

Content = bytes | Path


class Tree:
    """A folder being written, and what is in it.

    Args:
        root: an empty folder.
        limit_bytes: no file may be larger; None for no limit.
    """

    def __init__(self, root: Path, limit_bytes: int | None = None) -> None:
        self.root = root
        self.limit_bytes = limit_bytes
        self.files: dict[str, dict[str, Any]] = {}

    def folder(self, name: str, contents: Mapping[str, Content], group: str) -> str:
        """Write files that refer to each other: the folder's name carries one hash over all of them.

        Args:
            contents: path inside the folder -> bytes, or a file to copy.
        Returns: the folder's path from the root, ending in "/".
        """
        digests = {path: _digest(content) for path, content in sorted(contents.items())}
        prefix = f"assets/{name}.{sha256(json.dumps(digests).encode())[:8]}/"
        for path, content in contents.items():
            self._write(prefix + path, content, digests[path], group)
        return prefix

    def file(self, name: str, content: Content, group: str) -> str:
        """Write one file, ``stem.HASH.suffix``. Returns: its path from the root."""
        digest = _digest(content)
        path = PurePosixPath(name)
        target = f"assets/{path.stem}.{digest[:8]}{path.suffix}"
        if target not in self.files:
            self._write(target, content, digest, group)
        return target

    def page(self, name: str, text: str) -> None:
        """Write a file that browsers must ask for anew each time: no hash, not in the list of files."""
        (self.root / name).write_text(text, encoding="utf-8")

    def identity(self, *more: str) -> str:
        """16 hexadecimal digits over every file and over `more`."""
        return sha256(json.dumps([self.files, more], sort_keys=True).encode())[:16]

    def _write(self, path: str, content: Content, digest: str, group: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            shutil.copyfile(content, target)
        else:
            target.write_bytes(content)
        size = target.stat().st_size
        if self.limit_bytes and size > self.limit_bytes:
            raise BuildError(f"{path}: has {size:,} bytes, the host takes {self.limit_bytes:,} a file; leave it out")
        self.files[path] = {"bytes": size, "sha256": digest, "group": group}


def safe_names(paths: list[str]) -> dict[str, str]:
    """Names for an app's files that every host serves as they are: plain ASCII; others are numbered."""
    names = {}
    for number, path in enumerate(sorted(paths)):
        plain = all(_SAFE_NAME.fullmatch(part) or part == "__init__.py" for part in path.split("/"))
        names[path] = path if plain else f"file{number}{PurePosixPath(path).suffix.lower()}"
        if not plain and not _SAFE_NAME.fullmatch(names[path]):
            names[path] = f"file{number}"
    return names


def safe_json(value: Any) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _digest(content: Content) -> str:
    if isinstance(content, bytes):
        return sha256(content)
    with content.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
