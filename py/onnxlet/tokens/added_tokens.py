"""Tokens that are found in a text before it is cut into words: special ones, and those added to a vocabulary later."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .aligned import Aligned
from .character_tables import SPACES
from .normalizers import Normalize

__all__ = ["AddedTokens"]


class AddedTokens:
    """Finds added tokens as Hugging Face's tokenizers 0.23 does: the leftmost, of those the longest.

    Args:
        tokens: tokenizer.json's added_tokens.
        normalize: what is done to the text where no token was found; those with ``normalized`` are looked for after it.
    """

    def __init__(self, tokens: Sequence[Mapping[str, Any]], normalize: Normalize) -> None:
        self._normalize = normalize
        raw = {token["content"]: token for token in tokens if not token.get("normalized")}
        late = {normalize(Aligned.of(t["content"])).text: t for t in tokens if t.get("normalized")}
        self._raw, self._late = _Finder(raw), _Finder(late)
        self.decoded = {token["id"]: text for text, token in late.items()}  # what these ids are joined as

    def cut(self, text: Aligned) -> Iterator[tuple[Aligned, int | None]]:
        """The text in pieces: with its id what is a token, normalized and with None what is not."""
        for piece, number in self._raw.cut(text):
            if number is not None:
                yield piece, number
            else:
                yield from self._late.cut(self._normalize(piece))


class _Finder:
    def __init__(self, tokens: Mapping[str, Mapping[str, Any]]) -> None:
        self._tokens = tokens
        longest_first = sorted(filter(None, tokens), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def cut(self, text: Aligned) -> Iterator[tuple[Aligned, int | None]]:
        done, whole = 0, text.text
        for match in self._pattern.finditer(whole) if self._pattern else ():
            token = self._tokens[match.group()]
            start, end = match.span()
            if token.get("single_word") and (_is_word(whole[start - 1 : start]) or _is_word(whole[end : end + 1])):
                continue
            while token.get("lstrip") and start > done and whole[start - 1] in SPACES:
                start -= 1
            while token.get("rstrip") and end < len(whole) and whole[end] in SPACES:
                end += 1
            if start > done:
                yield text.cut(done, start), None
            yield text.cut(start, end), token["id"]
            done = end
        if done < len(whole):
            yield text.cut(done, len(whole)), None


def _is_word(char: str) -> bool:
    r"""Whether it is one that \w matches in Rust."""
    return bool(char) and (char.isalnum() or unicodedata.category(char) in ("Mn", "Mc", "Me", "Pc", "Nl"))
