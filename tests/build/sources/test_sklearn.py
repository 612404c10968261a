"""scikit-learn: estimators of every family, mixed columns, trees on their thresholds, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn import ensemble, linear_model, mixture, naive_bayes, neighbors, neural_network, svm, tree
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from threadpoolctl import threadpool_limits

from onnxlet import InferenceSession
from onnxlet.errors import BuildError
from onnxlet_build.sources import export

from ..conftest import DATA

IRIS, KIND = load_iris(return_X_y=True)
DIABETES, PROGRESS = load_diabetes(return_X_y=True)
PROVIDERS = ("CPUExecutionProvider", "NumpyExecutionProvider")


@pytest.fixture(autouse=True)
def one_thread() -> Any:
    """The models are small; on a busy machine OpenMP's threads wait for each other for seconds."""
    with threadpool_limits(1):
        yield


def numbers(case: dict[str, Any]) -> np.ndarray:
    return np.array([float(value) for value in case["data"]]).reshape(case["shape"])


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("kind", ["ordinal", "onehot"])
def test_unknown_and_missing_categories_are_encoded(kind: str, provider: str) -> None:
    said = json.loads((DATA / "T03_encoders.json").read_text())
    made = export(DATA / f"T03_{kind}.joblib", kind)
    texts = np.array([["nan" if text is None else text] for text in said["input"]], object)
    (codes,) = InferenceSession(made.data, providers=[provider]).run(None, {"X": texts})
    np.testing.assert_array_equal(codes, numbers(said[kind]))
    assert made.notes == ('a missing text in column 0 of X is fed as "nan"',)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_missing_numbers_are_filled_from_the_nearest_rows(provider: str) -> None:
    said = json.loads((DATA / "T05_knn_imputer.json").read_text())
    rows = numbers(said["input"]).astype(np.float32)
    data = export(DATA / "T05_knn_imputer.joblib", "m").data
    (filled,) = InferenceSession(data, providers=[provider]).run(None, {"X": rows})
    np.testing.assert_allclose(filled, numbers(said["expected"]), rtol=1e-6)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: make_pipeline(StandardScaler(), linear_model.LogisticRegression()).fit(IRIS, KIND),
    "ridge": lambda: linear_model.Ridge().fit(DIABETES, np.stack([PROGRESS, -PROGRESS], 1)),
    "support vectors": lambda: make_pipeline(StandardScaler(), svm.SVC()).fit(IRIS, KIND),
    "one margin": lambda: svm.LinearSVC().fit(IRIS, KIND == 1),
    "neighbours": lambda: neighbors.KNeighborsClassifier().fit(IRIS, KIND),
    "naive Bayes": lambda: naive_bayes.GaussianNB().fit(IRIS, KIND),
    "counts": lambda: naive_bayes.MultinomialNB().fit(IRIS, KIND),
    "a network": lambda: neural_network.MLPClassifier((9,), max_iter=20, random_state=0).fit(IRIS, KIND),
    "clusters": lambda: KMeans(3, n_init=1, random_state=0).fit(IRIS),
    "a mixture": lambda: mixture.GaussianMixture(3, random_state=0).fit(IRIS),
    "components": lambda: make_pipeline(MinMaxScaler(), PCA(2)).fit(IRIS),
    "a search": lambda: GridSearchCV(tree.DecisionTreeClassifier(), {"max_depth": [2, 3]}, cv=2).fit(IRIS, KIND),
    "votes": lambda: ensemble.VotingClassifier(
        [("a", linear_model.LogisticRegression()), ("b", tree.DecisionTreeClassifier())], voting="soft"
    ).fit(IRIS, KIND),
    "XGBoost in a pipeline": lambda: make_pipeline(SimpleImputer(), xgb.XGBRegressor(n_estimators=5, n_jobs=1)).fit(
        DIABETES, PROGRESS
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("family", ESTIMATORS)
def test_every_family_answers_as_scikit_learn(family: str) -> None:
    made = export(ESTIMATORS[family](), family)  # raises where it does not
    assert made.verified.startswith("agrees with scikit-learn ")
    assert not made.notes
    native, own = (InferenceSession(made.data, providers=[p]).run(None, made.samples[0]) for p in PROVIDERS)
    for a, b in zip(native, own, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)


TREES: dict[str, Callable[[], Any]] = {
    "a tree": lambda: tree.DecisionTreeClassifier(random_state=0).fit(IRIS, KIND),
    "a forest": lambda: ensemble.RandomForestRegressor(8, random_state=0).fit(DIABETES, PROGRESS),
    "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=8, random_state=0).fit(IRIS, KIND),
    "histograms": lambda: ensemble.HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(IRIS, KIND),
    "histograms of counts": lambda: ensemble.HistGradientBoostingRegressor(
        loss="poisson", max_iter=8, random_state=0
    ).fit(np.where(DIABETES > 0.05, np.nan, DIABETES), PROGRESS),
}


@pytest.mark.parametrize("kind", TREES)
def test_rows_on_thresholds_and_one_step_beside_them_take_the_same_branch(kind: str) -> None:
    made = export(TREES[kind](), kind)
    assert made.verified.endswith("so do 1000 of 1000 rows on thresholds of its trees")
    assert not made.notes


SCALED: dict[str, Callable[[], Any]] = {
    "a forest": lambda: make_pipeline(StandardScaler(), ensemble.RandomForestClassifier(20, random_state=0)),
    "a forest over components": lambda: make_pipeline(
        MinMaxScaler(), PCA(3), ensemble.RandomForestClassifier(20, random_state=0)
    ),
    "histograms": lambda: make_pipeline(StandardScaler(), ensemble.HistGradientBoostingClassifier(max_iter=8)),
    "LightGBM": lambda: make_pipeline(StandardScaler(), lgb.LGBMClassifier(n_estimators=8, verbose=-1, n_jobs=1)),
    "XGBoost": lambda: make_pipeline(StandardScaler(), xgb.XGBClassifier(n_estimators=8, n_jobs=1)),
}


@pytest.mark.parametrize("kind", SCALED)
def test_what_comes_before_trees_is_computed_in_float64_where_float32_takes_other_branches(kind: str) -> None:
    made = export(SCALED[kind]().fit(IRIS, KIND), kind)
    assert made.verified.endswith("so do 1000 of 1000 rows on thresholds of its trees")
    assert "computes in float64: in float32" in made.notes[0]
    assert {i.type for i in InferenceSession(made.data).get_inputs()} == {"tensor(float)"}


def passengers(count: int = 150) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, count).astype(float),
            "fare": rng.lognormal(3, 1, count),
            "port": rng.choice(["C", "Q", "S"], count),
            "deck": rng.integers(1, 4, count),
        }
    )
    frame.loc[::5, "age"] = np.nan
    return frame, ((frame.port == "S") & (frame.fare > 15)).to_numpy().astype(int)


