"""What visitors download: each app's first visit part by part, and what the site holds."""

from collections.abc import Sequence

from ..sizes import Row
from ..visits import FIRST, Part, Visit
from . import numbers
from .charts import share
from .markup import Child, Markup, el, join
from .tables import Column, table

__all__ = ["downloads"]

_VISIT_NOTE = (
    "A first visit, with an empty cache, on the backend that the build found best. Brotli and gzip are what hosts send "
    "that compress; bars show brotli, paler ones what comes after the first answer or when somebody asks for it."
)
_HOLD_NOTE = "A visitor fetches what the device and the app need, once; the rest stays on the host."


def downloads(rows: Sequence[Row] | None, visits: Sequence[Visit]) -> Markup:
    """The section; nothing where sizes are not known.

    Args:
        rows: what the site holds, by group.
        visits: one an app.
    """
    parts = [_visits(visits) if visits else None, _held(rows) if rows else None]
    if not any(parts):
        return Markup()
    return el("section", el("h2", "Downloads"), *parts, class_="part")


def _visits(visits: Sequence[Visit]) -> Markup:
    largest = max(part.weight.br for visit in visits for part in visit.parts)
    columns = [Column("Part", head=True), Column("Size", number=True), Column("Gzip", number=True)]
    columns += [Column("Brotli", number=True), Column("Share", wide=True)]
    groups = [(_heading(visit), [_row(part, largest) for part in visit.parts]) for visit in visits]
    return join([el("p", _VISIT_NOTE, class_="fine"), table("What a visit fetches", columns, groups=groups)])


def _heading(visit: Visit) -> Child:
    return f"{visit.title}: {numbers.size(visit.first().br)} before the first answer"


def _row(part: Part, largest: int) -> list[Child]:
    weight = part.weight
    sizes = [numbers.size(count) for count in (weight.bytes, weight.gz, weight.br)]
    return [part.name, *sizes, share(weight.br, largest, "chosen" if part.when == FIRST else "original")]


def _held(rows: Sequence[Row]) -> Markup:
    cells: list[list[Child]] = [
        [row.group, f"{row.files:,}", *map(numbers.size, (row.bytes, row.gzip_bytes, row.brotli_bytes))] for row in rows
    ]
    columns = [Column("Part of the site", head=True)]
    columns += [Column(name, number=True) for name in ("Files", "Size", "Gzip", "Brotli")]
    held = table("What the site holds", columns, cells)
    return join([el("h3", "What the site holds"), el("p", _HOLD_NOTE, class_="fine"), held])
