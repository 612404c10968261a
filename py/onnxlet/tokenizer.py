"""Text to the ids that a model takes, and back: Hugging Face's tokenizer.json and BERT's vocab.txt.

In CPython the `tokenizers` package cuts the text, in the page the npm package `@huggingface/tokenizers`; special
tokens, pairs, truncation and padding are this core's own on both sides.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from .dtypes import Array
from .errors import InvalidInput
from .records import dataclass
from .source import caller_folder
from .tokens import engines
from .tokens.definition import Definition, read
from .tokens.framing import Framing, Part, shares

__all__ = ["Encoding", "Tokenizer", "watchers"]

watchers: list[Callable[[Definition], None]] = []
"""Called with what the files of every tokenizer say; the build learns this way that an app needs one in the page."""

_LONE = dict.fromkeys(range(55296, 57344), "�")


@dataclass(frozen=True, slots=True)
class Encoding:
    """What a text, or a text and its pair, became. All lists have one entry a token.

    Args:
        ids: numbers of the tokens.
        type_ids: 0 for the first text, mostly 1 for the pair: the model's token_type_ids.
        attention_mask: 1 everywhere, as nothing is padded.
        special_tokens_mask: 1 for tokens that were put around the text.
        tokens: as the vocabulary writes them.
        offsets: where each begins and ends in its text, in characters; (0, 0) of special tokens.
        sequence_ids: 0 for the text, 1 for the pair, None for special tokens.
        word_ids: which word of its text a token is of; None for special tokens.
    """

    ids: list[int]
    type_ids: list[int]
    attention_mask: list[int]
    special_tokens_mask: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    sequence_ids: list[int | None]
    word_ids: list[int | None]

    def __len__(self) -> int:
        return len(self.ids)


class Tokenizer:
    """A tokenizer, the same on both sides.

    Args:
        path: a tokenizer.json, or the vocab.txt of a WordPiece model, or a folder with one of them; looked for in the
            working directory, then beside the calling file. tokenizer_config.json and special_tokens_map.json beside
            it are read.
    Raises: InvalidInput: no such file, or not a tokenizer; ImportError: natively, without the package tokenizers.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._definition = read(_find(Path(os.fspath(path))))
        self._framing = Framing.read(self._definition.spec.get("post_processor"), self._definition.name)
        self._engine = engines.make(self._definition)
        for watcher in watchers:
            watcher(self._definition)

    @property
    def vocab_size(self) -> int:
        """How many ids there are, added tokens among them."""
        return len(self._definition.tokens)

    @property
    def model_max_length(self) -> int | None:
        """How many tokens the model takes at most; None where the files do not say."""
        return self._definition.max_length

    @property
    def special_tokens(self) -> dict[str, str]:
        """The special tokens that there are, by what they are for: unk, pad, cls, sep, mask, bos, eos."""
        return dict(self._definition.roles)

    @property
    def mask_token(self) -> str | None:
        """The token that stands for a hidden word; None where there is none."""
        return self._definition.roles.get("mask")

    @property
    def mask_token_id(self) -> int | None:
        """Its number."""
        return self._id_of("mask")

    @property
    def pad_token_id(self) -> int | None:
        """The number of the token that fills up shorter texts of a batch; None where there is none."""
        return self._id_of("pad")

    @property
    def continuing_subword_prefix(self) -> str:
        """What the tokens within a word begin with, such as "##"; "" where words are not told that way."""
        model = self._definition.spec["model"]
        usual = "##" if model.get("type") == "WordPiece" else ""
        return model.get("continuing_subword_prefix", usual) or ""

    def _id_of(self, role: str) -> int | None:
        token = self._definition.roles.get(role)
        return None if token is None else self._definition.vocabulary[token]

    def token_to_id(self, token: str) -> int | None:
        """The number of a token; None for one that is not in the vocabulary."""
        return self._definition.vocabulary.get(token)

    def id_to_token(self, id: int) -> str | None:
        """The token of a number; None for a number that no token has."""
        return self._definition.tokens.get(id)

    def encode(
        self, text: str, pair: str | None = None, *, add_special_tokens: bool = True, max_length: int | None = None
    ) -> Encoding:
        """Cut a text, or a text and its pair, into tokens.

        A lone surrogate, which JSON can carry and UTF-8 cannot, counts as U+FFFD.

        Args:
            add_special_tokens: whether what the model expects around a text is put there.
            max_length: how many tokens there are at most, special ones counted; the longer text is cut first, at its
                end, as transformers' "longest_first" does. None: all of them.
        Raises: InvalidInput: text or pair is no str, or max_length leaves no room for the special tokens.
        """
        texts = [text] if pair is None else [text, pair]
        for given in texts:
            if not isinstance(given, str):
                raise InvalidInput(f"Tokenizer: expected a str, got {type(given).__name__}")
        pieces = [self._engine.split(given.translate(_LONE)) for given in texts]
        frame = self._framing.single if pair is None else self._framing.pair
        if not add_special_tokens:
            frame = tuple(part for part in frame if not part.token)
        kept = [len(piece.ids) for piece in pieces]
        if max_length is not None:
            room = max_length - sum(bool(part.token) for part in frame)
            if room < 0:
                raise InvalidInput(
                    f"Tokenizer: max_length={max_length} is less than the {max_length - room} special tokens of a text"
                )
            kept = [min(kept[0], room)] if pair is None else list(shares(kept[0], kept[1], room))
        return self._assemble(pieces, frame, kept)

    def _assemble(self, pieces: list[engines.Pieces], frame: Sequence[Part], kept: list[int]) -> Encoding:
        found = Encoding([], [], [], [], [], [], [], [])
        for part in frame:
            piece, count = pieces[part.sequence], kept[part.sequence]
            offsets = self._framing.trim(piece.tokens, piece.offsets)
            if part.token:
                piece, count, offsets = engines.Pieces([part.id], [part.token], [], [None]), 1, [(0, 0)]
            found.ids.extend(piece.ids[:count])
            found.tokens.extend(piece.tokens[:count])
            found.offsets.extend(offsets[:count])
            found.word_ids.extend(piece.words[:count])
            found.type_ids.extend([part.type_id] * count)
            found.attention_mask.extend([1] * count)
            found.special_tokens_mask.extend([int(bool(part.token))] * count)
            found.sequence_ids.extend([None if part.token else part.sequence] * count)
        return found

    def batch(
        self, texts: Sequence[str], pairs: Sequence[str] | None = None, *, max_length: int | None = None
    ) -> dict[str, Array]:
        """Feeds for a model: several texts, or texts and their pairs, filled up to the longest with the pad token.

        Args:
            pairs: as many as texts.
            max_length: as for `encode`; None: what the model takes at most, where the files say so.
        Returns: input_ids, attention_mask and token_type_ids, int64 [B, T]; a model takes those that it has inputs for.
        Raises: InvalidInput: a str in place of a list, or not one pair for each text.
        """
        if isinstance(texts, str) or isinstance(pairs, str):
            raise InvalidInput("Tokenizer.batch: expected a list of texts, got one str; write [text]")
        if pairs is not None and len(pairs) != len(texts):
            raise InvalidInput(f"Tokenizer.batch: got {len(texts)} texts and {len(pairs)} pairs; give one to each text")
        limit = self.model_max_length if max_length is None else max_length
        seconds: Sequence[str | None] = [None] * len(texts) if pairs is None else pairs
        rows = [self.encode(a, b, max_length=limit) for a, b in zip(texts, seconds, strict=True)]
        shape = (len(rows), max((len(row) for row in rows), default=0))
        # where there is no pad token the mask alone says what does not count
        ids = np.full(shape, self.pad_token_id or 0, np.int64)
        mask, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for i, row in enumerate(rows):
            ids[i, : len(row)], mask[i, : len(row)], types[i, : len(row)] = row.ids, 1, row.type_ids
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Join tokens to a text. Ids that no token has are passed over; half a character becomes U+FFFD."""
        return self._engine.decode([int(number) for number in ids], skip_special_tokens)

    def __repr__(self) -> str:
        kind = self._definition.spec["model"].get("type", "")
        return f"<Tokenizer {self._definition.name}, {kind}, {self.vocab_size} tokens>"


def _find(path: Path) -> Path:
    folders = dict.fromkeys([Path.cwd(), caller_folder()])
    for folder in folders:
        for place in (folder / path, folder / path / "tokenizer.json", folder / path / "vocab.txt"):
            if place.is_file():
                return place.absolute()
    where = " or ".join(str(folder) for folder in folders) if not path.is_absolute() else str(path.parent)
    raise InvalidInput(f"tokenizer {str(path)!r}: no such file in {where}; expected a tokenizer.json or a vocab.txt")
