"""`TabularPredictor` as graphs: a form's values to a row of features, the model's outputs to labels or a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from onnxlet.dtypes import from_ort_type
from onnxlet.form import Function
from onnxlet.source import NodeArg
from onnxlet.tasks import Feature, TabularPredictor
from onnxlet.tasks.declared import Declared

from ..sources.graph import GraphBuilder, tensor
from .folded import FORM, Folded, Given, Shown, Unfoldable
from .labels import LABELS, SCORES, best, model_of, named, softmax, word_for_best
from .values import OPSET, Value, concat, where

__all__ = ["fold"]

_NUMBERS = (np.dtype(np.float32), np.dtype(np.float64))


def fold(function: Function, what: Declared, task: TabularPredictor) -> Folded:
    """Raises: Unfoldable."""
    parameters = {feature: FORM + parameter for parameter, feature in what.features}
    outputs = {arg.name: arg for arg in task.session.get_outputs()}
    told = [outputs[name] for name in task.fetches]
    by_name = {feature.name: feature for feature in task.features}
    given = tuple(Given(FORM + name, "choice" if by_name[of].choices else "number", {}) for name, of in what.features)
    pre = _before(task, parameters)
    label = function.outputs[0].label
    if task.classifies:
        post, fetches = _classes(task, told, what.top_k)
        return Folded(pre, post, task.session, fetches, given, (Shown("labels", label, (LABELS, SCORES)),))
    dtype = from_ort_type(told[0].type).numpy
    if dtype not in _NUMBERS or not set(told[0].shape[1:]) <= {1}:
        raise Unfoldable(f'the output "{told[0].name}" is {told[0].type} {told[0].shape}, and one number is a row\'s')
    return Folded(pre, None, task.session, (told[0].name,), given, (Shown("json", label, (told[0].name,)),))


def _before(task: TabularPredictor, parameters: dict[str, str]) -> bytes:
    graph = GraphBuilder()
    inputs = task.session.get_inputs()
    for name in (*parameters.values(), *[arg.name for arg in inputs]):
        graph.new_name(name)
    dtypes = {arg.name: _dtype(arg) for arg in inputs}
    taken: list[onnx.ValueInfoProto] = []
    cells: dict[str, Value] = {}
    for feature in task.features:
        cell = _cell(graph, feature, parameters.get(feature.name), taken)
        into = dtypes[inputs[0].name if task.matrix else feature.name]
        cells[feature.name] = _as(cell, feature, into)
    made = []
    for arg in inputs:
        row = concat(list(cells.values())) if task.matrix else cells[arg.name]
        graph.give(row.expand_dims(0).name, arg.name)
        made.append(tensor(arg.name, dtypes[arg.name], [1, len(cells) if task.matrix else 1]))
    return graph.model(taken, made, OPSET).SerializeToString()


def _dtype(arg: NodeArg) -> np.dtype[Any]:
    return np.dtype(object) if arg.type == "tensor(string)" else np.dtype(from_ort_type(arg.type).numpy)


def _cell(graph: GraphBuilder, feature: Feature, parameter: str | None, taken: list[onnx.ValueInfoProto]) -> Value:
    """float64 [1], or a choice's position, int64 [1]: what the form gives, or the default where it does not ask."""
    dtype = np.int64 if feature.choices else np.float64
    if parameter is not None:
        taken.append(tensor(parameter, dtype, [1]))
        return Value(graph, parameter, dtype)
    default = feature.choices.index(str(feature.default)) if feature.choices else feature.default
    return Value.constant(graph, [default], dtype)


def _as(cell: Value, feature: Feature, dtype: np.dtype[Any]) -> Value:
    if dtype.kind != "O":
        return cell.cast(dtype)
    if not feature.choices:
        raise Unfoldable(f'"{feature.name}" is a number that the model reads as a text')
    return Value.constant(cell.graph, list(feature.choices), object).take(cell)


def _classes(task: TabularPredictor, told: list[NodeArg], top_k: int | None) -> tuple[bytes, tuple[str, ...]]:
    """What `TabularPredictor` makes of scores: shares of them, and names. Returns: the graph, and what it takes."""
    graph = GraphBuilder()
    scores, *words = told
    classes = scores.shape[-1] if len(scores.shape) == 2 else 1 if len(scores.shape) == 1 else None
    if not isinstance(classes, int):
        raise Unfoldable(f'the output "{scores.name}" is {scores.type} {scores.shape}, which does not say its classes')
    dtype = from_ort_type(scores.type).numpy
    inputs = [tensor(graph.new_name(scores.name), dtype, scores.shape)]
    shares = Value(graph, scores.name, dtype).cast(np.float64).reshape(-1)
    if classes == 1:
        shares = concat([1.0 - shares, shares])
    else:
        off = (shares.sum(0) - 1.0).op("Abs")
        are_shares = (shares.min(0) >= 0.0) & (off < 1e-3 + 1e-5)  # as numpy.allclose has it
        shares = where(are_shares, shares, softmax(shares))
    values, best_classes = best(shares, top_k)
    labels = named(best_classes, task.labels)
    if words and not task.labels:
        inputs.append(_word(words[0]))
        word = Value(graph, graph.new_name(words[0].name), _dtype(words[0])).reshape(-1)
        labels = word_for_best(best_classes, labels, word)
    return model_of(labels, values, inputs), tuple(value.name for value in inputs)


def _word(arg: NodeArg) -> onnx.ValueInfoProto:
    if arg.type not in ("tensor(string)", "tensor(int64)") or not set(arg.shape[1:]) <= {1}:
        raise Unfoldable(f'the output "{arg.name}" is {arg.type} {arg.shape}, and a class is a text or an integer')
    return tensor(arg.name, _dtype(arg), arg.shape)
