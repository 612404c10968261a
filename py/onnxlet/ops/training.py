"""What training adds: losses, Dropout, and the optimizers of ai.onnx.preview.training.

Gradient, the fourth operator of that domain, is left out: it asks for automatic differentiation of the graph around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from .activations import LogSoftmax
from .registry import op
from .support import restore, wide

__all__: list[str] = []

PREVIEW = "ai.onnx.preview.training"


@op("NegativeLogLikelihoodLoss", since=12)
def NegativeLogLikelihoodLoss(
    log_probabilities: Array,
    target: Array,
    weight: Array | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Array:
    """Minus the logarithm of the right class's probability.

    Spec: https://onnx.ai/onnx/operators/onnx__NegativeLogLikelihoodLoss.html, opset 12+.

    Args:
        log_probabilities: [N, C, d1, ...].
        target: int [N, d1, ...], classes.
        weight: [C].
        ignore_index: a target that counts neither in the sum nor in the mean.
        reduction: "none", "sum", or "mean" (by the sum of the weights).
    Returns: [N, d1, ...], or a scalar.
    """
    C = log_probabilities.shape[1]
    counts = np.ones(target.shape, dtype=bool) if ignore_index is None else target != ignore_index
    classes = np.where(counts, target, 0).astype(np.int64)
    if classes.size and not 0 <= classes.min() <= classes.max() < C:
        raise InvalidInput(f"target has classes {classes.min()} to {classes.max()}, expected 0 to {C - 1}")
    logs = wide(log_probabilities)
    weights = counts.astype(logs.dtype) if weight is None else np.where(counts, wide(weight)[classes], 0)
    loss = -np.take_along_axis(logs, classes[:, None], axis=1)[:, 0] * weights
    loss = np.where(counts, loss, 0)
    if reduction == "sum":
        loss = loss.sum()
    elif reduction == "mean":
        loss = loss.sum() / weights.sum()
    elif reduction != "none":
        raise InvalidInput(f'reduction is "{reduction}", expected none, sum or mean')
    return restore(loss, log_probabilities)


@op("SoftmaxCrossEntropyLoss", since=12)
def SoftmaxCrossEntropyLoss(
    scores: Array,
    labels: Array,
    weights: Array | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> tuple[Array, Array]:
    """Softmax and the loss of its logarithm, see `NegativeLogLikelihoodLoss`.

    Spec: https://onnx.ai/onnx/operators/onnx__SoftmaxCrossEntropyLoss.html, opset 12+.

    Returns: the loss, and the logarithms of the probabilities.
    """
    logs = LogSoftmax(scores, axis=1)
    return NegativeLogLikelihoodLoss(logs, labels, weights, ignore_index=ignore_index, reduction=reduction), logs


@op("Dropout", since=7)
def Dropout_7(data: Array, *, ratio: float = 0.5) -> tuple[Array, Array]:
    """data, and a mask of ones: these versions drop in training only.

    Spec: https://onnx.ai/onnx/operators/onnx__Dropout.html, opset 7 to 9; the mask has the dtype of data.
    """
    return data, np.ones_like(data)


@op("Dropout", since=10)
def Dropout_10(data: Array, *, ratio: float = 0.5) -> tuple[Array, Array]:
    """data, and a mask of True. Spec: https://onnx.ai/onnx/operators/onnx__Dropout.html, opset 10 and 11."""
    return data, np.ones(data.shape, dtype=bool)


