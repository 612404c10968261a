"""Token classification: names, places, parts of speech, found and grouped as Hugging Face's pipeline does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..records import dataclass
from ..session import InferenceSession
from ..tokenizer import Encoding, Tokenizer
from ..values import Span, Spans
from .metadata import labels_of
from .scores import softmax
from .steps import Steps, arun, run
from .text_model import TextModel, windows

__all__ = ["TokenClassifier"]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Tokens that follow each other.

    Args:
        scores: of the classes, [C]; score: of the label.
        continues: the word that the token before is of.
        unknown: what the text has where the tokens are of nothing that the vocabulary knows.
    """

    ids: tuple[int, ...]
    scores: Array
    label: str
    score: float
    start: int
    end: int
    continues: bool = False
    unknown: tuple[str, ...] = ()


# How the scores of a word's tokens, [n, C], become the word's own.
_WORDS: dict[str, Callable[[Array], Array]] = {
    "first": lambda scores: scores[0],
    "average": lambda scores: scores.mean(0),
    "max": lambda scores: scores[scores.max(1).argmax()],
}
_STRATEGIES = ("none", "simple", *_WORDS)


class TokenClassifier:
    """A finder of entities that is called with a text.

    Args:
        session: the model; takes input_ids and gives logits, [1, T, C].
        labels: by class; by default those of the model's metadata. "B-" begins an entity and "I-" goes on with it.
        aggregation_strategy: "none": each token; "simple": tokens of one label that follow each other are one entity;
            "first", "average", "max": whole words get the label of their first token, of the mean of its tokens'
            scores, or of the token that is surest, and are then grouped.
        ignore_labels: labels that are not shown.
        stride: a text that is longer than the model takes is read in windows that share this many tokens; of entities
            that overlap then the longest stays.
    Raises: InvalidInput: no labels or ones that do not fit; no such strategy; a model that takes no tokens.
    """

    def __init__(
        self,
        session: InferenceSession,
        tokenizer: Tokenizer,
        *,
        labels: Sequence[str] | Mapping[int, str] | None = None,
        aggregation_strategy: str = "simple",
        ignore_labels: Sequence[str] = ("O",),
        stride: int = 128,
    ) -> None:
        if aggregation_strategy not in _STRATEGIES:
            raise InvalidInput(
                f'TokenClassifier: no aggregation_strategy "{aggregation_strategy}"; known are {", ".join(_STRATEGIES)}'
            )
        self._model = TextModel("TokenClassifier", session, tokenizer, ["logits"])
        self.labels = labels_of(session, labels, self._model.outputs[0].shape[-1], "TokenClassifier")
        if not self.labels:
            raise InvalidInput("TokenClassifier: the model does not name its labels; give labels=, one a class")
        self.tokenizer = tokenizer
        self.aggregation_strategy = aggregation_strategy
        self.ignore_labels = set(ignore_labels)
        self.stride = stride

    def __call__(self, text: str) -> Spans:
        """Find entities.

        Returns: them in the text's order: ``label`` is what the pipeline calls entity_group (entity where nothing is
            grouped), ``word`` their tokens put together again.
        Raises: InvalidInput: NaN in the outputs, or labels that do not fit these.
        """
        return run(self._steps(text))

    async def acall(self, text: str) -> Spans:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(text))

    def _steps(self, text: str) -> Steps[Spans]:
        encoding = self.tokenizer.encode(text)
        if all(encoding.special_tokens_mask):
            return Spans(text, [])
        rows = windows(encoding, 0, self._model.limit, self.stride, "TokenClassifier")
        found: list[_Piece] = []
        for row in rows:
            (logits,) = yield from self._model.run(row)
            found += self._entities(text, row, softmax(logits[: len(row)]))
        spans = [Span(e.label, e.score, e.start, e.end, self._word(e)) for e in found]
        return Spans(text, _longest(spans) if len(rows) > 1 else spans)

    def _entities(self, text: str, row: Encoding, scores: Array) -> list[_Piece]:
        if scores.shape[-1] != len(self.labels):
            raise InvalidInput(
                f"TokenClassifier: got {len(self.labels)} labels for {scores.shape[-1]} classes; give one a class"
            )
        pieces = [self._token(text, row, i, scores[i]) for i in range(len(row)) if not row.special_tokens_mask[i]]
        if self.aggregation_strategy in _WORDS:
            pieces = self._words(pieces)
        if self.aggregation_strategy != "none":
            pieces = _groups(pieces)
        return [piece for piece in pieces if piece.label not in self.ignore_labels]

    def _token(self, text: str, row: Encoding, at: int, scores: Array) -> _Piece:
        start, end = row.offsets[at]
        if self.tokenizer.continuing_subword_prefix:
            continues = len(row.tokens[at]) != end - start  # with the prefix it is longer than what stands there
        else:
            continues = start > 0 and " " not in text[start - 1 : start + 1]
        best, known = int(scores.argmax()), row.tokens[at] != self.tokenizer.special_tokens.get("unk")
        unknown = () if known else (text[start:end],)
        label, score = self.labels[best], float(scores[best])
        return _Piece((row.ids[at],), scores, label, score, start, end, continues and known, unknown)

    def _words(self, tokens: list[_Piece]) -> list[_Piece]:
        """Tokens put together to words, each with one label."""
        words: list[list[_Piece]] = []
        for token in tokens:
            if words and token.continues:
                words[-1].append(token)
            else:
                words.append([token])
        found = []
        for word in words:
            scores = _WORDS[self.aggregation_strategy](np.stack([token.scores for token in word]))
            best = int(scores.argmax())
            found.append(replace(_joined(word, self.labels[best], float(scores[best])), scores=scores))
        return found

    def _word(self, entity: _Piece) -> str:
        """Its tokens put together; where one is unknown, what stands in the text."""
        word = self.tokenizer.decode(entity.ids, skip_special_tokens=False)
        for there in entity.unknown:
            word = word.replace(self.tokenizer.special_tokens["unk"], there, 1)
        return word

    def __repr__(self) -> str:
        return f"<TokenClassifier, {self.aggregation_strategy}, {', '.join(self.labels[:8])}>"


def _tag(label: str) -> tuple[str, str]:
    """("B" or "I", what it is): labels without either go on with what was before."""
    return (label[0], label[2:]) if label.startswith(("B-", "I-")) else ("I", label)


def _groups(pieces: list[_Piece]) -> list[_Piece]:
    """Neighbours of one label as one entity, with the mean of their scores; "B-" always begins a new one."""
    groups: list[list[_Piece]] = []
    for piece in pieces:
        begins, what = _tag(piece.label)
        if groups and begins != "B" and what == _tag(groups[-1][-1].label)[1]:
            groups[-1].append(piece)
        else:
            groups.append([piece])
    return [
        _joined(group, group[0].label.split("-", 1)[-1], float(np.mean([piece.score for piece in group])))
        for group in groups
    ]


def _joined(pieces: list[_Piece], label: str, score: float) -> _Piece:
    ids, unknown = (
        tuple(chain.from_iterable(parts)) for parts in zip(*((p.ids, p.unknown) for p in pieces), strict=True)
    )
    return _Piece(ids, pieces[0].scores, label, score, pieces[0].start, pieces[-1].end, unknown=unknown)


def _longest(spans: list[Span]) -> list[Span]:
    """Of entities that overlap, since two windows saw them, the longest; of equally long ones the surest."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda one: one.start):
        if kept and kept[-1].start <= span.start < kept[-1].end:
            kept[-1] = max(kept[-1], span, key=lambda one: (one.end - one.start, one.score))
        else:
            kept.append(span)
    return kept
