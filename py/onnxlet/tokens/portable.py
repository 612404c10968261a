"""The engine of the page: everything about text in Python, and words to tokens by the library that the page has.

npm's `@huggingface/tokenizers` gives no offsets, and normalizes and cuts text a little otherwise than the Rust package
that vocabularies are made with. So the core does that itself, with alignment; the library knows the models, and how
Oniguruma's regular expressions are written for JavaScript.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..errors import InvalidInput
from .added_tokens import AddedTokens
from .aligned import Aligned, Span
from .decoders import decoder
from .definition import Definition
from .engines import Pieces
from .models import Token, complete, reader
from .normalizers import normalizer
from .pre_tokenizers import pre_tokenizer

__all__ = ["JsonLibrary", "Library", "PortableEngine", "refuse_unknown"]


class Library(Protocol):
    """What a host has to bring."""

    def model(self, spec: Mapping[str, Any]) -> int:
        """Make a model of tokenizer.json: WordPiece, BPE or Unigram. Returns: its number."""

    def release(self, model: int) -> None:
        """Forget a model."""

    def tokens(self, model: int, words: Sequence[str]) -> list[list[str]]:
        """Cut words by a model; of BPE and Unigram the parts, whether they are in the vocabulary or not."""

    def find(self, pattern: str, text: str) -> list[Span]:
        """Where a regular expression, written for Oniguruma, matches, in characters."""


class JsonLibrary:
    """The page's tokenizers.js: only numbers and strings cross, so no proxy is left behind."""

    def __init__(self, script: Any) -> None:
        self._script = script

    def model(self, spec: Mapping[str, Any]) -> int:
        """See Library."""
        return int(self._script.model(json.dumps(spec)))

    def release(self, model: int) -> None:
        """See Library."""
        self._script.release(model)

    def tokens(self, model: int, words: Sequence[str]) -> list[list[str]]:
        """See Library."""
        found: list[list[str]] = json.loads(self._script.tokens(model, json.dumps(words)))
        return found

    def find(self, pattern: str, text: str) -> list[Span]:
        """See Library. Raises: InvalidInput: JavaScript has no equal of the pattern."""
        found = json.loads(self._script.find(pattern, text))
        if isinstance(found, str):
            raise InvalidInput(f"Tokenizer: JavaScript has no equal of the pattern {pattern!r} ({found})")
        return [(start, end) for start, end in found]


class PortableEngine:
    """A tokenizer over a host's library.

    Raises: InvalidInput: the file has a part that is not known here.
    """

    def __init__(self, definition: Definition, library: Library) -> None:
        spec = definition.spec
        try:
            self._cut = pre_tokenizer(spec.get("pre_tokenizer"), library.find)
            self._join = decoder(spec.get("decoder"), library.find)
            self._added = AddedTokens(definition.added, normalizer(spec.get("normalizer"), library.find))
            model = complete(spec["model"])
        except InvalidInput as error:
            raise InvalidInput(f"{definition.name}: {error}") from None
        self._read = reader(model)
        self._names = definition.tokens | self._added.decoded
        self._special = {token["content"] for token in definition.added if token.get("special")}
        self._library = library
        self._number = library.model(model)
        weakref.finalize(self, library.release, self._number).atexit = False

    def split(self, text: str) -> Pieces:
        """See engines.Engine."""
        words: list[tuple[Aligned, int | None]] = []
        for piece, number in self._added.cut(Aligned.of(text)):
            if number is not None:
                words.append((piece, number))
            elif len(piece):
                words += [(word, None) for word in self._cut(piece) if len(word)]
        cuts = iter(self._library.tokens(self._number, [word.text for word, number in words if number is None]))
        found = Pieces([], [], [], [])
        for place, (word, number) in enumerate(words):
            if number is None:
                tokens = list(self._read(word.text, next(cuts)))
            else:
                tokens = [Token(word.text, number, 0, len(word))]
            for token in tokens:
                found.ids.append(token.id)
                found.tokens.append(token.text)
                found.offsets.append(word.span(token.start, token.end))
                found.words.append(place)
        return found

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """See engines.Engine."""
        tokens = [self._names[number] for number in ids if number in self._names]
        return "".join(self._join([t for t in tokens if not (skip_special_tokens and t in self._special)]))


def refuse_unknown(definition: Definition) -> None:
    """Say natively what the page could not do. Raises: InvalidInput: it names the part that is not known there."""
    PortableEngine(definition, _Nothing())


class _Nothing:
    """A library that is only asked whether it could be used."""

    def model(self, spec: Mapping[str, Any]) -> int:
        return 0

    def release(self, model: int) -> None:
        pass

    def tokens(self, model: int, words: Sequence[str]) -> list[list[str]]:
        raise AssertionError("nothing is cut into tokens while a definition is only looked at")

    def find(self, pattern: str, text: str) -> list[Span]:
        return []  # an added token may be normalized
