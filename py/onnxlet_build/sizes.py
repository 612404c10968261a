"""The table at the end of a build: what a visitor's browser will fetch."""

import json
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import brotli
from rich.console import Console
from rich.table import Table

from . import paths
from .progress import Reporter

__all__ = ["Row", "print_rows", "summarize"]

_QUALITY = 5  # what hosts use for files they compress on the fly; 11 is a few percent smaller and 50 times slower


@dataclass(frozen=True, slots=True)
class Row:
    """One group of a site's files."""

    group: str
    files: int
    bytes: int
    brotli_bytes: int


def summarize(site: dict[str, Any], folder: Path, report: Reporter) -> list[Row]:
    """Sum up site.json's files by group, compressed sizes included."""
    files = site["files"]
    compressed = _compressed(files, folder, report)
    groups: dict[str, list[str]] = defaultdict(list)
    for path, entry in files.items():
        groups[entry["group"]].append(path)
    return [
        Row(group, len(members), sum(files[p]["bytes"] for p in members), sum(compressed[p] for p in members))
        for group, members in sorted(groups.items())
    ]


def _compressed(files: dict[str, dict[str, Any]], folder: Path, report: Reporter) -> dict[str, int]:
    """Brotli bytes by path; known ones come from the cache, by hash."""
    memory = paths.cache(f"brotli-{_QUALITY}.json")
    try:
        known: dict[str, int] = json.loads(memory.read_bytes())
    except (OSError, ValueError):
        known = {}
    unknown = {entry["sha256"]: path for path, entry in files.items() if entry["sha256"] not in known}
    if unknown:
        total = sum(files[path]["bytes"] for path in unknown.values())
        with report.bar("Measuring compressed sizes", total, unit="bytes") as advance, ThreadPoolExecutor() as pool:

            def measure(path: str) -> int:
                size = len(brotli.compress((folder / path).read_bytes(), quality=_QUALITY))
                advance(files[path]["bytes"])
                return size

            known.update(zip(unknown, pool.map(measure, unknown.values()), strict=True))
        paths.write_whole(memory, json.dumps(known).encode())
    return {path: min(entry["bytes"], known[entry["sha256"]]) for path, entry in files.items()}


def print_rows(rows: list[Row], console: Console) -> None:
    """The table for a person."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column("group")
    for name in ("files", "bytes", "brotli"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(row.group, f"{row.files}", f"{row.bytes:,}", f"{row.brotli_bytes:,}")
    totals = (sum(getattr(row, name) for row in rows) for name in ("files", "bytes", "brotli_bytes"))
    table.add_row("total", *(f"{total:,}" for total in totals), style="bold")
    console.print(table)
