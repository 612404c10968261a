"""Whether a folded function says what the Python one says, natively: on the app's examples and on generated inputs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime

from onnxlet import wire
from onnxlet.app import App
from onnxlet.dtypes import Array
from onnxlet.errors import OnnxletError
from onnxlet.form import Function

from .folded import Folded, Given, Unfoldable
from .generated import Inputs, generated

__all__ = ["TOLERANCE", "Proof", "prove"]

LIMIT_S = 20.0  # of generated inputs: the time of large models is people's, and the examples have been compared by then
TOLERANCE = 1e-6  # of a score; labels and their order are the same, and numbers have the same digits


@dataclass(frozen=True, slots=True)
class Proof:
    """How far the chain's answers were from Python's.

    Args:
        samples: how many inputs both answered.
        max_abs: the largest difference of a score.
    """

    samples: int
    max_abs: float


def prove(app: App, function: Function, folded: Folded, examples: Sequence[Inputs]) -> Proof:
    """Compare on inputs in wire form.

    Raises: Unfoldable: an answer differs, or the chain fails where Python does not; says where.
    """
    chain = _Chain(folded)
    samples, worst = 0, 0.0
    began_s = time.monotonic()
    for number, (wires, buffers) in enumerate([*examples, *generated(function)]):
        if number > len(examples) and time.monotonic() - began_s > LIMIT_S:
            break
        where = f"example {number + 1}" if number < len(examples) else f"generated input {number - len(examples) + 1}"
        try:
            expected, _ = asyncio.run(wire.call(app, function.name, wires, buffers))
        except OnnxletError:
            continue  # what Python refuses waits for Python's words
        values = wire.decode_inputs(function, wires, buffers)
        feeds = {
            given.name: _tensor(given, values.get(param.name, param.default), param.members)
            for given, param in zip(folded.inputs, function.inputs, strict=True)
        }
        try:
            got = chain.answer(feeds)
        except Exception as error:  # whatever it is: the page would wait for Python
            raise Unfoldable(f"{where}: the graphs fail ({str(error).splitlines()[0]})") from error
        for one, other in zip(expected, got, strict=True):
            worst = max(worst, _difference(where, one, other))
        samples += 1
    if worst > TOLERANCE:
        raise Unfoldable(f"scores differ by up to {worst:.2g}, and {TOLERANCE:g} is allowed")
    return Proof(samples, worst)


class _Chain:
    """The graphs and the model on native ONNX Runtime."""

    def __init__(self, folded: Folded) -> None:
        self._folded = folded
        self._pre = _session(folded.pre)
        self._post = _session(folded.post) if folded.post else None

    def answer(self, feeds: dict[str, Array]) -> list[dict[str, Any]]:
        """What is shown, in wire form; numbers of "json" as numbers."""
        folded = self._folded
        names = [out.name for out in self._pre.get_outputs()]
        made = dict(zip(names, self._pre.run(None, feeds), strict=True))
        outputs = dict(zip(folded.fetches, folded.session.run(folded.fetches, made), strict=True))
        if self._post:
            names = [out.name for out in self._post.get_outputs()]
            outputs = dict(zip(names, self._post.run(None, outputs), strict=True))
        return [_shown(one.kind, [outputs[name] for name in one.tensors]) for one in folded.outputs]


def _session(model: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])


def _tensor(given: Given, value: Any, members: Any) -> Array:
    if given.kind == "pixels":
        return np.asarray(value.rgba)
    if given.kind == "choice":
        return np.array([list(members.values()).index(value)], np.int64)
    return np.array([value], np.float64)


def _shown(kind: str, values: list[Array]) -> dict[str, Any]:
    if kind == "labels":
        labels, scores = values
        items = [{"label": label, "score": score} for label, score in zip(labels, scores.tolist(), strict=True)]
        return {"kind": kind, "items": items}
    return {"kind": kind, "value": values[0].reshape(-1)[0]}


def _difference(where: str, expected: dict[str, Any], got: dict[str, Any]) -> float:
    """Of two answers, in scores. Raises: Unfoldable: their labels or their numbers differ."""
    if expected["kind"] != got["kind"]:
        raise Unfoldable(f"{where}: shows {expected['kind']} instead of {got['kind']}")
    if got["kind"] == "json":
        if json.loads(expected["text"]) != float(str(got["value"])):
            raise Unfoldable(f"{where}: gives {got['value']}, and Python {expected['text']}")
        return 0.0
    one, other = ([item["label"] for item in shown["items"]] for shown in (expected, got))
    if one != other:
        raise Unfoldable(f"{where}: gives {', '.join(other)}, and Python {', '.join(one)}")
    ours, theirs = (np.array([item["score"] for item in shown["items"]]) for shown in (got, expected))
    return float(np.abs(ours - theirs).max(initial=0.0))
