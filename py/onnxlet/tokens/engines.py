"""Who cuts text into tokens and joins them again: the `tokenizers` package in CPython, the page's library there."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..errors import InvalidInput

if TYPE_CHECKING:
    from .definition import Definition

__all__ = ["Engine", "Pieces", "make", "use"]


class Pieces(NamedTuple):
    """The tokens of one text, nothing around them.

    Args:
        offsets: of each token, where it begins and ends in the text, in characters.
        words: of each token, the number of the word that it is of; an engine gives no None.
    """

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    words: list[int | None]


class Engine(Protocol):
    """One tokenizer of an engine."""

    def split(self, text: str) -> Pieces:
        """Cut a text; it holds no lone surrogates."""

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Join tokens; ids that are not known are passed over."""


class NativeEngine:
    """The `tokenizers` package, told to do no more than the page's library does."""

    def __init__(self, definition: Definition) -> None:
        try:
            import tokenizers
        except ImportError as error:
            raise ImportError('a Tokenizer needs the package tokenizers: pip install "onnxlet[text]"') from error
        bare = {**definition.spec, "post_processor": None, "truncation": None, "padding": None}
        try:
            self._tokenizer = tokenizers.Tokenizer.from_str(json.dumps(bare))
        except Exception as error:  # a plain Exception is what the package raises
            raise InvalidInput(f"{definition.name}: the tokenizers package does not take it ({error})") from error

    def split(self, text: str) -> Pieces:
        found = self._tokenizer.encode(text, add_special_tokens=False)
        return Pieces(found.ids, found.tokens, found.offsets, found.word_ids)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        return str(self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens))


make: Callable[[Definition], Engine] = NativeEngine


def use(maker: Callable[[Definition], Engine]) -> None:
    """Have tokenizers made otherwise (the page's host calls this once)."""
    global make
    make = maker
