"""Feature extraction: texts to vectors, and semantic search, which ranks sentences by the likeness of theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..session import InferenceSession
from ..tokenizer import Tokenizer
from ..values import Labels
from .steps import Steps, arun, run
from .text_model import TextModel, nonempty

__all__ = ["POOLINGS", "FeatureExtractor", "SemanticSearch"]

POOLINGS: dict[str, Callable[[Array], Array]] = {
    "mean": lambda tokens: tokens.mean(0),
    "cls": lambda tokens: tokens[0],
    "max": lambda tokens: tokens.max(0),
}
"""How the vectors of a text's tokens, [T, D], become one, [D]; special tokens count."""

_OUTPUTS = ("sentence_embedding", "last_hidden_state")  # as sentence-transformers and transformers name them
_SMALLEST = 1e-12  # a norm below it counts as this, as in torch.nn.functional.normalize


class FeatureExtractor:
    """A model that makes vectors of texts.

    Args:
        session: takes token ids and gives a vector a token, [1, T, D], or one a text, [1, D].
        pooling: how the tokens' vectors become the text's: "mean", "cls" (the first token's) or "max"; take what the
            model was trained with. Models that give one vector need none.
        normalize: whether vectors get length 1, so that their product is the cosine of their angle.
    Raises: InvalidInput: no such pooling, or a model that takes other things.
    """

    def __init__(
        self, session: InferenceSession, tokenizer: Tokenizer, *, pooling: str = "mean", normalize: bool = True
    ) -> None:
        if pooling not in POOLINGS:
            raise InvalidInput(f'FeatureExtractor: no pooling "{pooling}"; known are {", ".join(POOLINGS)}')
        names = {arg.name for arg in session.get_outputs()}
        wanted = next((name for name in _OUTPUTS if name in names), _OUTPUTS[-1])
        self.pooling = pooling
        self.normalize = normalize
        self._model = TextModel("FeatureExtractor", session, tokenizer, [wanted])

    def __call__(self, texts: str | Sequence[str]) -> Array:
        """Vectors of texts. Each text runs alone: its vector depends on no other one.

        Returns: float32 [n, D]; [1, D] of one str.
        Raises: InvalidInput: a text that is empty or no str.
        """
        return run(self.steps(texts))

    async def acall(self, texts: str | Sequence[str]) -> Array:
        """As a call, for ``async def`` apps."""
        return await arun(self.steps(texts))

    def steps(self, texts: str | Sequence[str]) -> Steps[Array]:
        """A call as steps, for tasks that are made of this one."""
        vectors = []
        for text in [texts] if isinstance(texts, str) else texts:
            row = self._model.encode(nonempty(text, "the text", "FeatureExtractor"))
            (found,) = yield from self._model.run(row)
            if found.ndim > 2:
                raise InvalidInput(
                    f"FeatureExtractor: the model gives [1, {', '.join(map(str, found.shape))}] for a text; expected "
                    "[1, tokens, D] or [1, D]"
                )
            vectors.append(found if found.ndim == 1 else POOLINGS[self.pooling](found[: len(row)]))
        if not vectors:
            raise InvalidInput("FeatureExtractor: got no texts; give one or more")
        table = np.stack(vectors)
        if self.normalize:
            table /= np.maximum(np.linalg.norm(table, axis=1, keepdims=True), _SMALLEST)
        return table.astype(np.float32)

    def __repr__(self) -> str:
        return f"<FeatureExtractor, pooling {self.pooling}>"


class SemanticSearch:
    """Sentences that are found by what they mean.

    Args:
        extractor: of vectors of length 1.
        corpus: the sentences.
        embeddings: their vectors, float [n, D], where they are known already: a build that keeps them in a file saves
            each visitor the wait. Without them the first search makes them.
    Raises: InvalidInput: no sentences, vectors that are not one a sentence, or an extractor that does not normalize.
    """

    def __init__(self, extractor: FeatureExtractor, corpus: Sequence[str], *, embeddings: Array | None = None) -> None:
        if not extractor.normalize:
            raise InvalidInput("SemanticSearch: expected an extractor with normalize=True, as scores are cosines")
        self.extractor = extractor
        self.corpus = [nonempty(text, f"sentence {i} of the corpus", "SemanticSearch") for i, text in enumerate(corpus)]
        if not self.corpus:
            raise InvalidInput("SemanticSearch: the corpus is empty; give one sentence or more")
        self._embeddings = None if embeddings is None else np.asarray(embeddings, np.float32)
        if self._embeddings is not None and (self._embeddings.ndim != 2 or len(self._embeddings) != len(self.corpus)):
            raise InvalidInput(
                f"SemanticSearch: got embeddings {list(self._embeddings.shape)} for {len(self.corpus)} sentences; "
                "expected a row a sentence: make them again"
            )

    def __call__(self, query: str, top_k: int = 5) -> Labels:
        """Find what is nearest to a query.

        Args:
            top_k: how many sentences at most.
        Returns: sentences with the cosine of the angle between theirs and the query's vector, -1 to 1, best first.
        Raises: InvalidInput: an empty query, or embeddings that are not this extractor's.
        """
        return run(self._steps(query, top_k))

    async def acall(self, query: str, top_k: int = 5) -> Labels:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(query, top_k))

    def _steps(self, query: str, top_k: int) -> Steps[Labels]:
        nonempty(query, "the query", "SemanticSearch")
        if self._embeddings is None:
            self._embeddings = yield from self.extractor.steps(self.corpus)
        vector = (yield from self.extractor.steps(query))[0]
        if vector.size != self._embeddings.shape[1]:
            raise InvalidInput(
                f"SemanticSearch: the embeddings have {self._embeddings.shape[1]} columns and the model gives "
                f"{vector.size}; make them again with this model"
            )
        scores = self._embeddings @ vector
        best = np.argsort(-scores, kind="stable")[: max(top_k, 0)].tolist()
        return Labels([(self.corpus[i], float(scores[i])) for i in best])

    def __repr__(self) -> str:
        return f"<SemanticSearch, {len(self.corpus)} sentences>"
