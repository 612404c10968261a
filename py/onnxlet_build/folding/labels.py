"""Scores in a graph: what `onnxlet.tasks.scores` and `Labels.from_scores` make of a model's outputs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from ..sources.graph import tensor
from .values import OPSET, Value, where

__all__ = ["LABELS", "SCORES", "applied", "best", "model_of", "named", "softmax", "word_for_best"]

LABELS, SCORES = "shown.labels", "shown.scores"  # outputs of the graph: texts and float64, best first, [k] each


def applied(logits: Value, function: str) -> Value:
    """float64 [N] of scores [N]: "softmax", "sigmoid" or "none"."""
    scores = logits.cast(np.float64)
    if function == "softmax":
        return softmax(scores)
    return 1.0 / ((-scores.at_least(-700.0)).op("Exp") + 1.0) if function == "sigmoid" else scores


def softmax(logits: Value) -> Value:
    """float64 [N] of [N], shifted by the largest."""
    shares = (logits - logits.max(0)).op("Exp")
    return shares / shares.sum(0)


def best(scores: Value, top_k: int | None) -> tuple[Value, Value]:
    """The highest scores and their classes, int64, [k] each; of equal ones the first class comes first."""
    count = scores.size(0).reshape(1)
    if top_k is not None:
        count = count.at_most(np.array([top_k], np.int64))
    values, classes = scores.graph.ops("TopK", [scores.name, count.name], 2)
    return Value(scores.graph, values, np.float64), Value(scores.graph, classes, np.int64)


def named(classes: Value, names: Sequence[str]) -> Value:
    """Texts [k] of classes; numbers where there are no names."""
    if not names:
        return classes.cast(object)
    return Value.constant(classes.graph, list(names), object).take(classes)


def model_of(labels: Value, scores: Value, inputs: Sequence[onnx.ValueInfoProto]) -> bytes:
    """The graph that gives both, under their names."""
    graph = labels.graph
    graph.give(labels.name, LABELS)
    graph.give(scores.name, SCORES)
    outputs = [tensor(LABELS, object, ["k"]), tensor(SCORES, np.float64, ["k"])]
    return graph.model(inputs, outputs, OPSET).SerializeToString()


def word_for_best(classes: Value, labels: Value, word: Value) -> Value:
    """Texts [k] in which the best class has a name of its own, int64 or text [1]."""
    return where(classes.equals(classes.take([0])), word.cast(object), labels)
