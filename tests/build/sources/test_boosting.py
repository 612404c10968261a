"""LightGBM and XGBoost: what an export decides is what the library decides, on every threshold and beside it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import onnx
import pandas as pd
import pytest
import xgboost as xgb

from onnxlet import InferenceSession
from onnxlet.errors import BuildError
from onnxlet_build.sources import export, open_file
from onnxlet_build.sources.probes import border_rows
from onnxlet_build.sources.trees import floor32

from ..conftest import DATA

RNG = np.random.default_rng(0)
N = 400
X = RNG.normal(size=(N, 5))
X[:, 3], X[:, 4] = RNG.integers(0, 40, N), RNG.integers(0, 5, N)
HOLED = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
SIGNAL = X[:, 0] + 3 * (X[:, 3] % 3 == 1) + X[:, 4]
TWO = (SIGNAL + RNG.normal(size=N) > 2).astype(int)
THREE = np.digitize(SIGNAL, [1, 3])
NUMBER = 10 * SIGNAL + RNG.normal(size=N)
POSITIVE = np.abs(NUMBER) + 0.1
L: dict[str, Any] = {"n_estimators": 25, "verbose": -1, "n_jobs": 1}
G: dict[str, Any] = {"n_estimators": 25, "n_jobs": 1}
CATEGORIES: dict[str, Any] = {"feature_types": ["q", "q", "q", "c", "c"], "enable_categorical": True}
PROVIDERS = ("CPUExecutionProvider", "NumpyExecutionProvider")


def numbers(case: dict[str, Any]) -> np.ndarray:
    return np.array([float(value) for value in case["data"]]).reshape(case["shape"])


def run(data: bytes, rows: np.ndarray, provider: str = PROVIDERS[0]) -> list[np.ndarray]:
    return InferenceSession(data, providers=[provider]).run(None, {"X": rows.astype(np.float32)})


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("case", ["T06_lgbm_cat", "T07_lgbm_nan"])
def test_categories_and_missing_values_go_where_lightgbm_sends_them(case: str, provider: str) -> None:
    said = json.loads((DATA / f"{case}.json").read_text())
    (answers,) = run(export(DATA / f"{case}.txt", case).data, numbers(said["input"]), provider)
    np.testing.assert_allclose(answers[:, 0], numbers(said["expected"]), rtol=1e-6)


@pytest.mark.parametrize("threshold", [0.1, -0.1, 1 / 3, 16777217.0, 1e300, -1e300, 1e-46, 2.5, 0.0, np.inf])
def test_a_threshold_decides_on_float32_as_it_did_in_float64(threshold: float) -> None:
    with np.errstate(over="ignore"):
        near = np.float32(threshold)
    for step in (-np.inf, near, np.inf):
        x = np.nextafter(near, np.float32(step))
        assert (float(x) <= threshold) == bool(x <= np.float32(floor32(threshold))), x


def test_the_rows_of_the_comparison_would_show_thresholds_rounded_to_the_nearest() -> None:
    model = lgb.LGBMRegressor(**L).fit(X, NUMBER)
    proto = onnx.load_from_string(export(model, "m").data)
    (trees,) = [node for node in proto.graph.node if node.op_type == "TreeEnsembleRegressor"]
    (values,) = [a for a in trees.attribute if a.name == "nodes_values"]
    exact = np.array(list(values.floats), np.float32)
    splits = {(n["split_feature"], n["threshold"]) for t in model.booster_.dump_model()["tree_info"] for n in _nodes(t)}
    thresholds: dict[int, set[float]] = {}
    for feature, threshold in splits:
        thresholds.setdefault(feature, set()).add(threshold)
    raised = {np.float32(floor32(t)): np.float32(t) for _, t in splits if float(np.float32(t)) > t}
    assert len(raised) > 20  # how many the nearest float32 would get wrong
    rows = border_rows(thresholds, 5)
    right = np.abs(run(proto.SerializeToString(), rows)[0][:, 0] - model.predict(rows)) < 1e-3
    del values.floats[:]
    values.floats.extend(float(raised.get(v, v)) for v in exact)
    wrong = np.abs(run(proto.SerializeToString(), rows)[0][:, 0] - model.predict(rows)) > 1e-3
    assert right.all()
    assert wrong.sum() > 100


def _nodes(tree: dict[str, Any]) -> list[dict[str, Any]]:
    found, todo = [], [tree["tree_structure"]]
    while todo:
        node = todo.pop()
        if "split_feature" in node:
            found.append(node)
            todo += [node["left_child"], node["right_child"]]
    return found


MODELS: dict[str, Callable[[], Any]] = {
    "categories, missing values": lambda: lgb.LGBMRegressor(**L).fit(HOLED, NUMBER, categorical_feature=[3, 4]),
    "zeros that mean missing": lambda: lgb.LGBMRegressor(zero_as_missing=True, **L).fit(np.where(X > 1, 0, X), NUMBER),
    "two classes with names": lambda: lgb.LGBMClassifier(**L).fit(X, np.array(["no", "yes"])[TWO]),
    "three classes": lambda: lgb.LGBMClassifier(**L).fit(X, THREE + 5),
    "one against all": lambda: lgb.LGBMClassifier(objective="multiclassova", **L).fit(X, THREE),
    "a steep sigmoid": lambda: lgb.LGBMClassifier(sigmoid=2.5, **L).fit(X, TWO),
    "a random forest": lambda: lgb.LGBMRegressor(boosting_type="rf", bagging_freq=1, bagging_fraction=0.5, **L).fit(
        X, NUMBER
    ),
    "counts": lambda: lgb.LGBMRegressor(objective="poisson", **L).fit(X, POSITIVE),
    "square roots": lambda: lgb.LGBMRegressor(reg_sqrt=True, **L).fit(X, POSITIVE),
    "ranks": lambda: lgb.LGBMRanker(**L).fit(X, THREE, group=[100] * 4),
    "a constant": lambda: lgb.LGBMRegressor(**L).fit(X, np.ones(N)),
    "a LightGBM booster of three classes": lambda: lgb.LGBMClassifier(**L).fit(X, THREE).booster_,
    "stopped early": lambda: xgb.XGBClassifier(early_stopping_rounds=2, **G).fit(
        X[:200], TWO[:200], eval_set=[(X[200:], TWO[200:])], verbose=False
    ),
    "a number": lambda: xgb.XGBRegressor(**G).fit(HOLED, NUMBER),
    "categories as sets": lambda: xgb.XGBRegressor(**CATEGORIES, **G).fit(HOLED, NUMBER),
    "categories one by one": lambda: xgb.XGBRegressor(max_cat_to_onehot=99, **CATEGORIES, **G).fit(HOLED, NUMBER),
    "a base score": lambda: xgb.XGBClassifier(base_score=0.2, **G).fit(HOLED, TWO),
    "classes": lambda: xgb.XGBClassifier(**G).fit(HOLED, THREE),
    "a hinge": lambda: xgb.XGBClassifier(objective="binary:hinge", **G).fit(HOLED, TWO),
    "zero for missing": lambda: xgb.XGBRegressor(missing=0.0, **G).fit(np.where(X > 1, 0, X), NUMBER),
    "two quantiles": lambda: xgb.XGBRegressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.9], **G).fit(
        X, NUMBER
    ),
    "two numbers": lambda: xgb.XGBRegressor(**G).fit(X, np.stack([NUMBER, POSITIVE], 1)),
    "gamma": lambda: xgb.XGBRegressor(objective="reg:gamma", **G).fit(X, POSITIVE),
    "dropped trees": lambda: xgb.XGBRegressor(booster="dart", rate_drop=0.3, **G).fit(X, NUMBER),
    "parallel trees": lambda: xgb.XGBRFClassifier(**G).fit(X, TWO),
    "an XGBoost booster that gives the class": lambda: xgb.train(
        {"objective": "multi:softmax", "num_class": 3, "nthread": 1}, xgb.DMatrix(X, THREE), 10
    ),
}


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_model_answers_as_its_library_on_its_thresholds(kind: str) -> None:
    made = export(MODELS[kind](), kind)  # raises where a single row differs
    assert "rows on the" in made.verified
    (feeds,) = made.samples
    native, own = (run(made.data, feeds["X"], provider) for provider in PROVIDERS)
    for a, b in zip(native, own, strict=True):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        else:
            assert (a == b).all()


def test_a_classifier_gives_labels_of_its_classes_and_a_tensor_of_probabilities() -> None:
    model = lgb.LGBMClassifier(**L).fit(X, np.array(["no", "yes"])[TWO])
    session = InferenceSession(export(model, "m").data)
    assert [(i.name, i.type, i.shape) for i in session.get_inputs()] == [("X", "tensor(float)", ["rows", 5])]
    assert [o.name for o in session.get_outputs()] == ["label", "probabilities"]
    rows = X.astype(np.float32)
    label, probabilities = session.run(None, {"X": rows})
    assert list(label) == list(model.predict(rows))
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("suffix", ["txt", "json", "ubj"])
def test_files_of_both_libraries_are_read(suffix: str, tmp_path: Path) -> None:
    model = lgb.LGBMRegressor(**L) if suffix == "txt" else xgb.XGBRegressor(**G)
    model.fit(X, NUMBER)
    path = tmp_path / f"model.{suffix}"
    (model.booster_ if suffix == "txt" else model.get_booster()).save_model(path)
    (answers,) = run(export(path, "m").data, X)
    np.testing.assert_allclose(answers[:, 0], model.predict(X.astype(np.float32)), rtol=1e-4, atol=1e-4)


def test_rows_that_come_along_are_compared_too_and_become_samples() -> None:
    model = xgb.XGBRegressor(**G).fit(X, NUMBER)
    made = export((model, X[:10]), "m")
    np.testing.assert_array_equal(made.samples[0]["X"][:10], X[:10].astype(np.float32))
    with pytest.raises(BuildError, match=r"shape \[10, 4\], expected \[rows, 5\]"):
        export((model, X[:10, :4]), "m")
    with pytest.raises(BuildError, match="give categories as codes"):
        export((model, np.full((10, 5), "red")), "m")


def test_codes_of_a_data_frames_categories_are_said() -> None:
    frame = pd.DataFrame({"size": X[:, 0], "colour": pd.Categorical(np.array(list("rgb"))[THREE])})
    model = lgb.LGBMRegressor(**L).fit(frame, NUMBER)
    assert export(model, "m").notes == ("feature 'colour' is fed as a code: 0 = b, 1 = g, 2 = r",)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "unfitted LightGBM": (lambda: lgb.LGBMRegressor(), "not fitted; call its fit"),
    "unfitted XGBoost": (lambda: xgb.XGBRegressor(), "not fitted; call its fit"),
    "linear leaves": (lambda: lgb.LGBMRegressor(linear_tree=True, **L).fit(X, NUMBER), "use linear_tree=False"),
    "no trees": (lambda: xgb.XGBRegressor(booster="gblinear", **G).fit(X, NUMBER), "booster='gbtree'"),
    "leaves of several numbers": (
        lambda: xgb.XGBRegressor(multi_strategy="multi_output_tree", **G).fit(X, np.stack([NUMBER, POSITIVE], 1)),
        "one_output_per_tree",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_written_is_refused_with_the_remedy(kind: str) -> None:
    make, remedy = REFUSED[kind]
    with pytest.raises(BuildError, match=remedy):
        export(make(), "m")


def test_a_cut_file_is_named(tmp_path: Path) -> None:
    whole = (DATA / "T06_lgbm_cat.txt").read_bytes()
    (tmp_path / "cut.txt").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BuildError, match=r"cut\.txt: .*it was cut"):
        open_file(tmp_path / "cut.txt")
    (tmp_path / "cut.json").write_text('{"learner": {"attributes"')
    with pytest.raises(BuildError, match=r"cut\.json: XGBoost does not read it"):
        open_file(tmp_path / "cut.json")