def mixed(classifier: Any) -> Any:
    return make_pipeline(
        ColumnTransformer(
            [
                ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["age", "fare"]),
                ("texts", OneHotEncoder(handle_unknown="ignore"), ["port"]),
                ("codes", OrdinalEncoder(), ["deck"]),
            ]
        ),
        classifier,
    )


@pytest.mark.parametrize("with_rows", [False, True])
def test_columns_of_different_types_become_inputs_of_their_own(with_rows: bool) -> None:
    frame, survived = passengers()
    model = mixed(linear_model.LogisticRegression()).fit(frame, survived)
    made = export((model, frame) if with_rows else model, "m")
    session = InferenceSession(made.data)
    assert [(i.name, i.type) for i in session.get_inputs()] == [
        ("age", "tensor(float)"),
        ("fare", "tensor(float)"),
        ("port", "tensor(string)"),
        ("deck", "tensor(int64)"),
    ]
    feeds = {name: frame[[name]].to_numpy(object if name == "port" else None) for name in frame}
    feeds |= {name: feeds[name].astype(np.float32) for name in ("age", "fare")}
    label, probabilities = session.run(None, feeds)
    np.testing.assert_array_equal(label, model.predict(frame))
    np.testing.assert_allclose(probabilities, model.predict_proba(frame), atol=1e-5)


def test_texts_are_split_and_weighted() -> None:
    texts = ["the cat sat on the mat", "dogs bark at night", "a cat and a dog", "night and day"] * 3
    model = make_pipeline(TfidfVectorizer(), linear_model.LogisticRegression()).fit(texts, [0, 1, 0, 1] * 3)
    label, _ = InferenceSession(export(model, "m").data).run(None, {"X": np.array([["my cat"], ["Night"]], object)})
    assert list(label) == [0, 1]


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "unfitted": (lambda: linear_model.Ridge(), "not fitted; call its fit"),
    "an unfitted pipeline": (lambda: make_pipeline(StandardScaler(), linear_model.Ridge()), "not fitted; call its fit"),
    "a function": (lambda: FunctionTransformer(np.log1p).fit(IRIS), "leave that step to the app file"),
    "rows of another width": (
        lambda: (linear_model.Ridge().fit(IRIS, KIND), IRIS[:, :2]),
        r"\[150, 2\], expected \[rows, 4\]",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_exported_is_refused_with_the_remedy(kind: str) -> None:
    make, remedy = REFUSED[kind]
    with pytest.raises(BuildError, match=remedy):
        export(make(), "m")


def test_a_joblib_file_is_an_estimator_and_a_broken_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.joblib"
    joblib.dump(linear_model.Ridge().fit(DIABETES, PROGRESS), path)
    assert "agrees" in export(path, "m").verified
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(BuildError, match=r"model\.joblib: cannot be loaded"):
        export(path, "m")
