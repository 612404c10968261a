"""Passages of a text, highlighted in it: entities, answers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..errors import InvalidInput
from ..records import dataclass

__all__ = ["Span", "Spans"]


@dataclass(frozen=True, slots=True)
class Span:
    """A passage of a text.

    Args:
        label: what it is; "" where the passage itself is what was found, as with an answer.
        score: of 0 to 1 where it is a probability.
        start, end: where it begins and ends, in characters of the text as Python counts them, end outside.
        word: what stands there, as the model read it; by default the text's own characters.
    """

    label: str
    score: float
    start: int
    end: int
    word: str = ""


class Spans:
    """A text with passages that are highlighted. They may overlap, and come in any order.

    Args:
        text: all of it.
        items: `Span` objects, or (label, score, start, end) tuples. start == end is a place without characters, as
            the answer of a text that has none.
    Raises: InvalidInput: text is no str, or a passage is not inside it.
    """

    def __init__(self, text: str, items: Iterable[Span | tuple[str, float, int, int]]) -> None:
        if not isinstance(text, str):
            raise InvalidInput(f"Spans: expected the text as a str, got {type(text).__name__}")
        self.text = text
        self.items = [_span(i, item, text) for i, item in enumerate(items)]

    @property
    def best(self) -> str:
        """What the passage with the highest score says; "" where there is none."""
        return max(self.items, key=lambda item: item.score).word if self.items else ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spans) and (self.text, self.items) == (other.text, other.items)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Spans({self.text!r}, {self.items!r})"


def _span(index: int, item: Span | tuple[str, float, int, int], text: str) -> Span:
    label, score, start, end = (item.label, item.score, item.start, item.end) if isinstance(item, Span) else item
    if not 0 <= int(start) <= int(end) <= len(text):
        raise InvalidInput(
            f'Spans: item {index} ("{label}") goes from {start} to {end}, expected 0 <= start <= end <= {len(text)}, '
            "the characters of the text"
        )
    if math.isnan(score):
        raise InvalidInput(f'Spans: the score of item {index} ("{label}") is NaN; look at what the model was given')
    word = item.word if isinstance(item, Span) and item.word else text[int(start) : int(end)]
    return Span(str(label), float(score), int(start), int(end), word)
