"""Tables and the small things that stand in them."""

from collections.abc import Sequence
from dataclasses import dataclass

from .markup import Child, Markup, el

__all__ = ["Column", "badge", "part", "table"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``head``: its cells name their row; ``number``: stands at the right; ``wide``: holds sentences."""

    name: str
    head: bool = False
    number: bool = False
    wide: bool = False

    @property
    def style(self) -> str | None:
        """The class of its cells."""
        return "number" if self.number else "wide" if self.wide else None


def table(
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Child]] = (),
    *,
    groups: Sequence[tuple[Child, Sequence[Sequence[Child]]]] = (),
    style: str = "",
) -> Markup:
    """A table with headers, in a box that scrolls where the screen is narrow.

    Args:
        caption: for those who hear the page; a heading above says it to the others.
        groups: instead of `rows`, a heading and its rows, each.
        style: "stacked" for cells below each other on a phone; "bare" or "bars" for a small one without a box.
    """
    names = [el("th", column.name, scope="col", role="columnheader", class_=column.style) for column in columns]
    bodies = [el("tbody", [_row(columns, row) for row in rows], role="rowgroup")] if rows else []
    for heading, members in groups:
        text = el("span", heading, class_="stay")
        head = el("tr", el("th", text, scope="rowgroup", colspan=len(columns)), role="row", class_="group")
        bodies.append(el("tbody", head, [_row(columns, row) for row in members], role="rowgroup"))
    top = el("thead", el("tr", names, role="row"), role="rowgroup")
    whole = el("table", el("caption", caption, class_="unseen"), top, bodies, role="table", class_=style or None)
    if style in ("bare", "bars"):
        return whole
    return el("div", whole, class_="scroll", role="region", tabindex=0, aria_label=caption)


def _row(columns: Sequence[Column], cells: Sequence[Child]) -> Markup:
    # The roles are what the elements mean anyway; style that lays a table out anew would take that from them.
    drawn = [
        el("th", cell, scope="row", role="rowheader")
        if column.head
        else el("td", cell, role="cell", class_=column.style, data_name=column.name)
        for column, cell in zip(columns, cells, strict=True)
    ]
    return el("tr", drawn, role="row")


def badge(text: str, kind: str) -> Markup:
    """A word in a pill. ``kind``: good, bad, wait or plain."""
    return el("span", text, class_=f"badge {kind}")


def part(heading: str, *contents: Child) -> Markup:
    """A section of a model's report."""
    return el("section", el("h3", heading), *contents, class_="part")
