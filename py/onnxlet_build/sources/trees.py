"""Boosted trees as one TreeEnsembleRegressor, whose every decision on float32 is the library's own in float64.

`lightgbm_trees` and `xgboost_trees` read the libraries' dumps into a `Forest`. This stands in for onnxmltools 1.16,
whose exports round thresholds to the nearest float32 (rows that lie on one take the other branch), compare categories
without cutting fractions off, divide LightGBM's random forests by 100, and forget zeros that stand for missing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import onnx

from onnxlet.dtypes import Array

from .graph import GraphBuilder

__all__ = ["LINKS", "ZERO", "Forest", "Split", "floor32"]

# LightGBM's kZeroThreshold: its predict takes every number up to here for 0.
ZERO = float(np.float32(1e-35))
_NUMBERS = ("nodes_values", "target_weights", "base_values")


@dataclass(frozen=True, slots=True)
class Split:
    """A decision of a tree.

    Args:
        mode: BRANCH_LEQ, BRANCH_LT, or BRANCH_EQ, which says yes to each of `values`.
        yes, no: keys of the next nodes.
        nan_yes: where NaN goes.
    """

    feature: int
    mode: str
    values: tuple[float, ...]
    yes: Any
    no: Any
    nan_yes: bool


@dataclass(slots=True)
class Forest:
    """Trees, and what happens to a row before and after them.

    Args:
        features: how many columns a row has.
        base: added to the sums, one an output.
        link: from sums to predictions, a key of `LINKS`.
        classes: names of the classes in the order of the outputs (two of them for one output); None of a regression.
        whole: categorical features, whose fractions are cut off with `rounding`, "Floor" or "Truncate".
        zero_is_nan: features of which 0 means missing.
        missing: the number that means missing; NaN where only NaN does.
        single: whether the library rounds what it is given to float32.
        thresholds: by feature, as the library has them.
    """

    features: int
    base: tuple[float, ...]
    link: str = "identity"
    classes: Array | None = None
    whole: set[int] = field(default_factory=set)
    rounding: str = "Floor"
    zero_is_nan: set[int] = field(default_factory=set)
    missing: float = np.nan
    single: bool = False
    thresholds: dict[int, set[float]] = field(default_factory=dict)
    _columns: dict[str, list[Any]] = field(default_factory=dict)
    _trees: int = 0

    def add(self, root: Any, expand: Callable[[Any], Split | float], target: int) -> None:
        """Append a tree.

        Args:
            root: the key of its first node.
            expand: what lies under a key: a decision, or a leaf's weight.
            target: the output that its leaves add to.
        """
        tree, self._trees = self._trees, self._trees + 1
        numbers = count(1)
        todo = [(0, root)]
        while todo:
            number, key = todo.pop()
            found = expand(key)
            if not isinstance(found, Split):
                self._node(tree, number, 0, "LEAF", 0.0, 0, 0, False)
                leaf = {"treeids": tree, "nodeids": number, "ids": target, "weights": float(found)}
                for name, value in leaf.items():
                    self._columns.setdefault(f"target_{name}", []).append(value)
                continue
            self.thresholds.setdefault(found.feature, set()).update(found.values)
            yes, no = next(numbers), next(numbers)
            for value in found.values[:-1]:  # a set of categories is a chain of equalities with one common yes
                link = next(numbers)
                self._node(tree, number, found.feature, found.mode, value, yes, link, found.nan_yes)
                number = link
            self._node(tree, number, found.feature, found.mode, found.values[-1], yes, no, found.nan_yes)
            todo += [(no, found.no), (yes, found.yes)]

    def _node(
        self, tree: int, number: int, feature: int, mode: str, value: float, yes: int, no: int, nan_yes: bool
    ) -> None:
        row = {
            "treeids": tree,
            "nodeids": number,
            "featureids": feature,
            "modes": mode,
            "values": value,
            "truenodeids": yes,
            "falsenodeids": no,
            "missing_value_tracks_true": int(nan_yes),
        }
        for name, entry in row.items():
            self._columns.setdefault(f"nodes_{name}", []).append(entry)

    def write(self, graph: GraphBuilder, rows: str, *, double: bool = False) -> list[str]:
        """Append the ensemble to a graph.

        Args:
            rows: name of a value float32 [N, features].
            double: the rows are float64, as inside a pipeline; what comes out is float32 in any case.
        Returns: names of the outputs: labels [N] and probabilities [N, C] with `classes`, else predictions [N, T].
        """
        columns = {name: values for name, values in self._columns.items() if name not in _NUMBERS}
        numbers = {name: self._columns[name] for name in _NUMBERS[:2]} | {"base_values": list(self.base)}
        if double:
            for name, values in numbers.items():
                columns[f"{name}_as_tensor"] = onnx.numpy_helper.from_array(np.array(values, np.float64))
        else:
            columns |= numbers | {"nodes_values": [floor32(value) for value in numbers["nodes_values"]]}
        sums = graph.op(
            "TreeEnsembleRegressor",
            [self._cleaned(graph, rows, np.float64 if double else np.float32)],
            name="trees",
            domain="ai.onnx.ml",
            n_targets=len(self.base),
            **columns,
        )
        predictions = LINKS[self.link](graph, sums)
        if self.classes is None:
            return [predictions]
        if len(self.base) == 1:
            other = graph.op("Sub", [np.float32(1), predictions])
            predictions = graph.op("Concat", [other, predictions], axis=1)
        best = graph.op("ArgMax", [predictions], axis=1, keepdims=0)
        return [graph.op("Gather", [self.classes, best]), predictions]

    def _cleaned(self, graph: GraphBuilder, rows: str, dtype: Any) -> str:
        """The rows as the trees want them: what means missing is NaN, categories are whole."""
        nan = dtype(np.nan)
        if not np.isnan(self.missing):
            rows = graph.op("Where", [graph.op("Equal", [rows, dtype(self.missing)]), nan, rows])
        if self.zero_is_nan:
            tiny = graph.op("LessOrEqual", [graph.op("Abs", [rows]), dtype(ZERO)])
            tiny = graph.op("And", [tiny, self._mask(self.zero_is_nan)])
            rows = graph.op("Where", [tiny, nan, rows])
        if self.whole:
            cut = graph.op("Floor", [rows])
            if self.rounding == "Truncate":
                below = graph.op("Less", [rows, dtype(0)])
                cut = graph.op("Where", [below, graph.op("Ceil", [rows]), cut])
            rows = graph.op("Where", [self._mask(self.whole), cut, rows])
        return rows

    def _mask(self, features: set[int]) -> Array:
        return np.isin(np.arange(self.features), sorted(features))[None]


def floor32(value: float) -> float:
    """The largest float32 that is not above a float64: for any float32 x, x <= value exactly when x <= floor32(value).

    What is a float32 already, as all of XGBoost's thresholds are, stays.
    """
    with np.errstate(over="ignore"):
        near = np.float32(value)
    return float(near) if not float(near) > value else float(np.nextafter(near, np.float32(-np.inf)))


def _chain(*op_types: str) -> Callable[[GraphBuilder, str], str]:
    def write(graph: GraphBuilder, sums: str) -> str:
        for op_type in op_types:
            sums = graph.op(op_type, [sums])
        return sums

    return write


def _softmax(graph: GraphBuilder, sums: str) -> str:
    return graph.op("Softmax", [sums], axis=1)


def _positive(graph: GraphBuilder, sums: str) -> str:
    return graph.op("Cast", [graph.op("Greater", [sums, np.float32(0)])], to=1)


def _best(graph: GraphBuilder, sums: str) -> str:
    return graph.op("Cast", [graph.op("ArgMax", [sums], axis=1)], to=1)


def _signed_square(graph: GraphBuilder, sums: str) -> str:
    return graph.op("Mul", [sums, graph.op("Abs", [sums])])


LINKS: dict[str, Callable[[GraphBuilder, str], str]] = {
    "identity": _chain(),
    "sigmoid": _chain("Sigmoid"),
    "exp": _chain("Exp"),
    "log1p exp": _chain("Softplus"),
    "softmax": _softmax,
    "positive": _positive,
    "best": _best,
    "signed square": _signed_square,
}
