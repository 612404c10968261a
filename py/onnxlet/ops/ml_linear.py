"""ai.onnx.ml: linear models and support vector machines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ..dtypes import Array
from ..errors import InvalidModel
from .ml_scores import as_matrix, both_classes, labels_of, pick, post_transformed
from .registry import op

__all__ = ["LinearClassifier", "LinearRegressor"]


@op("LinearRegressor", domain="ai.onnx.ml")
def LinearRegressor(
    x: Array,
    *,
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    post_transform: str = "NONE",
    targets: int = 1,
) -> Array:
    """x @ coefficients + intercepts, float32 [N, targets].

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_LinearRegressor.html, ml 1+.
    """
    x = as_matrix(x)
    scores = x @ np.asarray(coefficients, np.float32).reshape(targets, -1).T
    if len(intercepts):
        scores = scores + np.asarray(intercepts, np.float32)
    # One target has nothing to be compared with: onnxruntime transforms it by PROBIT only.
    return post_transformed(scores, post_transform) if targets > 1 or post_transform == "PROBIT" else scores


@op("LinearClassifier", domain="ai.onnx.ml")
def LinearClassifier(
    x: Array,
    *,
    classlabels_ints: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> tuple[Array, Array]:
    """The class with the highest score, and all scores.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_LinearClassifier.html, ml 1+.

    Args:
        coefficients: [classes, features], or one row for two classes.
        multi_class: has no effect on scores; post_transform says it all.
    Returns: labels [N], scores float32 [N, classes].
    """
    x = as_matrix(x)
    labels = labels_of(classlabels_ints, classlabels_strings)
    weights = np.asarray(coefficients, np.float32).reshape(-1, x.shape[1])
    scores = x @ weights.T
    if len(intercepts):
        scores = scores + np.asarray(intercepts, np.float32)
    if len(weights) > 1:
        return labels[scores.argmax(axis=1)], post_transformed(scores, post_transform)
    winners = pick(scores[:, 0] > 0, labels)
    if post_transform == "PROBIT" or len(labels) != 2:
        return winners, post_transformed(scores, post_transform)
    return winners, both_classes(scores[:, 0], post_transform, probability=True)


def _kernel(x: Array, vectors: Array, kernel_type: str, kernel_params: Sequence[float]) -> Array:
    """[N, vectors]: how alike each row and each support vector are."""
    gamma, coef0, degree = kernel_params if len(kernel_params) == 3 else (0.0, 0.0, 0.0)
    if kernel_type == "RBF":
        # Differences, not |x|^2 - 2xv + |v|^2: that loses every digit where x is near v.
        distances = np.stack([np.square(row - vectors).sum(axis=1) for row in x]) if len(x) else x @ vectors.T
        return np.exp(-gamma * distances)
    products = x @ vectors.T
    if kernel_type == "LINEAR":
        return products
    if kernel_type == "POLY":
        return (gamma * products + coef0) ** degree
    if kernel_type == "SIGMOID":
        return np.tanh(gamma * products + coef0)
    raise InvalidModel(f'kernel_type is "{kernel_type}", expected LINEAR, POLY, RBF or SIGMOID')


@op("SVMRegressor", domain="ai.onnx.ml")
def SVMRegressor(
    x: Array,
    *,
    coefficients: Sequence[float],
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    n_supports: int = 0,
    one_class: int = 0,
    post_transform: str = "NONE",
    rho: Sequence[float],
    support_vectors: Sequence[float] = (),
) -> Array:
    """Support vector regression, or 1 and -1 for a one-class machine; float32 [N, 1].

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_SVMRegressor.html, ml 1+.
    """
    x = as_matrix(x)
    weights = np.asarray(coefficients, np.float32)
    if n_supports:
        vectors = np.asarray(support_vectors, np.float32).reshape(n_supports, -1)
        x = _kernel(x, vectors, kernel_type, kernel_params)
    scores = (x @ weights.reshape(1, -1).T + np.float32(rho[0])).astype(np.float32)
    return np.where(scores > 0, 1, -1).astype(np.float32) if one_class else scores


@op("SVMClassifier", domain="ai.onnx.ml")
def SVMClassifier(
    x: Array,
    *,
    classlabels_ints: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
    coefficients: Sequence[float],
    kernel_params: Sequence[float] = (),
    kernel_type: str = "LINEAR",
    post_transform: str = "NONE",
    prob_a: Sequence[float] = (),
    prob_b: Sequence[float] = (),
    rho: Sequence[float],
    support_vectors: Sequence[float] = (),
    vectors_per_class: Sequence[int] = (),
) -> tuple[Array, Array]:
    """One-against-one support vector classification.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_SVMClassifier.html, ml 1+.

    Args:
        coefficients: [classes - 1, vectors]; without support vectors, a linear model [classes, features].
        prob_a, prob_b: one a pair of classes: turns scores into probabilities (Platt).
    Returns: labels [N]; float32 scores: probabilities [N, classes], or one a pair of classes (two for two classes).
    """
    x = as_matrix(x)
    labels = labels_of(classlabels_ints, classlabels_strings)
    classes = len(labels)
    weights = np.asarray(coefficients, np.float32)
    if not sum(vectors_per_class):
        scores = (x @ weights.reshape(classes, -1).T + np.float32(rho[0])).astype(np.float32)
        winners = scores.argmax(axis=1)
        if classes == 2:
            bar = 0.5 if (weights >= 0).all() else np.finfo(np.float32).tiny
            winners = np.where(scores.max(axis=1) >= bar, 1, winners)
        return labels[winners], post_transformed(scores, post_transform)
    starts = np.cumsum([0, *vectors_per_class])
    rows = weights.reshape(classes - 1, -1)
    kernel = _kernel(x, np.asarray(support_vectors, np.float32).reshape(starts[-1], -1), kernel_type, kernel_params)
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    of = [slice(a, b) for a, b in pairwise(starts)]
    scores = np.stack(
        [
            kernel[:, of[i]].astype(np.float64) @ rows[j - 1, of[i]]
            + kernel[:, of[j]].astype(np.float64) @ rows[i, of[j]]
            for i, j in pairs
        ],
        axis=1,
    )
    scores = (scores + np.asarray(rho[: len(pairs)])).astype(np.float32)
    votes = np.zeros((len(x), classes), np.int64)
    for column, (i, j) in enumerate(pairs):
        votes[np.arange(len(x)), np.where(scores[:, column] > 0, i, j)] += 1
    winners = labels[votes.argmax(axis=1)]
    if len(prob_a):
        chances = _chances(scores, pairs, classes, np.asarray(prob_a), np.asarray(prob_b))
        return winners, post_transformed(chances, post_transform)
    if classes == 2:
        return winners, both_classes(scores[:, 0], post_transform, probability=post_transform != "NONE")
    return winners, post_transformed(scores, post_transform)


def _chances(scores: Array, pairs: Sequence[tuple[int, int]], classes: int, a: Array, b: Array) -> Array:
    """Class probabilities from those of every pair, float32 [N, classes].

    Source: Wu, Lin and Weng 2004, "Probability Estimates for Multi-class Classification by Pairwise Coupling",
    algorithm 2, with libsvm's limits.
    """
    pairwise = np.zeros((len(scores), classes, classes))
    for column, (i, j) in enumerate(pairs):
        chance = 1 / (1 + np.exp(scores[:, column] * a[column] + b[column]))
        pairwise[:, i, j] = chance.clip(1e-7, 1 - 1e-7)
        pairwise[:, j, i] = 1 - pairwise[:, i, j]
    result = np.full((len(scores), classes), 1 / classes)
    for r, p in zip(pairwise, result, strict=True):
        q = -r.T * r
        q[np.diag_indices(classes)] = (r.T**2).sum(axis=1)
        qp = q @ p
        for _ in range(max(100, classes)):
            total = p @ qp
            if np.abs(qp - total).max() < 0.005 / classes:
                break
            for t in range(classes):
                step = (total - qp[t]) / q[t, t]
                p[t] += step
                total = (total + step * (step * q[t, t] + 2 * qp[t])) / (1 + step) ** 2
                qp = (qp + step * q[t]) / (1 + step)
                p /= 1 + step
    return result.astype(np.float32)
