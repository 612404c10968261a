"""LightGBM's trees, from what ``Booster.dump_model`` says."""

from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from .trees import ZERO, Forest, Split

__all__ = ["category_notes", "forest"]

_IDENTITY = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg", "custom")
_LINKS = {
    **dict.fromkeys(_IDENTITY, "identity"),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
    **dict.fromkeys(("binary", "multiclassova", "cross_entropy"), "sigmoid"),
    "cross_entropy_lambda": "log1p exp",
    "multiclass": "softmax",
}


def forest(booster: Any, classes: Array | None, name: str) -> Forest:
    """Read a lightgbm.Booster, up to its best iteration.

    Args:
        classes: of a classifier; None of what predicts as `Booster.predict` does.
        name: of the model, for messages.
    Raises: BuildError: leaves that are linear models, or an objective that is not known.
    """
    dump = booster.dump_model()
    objective, *settings = dump.get("objective", "custom").split()
    if objective not in _LINKS:
        raise BuildError(f"{name}: LightGBM objective {objective!r} is not known; expected one of {', '.join(_LINKS)}")
    link = "signed square" if "sqrt" in settings else _LINKS[objective]
    steepness = next((float(s.partition(":")[2]) for s in settings if s.startswith("sigmoid:")), 1.0)
    outputs = dump["num_tree_per_iteration"]
    rounds = len(dump["tree_info"]) // outputs if dump.get("average_output") else 1
    made = Forest(dump["max_feature_idx"] + 1, (0.0,) * outputs, link, classes, rounding="Truncate")

    def expand(node: dict[str, Any]) -> Split | float:
        if "leaf_coeff" in node:
            raise BuildError(
                f"{name}: its leaves are linear models, which ONNX has no trees for; use linear_tree=False"
            )
        if "split_feature" not in node:
            return float(node["leaf_value"]) * steepness / rounds
        return _split(node, made)

    for number, tree in enumerate(dump["tree_info"]):
        made.add(tree["tree_structure"], expand, number % outputs)
    return made


def _split(node: dict[str, Any], made: Forest) -> Split:
    feature, yes, no = node["split_feature"], node["left_child"], node["right_child"]
    if node["decision_type"] == "==":
        made.whole.add(feature)
        categories = tuple(float(text) for text in str(node["threshold"]).split("||"))
        return Split(feature, "BRANCH_EQ", categories, yes, no, nan_yes=False)
    threshold, missing = float(node["threshold"]), node["missing_type"]
    if missing == "Zero":
        made.zero_is_nan.add(feature)
    # Where nothing was missing in training, NaN counts as 0.
    nan_yes = threshold >= 0 if missing == "None" else bool(node["default_left"])
    if -ZERO <= threshold < 0:
        threshold = float(np.nextafter(-ZERO, -1))
    elif 0 <= threshold < ZERO:
        threshold = ZERO
    return Split(feature, "BRANCH_LEQ", (threshold,), yes, no, nan_yes)


def category_notes(booster: Any) -> tuple[str, ...]:
    """What to feed for columns that were a DataFrame's categories: their codes."""
    dump = booster.dump_model(num_iteration=1)
    names = [n for n, info in dump["feature_infos"].items() if info["values"]]
    known = booster.pandas_categorical or []
    if len(names) != len(known):
        return ()
    return tuple(
        f"feature {name!r} is fed as a code: " + ", ".join(f"{code} = {value}" for code, value in enumerate(values))
        for name, values in zip(names, known, strict=True)
    )
