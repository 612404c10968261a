"""HTML and SVG as nested calls. What is not markup already is escaped, so no name in a model becomes an element."""

import html
import re
from collections.abc import Iterable
from typing import TypeAlias

__all__ = ["Child", "Markup", "code", "el", "join"]


class Markup(str):
    """Text that may stand in a page as it is."""

    __slots__ = ()


Child: TypeAlias = str | int | Iterable["Child"] | None

_VOID = frozenset(("br", "col", "hr", "img", "link", "meta"))
# Neither HTML nor JSON readers take these well; a name may hold them all the same.
_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def el(tag: str, *children: Child, **attributes: str | float | bool | None) -> Markup:
    """One element.

    Args:
        children: text, which is escaped, markup, or lists of both; None is left out.
        attributes: ``class_`` gives class, ``aria_label`` aria-label; None and False are left out, True has no value.
    """
    given = "".join(
        f" {name.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_escaped(f"{value}")}"')
        for name, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{tag}{given}>" + ("" if tag in _VOID else f"{join(children)}</{tag}>"))


def join(children: Child) -> Markup:
    """The children one after another, escaped where they are no markup."""
    if children is None:
        return Markup()
    if isinstance(children, Markup):
        return children
    if isinstance(children, str | int):
        return Markup(_escaped(str(children)))
    return Markup("".join(map(join, children)))


def code(text: str, limit: int = 48) -> Markup:
    """A name from a model; one over `limit` characters (0: none is) loses its middle, and has it when pointed at."""
    if not limit or len(text) <= limit:
        return el("code", text)
    return el("code", shortened(text, limit), title=text)


def shortened(text: str, limit: int) -> str:
    """Text without its middle where it is longer than `limit`: both ends of a node's name tell it from others."""
    kept = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[: limit - 1 - kept]}…{text[-kept:]}"


def _escaped(text: str) -> str:
    return html.escape(_UNSEEN.sub("\ufffd", text))
