"""The decoders of tokenizer.json: tokens to text, as Hugging Face's tokenizers 0.23 does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InvalidInput
from .patterns import Find, matches
from .pre_tokenizers import BYTES

__all__ = ["Join", "decoder"]

Join = Callable[[list[str]], list[str]]
_Spec = Mapping[str, Any]

_BYTE_OF = {char: byte for byte, char in enumerate(BYTES)}
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
# what WordPiece's cleanup joins again, in this order
_CLEANUP = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


def decoder(spec: _Spec | None, find: Find) -> Join:
    """The function that a decoder of tokenizer.json describes; what it gives is joined without anything between.

    Args:
        find: where a regular expression matches.
    Raises: InvalidInput: of a kind that is not known here.
    """
    if spec is None:
        return lambda tokens: [" ".join(tokens)]
    match spec["type"]:
        case "ByteLevel":
            return _byte_level
        case "WordPiece":
            return lambda tokens: _word_piece(tokens, spec.get("prefix", "##"), spec.get("cleanup", True))
        case "Metaspace":
            return lambda tokens: _metaspace(tokens, spec)
        case "BPEDecoder":
            suffix = spec.get("suffix", "</w>")
            return lambda tokens: [
                token.replace(suffix, " " if i < len(tokens) - 1 else "") for i, token in enumerate(tokens)
            ]
        case "ByteFallback":
            return _byte_fallback
        case "Fuse":
            return lambda tokens: ["".join(tokens)]
        case "Strip":
            return lambda tokens: [_strip(token, spec["content"], spec["start"], spec["stop"]) for token in tokens]
        case "Replace":
            where = matches(spec["pattern"], find)
            return lambda tokens: [_replace(token, where(token), spec["content"]) for token in tokens]
        case "Sequence":
            steps = [decoder(step, find) for step in spec["decoders"]]

            def join(tokens: list[str]) -> list[str]:
                for step in steps:
                    tokens = step(tokens)
                return tokens

            return join
        case kind:
            raise InvalidInput(f'decoder "{kind}" has no equal in the page')


def _byte_level(tokens: list[str]) -> list[str]:
    data = bytearray()
    for token in tokens:
        known = all(char in _BYTE_OF for char in token)
        data += bytes(_BYTE_OF[char] for char in token) if known else token.encode()
    return [data.decode("utf-8", "replace")]


def _word_piece(tokens: list[str], prefix: str, cleanup: bool) -> list[str]:
    made = []
    for i, token in enumerate(tokens):
        if i:
            token = token[len(prefix) :] if token.startswith(prefix) else f" {token}"
        for spaced, joined in _CLEANUP if cleanup else ():
            token = token.replace(spaced, joined)
        made.append(token)
    return made


def _metaspace(tokens: list[str], spec: _Spec) -> list[str]:
    sign = spec.get("replacement", "▁")
    prepended = spec.get("prepend_scheme", "always") != "never" and spec.get("add_prefix_space", True)
    return [token.replace(sign, "" if prepended and not i else " ") for i, token in enumerate(tokens)]


def _byte_fallback(tokens: list[str]) -> list[str]:
    """Runs of byte tokens become text; where they are none, a U+FFFD each."""
    made: list[str] = []
    run = bytearray()
    for token in [*tokens, ""]:
        if byte := _BYTE_TOKEN.fullmatch(token):
            run.append(int(byte.group(1), 16))
            continue
        if run:
            try:
                made.append(run.decode())
            except UnicodeDecodeError:
                made += ["\ufffd"] * len(run)
            run.clear()
        made.append(token)
    return made[:-1]


def _strip(token: str, content: str, start: int, stop: int) -> str:
    first = 0
    while first < min(start, len(token)) and token[first] == content:
        first += 1
    last = len(token)
    while last > max(len(token) - stop, first) and token[last - 1] == content:
        last -= 1
    return token[first:last]


def _replace(token: str, found: list[tuple[int, int]], content: str) -> str:
    for start, end in reversed(found):
        token = token[:start] + content + token[end:]
    return token
