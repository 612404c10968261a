"""XGBoost's trees, from the JSON that ``Booster.save_raw`` gives."""

import json
import math
from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from .trees import Forest, Split

__all__ = ["forest"]

_IDENTITY = (
    "reg:squarederror",
    "reg:linear",
    "reg:squaredlogerror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "reg:quantileerror",
    "rank:pairwise",
    "rank:ndcg",
    "rank:map",
    "binary:logitraw",
)
_LINKS = {
    **dict.fromkeys(_IDENTITY, "identity"),
    **dict.fromkeys(("reg:logistic", "binary:logistic"), "sigmoid"),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), "exp"),
    "binary:hinge": "positive",
    "multi:softprob": "softmax",
    "multi:softmax": "best",
}


def forest(booster: Any, classes: Array | None, missing: float, name: str) -> Forest:
    """Read an xgboost.Booster, all of its rounds.

    Args:
        classes: of a classifier; None of what predicts as `Booster.predict` does.
        missing: the number that means missing; NaN.
        name: of the model, for messages.
    Raises: BuildError: no trees, leaves with several numbers, or an objective that is not known.
    """
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective = learner["objective"]["name"]
    if objective not in _LINKS:
        raise BuildError(f"{name}: XGBoost objective {objective!r} is not known; expected one of {', '.join(_LINKS)}")
    link = _LINKS[objective]
    if link == "best" and classes is not None:
        link = "softmax"
    if classes is not None and int(learner["learner_model_param"].get("num_target", "1")) > 1:
        raise BuildError(f"{name}: predicts several labels a row; give its Booster: model.get_booster()")
    base = _margins(learner["learner_model_param"], link)
    made = Forest(int(learner["learner_model_param"]["num_feature"]), base, link, classes, missing=missing, single=True)
    boosted = learner["gradient_booster"]
    trees = boosted.get("gbtree", boosted)["model"]
    if "trees" not in trees:
        raise BuildError(f"{name}: booster {boosted['name']!r} has no trees; train it with booster='gbtree'")
    drops = boosted.get("weight_drop", [1.0] * len(trees["trees"]))
    for tree, target, weight in zip(trees["trees"], trees["tree_info"], drops, strict=True):
        if int(tree["tree_param"]["size_leaf_vector"]) > 1:
            raise BuildError(
                f"{name}: its leaves give several outputs at once; train with multi_strategy='one_output_per_tree'"
            )
        _add(made, tree, target, weight)
    return made


def _margins(parameters: dict[str, str], link: str) -> tuple[float, ...]:
    """Where the sums start: base_score, which is a prediction, taken back through the link."""
    given = json.loads(parameters["base_score"].lower())
    scores = [float(score) for score in (given if isinstance(given, list) else [given])]
    outputs = max(int(parameters["num_class"]), int(parameters.get("num_target", "1")), 1)
    scores = scores * outputs if len(scores) == 1 else scores
    if link == "sigmoid":
        return tuple(-math.log(1 / score - 1) for score in scores)
    return tuple(math.log(score) for score in scores) if link == "exp" else tuple(scores)


def _add(made: Forest, tree: dict[str, Any], target: int, weight: float) -> None:
    left, right = tree["left_children"], tree["right_children"]
    features, conditions, default_left = tree["split_indices"], tree["split_conditions"], tree["default_left"]
    segments = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    categories = {node: tree["categories"][start : start + size] for node, start, size in segments}

    def expand(node: int) -> Split | float:
        if left[node] == -1:
            return float(np.float32(conditions[node])) * weight
        feature = features[node]
        if node in categories:
            made.whole.add(feature)
            values = tuple(map(float, categories[node]))  # those that go right
            return Split(feature, "BRANCH_EQ", values, right[node], left[node], not default_left[node])
        threshold = float(np.float32(conditions[node]))
        return Split(feature, "BRANCH_LT", (threshold,), left[node], right[node], bool(default_left[node]))

    made.add(0, expand, target)
