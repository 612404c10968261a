"""Zero-shot classification: labels that are given with each text, not when the model is trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import InvalidInput
from ..session import InferenceSession
from ..tokenizer import Encoding, Tokenizer
from ..values import Labels
from .metadata import labels_of
from .steps import Steps, arun, run
from .text_model import TextModel, nonempty, part, softmax

__all__ = ["ZeroShotClassifier", "candidates", "hypotheses"]

TEMPLATE = "This example is {}."


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
