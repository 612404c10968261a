"""Question answering: where in a text the answer stands, as Hugging Face's pipeline of that name decides."""

from __future__ import annotations

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..session import InferenceSession
from ..tokenizer import Encoding, Tokenizer
from ..values import Span, Spans
from .scores import softmax
from .steps import Steps, arun, run
from .text_model import TextModel, nonempty, windows

__all__ = ["QuestionAnswerer"]


class QuestionAnswerer:
    """A reader that is called with a question and a text.

    Args:
        session: the model; takes the question and the text as a pair and gives start_logits and end_logits, [1, T].
        max_seq_len: a longer text is read in windows of so many tokens, the question among them.
        doc_stride: tokens that a window shares with the one before; by default half of max_seq_len, at most 128.
        align_to_words: answers begin and end where words do.
    Raises: InvalidInput: a model that takes no tokens, or has one output only.
    """

    def __init__(
        self,
        session: InferenceSession,
        tokenizer: Tokenizer,
        *,
        max_seq_len: int = 384,
        doc_stride: int | None = None,
        align_to_words: bool = True,
    ) -> None:
        self._model = TextModel("QuestionAnswerer", session, tokenizer, ["start_logits", "end_logits"])
        self.max_seq_len = min(max_seq_len, self._model.limit or max_seq_len)
        self.doc_stride = min(self.max_seq_len // 2, 128) if doc_stride is None else doc_stride
        self.align_to_words = align_to_words

    def __call__(
        self,
        question: str,
        context: str,
        top_k: int = 1,
        handle_impossible_answer: bool = False,
        max_answer_len: int = 15,
    ) -> Spans:
        """Find the answer.

        Args:
            top_k: how many answers at most.
            handle_impossible_answer: "there is no answer here" is one of them, with start and end 0 and an empty word.
            max_answer_len: tokens of an answer at most.
        Returns: the answers over the context, best first: ``word`` is the answer. Readings of one answer add up, except
            those of two windows, of which the better counts.
        Raises: InvalidInput: an empty question or context, a question that leaves no room for the context, NaN.
        """
        return run(self._steps(question, context, top_k, handle_impossible_answer, max_answer_len))

    async def acall(
        self,
        question: str,
        context: str,
        top_k: int = 1,
        handle_impossible_answer: bool = False,
        max_answer_len: int = 15,
    ) -> Spans:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(question, context, top_k, handle_impossible_answer, max_answer_len))

    def _steps(
        self, question: str, context: str, top_k: int, handle_impossible_answer: bool, max_answer_len: int
    ) -> Steps[Spans]:
        if top_k < 1 or max_answer_len < 1:
            raise InvalidInput(f"QuestionAnswerer: top_k={top_k}, max_answer_len={max_answer_len}; expected 1 or more")
        nonempty(context, "the context", "QuestionAnswerer")
        encoding = self._model.tokenizer.encode(nonempty(question, "the question", "QuestionAnswerer"), context)
        if 1 not in encoding.sequence_ids:
            raise InvalidInput("QuestionAnswerer: the context has no tokens that the tokenizer knows; write words")
        tried = 2 * top_k + 10 if self.align_to_words else top_k  # several readings may be one answer
        answers: dict[str, Span] = {}
        impossible = np.inf
        for row in windows(encoding, 1, self.max_seq_len, self.doc_stride, "QuestionAnswerer"):
            starts, ends = yield from self._model.run(row)
            begins, stops = self._shares(starts[: len(row)], row), self._shares(ends[: len(row)], row)
            impossible = min(impossible, begins[0] * stops[0])
            here: dict[str, Span] = {}
            for start, end, score in _best(begins, stops, row, max_answer_len, tried):
                span = self._span(context, row, start, end, score)
                first = here.get(span.word.lower(), span)
                total = score if first is span else first.score + score
                here[span.word.lower()] = Span("", total, first.start, first.end, first.word)
            for key, span in here.items():
                answers[key] = max(answers.get(key, span), span, key=lambda one: one.score)
        found = list(answers.values())
        if handle_impossible_answer:
            found.append(Span("", float(impossible), 0, 0))
        return Spans(context, sorted(found, key=lambda span: -span.score)[:top_k])

    def _shares(self, logits: Array, row: Encoding) -> Array:
        """The logits as probabilities over the context and the first token, which stands for "no answer"."""
        allowed = np.array([sequence == 1 for sequence in row.sequence_ids])
        allowed[0] = True
        return softmax(np.where(allowed, logits, -np.inf))

    def _span(self, context: str, row: Encoding, start: int, end: int, score: float) -> Span:
        first, last = row.offsets[start][0], row.offsets[end][1]
        if self.align_to_words and row.word_ids[start] is not None and row.word_ids[end] is not None:
            inside = [i for i, sequence in enumerate(row.sequence_ids) if sequence == 1]
            first = min(row.offsets[i][0] for i in inside if row.word_ids[i] == row.word_ids[start])
            last = max(row.offsets[i][1] for i in inside if row.word_ids[i] == row.word_ids[end])
        return Span("", score, first, last, context[first:last])

    def __repr__(self) -> str:
        return f"<QuestionAnswerer, windows of {self.max_seq_len} tokens>"


def _best(begins: Array, stops: Array, row: Encoding, longest: int, count: int) -> list[tuple[int, int, float]]:
    """The likeliest (first token, last token, probability) inside the context, best first.

    Source: the candidates of Chen et al. 2017, Reading Wikipedia to Answer Open-Domain Questions, arXiv:1704.00051.
    """
    inside = np.array([sequence == 1 for sequence in row.sequence_ids])
    table = np.outer(begins * inside, stops * inside)
    table = np.tril(np.triu(table), longest - 1).ravel()
    order = np.argsort(-table, kind="stable")[:count]
    size = len(begins)
    return [(int(at) // size, int(at) % size, float(table[at])) for at in order if table[at] > 0]
