"""Where patterns of tokenizer.json match, and what splitting there leaves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from ..errors import InvalidInput
from .aligned import Span

__all__ = ["Find", "matches", "split"]

Find = Callable[[str, str], list[Span]]
"""Where a regular expression, written for Oniguruma, matches in a text: all matches from left to right."""


def matches(pattern: Mapping[str, str], find: Find) -> Callable[[str], list[Span]]:
    """Where a pattern, ``{"String": ...}`` or ``{"Regex": ...}``, matches."""
    if "Regex" in pattern:
        return lambda text: find(pattern["Regex"], text)
    literal = re.compile(re.escape(pattern["String"]))
    return lambda text: [match.span() for match in literal.finditer(text)] if pattern["String"] else []


def split(length: int, found: Iterable[Span], behavior: str, invert: bool = False) -> list[Span]:
    """The parts of a text that is split where a pattern was found, empty ones left out.

    Args:
        behavior: Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous.
        invert: split at what was not found.
    """
    parts: list[tuple[int, int, bool]] = []
    done = 0
    for start, end in found:
        if start > done:
            parts.append((done, start, invert))
        if end > start:
            parts.append((start, end, not invert))
        done = max(done, end)
    if done < length:
        parts.append((done, length, invert))
    match behavior:
        case "Removed":
            return [(start, end) for start, end, hit in parts if not hit]
        case "Isolated":
            return [(start, end) for start, end, _ in parts]
        case "Contiguous":
            return _merged(parts, lambda before, hit: before == hit)
        case "MergedWithPrevious":
            return _merged(parts, lambda before, hit: hit and not before)
        case "MergedWithNext":
            return _merged(parts, lambda before, hit: before and not hit)
    raise InvalidInput(f'split behavior "{behavior}" is not known')


def _merged(parts: Iterable[tuple[int, int, bool]], together: Callable[[bool, bool], bool]) -> list[Span]:
    spans: list[Span] = []
    before: bool | None = None
    for start, end, hit in parts:
        if before is not None and together(before, hit):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
        before = hit
    return spans
