"""ai.onnx.ml: ensembles of decision trees.

All trees and all rows walk down at once: one step compares [rows, trees] values with their nodes' thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidModel
from ..records import dataclass
from .ml_scores import as_matrix, both_classes, labels_of, pick, post_transformed
from .registry import op

__all__ = ["TreeEnsemble"]

CHUNK = 1 << 20  # rows x trees walked at once: some 30 MB of temporary arrays
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
_COMPARE: tuple[Callable[[Array, Array], Array], ...] = (
    np.less_equal,
    np.less,
    np.greater_equal,
    np.greater,
    np.equal,
    np.not_equal,
)
_MEMBER, _LEAF = 6, 7
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@dataclass(frozen=True, slots=True)
class _Forest:
    """Nodes of all trees in one table; a leaf is its own child.

    Args:
        leaf_row: for each leaf, its row in `weights`.
        weights: [leaves, targets]; NaN where a leaf says nothing of a target.
        members: for each node of mode BRANCH_MEMBER, the values of its set.
    """

    roots: Array
    feature: Array
    threshold: Array
    mode: Array
    if_true: Array
    if_false: Array
    missing_true: Array
    leaf_row: Array
    weights: Array
    members: dict[int, Array]

    def scores(self, x: Array, aggregate: str) -> Array:
        """[N, targets]; NaN for a target that no leaf on the way spoke of."""
        step = max(CHUNK // max(len(self.roots), 1), 1)
        parts = [self._chunk(x[i : i + step], aggregate) for i in range(0, len(x), step)]
        return np.concatenate(parts) if parts else np.zeros((0, self.weights.shape[1]), self.weights.dtype)

    def _chunk(self, x: Array, aggregate: str) -> Array:
        result = np.full((len(x), self.weights.shape[1]), np.nan, self.weights.dtype)
        combine = {"MIN": np.fmin, "MAX": np.fmax}.get(aggregate, _add_known)
        for leaves in self._walk(x).T:
            result = combine(result, self.weights[self.leaf_row[leaves]])
        return result / len(self.roots) if aggregate == "AVERAGE" else result

    def _walk(self, x: Array) -> Array:
        """The leaf of every row in every tree, [N, trees]."""
        node = np.broadcast_to(self.roots, (len(x), len(self.roots)))
        rows = np.arange(len(x))[:, None]
        modes = set(np.unique(self.mode)) - {_LEAF}
        for _ in range(len(self.mode)):
            if (self.mode[node] == _LEAF).all():
                return node
            value = x[rows, self.feature[node]]
            yes = self._compare(value, node, modes) | (np.isnan(value) & self.missing_true[node])
            node = np.where(yes, self.if_true[node], self.if_false[node])
        if (self.mode[node] == _LEAF).all():
            return node
        raise InvalidModel("a tree has a cycle: a branch leads back to where it came from")

    def _compare(self, value: Array, node: Array, modes: set[int]) -> Array:
        threshold = self.threshold[node]
        if len(modes) == 1 and _MEMBER not in modes:
            return _COMPARE[next(iter(modes))](value, threshold)
        yes, mode = np.zeros(value.shape, bool), self.mode[node]
        for kind in modes - {_MEMBER}:
            here = mode == kind
            yes[here] = _COMPARE[kind](value[here], threshold[here])
        for member in np.unique(node[mode == _MEMBER]):
            here = node == member
            yes[here] = np.isin(value[here], self.members[int(member)])
        return yes


def _add_known(a: Array, b: Array) -> Array:
    """a + b where NaN is "nothing said"."""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, a + b))


class _Prepared:
    """Forests built from attributes, so that a second run of a node does not build again.

    The key is the identity of the attribute that no two nodes share; the entry keeps it alive.
    """

    def __init__(self, limit: int = 64) -> None:
        self._entries: dict[int, tuple[Any, _Forest]] = {}
        self._limit = limit

    def get(self, key: Any, build: Callable[[], _Forest]) -> _Forest:
        known = self._entries.get(id(key))
        if known is None or known[0] is not key:
            if len(self._entries) >= self._limit:
                self._entries.pop(next(iter(self._entries)))
            known = self._entries[id(key)] = (key, build())
        return known[1]


_prepared = _Prepared()


def _legacy_forest(
    targets: int,
    ids: Sequence[Sequence[int]],
    modes: Sequence[str],
    features: Sequence[int],
    values: Array,
    children: Sequence[Sequence[int]],
    missing: Sequence[int],
    votes: Sequence[Sequence[int]],
    weights: Array,
) -> _Forest:
    """The node table of opsets 1 to 4, where trees and nodes are named by numbers.

    Args:
        ids: tree and node number of every node.
        children: numbers of the true and the false child of every node.
        votes: tree number, node number and target of every weight.
    """
    place = {pair: i for i, pair in enumerate(zip(*ids, strict=True))}
    count = len(place)
    mode = np.array([_MODES.index(m) for m in modes], np.int8)

    def child(numbers: Sequence[int]) -> Array:
        try:
            return np.array(
                [
                    i if mode[i] == _LEAF else place[tree, number]
                    for i, (tree, number) in enumerate(zip(ids[0], numbers, strict=True))
                ],
                np.int64,
            )
        except KeyError as e:
            raise InvalidModel(f"a branch leads to tree and node {e.args[0]}, which are not there") from None

    if_true, if_false = child(children[0]), child(children[1])
    roots = np.ones(count, bool)
    inner = mode != _LEAF
    roots[if_true[inner]] = False
    roots[if_false[inner]] = False
    leaf_row = np.where(inner, 0, np.cumsum(~inner) - 1)
    table = np.full((int((~inner).sum()), targets), np.nan, weights.dtype)
    for tree, number, target, weight in zip(*votes, weights, strict=True):
        leaf = place.get((tree, number))
        if leaf is None or not 0 <= target < targets:
            raise InvalidModel(f"a weight is for tree {tree}, node {number}, target {target}, which are not there")
        if mode[leaf] == _LEAF:
            known = table[leaf_row[leaf], target]
            table[leaf_row[leaf], target] = weight if np.isnan(known) else known + weight
    return _Forest(
        roots=np.flatnonzero(roots),
        feature=np.array(features, np.int64),
        threshold=values,
        mode=mode,
        if_true=if_true,
        if_false=if_false,
        missing_true=np.array(missing, bool) if len(missing) else np.zeros(count, bool),
        leaf_row=leaf_row,
        weights=table,
        members={},
    )


def _numbers(floats: Sequence[float], doubles: Array | None) -> Array:
    return np.asarray(floats, np.float32) if doubles is None else doubles.reshape(-1)


def _features(x: Array, threshold: Array) -> Array:
    """Rows in the type that thresholds are compared in: double stays double, all else is float32."""
    return as_matrix(x, np.result_type(threshold, np.float64 if x.dtype == np.float64 else np.float32))


@op("TreeEnsembleRegressor", domain="ai.onnx.ml")
def TreeEnsembleRegressor(
    x: Array,
    *,
    aggregate_function: str = "SUM",
    base_values: Sequence[float] = (),
    base_values_as_tensor: Array | None = None,
    n_targets: int,
    nodes_falsenodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_hitrates: Sequence[float] = (),
    nodes_hitrates_as_tensor: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
    nodes_modes: Sequence[str],
    nodes_nodeids: Sequence[int],
    nodes_treeids: Sequence[int],
    nodes_truenodeids: Sequence[int],
    nodes_values: Sequence[float] = (),
    nodes_values_as_tensor: Array | None = None,
    post_transform: str = "NONE",
    target_ids: Sequence[int],
    target_nodeids: Sequence[int],
    target_treeids: Sequence[int],
    target_weights: Sequence[float] = (),
    target_weights_as_tensor: Array | None = None,
) -> Array:
    """What the leaves say, summed (or averaged, least, greatest) over the trees; float32 [N, n_targets].

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsembleRegressor.html, ml 1+ (tensors from 3).
    """
    forest = _prepared.get(
        nodes_truenodeids,
        lambda: _legacy_forest(
            n_targets,
            (nodes_treeids, nodes_nodeids),
            nodes_modes,
            nodes_featureids,
            _numbers(nodes_values, nodes_values_as_tensor),
            (nodes_truenodeids, nodes_falsenodeids),
            nodes_missing_value_tracks_true,
            (target_treeids, target_nodeids, target_ids),
            _numbers(target_weights, target_weights_as_tensor),
        ),
    )
    scores = np.nan_to_num(forest.scores(_features(x, forest.threshold), aggregate_function), nan=0.0)
    base = _numbers(base_values, base_values_as_tensor)
    scores = (scores + base if base.size else scores).astype(np.float32)
    return post_transformed(scores, post_transform) if n_targets > 1 or post_transform == "PROBIT" else scores


@op("TreeEnsembleClassifier", domain="ai.onnx.ml")
def TreeEnsembleClassifier(
    x: Array,
    *,
    base_values: Sequence[float] = (),
    base_values_as_tensor: Array | None = None,
    class_ids: Sequence[int],
    class_nodeids: Sequence[int],
    class_treeids: Sequence[int],
    class_weights: Sequence[float] = (),
    class_weights_as_tensor: Array | None = None,
    classlabels_int64s: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
    nodes_falsenodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_hitrates: Sequence[float] = (),
    nodes_hitrates_as_tensor: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
    nodes_modes: Sequence[str],
    nodes_nodeids: Sequence[int],
    nodes_treeids: Sequence[int],
    nodes_truenodeids: Sequence[int],
    nodes_values: Sequence[float] = (),
    nodes_values_as_tensor: Array | None = None,
    post_transform: str = "NONE",
) -> tuple[Array, Array]:
    """The class that the trees give most weight, and every class's weight.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsembleClassifier.html, ml 1+ (tensors from 3).

    Returns: labels [N], scores float32 [N, classes].
    """
    labels = labels_of(classlabels_int64s, classlabels_strings)
    weights = _numbers(class_weights, class_weights_as_tensor)
    # Two classes of which only one has weights: its score decides alone.
    alone = len(labels) == 2 and len(set(class_ids)) == 1
    forest = _prepared.get(
        nodes_truenodeids,
        lambda: _legacy_forest(
            1 if alone else len(labels),
            (nodes_treeids, nodes_nodeids),
            nodes_modes,
            nodes_featureids,
            _numbers(nodes_values, nodes_values_as_tensor),
            (nodes_truenodeids, nodes_falsenodeids),
            nodes_missing_value_tracks_true,
            (class_treeids, class_nodeids, [0] * len(class_ids) if alone else class_ids),
            weights,
        ),
    )
    scores = forest.scores(_features(x, forest.threshold), "SUM")
    base = _numbers(base_values, base_values_as_tensor)
    if alone:
        score = np.nan_to_num(scores[:, 0], nan=0.0) + (base[-1] if base.size else 0)
        positive = bool((weights >= 0).all())
        winners = pick(score > (0.5 if positive else 0), labels)
        score = score.astype(np.float32)
        if class_ids[0] == 1:  # the weights are said to be the second class's: the first one's score is 0
            return winners, post_transformed(np.stack([np.zeros_like(score), score], axis=1), post_transform)
        if post_transform == "PROBIT":
            return winners, post_transformed(score[:, None], post_transform)
        return winners, both_classes(score, post_transform, probability=positive)
    if base.size == scores.shape[1]:
        scores = np.nan_to_num(scores, nan=0.0) + base
    winners = np.where(np.isnan(scores), -np.inf, scores).argmax(axis=1)
    return labels[winners], post_transformed(np.nan_to_num(scores, nan=0.0).astype(np.float32), post_transform)


@op("TreeEnsemble", domain="ai.onnx.ml", since=5)
def TreeEnsemble(
    x: Array,
    *,
    aggregate_function: int = 1,
    leaf_targetids: Sequence[int],
    leaf_weights: Array,
    membership_values: Array | None = None,
    n_targets: int,
    nodes_falseleafs: Sequence[int],
    nodes_falsenodeids: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_hitrates: Array | None = None,
    nodes_missing_value_tracks_true: Sequence[int] = (),
    nodes_modes: Array,
    nodes_splits: Array,
    nodes_trueleafs: Sequence[int],
    nodes_truenodeids: Sequence[int],
    post_transform: int = 0,
    tree_roots: Sequence[int],
) -> Array:
    """Regression trees, [N, n_targets] in x's type.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_TreeEnsemble.html, ml 5+.
    """

    def build() -> _Forest:
        inner, leaves = len(nodes_modes), len(leaf_targetids)
        own = np.arange(inner, inner + leaves)

        def child(numbers: Sequence[int], is_leaf: Sequence[int]) -> Array:
            places = np.asarray(numbers) + np.where(np.asarray(is_leaf, bool), inner, 0)
            if places.size and not 0 <= places.min() <= places.max() < inner + leaves:
                raise InvalidModel("a branch leads to a node or leaf that is not there")
            return np.concatenate([places, own])

        zeros = np.zeros(leaves, np.int64)
        table = np.full((leaves, n_targets), np.nan, leaf_weights.dtype)
        table[np.arange(leaves), np.asarray(leaf_targetids)] = leaf_weights.reshape(-1)
        missing = nodes_missing_value_tracks_true if len(nodes_missing_value_tracks_true) else [0] * inner
        return _Forest(
            roots=np.asarray(tree_roots, np.int64),
            feature=np.concatenate([np.asarray(nodes_featureids, np.int64), zeros]),
            threshold=np.concatenate([nodes_splits.reshape(-1), zeros.astype(nodes_splits.dtype)]),
            mode=np.concatenate([nodes_modes.reshape(-1).astype(np.int8), np.full(leaves, _LEAF, np.int8)]),
            if_true=child(nodes_truenodeids, nodes_trueleafs),
            if_false=child(nodes_falsenodeids, nodes_falseleafs),
            missing_true=np.concatenate([np.asarray(missing, bool), zeros.astype(bool)]),
            leaf_row=np.concatenate([np.zeros(inner, np.int64), np.arange(leaves)]),
            weights=table,
            members=_member_sets(nodes_modes, membership_values),
        )

    forest = _prepared.get(nodes_truenodeids, build)
    scores = forest.scores(_features(x, forest.threshold), _AGGREGATES[aggregate_function])
    return post_transformed(np.nan_to_num(scores, nan=0.0), _TRANSFORMS[post_transform]).astype(x.dtype, copy=False)


def _member_sets(modes: Array, values: Array | None) -> dict[int, Array]:
    """The sets of BRANCH_MEMBER nodes, which the attribute lists one after another with NaN between them."""
    nodes = np.flatnonzero(modes.reshape(-1) == _MEMBER)
    if not len(nodes):
        return {}
    if values is None:
        raise InvalidModel("has BRANCH_MEMBER nodes but no membership_values")
    flat = values.reshape(-1)
    ends = np.flatnonzero(np.isnan(flat))
    sets = [part[~np.isnan(part)] for part in np.split(flat, ends)]
    return {int(node): members for node, members in zip(nodes, sets, strict=False)}
