"""Compressed files beside those of a site, and what each file weighs on the wire.

Hosts that serve ``x.br`` and ``x.gz`` for ``x`` send them without work of their own and at the best quality. Where a
host compresses nothing, the page itself fetches ``x.gz`` (web/src/transport.js). Compressing Pyodide and ONNX Runtime
takes minutes, so everything is kept in the cache by content, and files that gain nothing are known there too.
"""

import gzip
import json
import shutil
import zlib
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import brotli

from . import paths
from .executors import Cargo, cargo, spread
from .hosts import CODINGS
from .progress import Reporter

__all__ = ["Weight", "compress", "compress_pages", "note_gzipped", "precompress", "weigh"]

_GAIN = 0.03  # less is not worth a file
_BEST = {"br": 11, "gz": 9}
_ON_THE_FLY = {"br": 5, "gz": 6}  # what hosts take that compress while they send
# Brotli's best search finds what has structure; in weights it finds one percent more in fifty times the time.
_STRUCTURED = 0.8
_HERE_BYTES = 1 << 18  # smaller files are compressed sooner than a worker starts
# What the page takes as .gz has to save more than a second request costs.
_FETCHED_BYTES = 50_000
_FETCHED_GAIN = 0.2


@dataclass(frozen=True, slots=True)
class Weight:
    """Bytes of a file as it is, and as a host sends it in gzip and in brotli: the same where that saves too little."""

    bytes: int
    gz: int
    br: int

    def __add__(self, other: "Weight") -> "Weight":
        return Weight(self.bytes + other.bytes, self.gz + other.gz, self.br + other.br)


def precompress(
    files: Mapping[str, Mapping[str, Any]], folder: Path, codings: Sequence[str], report: Reporter, executor: Executor
) -> dict[str, Weight]:
    """Write the compressed files of a site's assets, and weigh all of them.

    Args:
        files: site.json's.
        codings: those to write, of `CODINGS`; others are measured as hosts compress that do it while they send.
        executor: where large files are compressed.
    Returns: by path.
    """
    _make(files, folder, codings, report, executor)
    sizes = _measured(files, folder, [coding for coding in CODINGS if coding not in codings], report)
    for path, entry in files.items():
        for coding in codings:
            kept = _kept(entry["sha256"], coding)
            sizes[coding, path] = kept.stat().st_size
            if sizes[coding, path]:
                shutil.copyfile(kept, folder / f"{path}.{coding}")
    return {
        path: Weight(entry["bytes"], *(sizes[coding, path] or entry["bytes"] for coding in ("gz", "br")))
        for path, entry in files.items()
    }


def note_gzipped(files: Mapping[str, dict[str, Any]], folder: Path) -> None:
    """Say in site.json's files which have a .gz that is worth fetching where the host compresses nothing."""
    for path, entry in files.items():
        gzipped = folder / f"{path}.gz"
        if entry["bytes"] > _FETCHED_BYTES and gzipped.is_file():
            size = gzipped.stat().st_size
            if size < (1 - _FETCHED_GAIN) * entry["bytes"]:
                entry["gz"] = size


def compress_pages(folder: Path, names: Iterable[str], codings: Sequence[str]) -> None:
    """Write the compressed files of what lies in a site's root, which is small and new each time."""
    for name in names:
        for coding in codings:
            if smaller := compress(folder / name, coding):
                (folder / f"{name}.{coding}").write_bytes(smaller)


def weigh(text: str) -> Weight:
    """What a small file weighs."""
    data = text.encode()
    return Weight(len(data), *(len(compress(data, coding)) or len(data) for coding in ("gz", "br")))


def compress(content: Cargo, coding: str) -> bytes:
    """The content compressed as well as `coding` can; empty where that gains too little."""
    data = content if isinstance(content, bytes) else content.read_bytes()
    if len(zlib.compress(data, 1)) > (1 - _GAIN) * len(data):
        return b""
    smaller = _brotli(data) if coding == "br" else gzip.compress(data, _BEST["gz"], mtime=0)
    return smaller if len(smaller) <= (1 - _GAIN) * len(data) else b""


def _brotli(data: bytes) -> bytes:
    fast = brotli.compress(data, quality=_ON_THE_FLY["br"])
    return fast if len(fast) > _STRUCTURED * len(data) else brotli.compress(data, quality=_BEST["br"])


def _kept(digest: str, coding: str) -> Path:
    """Where the cache has a content's compressed form; an empty file for one that gains nothing."""
    return paths.cache("compressed", f"{digest}.{coding}{_BEST[coding]}")


def _make(
    files: Mapping[str, Mapping[str, Any]], folder: Path, codings: Sequence[str], report: Reporter, executor: Executor
) -> None:
    """Compress what the cache does not have, small files first: their results show that it goes on."""
    contents = {entry["sha256"]: path for path, entry in files.items()}
    unknown = [
        (files[path]["bytes"], digest, path, coding)
        for digest, path in contents.items()
        for coding in codings
        if not _kept(digest, coding).is_file()
    ]
    if not unknown:
        return
    unknown.sort()
    small = [job for job in unknown if job[0] <= _HERE_BYTES]
    large = unknown[len(small) :]
    total = sum(size for size, *_ in unknown)
    if large:
        report.note(f"compressing {len(unknown)} files as well as can be; later builds take them from the cache")
    with report.bar("Compressing", total, unit="bytes") as advance:
        for size, digest, path, coding in small:
            paths.write_whole(_kept(digest, coding), compress(folder / path, coding))
            advance(size)
        jobs = ((cargo(folder / path, executor), coding) for _, _, path, coding in large)
        results = spread(executor, compress, jobs, lambda _: None)
        for (size, digest, _, coding), smaller in zip(large, results, strict=True):
            paths.write_whole(_kept(digest, coding), smaller)
            advance(size)


def _measured(
    files: Mapping[str, Mapping[str, Any]], folder: Path, codings: Sequence[str], report: Reporter
) -> dict[tuple[str, str], int]:
    """Sizes as compressed on the fly, by coding and path; known ones come from the cache, by content."""
    sizes = {}
    for coding in codings:
        memory = paths.cache(f"sizes-{coding}{_ON_THE_FLY[coding]}.json")
        try:
            known: dict[str, int] = json.loads(memory.read_bytes())
        except (OSError, ValueError):
            known = {}
        unknown = {entry["sha256"]: path for path, entry in files.items() if entry["sha256"] not in known}
        if unknown:
            known.update(_measure(coding, unknown, files, folder, report))
            paths.write_whole(memory, json.dumps(known).encode())
        sizes.update({(coding, path): min(entry["bytes"], known[entry["sha256"]]) for path, entry in files.items()})
    return sizes


def _measure(
    coding: str, paths_by_digest: Mapping[str, str], files: Mapping[str, Any], folder: Path, report: Reporter
) -> dict[str, int]:
    total = sum(files[path]["bytes"] for path in paths_by_digest.values())
    with report.bar("Measuring compressed sizes", total, unit="bytes") as advance, ThreadPoolExecutor() as pool:

        def size(path: str) -> int:
            data = (folder / path).read_bytes()
            quality = _ON_THE_FLY[coding]
            small = brotli.compress(data, quality=quality) if coding == "br" else zlib.compress(data, quality)
            advance(len(data))
            return len(small)

        return dict(zip(paths_by_digest, pool.map(size, paths_by_digest.values()), strict=True))
