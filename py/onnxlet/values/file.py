"""Any file, as bytes."""

from typing import Self

from ..media.source import Source, read
from ..records import dataclass

__all__ = ["File"]


@dataclass(frozen=True, slots=True)
class File:
    """A file that the visitor gave.

    Args:
        data: all bytes; empty for an empty file.
        name: without folders; "" if it has none.
        type: MIME type as the browser guesses it from the name; "" if unknown.
    """

    data: bytes
    name: str = ""
    type: str = ""

    @classmethod
    def open(cls, source: Source, name: str = "") -> Self:
        """Read a path, bytes, or a file opened in binary mode."""
        return cls(*read(source, name))

    def __len__(self) -> int:
        return len(self.data)

    def __bytes__(self) -> bytes:
        return self.data
