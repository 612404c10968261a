"""What is put around the tokens of a text or a pair: special tokens, type ids, and a limit of length.

It is the post-processor and the truncation of Hugging Face's tokenizers, version 0.23, read from tokenizer.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import InvalidInput
from ..records import dataclass

__all__ = ["Framing", "Part", "shares"]


class Part(NamedTuple):
    """One place of a frame: a special token, or where token is "" the text (0) or its pair (1)."""

    type_id: int
    token: str = ""
    id: int = 0
    sequence: int = 0


@dataclass(frozen=True)
class Framing:
    """The frames of a tokenizer.

    Args:
        single, pair: what goes around one text, and around two.
        trims: whether offsets leave out the spaces at a token's ends.
        keeps_first: whether the first token has one that was put there.
    """

    single: tuple[Part, ...]
    pair: tuple[Part, ...]
    trims: bool = False
    keeps_first: bool = False

    @classmethod
    def read(cls, spec: Mapping[str, Any] | None, name: str) -> Framing:
        """Read tokenizer.json's post_processor.

        Args:
            name: of the file, for messages.
        Raises: InvalidInput: a kind that is not known.
        """
        framing = cls((Part(0),), (Part(0), Part(1, sequence=1)))
        for step in _steps(spec):
            kind = step.get("type")
            if kind == "ByteLevel":
                trims, first = step.get("trim_offsets", True), step.get("add_prefix_space", True)
                framing = cls(framing.single, framing.pair, trims, first)
            elif kind == "TemplateProcessing":
                single, pair = _template(step, "single"), _template(step, "pair")
                framing = cls(single, pair, framing.trims, framing.keeps_first)
            elif kind in ("BertProcessing", "RobertaProcessing"):
                framing = _ends(step, framing)
            else:
                raise InvalidInput(f'{name}: post_processor "{kind}" is not known')
        return framing

    def trim(self, tokens: Sequence[str], offsets: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Offsets without the spaces that byte-level tokens have at their ends."""
        if not self.trims:
            return list(offsets)
        trimmed = []
        for i, (token, (start, end)) in enumerate(zip(tokens, offsets, strict=True)):
            before, after = _spaces(token), _spaces(token[::-1])
            if before and self.keeps_first and (i == 0 or start == 0):
                before -= 1  # that one is not in the text
            start = min(start + before, end)
            if after and end >= after:
                end = max(end - after, start)
            trimmed.append((start, end))
        return trimmed


def shares(first: int, second: int, room: int) -> tuple[int, int]:
    """How many tokens of a text and its pair stay where there is room for so many: the longer one is cut first."""
    if first + second <= room:
        return first, second
    short, long = sorted((first, second))
    long = short if short > room else max(short, room - short)
    if short + long > room:
        short, long = room // 2, room // 2 + room % 2
    return (long, short) if first > second else (short, long)


def _spaces(token: str) -> int:
    """How many spaces a token begins with; Ġ is the byte-level one."""
    return len(token) - len(token.lstrip("Ġ \t\n\r\x0b\x0c\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"))


def _steps(spec: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    if spec is None:
        return []
    if spec.get("type") == "Sequence":
        return [step for inner in spec["processors"] for step in _steps(inner)]
    return [spec]


def _template(spec: Mapping[str, Any], which: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    for piece in spec[which]:
        if "Sequence" in piece:
            said = piece["Sequence"]
            parts.append(Part(said["type_id"], sequence="AB".index(said["id"])))
        else:
            said = piece["SpecialToken"]
            token = spec["special_tokens"][said["id"]]
            pairs = zip(token["tokens"], token["ids"], strict=True)
            parts.extend(Part(said["type_id"], text, number) for text, number in pairs)
    return tuple(parts)


def _ends(spec: Mapping[str, Any], before: Framing) -> Framing:
    """BERT's [CLS] A [SEP] B [SEP], and RoBERTa's <s> A </s></s> B </s>, all of type 0."""
    (cls, cls_id), (sep, sep_id) = spec["cls"], spec["sep"]
    first, last = Part(0, cls, cls_id), Part(0, sep, sep_id)
    single = (first, Part(0), last)
    if spec["type"] == "BertProcessing":
        pair = (*single, Part(1, sequence=1), Part(1, sep, sep_id))
        return Framing(single, pair, before.trims, before.keeps_first)
    trims, keeps = spec.get("trim_offsets", True), spec.get("add_prefix_space", True)
    return Framing(single, (*single, last, Part(0, sequence=1), last), trims, keeps)
