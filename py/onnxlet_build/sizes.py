"""The tables at the end of a build: what a visitor's browser fetches, and what the site holds."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .precompress import Weight
from .visits import FIRST, LATER, Part, Visit

__all__ = ["Row", "print_visits", "summarize"]


@dataclass(frozen=True, slots=True)
class Row:
    """One group of a site's files."""

    group: str
    files: int
    bytes: int
    gzip_bytes: int
    brotli_bytes: int


def summarize(site: Mapping[str, Any], weights: Mapping[str, Weight]) -> list[Row]:
    """Sum up site.json's files by group.

    Args:
        weights: of each file.
    """
    groups: dict[str, list[Weight]] = defaultdict(list)
    for path, entry in site["files"].items():
        groups[entry["group"]].append(weights[path])
    return [_row(group, members) for group, members in sorted(groups.items())]


def _row(group: str, members: list[Weight]) -> Row:
    whole = reduce(add, members)
    return Row(group, len(members), whole.bytes, whole.gz, whole.br)


def print_visits(visits: Sequence[Visit], console: Console) -> None:
    """What each byte is for: of one app every part, of several a line each."""
    if len(visits) == 1:
        _print_parts(visits[0], console)
    else:
        _print_apps(visits, console)


def _print_parts(visit: Visit, console: Console) -> None:
    table = _table("before the first answer", "bytes", "gzip", "brotli")
    for when in (FIRST, LATER):
        parts = [part for part in visit.parts if part.when == when]
        for part in parts:
            table.add_row(*_cells(part))
        if when == FIRST:
            table.add_row(*_cells(Part("first visit", "", FIRST, visit.first())), style="bold")
            table.add_section()
            if len(parts) < len(visit.parts):
                table.add_row("[bold]later, or when asked for[/bold]")
    console.print(table)


def _cells(part: Part) -> tuple[str, str, str, str]:
    weight = part.weight
    return part.name, f"{weight.bytes:,}", f"{weight.gz:,}", f"{weight.br:,}"


def _print_apps(visits: Sequence[Visit], console: Console) -> None:
    columns = {
        "page": ("page",),
        "Python": ("python",),
        "runtime": ("onnxruntime",),
        "packages": ("packages",),
        "app": ("app",),
        "model": ("model",),
        "first visit": (),
    }
    table = _table("MB in brotli", *columns)
    for visit in visits:
        table.add_row(escape(visit.title), *(f"{visit.first(*kinds).br / 1e6:.2f}" for kinds in columns.values()))
    console.print(table)


def _table(first: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    table.add_column(first)
    for name in columns:
        table.add_column(name, justify="right")
    return table
