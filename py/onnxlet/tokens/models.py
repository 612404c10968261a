"""From the parts that a library cuts a word into to tokens, as the models of Hugging Face's tokenizers 0.23 do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import InvalidInput

__all__ = ["Reader", "Token", "complete", "reader"]


class Token(NamedTuple):
    """A token of a word, and where it begins and ends in it, in characters."""

    text: str
    id: int
    start: int
    end: int


Reader = Callable[[str, Sequence[str]], Iterator[Token]]
"""The tokens of a word and of the parts that a library cut it into."""


def complete(spec: Mapping[str, Any]) -> dict[str, Any]:
    """tokenizer.json's model with the type that old files leave out.

    Raises: InvalidInput: a type or an option that is not known here.
    """
    kind = spec.get("type")
    if kind is None:
        kind = "BPE" if "merges" in spec else "WordPiece" if isinstance(spec["vocab"], Mapping) else "Unigram"
    if kind not in ("WordPiece", "BPE", "Unigram"):
        raise InvalidInput(f'model "{kind}" has no equal in the page; known are WordPiece, BPE and Unigram')
    if kind == "BPE" and spec.get("continuing_subword_prefix"):
        raise InvalidInput("model BPE with a continuing_subword_prefix has no equal in the page")
    if kind == "BPE" and spec.get("dropout"):
        raise InvalidInput("model BPE with dropout gives other tokens each time; set it to null")
    return {**spec, "type": kind}


def reader(spec: Mapping[str, Any]) -> Reader:
    """How the parts of a word are read for a model that is `complete`."""
    vocab = spec["vocab"]
    ids = dict(vocab) if isinstance(vocab, Mapping) else {entry[0]: i for i, entry in enumerate(vocab)}
    match spec["type"]:
        case "WordPiece":
            return _word_piece(ids, spec.get("unk_token", "[UNK]"), spec.get("continuing_subword_prefix", "##"))
        case "BPE":
            return _bpe(ids, spec)
    return _unigram(ids, spec)


def _word_piece(ids: Mapping[str, int], unknown: str, prefix: str) -> Reader:
    def read(word: str, parts: Sequence[str]) -> Iterator[Token]:
        if list(parts) == [unknown]:  # no part of the word counts where one is unknown
            yield Token(unknown, ids[unknown], 0, len(word))
            return
        start = 0
        for part in parts:
            end = start + len(part) - (len(prefix) if start else 0)
            yield Token(part, ids[part], start, end)
            start = end

    return read


def _bpe(ids: Mapping[str, int], spec: Mapping[str, Any]) -> Reader:
    unknown = spec.get("unk_token")
    fuses, falls_back = spec.get("fuse_unk", False), spec.get("byte_fallback", False)

    def read(word: str, parts: Sequence[str]) -> Iterator[Token]:
        start = 0
        waiting: Token | None = None  # unknown characters, which more may join
        for i, part in enumerate(parts):
            end = len(word) if i == len(parts) - 1 else start + len(part)
            found = [Token(part, ids[part], start, end)] if part in ids else []
            if not found and falls_back:
                found = _bytes(ids, part, start, end)
            if not found and unknown is not None and waiting and fuses:
                waiting = waiting._replace(end=end)
            elif not found and unknown is not None:
                if waiting:
                    yield waiting
                waiting = Token(unknown, ids[unknown], start, end)
            elif found:
                if waiting:
                    yield waiting
                waiting = None
                yield from found
            start = end
        if waiting:
            yield waiting

    return read


def _unigram(ids: Mapping[str, int], spec: Mapping[str, Any]) -> Reader:
    unknown = spec.get("unk_id")

    def read(word: str, parts: Sequence[str]) -> Iterator[Token]:
        runs: list[tuple[str, bool]] = []  # neighbours that are unknown become one
        for part in parts:
            known = ids.get(part, unknown) != unknown
            if runs and not known and not runs[-1][1]:
                runs[-1] = (runs[-1][0] + part, False)
            else:
                runs.append((part, known))
        start = 0
        for text, known in runs:
            end = start + len(text)
            if text in ids or known:
                yield Token(text, ids[text], start, end)
            elif spec.get("byte_fallback") and (found := _bytes(ids, text, start, end)):
                yield from found
            elif unknown is None:
                raise InvalidInput(f"Tokenizer: {text!r} is not in the vocabulary, which has no unknown token")
            else:
                yield Token(text, unknown, start, end)
            start = end

    return read


def _bytes(ids: Mapping[str, int], text: str, start: int, end: int) -> list[Token]:
    """A token for each byte; none where the vocabulary lacks one of them."""
    names = [f"<0x{byte:02X}>" for byte in text.encode()]
    return [Token(name, ids[name], start, end) for name in names] if all(name in ids for name in names) else []
