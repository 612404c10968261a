"""ai.onnx.ml against native onnxruntime: single nodes, and what scikit-learn's exporter writes."""

import warnings

import numpy as np
import onnxruntime
import pytest

from onnxlet import protobuf
from onnxlet.errors import InvalidInput, InvalidModel
from onnxlet.providers.reference import ReferenceExecutable

from .graphs import run_op
from .native import assert_equals_native

RNG = np.random.default_rng(3)
X = RNG.normal(size=(7, 4)).astype(np.float32)
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
COMPARISONS = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE", "BRANCH_EQ", "BRANCH_NEQ")


def same(op_type, *inputs, **options):
    return assert_equals_native(op_type, *inputs, domain="ai.onnx.ml", **options)


@pytest.mark.parametrize("post_transform", TRANSFORMS)
@pytest.mark.parametrize(("rows", "labels"), [(1, "ab"), (2, "ab"), (3, "abc")])
def test_linear_classifier(rows, labels, post_transform):
    weights = {"coefficients": RNG.normal(size=rows * 4).tolist(), "intercepts": RNG.normal(size=rows).tolist()}
    same("LinearClassifier", X, outputs=2, classlabels_strings=list(labels), post_transform=post_transform, **weights)
    ints = list(range(5, 5 + len(labels)))
    same("LinearClassifier", X, outputs=2, classlabels_ints=ints, post_transform=post_transform, **weights)


@pytest.mark.parametrize("post_transform", [*TRANSFORMS, "PROBIT"])
@pytest.mark.parametrize("targets", [1, 3])
def test_linear_regressor(targets, post_transform):
    weights = (RNG.random(size=targets * 4) * 0.3).tolist()
    more = {"targets": targets, "post_transform": post_transform, "intercepts": [0.4] * targets}
    same("LinearRegressor", X * np.float32(0.1), coefficients=weights, **more)


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_support_vector_regressor(kernel):
    same(
        "SVMRegressor", X, coefficients=RNG.normal(size=6).tolist(), kernel_params=[0.3, 0.2, 3.0], kernel_type=kernel,
        n_supports=6, rho=[0.3], support_vectors=RNG.normal(size=24).tolist(),
    )  # fmt: skip


@pytest.mark.parametrize("post_transform", TRANSFORMS[:3])
@pytest.mark.parametrize("proba", [False, True])
@pytest.mark.parametrize("vectors_per_class", [[2, 4], [2, 3, 1]])
def test_support_vector_classifier(vectors_per_class, proba, post_transform):
    classes = len(vectors_per_class)
    pairs = classes * (classes - 1) // 2
    platt = {"prob_a": (-RNG.random(pairs)).tolist(), "prob_b": RNG.normal(size=pairs).tolist()} if proba else {}
    same(
        "SVMClassifier", X, outputs=2, classlabels_strings=list("abc")[:classes], vectors_per_class=vectors_per_class,
        coefficients=RNG.normal(size=(classes - 1) * 6).tolist(), kernel_params=[0.3, 0.2, 3.0], kernel_type="RBF",
        rho=RNG.normal(size=pairs).tolist(), support_vectors=RNG.normal(size=24).tolist(), rtol=1e-3,
        post_transform=post_transform, **platt,
    )  # fmt: skip


def forest(trees: int, modes=("BRANCH_LEQ",)):
    """Attributes of complete trees of depth 2, and the (tree, node) of every leaf."""
    nodes = [(tree, number) for tree in range(trees) for number in range(7)]
    inner = [number < 3 for _, number in nodes]
    return {
        "nodes_treeids": [tree for tree, _ in nodes],
        "nodes_nodeids": [number for _, number in nodes],
        "nodes_featureids": [int(RNG.integers(4)) for _ in nodes],
        "nodes_values": [float(v) for v in RNG.choice(X.ravel(), len(nodes))],
        "nodes_modes": [str(RNG.choice(modes)) if i else "LEAF" for i in inner],
        "nodes_truenodeids": [2 * n + 1 if i else 0 for (_, n), i in zip(nodes, inner, strict=True)],
        "nodes_falsenodeids": [2 * n + 2 if i else 0 for (_, n), i in zip(nodes, inner, strict=True)],
        "nodes_missing_value_tracks_true": [int(RNG.integers(2)) for _ in nodes],
    }, [node for node, i in zip(nodes, inner, strict=True) if not i]


WITH_NAN = np.vstack([X, np.full((1, 4), np.nan, np.float32)])


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("base", [False, True])
def test_tree_regressor_with_every_comparison_and_missing_values(aggregate, base):
    attributes, leaves = forest(3, COMPARISONS)
    if base:
        attributes["base_values"] = [0.7]
    same(
        "TreeEnsembleRegressor", WITH_NAN, n_targets=1, aggregate_function=aggregate, target_ids=[0] * len(leaves),
        target_treeids=[t for t, _ in leaves], target_nodeids=[n for _, n in leaves],
        target_weights=RNG.normal(size=len(leaves)).tolist(), **attributes,
    )  # fmt: skip


@pytest.mark.parametrize("post_transform", TRANSFORMS)
@pytest.mark.parametrize("least", [0, -0.15])
@pytest.mark.parametrize("classes", [2, 3])
def test_tree_classifier(classes, least, post_transform):
    attributes, leaves = forest(3)
    ids = [0] * len(leaves) if classes == 2 else [int(RNG.integers(3)) for _ in leaves]
    same(
        "TreeEnsembleClassifier", WITH_NAN, outputs=2, class_ids=ids, classlabels_int64s=[10, 11, 12][:classes],
        class_treeids=[t for t, _ in leaves], class_nodeids=[n for _, n in leaves], post_transform=post_transform,
        class_weights=(RNG.random(len(leaves)) * 0.3 + least).tolist(), **attributes,
    )  # fmt: skip


