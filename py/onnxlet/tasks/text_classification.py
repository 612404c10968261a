"""Text classification: sentiment, topic, language, as Hugging Face's pipeline of that name does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..dtypes import Array
from ..errors import InvalidInput
from ..session import InferenceSession
from ..tokenizer import Tokenizer
from ..values import Labels
from .metadata import PROBLEM_TYPE, custom_metadata, labels_of
from .scores import sigmoid, softmax
from .steps import Steps, arun, run
from .text_model import TextModel, nonempty

__all__ = ["TextClassifier"]

_FUNCTIONS = {"softmax": softmax, "sigmoid": sigmoid, "none": lambda logits: logits}


class TextClassifier:
    """A classifier that is called with a text, or with a text and its pair.

    Args:
        session: the model; takes input_ids and gives logits, [1, C].
        labels: by class; by default those of the model's metadata, else LABEL_0, LABEL_1 ..., as transformers has it.
        function_to_apply: "softmax", "sigmoid" or "none". By default what the model's metadata asks for: none for
            regression, sigmoid for several labels at a time; else sigmoid for one class and softmax for more.
    Raises: InvalidInput: labels that do not fit; no such function; a model that takes no tokens.
    """

    def __init__(
        self,
        session: InferenceSession,
        tokenizer: Tokenizer,
        *,
        labels: Sequence[str] | Mapping[int, str] | None = None,
        function_to_apply: str | None = None,
    ) -> None:
        if function_to_apply is not None and function_to_apply not in _FUNCTIONS:
            raise InvalidInput(
                f'TextClassifier: no function_to_apply "{function_to_apply}"; known are {", ".join(_FUNCTIONS)}'
            )
        self._model = TextModel("TextClassifier", session, tokenizer, ["logits"])
        self.labels = labels_of(session, labels, self._model.outputs[0].shape[-1], "TextClassifier")
        self.function_to_apply = function_to_apply
        self._problem = custom_metadata(session).get(PROBLEM_TYPE, "")

    def __call__(self, text: str, text_pair: str | None = None, top_k: int | None = 5) -> Labels:
        """Classify a text. One that is longer than the model takes loses its end, with a warning.

        Args:
            top_k: how many labels at most; None: all of them.
        Raises: InvalidInput: an empty text, NaN in the outputs, or labels that do not fit these.
        """
        return run(self._steps(text, text_pair, top_k))

    async def acall(self, text: str, text_pair: str | None = None, top_k: int | None = 5) -> Labels:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(text, text_pair, top_k))

    def _steps(self, text: str, text_pair: str | None, top_k: int | None) -> Steps[Labels]:
        row = self._model.encode(nonempty(text, "the text", "TextClassifier"), text_pair)
        (logits,) = yield from self._model.run(row)
        scores: Array = _FUNCTIONS[self.function_to_apply or self._function(logits.size)](logits)
        labels = self.labels or [f"LABEL_{i}" for i in range(scores.size)]
        return Labels.from_scores(scores, labels, top_k)

    def _function(self, classes: int) -> str:
        if self._problem == "regression":
            return "none"
        return "sigmoid" if self._problem == "multi_label_classification" or classes == 1 else "softmax"

    def __repr__(self) -> str:
        return f"<TextClassifier, {', '.join(self.labels[:8]) or 'unnamed classes'}>"
