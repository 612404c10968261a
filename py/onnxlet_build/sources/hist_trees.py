"""The trees of scikit-learn's HistGradientBoosting, which compares in float64."""

from typing import Any

import numpy as np

from onnxlet.errors import BuildError

from .trees import Forest, Split

__all__ = ["forest"]


def forest(estimator: Any, name: str) -> Forest:
    """Read a fitted HistGradientBoostingClassifier or -Regressor.

    Raises: BuildError: it has categorical features, which it sorts and encodes inside.
    """
    if getattr(estimator, "is_categorical_", None) is not None:
        raise BuildError(
            f"{name}: has categorical features, which ONNX gets no encoder for; put an OrdinalEncoder before it in a "
            "pipeline, and leave categorical_features=None"
        )
    base = tuple(float(value) for value in np.ravel(estimator._baseline_prediction))
    classes = getattr(estimator, "classes_", None)
    if classes is not None:
        link = "sigmoid" if len(base) == 1 else "softmax"
        classes = classes.astype(object) if classes.dtype.kind in "OU" else classes
    else:
        link = "exp" if estimator.loss in ("poisson", "gamma") else "identity"
    made = Forest(estimator.n_features_in_, base, link, classes)
    for stage in estimator._predictors:
        for target, predictor in enumerate(stage):
            nodes = predictor.nodes

            def expand(index: int, nodes: Any = nodes) -> Split | float:
                node = nodes[index]
                if node["is_leaf"]:
                    return float(node["value"])
                feature, threshold = int(node["feature_idx"]), float(node["num_threshold"])
                yes, no = int(node["left"]), int(node["right"])
                return Split(feature, "BRANCH_LEQ", (threshold,), yes, no, bool(node["missing_go_to_left"]))

            made.add(0, expand, target)
    return made
