"""Find the node where two ways of running a model part: two providers, or two variants of the model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from .dtypes import Array, Narrow
from .errors import InvalidInput
from .model import Graph
from .records import dataclass
from .session import GraphOptimizationLevel, InferenceSession, SessionOptions
from .session import sessions as open_sessions
from .source import ModelSource

__all__ = ["Comparison", "Difference", "acompare", "compare", "snr_db"]

FIRST_BATCH = 64
BATCH_BYTES = 128 << 20  # of each side; a page has 4 GB in all, most of them in use

ModelLike = str | os.PathLike[str] | bytes | ModelSource


@dataclass(frozen=True, slots=True)
class Difference:
    """How far one tensor is from the other side's.

    Args:
        node: name of the node that computes it, or its first output's name where it has none.
        snr_db: signal-to-noise ratio against side a; inf where equal, NaN where shapes or types differ.
        max_abs: largest absolute difference over finite elements.
        note: what else is wrong, such as NaN on one side only.
    """

    node: str
    op_type: str
    output: str
    shape: tuple[int, ...]
    snr_db: float
    max_abs: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every tensor that both sides have, in the graph's order."""

    a: str
    b: str
    tolerance_db: float
    rows: tuple[Difference, ...]
    missing: tuple[str, ...]

    @property
    def bad(self) -> list[Difference]:
        """Every node below the tolerance, in the graph's order."""
        return [row for row in self.rows if self._is_bad(row)]

    @property
    def first(self) -> Difference | None:
        """The first node below the tolerance: where to look."""
        return next((row for row in self.rows if self._is_bad(row)), None)

    def worst(self, n: int = 10) -> list[Difference]:
        """The `n` rows with the lowest SNR, worst first; unlike shapes and NaN come before all others."""
        return sorted(self.rows, key=lambda row: -np.inf if np.isnan(row.snr_db) else row.snr_db)[:n]

    def _is_bad(self, row: Difference) -> bool:
        return not row.snr_db >= self.tolerance_db

    def table(self, n: int = 10) -> tuple[list[str], list[list[str]]]:
        """Headers and rows as text: the first bad node, then the worst."""
        rows = self.worst(n)
        if self.first is not None:
            rows = [self.first, *(row for row in rows if row is not self.first)][:n]
        header = ["node", "operator", "output", "shape", "SNR dB", "max abs", ""]
        cells = []
        for row in rows:
            mark = "first below the tolerance" if row is self.first else ""
            note = "; ".join(part for part in (mark, row.note) if part)
            shape = "x".join(map(str, row.shape)) or "scalar"
            cells.append([row.node, row.op_type, row.output, shape, _decibels(row.snr_db), f"{row.max_abs:.3g}", note])
        return header, cells

    def __str__(self) -> str:
        title = f"{self.a} against {self.b}: {len(self.rows)} tensors, {len(self.bad)} under {self.tolerance_db:g} dB"
        if self.missing:
            title += f", {len(self.missing)} on one side only"
        header, cells = self.table()
        widths = [max(len(row[i]) for row in [header, *cells]) for i in range(len(header))]
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in [header, *cells]
        ]
        return "\n".join([title, *lines])


def compare(
    model: ModelLike,
    feeds: Mapping[str, Any],
    a: ModelLike = "CPUExecutionProvider",
    b: ModelLike = "NumpyExecutionProvider",
    *,
    tolerance_db: float = 60.0,
) -> Comparison:
    """Run a model two ways and compare every tensor on the way, node by node.

    Args:
        model: path, bytes or a `ModelSource`; its nodes give the order and the names.
        feeds: the inputs, as for ``InferenceSession.run``.
        a, b: a provider's name (which then runs `model`), or a variant of it. What a provider refuses of the model
            runs in Python, as in any session.
        tolerance_db: below this SNR a tensor counts as wrong; float32 kernels that only round differently stay
            above 100 dB, 8-bit weights above about 30 dB.
    Returns: the comparison; ``print`` shows the first bad node and the worst ones.
    Raises: InvalidInput: the sides have no tensor in common.
    """
    with closing(_Plan(model, a, b)) as plan:
        while names := plan.batch():
            plan.take(names, [session.run(names, dict(feeds)) for session in plan.sessions])
        return plan.report(tolerance_db)


async def acompare(
    model: ModelLike,
    feeds: Mapping[str, Any],
    a: ModelLike = "CPUExecutionProvider",
    b: ModelLike = "NumpyExecutionProvider",
    *,
    tolerance_db: float = 60.0,
) -> Comparison:
    """`compare` for a page without JSPI, where a session can only be awaited."""
    model, a, b = (side if isinstance(side, str) and _is_provider(side) else _source(side) for side in (model, a, b))
    for side in (model, a, b):
        if isinstance(side, ModelSource):
            await side.fetch()
    with closing(_Plan(model, a, b)) as plan:
        while names := plan.batch():
            plan.take(names, [await session.arun(names, dict(feeds)) for session in plan.sessions])
        return plan.report(tolerance_db)


