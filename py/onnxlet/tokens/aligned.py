"""Text that knows, while it is changed, which characters of the original each of its characters comes from.

The rules of who comes from where are those of Hugging Face's tokenizers 0.23 (`NormalizedString`): offsets are equal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

from ..records import dataclass

__all__ = ["Aligned", "Change", "Span"]

Span = tuple[int, int]
Change = tuple[str, int]
"""A character, and by how many the text grew where it stands: 1 for one that is new, -1 for one made of two."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """A piece of text.

    Args:
        text: its characters.
        spans: for each of them, where what it was made of begins and ends in the original.
    """

    text: str
    spans: list[Span]

    @classmethod
    def of(cls, text: str) -> Aligned:
        """The original itself."""
        return cls(text, [(i, i + 1) for i in range(len(text))])

    def __len__(self) -> int:
        return len(self.text)

    def cut(self, start: int, end: int) -> Aligned:
        """A part of it."""
        return Aligned(self.text[start:end], self.spans[start:end])

    def span(self, start: int, end: int) -> Span:
        """Where a part of it that is not empty begins and ends in the original."""
        return self.spans[start][0], self.spans[end - 1][1]

    def map(self, change: Callable[[str], str]) -> Aligned:
        """Every character replaced by none, one or several, which all come from where it came from."""
        made = [change(char) for char in self.text]
        return Aligned("".join(made), [span for text, span in zip(made, self.spans, strict=True) for _ in text])

    def prepend(self, text: str) -> Aligned:
        """With a text before it, that counts as part of the first character; an empty one stays empty."""
        return Aligned(text + self.text, [*self.spans[:1] * len(text), *self.spans]) if self.text else self

    def replace(self, matches: Iterable[Span], content: str) -> Aligned:
        """With other content in some places, that comes from the last character of what it replaces."""
        text, spans, done = "", [], 0
        for start, end in matches:
            text += self.text[done:start] + content
            spans += [*self.spans[done:start], *self.spans[end - 1 : end] * len(content)]
            done = end
        return Aligned(text + self.text[done:], [*spans, *self.spans[done:]])

    def normalize(self, form: str) -> Aligned:
        """In one of Unicode's normal forms; composed characters come from the first of their parts."""
        if unicodedata.is_normalized(form, self.text):  # type: ignore[arg-type]
            return self
        chars = _decomposed(self.text, "NFKD" if "K" in form else "NFD")
        if form.endswith("C"):
            chars = _composed(chars)
        return self.transform(chars)

    def transform(self, chars: Iterable[Change]) -> Aligned:
        """Other characters, each with what it did to the length; new ones come from where the one before does."""
        text, spans, at = "", [], 0
        for char, change in chars:
            text += char
            if change > 0:
                spans.append(self.spans[max(at - 1, 0)])
            else:
                spans.append(self.spans[min(at, len(self) - 1)])
                at += 1 - change
        return Aligned(text, spans)


def _decomposed(text: str, form: str) -> list[Change]:
    """Each character's decomposition, marks in canonical order (Unicode 3.11, D108)."""
    chars: list[Change] = []
    first = 0  # of the marks that are in order so far
    for char in text:
        for i, part in enumerate(unicodedata.normalize(form, char)):  # type: ignore[arg-type]
            if not unicodedata.combining(part):
                chars[first:] = sorted(chars[first:], key=_rank)
                first = len(chars) + 1
            chars.append((part, min(i, 1)))
    chars[first:] = sorted(chars[first:], key=_rank)
    return chars


def _rank(change: Change) -> int:
    return unicodedata.combining(change[0])


def _composed(chars: Iterable[Change]) -> list[Change]:
    """Canonical composition (Unicode 3.11, D117)."""
    done: list[Change] = []
    starter = -1  # its place in `done`
    last = -1  # the combining class of the mark before this character; -1: the starter is right before it
    for char, change in chars:
        rank = unicodedata.combining(char)
        if starter >= 0 and last < rank:
            base, before = done[starter]
            both = unicodedata.normalize("NFC", base + char)
            if len(both) == 1:
                done[starter] = (both, before + change - 1)
                continue
        if rank == 0:
            starter, last = len(done), -1
        elif starter >= 0:
            last = rank
        done.append((char, change))
    return done
