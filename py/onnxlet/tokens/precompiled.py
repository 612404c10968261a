"""SentencePiece's normalizer, of which tokenizer.json holds the compiled form: a trie over replacements.

The form is that of sentencepiece's `normalizer.cc` (a Darts-clone double array, then texts that end in NUL); how it is
applied, to grapheme clusters of less than six bytes and else to characters, is Hugging Face's tokenizers 0.23.
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable
from functools import lru_cache

from ..errors import InvalidInput
from .aligned import Aligned, Change

__all__ = ["precompiled"]

_MOST_BYTES = 5  # of a cluster that is looked up as a whole
# What continues a grapheme cluster (Unicode TR 29): marks, joiners, and the few letters and signs that count as such.
# Clusters that only emoji, Hangul or conjuncts make are longer than five bytes, so their characters count alone.
_CONTROL = "\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
_PREPENDED = "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2"


def precompiled(charsmap: str, marks: frozenset[str]) -> Callable[[Aligned], Aligned]:
    """The function that a Precompiled normalizer describes.

    Args:
        charsmap: in base64.
        marks: the characters that combine with the one before.
    Raises: InvalidInput: it is cut or damaged.
    """
    lookup = _reader(base64.b64decode(charsmap))
    joining = frozenset({*marks, *"\u200c\u200d\uff9e\uff9f\u0e33\u0eb3", *map(chr, range(0x1F3FB, 0x1F400))})
    cached = lru_cache(maxsize=10_000)(lookup)

    def normalize(text: Aligned) -> Aligned:
        changes: list[Change] = []
        changed = False
        for cluster in _clusters(text.text, joining):
            whole = cached(cluster) if len(cluster.encode()) <= _MOST_BYTES else None
            for part in cluster if whole is None else (cluster,):
                new = cached(part) if whole is None else whole
                if new is None:
                    changes.append((part, 0))
                else:
                    changed = True
                    _replace(changes, len(part), new)
        return text.transform(changes) if changed else text

    return normalize


def _replace(changes: list[Change], old: int, new: str) -> None:
    """Add a replacement of so many characters: the last ones of a longer one are new, what lacks goes with the last."""
    more = len(new) - old
    changes.extend((char, int(i >= len(new) - more)) for i, char in enumerate(new))
    if more < 0 and changes:
        char, change = changes[-1]
        changes[-1] = (char, change + more)


def _clusters(text: str, joining: frozenset[str]) -> list[str]:
    clusters: list[str] = []
    for char in text:
        before = clusters[-1] if clusters else ""
        if before and (
            (before == "\r" and char == "\n")
            or (char in joining and not re.match(f"[{_CONTROL}]", before))
            or (re.fullmatch(f"[{_PREPENDED}]+", before) and not re.match(f"[{_CONTROL}]", char))
            or (before[-1] == "\u200d" and ord(char) >= 0x1F000)
        ):
            clusters[-1] += char
        else:
            clusters.append(char)
    return clusters


def _reader(data: bytes) -> Callable[[str], str | None]:
    """What a text that begins as one in the trie becomes; the shortest such beginning counts for all of it."""
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 + size or size % 4:
        raise InvalidInput(f"precompiled_charsmap: expected {4 + size} bytes or more, got {len(data)}")
    units = struct.unpack(f"<{size // 4}I", data[4 : 4 + size])
    texts = data[4 + size :]

    def lookup(text: str) -> str | None:
        place = _offset(units[0])
        for byte in text.encode():
            place ^= byte
            if byte == 0 or place >= len(units):
                return None
            unit = units[place]
            if unit & 0x8000_00FF != byte:
                return None
            place ^= _offset(unit)
            if unit >> 8 & 1:
                begin = units[place] & 0x7FFF_FFFF
                return texts[begin : texts.index(0, begin)].decode()
        return None

    return lookup


def _offset(unit: int) -> int:
    return unit >> 10 << ((unit & 1 << 9) >> 6)
