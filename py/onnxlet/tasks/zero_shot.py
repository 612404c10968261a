"""Zero-shot classification: labels that are given with each text, not when the model is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..session import InferenceSession
from ..tokenizer import Encoding, Tokenizer
from ..values import Labels
from .feature_extraction import FeatureExtractor
from .metadata import labels_of
from .scores import softmax
from .steps import Steps, arun, run
from .text_model import TextModel, nonempty, part

__all__ = ["EmbeddingClassifier", "ZeroShotClassifier"]

TEMPLATE = "This example is {}."
_SCALE = 20.0  # of sentence-transformers' MultipleNegativesRankingLoss, by which most models of sentences are trained


class ZeroShotClassifier:
    """A model of natural language inference, asked whether a text entails "This example is LABEL."

    Args:
        session: the model; takes pairs and gives logits, [1, C], one of them for entailment.
        labels: by class; by default those of the model's metadata. Entailment is the one that begins with "entail".
    Raises: InvalidInput: no label for entailment, or labels that do not fit.
    """

    def __init__(
        self,
        session: InferenceSession,
        tokenizer: Tokenizer,
        *,
        labels: Sequence[str] | Mapping[int, str] | None = None,
    ) -> None:
        self._model = TextModel("ZeroShotClassifier", session, tokenizer, ["logits"])
        self.labels = labels_of(session, labels, self._model.outputs[0].shape[-1], "ZeroShotClassifier")
        found = [i for i, label in enumerate(self.labels) if label.lower().startswith("entail")]
        if not found or len(self.labels) < 2:
            raise InvalidInput(
                f"ZeroShotClassifier: none of the labels is entailment ({', '.join(self.labels) or 'there are none'}); "
                'take a model of natural language inference, or give labels=["contradiction", "neutral", "entailment"] '
                "in the model's order"
            )
        self.entailment_id = found[0]

    def __call__(
        self,
        text: str,
        candidate_labels: str | Sequence[str],
        hypothesis_template: str = TEMPLATE,
        multi_label: bool = False,
    ) -> Labels:
        """Say which labels a text goes with. Of a pair that is longer than the model takes, the text loses its end.

        Args:
            candidate_labels: several, or one text with commas between them.
            hypothesis_template: a sentence with {} where the label goes.
            multi_label: each label for itself, by entailment against contradiction; else they share 1. A single label
                is always judged for itself.
        Raises: InvalidInput: an empty text, no labels, or a template without {}.
        """
        return run(self._steps(text, candidate_labels, hypothesis_template, multi_label))

    async def acall(
        self,
        text: str,
        candidate_labels: str | Sequence[str],
        hypothesis_template: str = TEMPLATE,
        multi_label: bool = False,
    ) -> Labels:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(text, candidate_labels, hypothesis_template, multi_label))

    def _steps(
        self, text: str, candidate_labels: str | Sequence[str], hypothesis_template: str, multi_label: bool
    ) -> Steps[Labels]:
        nonempty(text, "the text", "ZeroShotClassifier")
        labels = candidates(candidate_labels, "ZeroShotClassifier")
        logits = []
        for hypothesis in hypotheses(labels, hypothesis_template, "ZeroShotClassifier"):
            (row,) = yield from self._model.run(self._row(text, hypothesis))
            logits.append(row)
        table = np.stack(logits)  # [candidates, classes]
        if multi_label or len(labels) == 1:
            contradiction = -1 if self.entailment_id == 0 else 0
            scores = softmax(table[:, [contradiction, self.entailment_id]])[:, 1]
        else:
            scores = softmax(table[:, self.entailment_id])
        return Labels(zip(labels, scores.tolist(), strict=True))

    def _row(self, text: str, hypothesis: str) -> Encoding:
        """The pair, the text cut at its end where both do not fit."""
        row = self._model.tokenizer.encode(text, hypothesis)
        over = len(row) - self._model.limit if self._model.limit is not None else 0
        if over <= 0:
            return row
        self._model.warn_cut(len(row))
        first = [i for i, sequence in enumerate(row.sequence_ids) if sequence == 0]
        if over >= len(first):
            raise InvalidInput(f'ZeroShotClassifier: "{hypothesis}" is longer than the model takes; shorten the label')
        dropped = set(first[-over:])
        return part(row, [i for i in range(len(row)) if i not in dropped])

    def __repr__(self) -> str:
        return f"<ZeroShotClassifier, {', '.join(self.labels)}>"


class EmbeddingClassifier:
    """Labels that are given with each text, chosen by how near the vector of "This example is LABEL." is to the text's.

    Faster than `ZeroShotClassifier`, as a model of sentences is smaller and each label's vector is made once; worse at
    what turns on a single word, such as a "not".

    Args:
        extractor: of vectors of length 1.
        scale: by which cosines are multiplied before they share 1: the larger, the surer.
    Raises: InvalidInput: an extractor that does not normalize.
    """

    def __init__(self, extractor: FeatureExtractor, *, scale: float = _SCALE) -> None:
        if not extractor.normalize:
            raise InvalidInput("EmbeddingClassifier: expected an extractor with normalize=True, as scores are cosines")
        self.extractor = extractor
        self.scale = scale
        self._known: dict[str, Array] = {}  # vectors of hypotheses

    def __call__(self, text: str, candidate_labels: str | Sequence[str], hypothesis_template: str = TEMPLATE) -> Labels:
        """Say which label a text goes with.

        Args:
            candidate_labels: several, or one text with commas between them.
            hypothesis_template: a sentence with {} where the label goes; "{}" is the label alone.
        Returns: all labels, their scores sharing 1.
        Raises: InvalidInput: an empty text, no labels, or a template without {}.
        """
        return run(self._steps(text, candidate_labels, hypothesis_template))

    async def acall(
        self, text: str, candidate_labels: str | Sequence[str], hypothesis_template: str = TEMPLATE
    ) -> Labels:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(text, candidate_labels, hypothesis_template))

    def _steps(self, text: str, candidate_labels: str | Sequence[str], hypothesis_template: str) -> Steps[Labels]:
        nonempty(text, "the text", "EmbeddingClassifier")
        labels = candidates(candidate_labels, "EmbeddingClassifier")
        sentences = hypotheses(labels, hypothesis_template, "EmbeddingClassifier")
        if new := [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._known]:
            vectors = yield from self.extractor.steps(new)
            self._known |= zip(new, vectors, strict=True)
        vector = (yield from self.extractor.steps(text))[0]
        cosines = np.stack([self._known[sentence] for sentence in sentences]) @ vector
        scores = softmax(self.scale * cosines)
        return Labels(zip(labels, scores.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<EmbeddingClassifier over {self.extractor!r}>"


def candidates(labels: str | Sequence[str], task: str) -> list[str]:
    """The labels that are given, without empty ones. Raises: InvalidInput: there are none."""
    found = [label.strip() for label in (labels.split(",") if isinstance(labels, str) else map(str, labels))]
    if not any(found):
        raise InvalidInput(f'{task}: no labels to choose from; give some, as "sport, politics" or as a list')
    return [label for label in found if label]


def hypotheses(labels: Sequence[str], template: str, task: str) -> list[str]:
    """A sentence a label. Raises: InvalidInput: the template has no place for it."""
    try:
        sentences = [template.format(label) for label in labels]
    except (IndexError, KeyError, ValueError) as error:
        raise InvalidInput(f'{task}: hypothesis_template "{template}" is not one with {{}} for the label') from error
    if sentences[0] == template:
        raise InvalidInput(f'{task}: hypothesis_template "{template}" has no {{}} where the label goes')
    return sentences
