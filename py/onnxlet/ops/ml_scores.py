"""What ai.onnx.ml's classifiers and regressors share: what becomes of raw scores, and which class they mean.

The spec leaves much open; where it does, this is what onnxruntime 1.32 gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidModel
from .text import strings

__all__ = ["as_matrix", "both_classes", "labels_of", "pick", "post_transformed"]


def as_matrix(x: Array, dtype: Any = np.float32) -> Array:
    """[N, features] of a dtype; a vector is one row."""
    return np.atleast_2d(x).astype(dtype, copy=False)


def labels_of(integers: Sequence[int] | None, texts: Sequence[str] | None) -> Array:
    """The classes: int64 or strings, whichever attribute is given.

    Raises: InvalidModel: neither is.
    """
    if texts:
        return strings(texts, (len(texts),))
    if integers:
        return np.asarray(integers, np.int64)
    raise InvalidModel("has no class labels, neither integers nor strings")


def pick(positive: Array, labels: Array) -> Array:
    """For two classes, the second where `positive`; classes count as 0 and 1 where fewer are named."""
    if len(labels) != 2:
        labels = np.array([0, 1]) if labels.dtype.kind == "i" else np.array(["0", "1"], object)
    return labels[positive.astype(np.int64)]


def both_classes(score: Array, post_transform: str, *, probability: bool) -> Array:
    """The columns of both classes, [N, 2], from the second one's score [N].

    Args:
        probability: the score is one, so the first class has the rest; else the first has its negative.
    """
    if post_transform == "LOGISTIC":
        return np.stack([_logistic(-score), _logistic(score)], axis=1)
    if probability:
        return np.stack([1 - score, score], axis=1)
    return np.stack([-score, score], axis=1)


def post_transformed(scores: Array, post_transform: str) -> Array:
    """Scores [N, C] after NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO (what is 0 stays 0) or PROBIT."""
    if post_transform == "NONE":
        return scores
    if post_transform == "LOGISTIC":
        return _logistic(scores)
    if post_transform == "PROBIT":
        return _probit(scores)
    if post_transform in ("SOFTMAX", "SOFTMAX_ZERO"):
        greatest = scores.max(axis=1, keepdims=True)
        powers = np.exp(scores - greatest)
        if post_transform == "SOFTMAX_ZERO":
            powers = np.where(np.abs(scores) > 1e-7, powers, scores * np.exp(-greatest))
        return powers / powers.sum(axis=1, keepdims=True)
    raise InvalidModel(
        f'post_transform is "{post_transform}", expected NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT'
    )


def _logistic(x: Array) -> Array:
    half = 1 / (1 + np.exp(-np.abs(x)))
    return np.where(x < 0, 1 - half, half)


def _probit(p: Array) -> Array:
    """Inverse of the normal distribution function, to 2e-3, as onnxruntime has it.

    Source: Winitzki 2008, "A handy approximation for the error function and its inverse".
    """
    x = 2 * p - 1
    log = np.log((1 - x) * (1 + x))
    v = 2 / (math.pi * 0.147) + log / 2
    return (math.sqrt(2) * np.copysign(np.sqrt(np.sqrt(v * v - log / 0.147) - v), x)).astype(p.dtype)