def test_a_tree_with_a_cycle_is_an_invalid_model_and_not_a_hang():
    attributes, _ = forest(1)
    attributes["nodes_truenodeids"] = attributes["nodes_falsenodeids"] = [1, 0, 0, *[0] * 4]
    with pytest.raises(InvalidModel, match="a tree has a cycle"):
        run_op(
            "TreeEnsembleRegressor", X, domain="ai.onnx.ml", n_targets=1, target_ids=[0], target_treeids=[0],
            target_nodeids=[3], target_weights=[1.0], **attributes,
        )  # fmt: skip


def test_a_branch_to_nowhere_is_named():
    attributes, _ = forest(1)
    attributes["nodes_truenodeids"] = [99] * 7
    with pytest.raises(InvalidModel, match=r"a branch leads to tree and node \(0, 99\), which are not there"):
        run_op(
            "TreeEnsembleRegressor", X, domain="ai.onnx.ml", n_targets=1, target_ids=[0], target_treeids=[0],
            target_nodeids=[3], target_weights=[1.0], **attributes,
        )  # fmt: skip


def test_feature_operators():
    for norm in ("MAX", "L1", "L2"):
        same("Normalizer", np.vstack([X, np.zeros((1, 4), np.float32)]), norm=norm)
    same("Scaler", X, offset=[1.0, 2.0, 3.0, 4.0], scale=[0.5] * 4)
    same("Scaler", X.astype(np.int64), offset=[1.0], scale=[0.5])
    same("Binarizer", X, threshold=0.3)
    same("Imputer", WITH_NAN, imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"))
    same("Imputer", np.array([[1, 2], [3, 1]]), imputed_value_int64s=[9], replaced_value_int64=1)
    same("FeatureVectorizer", X, X[:, :2].copy(), inputdimensions=[3, 3])
    same("ArrayFeatureExtractor", X, np.array([2, 0]))
    same("ArrayFeatureExtractor", X[0], np.array([2, 0]))
    same("ZipMap", X, classlabels_strings=list("abcd"))


def test_category_operators():
    words = np.array(["a", "z"], object)
    same("OneHotEncoder", np.array([[1, 2], [3, 7]]), cats_int64s=[1, 2, 3])
    same("OneHotEncoder", np.array([[1.7, 2]], np.float32), cats_int64s=[1, 2, 3])
    same("OneHotEncoder", words, cats_strings=["a", "b"])
    same("LabelEncoder", words, keys_strings=["a", "b"], values_int64s=[4, 5], default_int64=-3)
    same("LabelEncoder", np.array([1, 2], np.float32), keys_floats=[1.0], values_strings=["x"])
    same("CategoryMapper", words, cats_int64s=[1, 2], cats_strings=["a", "b"])
    same("CategoryMapper", np.array([2, 7]), cats_int64s=[1, 2], cats_strings=["a", "b"])
    with pytest.raises(InvalidInput, match="'z' is none of the categories"):
        run_op("OneHotEncoder", words, domain="ai.onnx.ml", cats_strings=["a"], zeros=0)


def test_maps_become_tensors():
    assert run_op(
        "DictVectorizer", {"a": 4.0, "c": 8.0}, domain="ai.onnx.ml", string_vocabulary=["a", "c", "b"]
    ).tolist() == [[4, 8, 0]]
    assert run_op("CastMap", {7: 1.5, 2: 3.0}, domain="ai.onnx.ml").tolist() == [[3, 1.5]]
    sparse = run_op("CastMap", {2: 3.7}, domain="ai.onnx.ml", map_form="SPARSE", max_map=4, cast_to="TO_INT64")
    assert sparse.tolist() == [[0, 0, 3, 0]]


def estimators():
    """Name, unfitted scikit-learn estimator."""
    from sklearn.ensemble import (
        GradientBoostingClassifier,
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        IsolationForest,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    return {
        "forest": RandomForestClassifier(10, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=3),
        "histogram": HistGradientBoostingClassifier(max_iter=3),
        "histogram_regressor": HistGradientBoostingRegressor(max_iter=3),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "svc": make_pipeline(StandardScaler(), SVC()),
        "perceptron": MLPClassifier((32,), max_iter=5),
        "neighbours": KNeighborsClassifier(),
        "isolation": IsolationForest(n_estimators=5, random_state=0),
    }


@pytest.mark.parametrize(
    ("name", "data"),
    [(name, "breast_cancer") for name in estimators()]  # two classes
    + [(name, "digits") for name in ("forest", "boosting", "logistic", "svc", "perceptron")],  # ten
)
def test_a_scikit_learn_export_gives_onnxruntimes_answer(name, data):
    from skl2onnx import to_onnx
    from sklearn import datasets

    x, y = getattr(datasets, f"load_{data}")(return_X_y=True)
    x, y = x[:300].astype(np.float32), y[:300]
    estimator = estimators()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = to_onnx(estimator.fit(x, y), x[:1], target_opset={"": 18, "ai.onnx.ml": 3})
    model = exported.SerializeToString()
    session = onnxruntime.InferenceSession(model)
    feeds = {session.get_inputs()[0].name: x}
    results = ReferenceExecutable(protobuf.load(model)).run([o.name for o in session.get_outputs()], feeds)
    for result, right in zip(results, session.run(None, feeds), strict=True):
        if isinstance(right, list):
            result, right = ([list(r.values()) for r in rows] for rows in (result, right))
        np.testing.assert_allclose(result, right, rtol=1e-4, atol=1e-5)
