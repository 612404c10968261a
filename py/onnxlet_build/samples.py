"""Inputs of a model, kept on disk and read one at a time: a set may be larger than memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from .fetch import sha256

__all__ = ["Feeds", "Samples"]

Feeds = dict[str, Array]


class Samples:
    """A sequence of feeds, one .npz file each; it can be iterated any number of times, in any process.

    Args:
        paths: the files; each holds one array an input, by name.
    """

    def __init__(self, paths: Sequence[Path] = ()) -> None:
        self.paths = tuple(paths)

    @classmethod
    def write(cls, folder: Path, feeds: Iterable[Mapping[str, Array]], limit: int | None = None) -> "Samples":
        """Write feeds into a folder, which is made, until they or `limit` end.

        Raises: BuildError: an item is no dict of arrays by input name, or an array cannot be stored.
        """
        folder.mkdir(parents=True, exist_ok=True)
        paths: list[Path] = []
        for number, item in enumerate(feeds):
            if limit is not None and number >= limit:
                break
            path = folder / f"{number:06}.npz"
            save_feeds(path, item, f"sample {number}")
            paths.append(path)
        return cls(paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[Feeds]:
        return map(load_feeds, self.paths)

    def __getitem__(self, part: slice) -> "Samples":
        return Samples(self.paths[part])

    def digest(self) -> str:
        """sha256 over every file's content, in order."""
        return sha256("".join(sha256(path.read_bytes()) for path in self.paths).encode())


def save_feeds(path: Path, feeds: Mapping[str, Array], where: str) -> None:
    """Write one sample; strings become NumPy's own text type, which needs no pickle."""
    if not isinstance(feeds, Mapping):
        raise BuildError(f"{where}: is a {type(feeds).__name__}, expected a dict of arrays by input name")
    arrays = {}
    for name, value in feeds.items():
        array = np.asarray(value)
        arrays[name] = array.astype(str) if array.dtype.kind == "O" else array
        if arrays[name].dtype.kind not in "biufcU":
            raise BuildError(f'{where}: input "{name}" has dtype {array.dtype}; expected numbers, bools or strings')
    with path.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def load_feeds(path: Path | IO[bytes]) -> Feeds:
    """One sample, as onnxruntime takes it: strings are objects again."""
    with np.load(path, allow_pickle=False) as stored:
        return {
            name: stored[name].astype(object) if stored[name].dtype.kind == "U" else stored[name] for name in stored
        }
