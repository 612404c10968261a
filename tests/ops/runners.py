"""The ways to run a node case: on the core's operators, on ONNX Runtime alone, and in a session that cuts the graph.

Like node_cases, this runs inside the page's Python too.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from onnxlet import InferenceSession, SessionOptions, protobuf, providers
from onnxlet.dtypes import Narrow
from onnxlet.providers.reference import ReferenceExecutable
from onnxlet.source import ModelSource
from onnxlet.tensors import from_bits

from .node_cases import Case, compare

__all__ = ["WAYS", "check", "failures", "outcomes"]


class Runner(Protocol):
    """A loaded model: `run` takes names and feeds as the core has values, and gives values."""

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Any], /) -> list[Any]: ...

    def close(self) -> None: ...


class Session:
    """An `InferenceSession`, as an app opens it, that is asked for one provider."""

    def __init__(self, model: bytes, provider: str) -> None:
        self._session = InferenceSession(model, providers=[provider])
        self.run = self._session.run
        self.close = self._session.close

    @property
    def where(self) -> str:
        """Which providers had a part in it."""
        placement = self._session.placement()
        if placement is None:
            return self._session.get_providers()[0]
        parts = {part["provider"] for part in placement["parts"]} or {placement["provider"]}
        return "+".join(sorted(parts))


def _alone(model: bytes, provider: str) -> Runner:
    found = providers.find(provider)
    assert found, f"{provider} is not here"
    return found.load(ModelSource(model), SessionOptions())


def _numpy(model: bytes, provider: str) -> Runner:
    return ReferenceExecutable(protobuf.load(model))


WAYS: dict[str, Callable[[bytes, str], Runner]] = {"numpy": _numpy, "alone": _alone, "session": Session}


def outcomes(
    cases: Sequence[Case], way: str, provider: str = "", broken: Callable[[], Any] = bool
) -> list[tuple[str, str, str, float]]:
    """Run cases in order.

    Args:
        way: of `WAYS`.
        broken: asked after every case; where it is true, no further case is run.
    Returns: of every case that was run its name, what went wrong or "", what ran it where that is known, and seconds.
    """
    done = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in cases:
            begin_s = time.perf_counter()
            error, where = _outcome(case, way, provider)
            done.append((case.name, error, where, time.perf_counter() - begin_s))
            if broken():
                break
    return done


def failures(cases: Sequence[Case]) -> dict[str, str]:
    """The cases that fail on the core's own operators, with what went wrong."""
    return {name: error for name, error, *_ in outcomes(cases, "numpy") if error}


def check(runner: Runner, case: Case) -> None:
    """Raises: AssertionError: an output has another type, shape or value; or what the runner raises."""
    for feeds, expected in case.data_sets:
        for result, right in zip(runner.run(list(expected), feeds), expected.values(), strict=True):
            compare(_narrowed(result, right), right, case.rtol, case.atol)


def _outcome(case: Case, way: str, provider: str) -> tuple[str, str]:
    runner = None
    error = ""
    try:
        runner = WAYS[way](case.model, provider)
        check(runner, case)
    except Exception as e:
        error = f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"
    where = getattr(runner, "where", "")
    if runner:
        runner.close()
    return error, where


def _narrowed(result: Any, like: Any) -> Any:
    """A session's bits of narrow types as the values that they stand for."""
    if isinstance(like, list) and isinstance(result, list):
        return [_narrowed(r, one) for r, one in zip(result, like, strict=True)]
    if isinstance(like, Narrow) and isinstance(result, np.ndarray):
        return from_bits(like.data_type, result)
    return result
