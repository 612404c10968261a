"""Fill-mask: which word belongs in the gap, as Hugging Face's pipeline of that name says."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..records import dataclass
from ..session import InferenceSession
from ..tokenizer import Encoding, Tokenizer
from ..values import Labels
from .scores import softmax
from .steps import Steps, arun, run
from .text_model import TextModel, nonempty, part

__all__ = ["Fill", "Fills", "MaskFiller"]


@dataclass(frozen=True, slots=True)
class Fill:
    """One word for the gap, with the names of the pipeline.

    Args:
        score: its probability among all tokens.
        token: its number; token_str: what it reads as.
        sequence: the whole text with it.
    """

    score: float
    token: int
    token_str: str
    sequence: str


class Fills(Labels):
    """Words for a gap: shown as labels; ``fills`` has the whole answers, best first."""

    def __init__(self, fills: Sequence[Fill]) -> None:
        self.fills = list(fills)
        super().__init__([(fill.token_str, fill.score) for fill in self.fills])


class MaskFiller:
    """A model of language that is called with a text that has a gap.

    Args:
        session: the model; takes input_ids and gives logits over the vocabulary, [1, T, V].
        tokenizer: its ``mask_token`` is the gap: "[MASK]", "<mask>".
    Raises: InvalidInput: the tokenizer has no mask token; a model that takes no tokens.
    """

    def __init__(self, session: InferenceSession, tokenizer: Tokenizer) -> None:
        if tokenizer.mask_token is None or tokenizer.mask_token_id is None:
            raise InvalidInput("MaskFiller: the tokenizer has no mask token; take one of a model that fills gaps")
        self._model = TextModel("MaskFiller", session, tokenizer, ["logits"])
        self.tokenizer = tokenizer
        self.mask_token = tokenizer.mask_token

    def __call__(self, text: str, top_k: int = 5, targets: str | Sequence[str] | None = None) -> Fills:
        """Fill the gap. Of a text that is longer than the model takes it sees the part around the gap, with a warning.

        Args:
            text: has the mask token once.
            targets: words that alone may stand there; of one that is no token its first token counts, with a warning.
        Raises: InvalidInput: no gap or several, or targets without any token.
        """
        return run(self._steps(text, top_k, targets))

    async def acall(self, text: str, top_k: int = 5, targets: str | Sequence[str] | None = None) -> Fills:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(text, top_k, targets))

    def _steps(self, text: str, top_k: int, targets: str | Sequence[str] | None) -> Steps[Fills]:
        if top_k < 1:
            raise InvalidInput(f"MaskFiller: top_k={top_k}, expected 1 or more")
        allowed = None if targets is None else self._targets([targets] if isinstance(targets, str) else targets)
        whole = self.tokenizer.encode(nonempty(text, "the text", "MaskFiller"))
        gaps = [i for i, token in enumerate(whole.ids) if token == self.tokenizer.mask_token_id]
        if len(gaps) != 1:
            raise InvalidInput(
                f"MaskFiller: the text has {len(gaps) or 'no'} {self.mask_token}, expected one; write it where a word "
                "is wanted"
            )
        row, at = self._around(whole, gaps[0])
        (logits,) = yield from self._model.run(row)
        scores = softmax(logits[at])
        order = self._best(scores, allowed, top_k)
        return Fills([self._fill(whole.ids, gaps[0], token, float(scores[token])) for token in order])

    def _around(self, whole: Encoding, gap: int) -> tuple[Encoding, int]:
        """As much around the gap as the model takes, and where the gap is in it."""
        if self._model.limit is None or len(whole) <= self._model.limit:
            return whole, gap
        self._model.warn_cut(len(whole))
        inside = [i for i, special in enumerate(whole.sequence_ids) if special is not None]
        room = self._model.limit - (len(whole) - len(inside))
        first = min(max(inside.index(gap) - room // 2, 0), len(inside) - room)
        kept = [*range(inside[0]), *inside[first : first + room], *range(inside[-1] + 1, len(whole))]
        return part(whole, kept), kept.index(gap)

    def _targets(self, targets: Sequence[str]) -> list[int]:
        found: dict[int, None] = {}
        for target in targets:
            token = self.tokenizer.token_to_id(target)
            if token is None:
                ids = self.tokenizer.encode(target, add_special_tokens=False).ids
                taken = f'its first, "{self.tokenizer.id_to_token(ids[0])}", counts' if ids else "it is left out"
                warnings.warn(f'MaskFiller: "{target}" is no token of the model; {taken}', stacklevel=2)
                if not ids:
                    continue
                token = ids[0]
            found[token] = None
        if not found:
            raise InvalidInput("MaskFiller: none of the targets is a word of the model; give others, or none")
        return list(found)

    @staticmethod
    def _best(scores: Array, allowed: list[int] | None, top_k: int) -> list[int]:
        tokens = np.arange(scores.size) if allowed is None else np.array(allowed)
        return tokens[np.argsort(-scores[tokens], kind="stable")[:top_k]].tolist()

    def _fill(self, ids: Sequence[int], gap: int, token: int, score: float) -> Fill:
        filled = [token if i == gap else one for i, one in enumerate(ids)]
        word = self.tokenizer.decode([token], skip_special_tokens=False)
        return Fill(score, token, word, self.tokenizer.decode(filled))

    def __repr__(self) -> str:
        return f"<MaskFiller, gap {self.mask_token}>"
