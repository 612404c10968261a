"""The normalizers of tokenizer.json on aligned text, with the results of Hugging Face's tokenizers 0.23."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InvalidInput
from .aligned import Aligned
from .character_tables import ACCENTS, CONTROLS, MARKS, SPACES, members
from .patterns import Find, matches
from .precompiled import precompiled

__all__ = ["Normalize", "normalizer"]

Normalize = Callable[[Aligned], Aligned]
_Spec = Mapping[str, Any]

_IDEOGRAPHS = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b920-\U0002ceaf"
    "\uf900-\ufaff\U0002f800-\U0002fa1f]"
)


def normalizer(spec: _Spec | None, find: Find) -> Normalize:
    """The function that a normalizer of tokenizer.json describes.

    Args:
        find: where a regular expression matches.
    Raises: InvalidInput: of a kind that is not known here.
    """
    if spec is None:
        return lambda text: text
    match spec["type"]:
        case "NFC" | "NFD" | "NFKC" | "NFKD" as form:
            return lambda text: text.normalize(form)
        case "Lowercase":
            return lambda text: text.map(str.lower)
        case "StripAccents":
            return _without(MARKS)
        case "BertNormalizer":
            return _bert(spec)
        case "Strip":
            return lambda text: _strip(text, spec.get("strip_left", True), spec.get("strip_right", True))
        case "Prepend":
            return lambda text: text.prepend(spec["prepend"])
        case "Replace":
            where = matches(spec["pattern"], find)
            return lambda text: text.replace(where(text.text), spec["content"])
        case "Precompiled":
            return precompiled(spec["precompiled_charsmap"], members(MARKS))
        case "Sequence":
            return _sequence([normalizer(step, find) for step in spec["normalizers"]])
        case kind:
            raise InvalidInput(f'normalizer "{kind}" has no equal in the page')


def _sequence(steps: list[Normalize]) -> Normalize:
    def normalize(text: Aligned) -> Aligned:
        for step in steps:
            text = step(text)
        return text

    return normalize


def _without(table: str) -> Normalize:
    gone = members(table)
    return lambda text: text.map(lambda char: "" if char in gone else char)


def _bert(spec: _Spec) -> Normalize:
    lower = spec.get("lowercase", True)
    accents = spec.get("strip_accents")
    steps: list[Normalize] = []
    if spec.get("clean_text", True):
        controls = members(CONTROLS)

        def clean(char: str) -> str:
            return "" if char in controls else " " if char in SPACES else char

        steps.append(lambda text: text.map(clean))
    if spec.get("handle_chinese_chars", True):
        steps.append(lambda text: text.map(lambda char: f" {char} " if _IDEOGRAPHS.match(char) else char))
    if lower if accents is None else accents:
        steps += [lambda text: text.normalize("NFD"), _without(ACCENTS)]
    if lower:
        steps.append(lambda text: text.map(str.lower))
    return _sequence(steps)


def _strip(text: Aligned, left: bool, right: bool) -> Aligned:
    start, end = 0, len(text)
    while left and start < end and text.text[start] in SPACES:
        start += 1
    while right and end > start and text.text[end - 1] in SPACES:
        end -= 1
    return text.cut(start, end)