class _Plan:
    """Two sessions, the tensors that both can give, and what was found of them so far.

    Values inside a model are many times its output: they are fetched in batches of about `BATCH_BYTES`, the first one
    of `FIRST_BATCH` tensors because nobody knows their sizes before.
    """

    def __init__(self, model: ModelLike, a: ModelLike, b: ModelLike) -> None:
        model = _source(model)  # read once
        self.graph = model.model().graph
        self.labels = [_label(side) for side in (a, b)]
        sides = [(model, side) if isinstance(side, str) and _is_provider(side) else (side, None) for side in (a, b)]
        known = [set(_computed(_source(source).model().graph)) for source, _ in sides]
        wanted = list(_computed(self.graph))
        self.names = [name for name in wanted if all(name in side for side in known)]
        self.missing = [name for name in wanted if name not in self.names]
        if not self.names:
            raise InvalidInput(
                f"compare: {self.labels[0]} and {self.labels[1]} have no tensor name in common, "
                "expected two variants of one model"
            )
        options = SessionOptions()
        options.graph_optimization_level = GraphOptimizationLevel.ORT_DISABLE_ALL
        self.sessions = [
            InferenceSession(source, options, providers=[provider] if provider else None) for source, provider in sides
        ]
        for session in self.sessions:
            open_sessions.pop(session.number, None)  # it is not one of the app's
        self._wanted = [provider for _, provider in sides]
        self._producers = {name: node for node in self.graph.nodes for name in node.outputs}
        self._rows: list[Difference] = []
        self._size = FIRST_BATCH

    def batch(self) -> list[str]:
        """The names to fetch next; none when all are done."""
        return self.names[len(self._rows) : len(self._rows) + self._size]

    def take(self, names: Sequence[str], sides: Sequence[Sequence[Any]]) -> None:
        """Compare a batch, so that its values can go."""
        for name, *pair in zip(names, *sides, strict=True):
            node = self._producers[name]
            self._rows.append(_difference(node.name or node.outputs[0], node.op_type, name, *pair))
        size = sum(getattr(value, "nbytes", 0) for value in sides[0])
        self._size = max(1, BATCH_BYTES * len(names) // max(size, 1))

    def report(self, tolerance_db: float) -> Comparison:
        a, b = self.labels
        for session, wanted in zip(self.sessions, self._wanted, strict=True):
            if wanted and (ran := session.get_providers()[0]) != wanted:
                a, b = (f"{ran} ({wanted} did not take it)" if label == wanted else label for label in (a, b))
        return Comparison(a, b, tolerance_db, tuple(self._rows), tuple(self.missing))

    def close(self) -> None:
        for session in self.sessions:
            session.close()


def _source(model: ModelLike) -> ModelSource:
    return model if isinstance(model, ModelSource) else ModelSource(model)


def _is_provider(side: str) -> bool:
    return side.endswith("ExecutionProvider")


def _label(side: ModelLike) -> str:
    if isinstance(side, ModelSource):
        return side.name or "a model in memory"
    return "a model in memory" if isinstance(side, bytes) else os.path.basename(os.fspath(side))


def _computed(graph: Graph) -> Iterable[str]:
    return (name for node in graph.nodes for name in node.outputs if name)


def _difference(node: str, op_type: str, output: str, a: Any, b: Any) -> Difference:
    a, b = (_plain(value) for value in (a, b))
    if a is None or b is None:
        return Difference(node, op_type, output, (), np.inf if a is b else np.nan, 0.0, "not a tensor")
    if a.shape != b.shape:
        return Difference(
            node, op_type, output, a.shape, np.nan, np.nan, f"shape {list(a.shape)} against {list(b.shape)}"
        )
    if a.dtype.kind not in "fiubc":
        wrong = int(np.count_nonzero(a != b))
        ratio = 10 * np.log10(a.size / wrong) if wrong else np.inf
        return Difference(node, op_type, output, a.shape, ratio, 0.0, f"{wrong} unequal" if wrong else "")
    wide = np.result_type(a.dtype, b.dtype, np.float64)
    a, b = a.astype(wide), b.astype(wide)
    finite = np.isfinite(a) & np.isfinite(b)
    odd = int(np.count_nonzero(~finite & ~((a == b) | (np.isnan(a) & np.isnan(b)))))
    gap = np.abs(a - b, where=finite, out=np.zeros(a.shape, np.float64))
    note = f"{odd} NaN or infinite on one side only" if odd else ""
    return Difference(node, op_type, output, a.shape, np.nan if odd else snr_db(a, b), float(gap.max(initial=0)), note)


def _plain(value: Any) -> Array | None:
    if isinstance(value, Narrow):
        return value.values
    return value if isinstance(value, np.ndarray) else None


def snr_db(signal: Array, other: Array) -> float:
    """Signal-to-noise ratio of `other` against `signal`, over the elements that are finite in both.

    Args:
        signal, other: real or complex, one shape.
    Returns: 10 log10(sum signal^2 / sum (signal - other)^2) in dB; inf where they are equal; -inf where the signal
        is zero and the other is not.
    """
    finite = np.isfinite(signal) & np.isfinite(other)
    a = signal[finite].astype(np.result_type(signal.dtype, np.float64))
    noise = float(np.sum(np.abs(a - other[finite]) ** 2))
    power = float(np.sum(np.abs(a) ** 2))
    if noise == 0:
        return float("inf")
    return 10 * float(np.log10(power / noise)) if power else float("-inf")


def _decibels(value: float) -> str:
    return "equal" if value == np.inf else "-" if np.isnan(value) else f"{value:.1f}"