@op("Dropout", since=12)
def Dropout(
    data: Array, ratio: Array | None = None, training_mode: Array | None = None, *, seed: int | None = None
) -> tuple[Array, Array]:
    """data; in training, elements are zeroed with probability `ratio` and the others scaled by 1 / (1 - ratio).

    Spec: https://onnx.ai/onnx/operators/onnx__Dropout.html, opset 12+.

    Args:
        ratio: in [0, 1); 0.5 when left out.
        seed: numpy's legacy generator draws from it, as the ONNX reference does.
    Returns: the result, and the bool mask of what was kept.
    """
    share = 0.5 if ratio is None else float(np.reshape(ratio, ()))
    if training_mode is None or not np.reshape(training_mode, ()) or share == 0:
        return data, np.ones(data.shape, dtype=bool)
    kept = np.asarray(np.random.RandomState(seed).uniform(0, 1, data.shape) >= share)
    return restore(wide(data) * kept / (1 - share), data), kept


def _groups(tensors: tuple[Array, ...], count: int) -> list[tuple[Array, ...]]:
    """Inputs x1, x2, ..., g1, g2, ... as one tuple for each optimized tensor."""
    if len(tensors) % count:
        raise InvalidInput(f"{len(tensors)} tensors, expected a multiple of {count}")
    each = len(tensors) // count
    return [tensors[i::each] for i in range(each)]


def _interleaved(results: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(value for values in zip(*results, strict=True) for value in values)


@op("Adagrad", domain=PREVIEW, since=1)
def Adagrad(
    R: Array,
    T: Array,
    *tensors: Array,
    decay_factor: float = 0.0,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
) -> tuple[Array, ...]:
    """One step of Adagrad. Source: https://jmlr.org/papers/v12/duchi11a.html.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_Adagrad.html, opset 1+.

    Args:
        R: learning rate; T: number of steps so far.
        tensors: values, then gradients, then sums of squared gradients.
    Returns: new values, then new sums.
    """
    rate = R / (1 + T * decay_factor)
    results = []
    for x, gradient, squares in _groups(tensors, 3):
        g = norm_coefficient * x + gradient
        h = squares + g * g
        results.append((restore(x - rate * g / (np.sqrt(h) + epsilon), x), restore(h, x)))
    return _interleaved(results)


@op("Adam", domain=PREVIEW, since=1)
def Adam(
    R: Array,
    T: Array,
    *tensors: Array,
    alpha: float = 0.9,
    beta: float = 0.999,
    epsilon: float = 1e-6,
    norm_coefficient: float = 0.0,
    norm_coefficient_post: float = 0.0,
) -> tuple[Array, ...]:
    """One step of Adam. Source: arXiv:1412.6980.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_Adam.html, opset 1+.

    Args:
        R: learning rate; T: number of steps so far.
        tensors: values, then gradients, then averages of gradients, then averages of squared gradients.
    Returns: new values, then both new averages.
    """
    rate = R * np.sqrt(1 - beta**T) / (1 - alpha**T) if T > 0 else R
    results = []
    for x, gradient, mean, squares in _groups(tensors, 4):
        g = norm_coefficient * x + gradient
        v = alpha * mean + (1 - alpha) * g
        h = beta * squares + (1 - beta) * g * g
        new = (1 - norm_coefficient_post) * (x - rate * v / (np.sqrt(h) + epsilon))
        results.append((restore(new, x), restore(v, x), restore(h, x)))
    return _interleaved(results)


@op("Momentum", domain=PREVIEW, since=1)
def Momentum(
    R: Array, T: Array, *tensors: Array, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> tuple[Array, ...]:
    """One step of gradient descent with momentum, mode "standard" or "nesterov".

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxpreviewtraining_Momentum.html, opset 1+.

    Args:
        R: learning rate; T: number of steps so far.
        tensors: values, then gradients, then momenta.
    Returns: new values, then new momenta.
    """
    if mode not in ("standard", "nesterov"):
        raise InvalidInput(f'mode is "{mode}", expected standard or nesterov')
    results = []
    for x, gradient, momentum in _groups(tensors, 3):
        g = norm_coefficient * x + gradient
        v = alpha * momentum + (beta if T > 0 else 1) * g
        direction = g + alpha * v if mode == "nesterov" else v
        results.append((restore(x - R * direction, x), restore(v, x)))
    return _interleaved(results)
