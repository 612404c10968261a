"""Scores out of what a model gives, in float64, however large its logits are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dtypes import Array
from ..values import Labels

__all__ = ["labelled", "sigmoid", "softmax"]


def softmax(logits: Array, axis: int = -1) -> Array:
    """Shares along an axis, which sum to 1."""
    logits = logits.astype(np.float64)
    shares = np.exp(logits - logits.max(axis, keepdims=True))
    return shares / shares.sum(axis, keepdims=True)


def sigmoid(logits: Array) -> Array:
    """Each logit for itself as a probability."""
    return 1 / (1 + np.exp(-logits.astype(np.float64).clip(-700)))  # exp(700) is still a float64


def labelled(scores: Array, names: Sequence[str], top_k: int | None, function_to_apply: str) -> Labels:
    """What a classifier says.

    Args:
        scores: [1, N], as the model gives them.
        names: N texts; none where the classes have numbers only.
        function_to_apply: "softmax", "sigmoid" or "none", as in Hugging Face's pipelines.
    Raises: InvalidInput: as `Labels.from_scores`.
    """
    if function_to_apply == "softmax":
        return Labels.from_logits(scores, names or None, top_k)
    return Labels.from_scores(sigmoid(scores) if function_to_apply == "sigmoid" else scores, names or None, top_k)
