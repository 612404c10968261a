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
    bare: bool = False,
) -> Markup:
    """A table with headers, in a box that scrolls where the screen is narrow.

    Args:
        caption: for those who hear the page; a heading above says it to the others.
        groups: instead of `rows`, a heading and its rows, each.
        bare: a small one, whose column names only readers of screens need, and which never scrolls.
    """
    names = [el("th", column.name, scope="col", class_=column.style) for column in columns]
    bodies = [el("tbody", [_row(columns, row) for row in rows])] if rows else []
    for heading, members in groups:
        head = el("tr", el("th", heading, scope="rowgroup", colspan=len(columns)), class_="group")
        bodies.append(el("tbody", head, [_row(columns, row) for row in members]))
    parts = (el("caption", caption, class_="unseen"), el("thead", el("tr", names)), bodies)
    whole = el("table", *parts, class_=f"{style} bare".strip() if bare else style or None)
    return whole if bare else el("div", whole, class_="scroll", role="region", tabindex=0, aria_label=caption)


def _row(columns: Sequence[Column], cells: Sequence[Child]) -> Markup:
    pairs = zip(columns, cells, strict=True)
    return el(
        "tr", [el("th", c, scope="row") if column.head else el("td", c, class_=column.style) for column, c in pairs]
    )


def badge(text: str, kind: str) -> Markup:
    """A word in a pill. ``kind``: good, bad, wait or plain."""
    return el("span", text, class_=f"badge {kind}")


def part(heading: str, *contents: Child) -> Markup:
    """A section of a model's report."""
    return el("section", el("h3", heading), *contents, class_="part")
