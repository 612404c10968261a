"""The pre-tokenizers of tokenizer.json: aligned text cut into words, as Hugging Face's tokenizers 0.23 does."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InvalidInput
from .aligned import Aligned, Span
from .character_tables import PUNCTUATION, SPACES, members
from .patterns import Find, matches, split

__all__ = ["BYTES", "Cut", "pre_tokenizer"]

Cut = Callable[[Aligned], list[Aligned]]
_Spec = Mapping[str, Any]

# GPT-2's, as openai/gpt-2 wrote it
_BYTE_LEVEL_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"

# Rust's \w, which has the joiners that Oniguruma's lacks
_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"
_WORDS = rf"[{_WORD}]+|[^{_WORD}\s]+"


def _byte_characters() -> list[str]:
    """GPT-2's character for each byte: itself where it can be seen, else the next from U+0100 on."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in seen else chr(next(others)) for byte in range(256)]


BYTES = _byte_characters()


def pre_tokenizer(spec: _Spec | None, find: Find) -> Cut:
    """The function that a pre-tokenizer of tokenizer.json describes.

    Args:
        find: where a regular expression matches.
    Raises: InvalidInput: of a kind that is not known here.
    """
    if spec is None:
        return lambda text: [text]
    match spec["type"]:
        case "BertPreTokenizer":
            return _in_turn([_where(SPACES.__contains__, "Removed"), _where(_is_punctuation(), "Isolated")])
        case "WhitespaceSplit":
            return _where(SPACES.__contains__, "Removed")
        case "Whitespace":
            return _by(lambda text: find(_WORDS, text), "Removed", True)
        case "Punctuation":
            return _where(_is_punctuation(), spec.get("behavior", "Isolated"))
        case "Digits":
            return _where(_is_numeric, "Isolated" if spec.get("individual_digits") else "Contiguous")
        case "CharDelimiterSplit":
            return _where(spec["delimiter"].__eq__, "Removed")
        case "Split":
            return _by(matches(spec["pattern"], find), spec["behavior"], spec.get("invert", False))
        case "ByteLevel":
            return _byte_level(spec, find)
        case "Metaspace":
            return _metaspace(spec)
        case "FixedLength":
            length = spec.get("length", 5)
            return lambda text: [text.cut(i, min(i + length, len(text))) for i in range(0, len(text), length)]
        case "Sequence":
            return _in_turn([pre_tokenizer(step, find) for step in spec["pretokenizers"]])
        case kind:
            raise InvalidInput(f'pre_tokenizer "{kind}" has no equal in the page')


def _in_turn(steps: list[Cut]) -> Cut:
    def cut(text: Aligned) -> list[Aligned]:
        pieces = [text]
        for step in steps:
            pieces = [part for piece in pieces for part in step(piece) if len(part)]
        return pieces

    return cut


def _by(found: Callable[[str], list[Span]], behavior: str, invert: bool = False) -> Cut:
    return lambda text: [text.cut(*span) for span in split(len(text), found(text.text), behavior, invert)]


def _where(is_it: Callable[[str], bool], behavior: str) -> Cut:
    """Every character that is such a one counts as found."""
    return _by(lambda text: [(i, i + 1) for i, char in enumerate(text) if is_it(char)], behavior)


def _is_punctuation() -> Callable[[str], bool]:
    return members(PUNCTUATION).__contains__


def _is_numeric(char: str) -> bool:
    return unicodedata.category(char)[0] == "N"


def _byte_level(spec: _Spec, find: Find) -> Cut:
    def cut(text: Aligned) -> list[Aligned]:
        if spec.get("add_prefix_space", True) and not text.text.startswith(" "):
            text = text.prepend(" ")
        words = [text]
        if spec.get("use_regex", True):
            words = [text.cut(*span) for span in split(len(text), find(_BYTE_LEVEL_WORDS, text.text), "Isolated")]
        return [word.map(lambda char: "".join(BYTES[byte] for byte in char.encode())) for word in words]

    return cut


def _metaspace(spec: _Spec) -> Cut:
    sign = spec.get("replacement", "▁")
    # add_prefix_space is what files had before prepend_scheme
    scheme = spec.get("prepend_scheme") or ("always" if spec.get("add_prefix_space", True) else "never")

    def cut(text: Aligned) -> list[Aligned]:
        text = Aligned(text.text.replace(" ", sign), text.spans)
        first = scheme == "always" or (scheme == "first" and text.spans[0][0] == 0)
        if first and not text.text.startswith(sign):
            text = text.prepend(sign)
        if not spec.get("split", True):
            return [text]
        found = [(i, i + 1) for i, char in enumerate(text.text) if char == sign]
        return [text.cut(*span) for span in split(len(text), found, "MergedWithNext")]

    return cut
