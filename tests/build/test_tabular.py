"""Tables: features found in training data make the form, and predictions are the library's own."""

import asyncio
import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from onnxlet import App, Field, InferenceSession, InvalidInput, Labels, Table
from onnxlet.errors import BuildError
from onnxlet.tasks import Feature, TabularPredictor, feature_form, read_features
from onnxlet_build import sources
from onnxlet_build.features import describe, features_of


def session_of(estimator: Any, rows: Any = None) -> InferenceSession:
    """The session of an export as the build makes it."""
    thing = estimator if rows is None else (estimator, rows)
    made = sources.export(thing, "model.onnx")
    return InferenceSession(made.data if isinstance(made.data, bytes) else Path(made.data))


# ------------------------------------------------------------------------------------------- features from data


def test_ranges_reach_over_the_data_in_round_steps() -> None:
    rows = load_breast_cancer()
    for feature, column in zip(features_of(rows.data, rows.feature_names.tolist()), rows.data.T, strict=True):
        assert feature.low <= column.min()
        assert column.max() <= feature.high
        assert feature.high - feature.low <= 1.02 * np.ptp(column) + 1e-9
        assert feature.step is not None
        assert 100 <= np.ptp(column) / feature.step < 251
        assert isinstance(feature.default, float)
        assert abs(feature.default - np.median(column)) <= feature.step / 2 + 1e-9
        assert f"{feature.step:.0e}"[0] in "125"


def test_columns_of_every_kind_become_features() -> None:
    frame = pandas.DataFrame(
        {
            "age": [20, 41, 33, 70],
            "height (m)": [1.5, np.nan, 1.93, 1.7],
            "city": ["Oslo", "Rome", "Rome", None],
            "size": pandas.Categorical(["S", "L", "M", "L"], categories=["S", "M", "L"], ordered=True),
            "smokes": [True, False, False, False],
            "constant": [2.5, 2.5, 2.5, 2.5],
        }
    )
    assert features_of(frame) == [
        Feature("age", 20, 70, 37, integer=True),
        Feature("height (m)", 1.5, 1.93, 1.7, step=0.002),
        Feature("city", choices=("Oslo", "Rome"), default="Rome"),
        Feature("size", choices=("S", "M", "L"), default="L"),
        Feature("smokes", choices=("False", "True"), default="False"),
        Feature("constant", 2.5, 2.5, 2.5),
    ]


def test_features_come_back_from_their_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pandas.DataFrame({"n": [1, 2, 9], "x": [0.1, 0.2, 0.35], "c": ["a", "b", "a"]})
    data = describe(frame)
    assert read_features(data) == features_of(frame)
    (tmp_path / "features.json").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    assert read_features("features.json") == features_of(frame)
    assert [entry["name"] for entry in json.loads(data)] == ["n", "x", "c"]


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        (np.zeros(3), None, r"expected a DataFrame or an array \[N, F\], got \[3\]"),
        (np.zeros((3, 2)), ["a"], "expected 2 names, one a column, got 1"),
        (np.full((3, 1), np.nan), ["x"], 'column "x" has no value at all'),
        (np.array([[1.0], [np.inf]]), ["x"], 'column "x" has an infinite value'),
        (np.array([[f"text {i}"] for i in range(200)]), ["x"], 'column "x" has 200 different texts, expected 2 to 100'),
    ],
)
def test_data_that_makes_no_form_is_refused(data: Any, names: Any, message: str) -> None:
    with pytest.raises(BuildError, match=message):
        features_of(data, names)


# ------------------------------------------------------------------------------------------------------ forms

FEATURES = [
    Feature("mean radius", 6.5, 28.5, 13.0, step=0.5),
    Feature("2nd size", choices=("S", "M", "L"), default="M"),
    Feature("count", 0, 10, 3, integer=True),
    Feature("mean_radius", 0, 1),
]


def test_a_form_is_made_of_names_ranges_and_choices() -> None:
    @feature_form(FEATURES)
    def grow(row: dict) -> Annotated[Labels, Field(label="Answer")]:
        """Choose."""
        return Labels([(str(row), 1.0)])

    app = App(grow)
    schema = app.schema()["functions"][0]
    assert (schema["name"], schema["doc"], schema["outputs"][0]["label"]) == ("grow", "Choose.", "Answer")
    asked = [(p["name"], p["label"], p["kind"], p["default"], p["required"]) for p in schema["inputs"]]
    assert asked == [
        ("mean_radius", "Mean radius", "number", 13.0, False),
        ("_2nd_size", "2nd size", "choice", "M", False),
        ("count", "Count", "number", 3, False),
        ("mean_radius_2", "Mean radius", "number", 0.5, False),
    ]
    radius, size, count, _ = (p["options"] for p in schema["inputs"])
    assert radius == {"min": 6.5, "max": 28.5, "step": 0.5, "slider": True, "integer": False}
    assert size == {"choices": ["S", "M", "L"]}
    assert (count["integer"], count["step"]) == (True, 1)
    expected = {"mean radius": 9.0, "2nd size": "M", "count": 4, "mean_radius": 0.5}
    assert grow(9.0, count=4).best == str(expected)
    assert asyncio.run(app.acall("grow", {"mean_radius": 9.0, "count": 4})).best == str(expected)


def test_features_that_are_not_shown_keep_their_defaults() -> None:
    @feature_form(FEATURES, shown=["count", "mean radius"])
    async def grow(row: dict) -> str:
        return str(list(row.values()))

    app = App(grow)
    assert app.function().is_async
    assert [p.name for p in app.function().inputs] == ["count", "mean_radius"]
    assert asyncio.run(app.acall("grow", [7])) == "[13.0, 'M', 7, 0.5]"
    with pytest.raises(InvalidInput, match='feature_form: no feature "radius"; there are mean radius, 2nd size'):
        feature_form(FEATURES, shown=["radius"])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Feature(""), "expected a name, got none"),
        (lambda: Feature("x", 2, 1), 'Feature "x": expected low <= high, got low=2, high=1'),
        (lambda: Feature("x", 0, 1, 3), 'Feature "x": default 3 is outside 0 .. 1'),
        (lambda: Feature("x", choices=("a",)), r"expected two or more choices, all different, got \['a'\]"),
        (lambda: Feature("x", choices=("a", "b"), default="c"), "default 'c' is none of a, b"),
        (lambda: feature_form([Feature("x"), Feature("x")]), 'two are named "x"; rename one'),
        (lambda: read_features(b'[{"nam": "x"}]'), "expected a JSON list of objects with name, low, high, default"),
        (lambda: read_features(b"{"), "expected a JSON list of objects"),
    ],
)
def test_features_that_cannot_be_are_sentences(made: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        made()


# ------------------------------------------------------------------------------------------------ predictions


def test_a_classifier_gives_scikit_learns_shares_row_by_row_and_for_a_table() -> None:
    iris = load_iris(as_frame=True)
    forest = RandomForestClassifier(20, random_state=0).fit(iris.data.to_numpy(), iris.target)
    names = [str(name) for name in iris.target_names]
    predictor = TabularPredictor(session_of(forest), features=features_of(iris.data), labels=names)
    rows = iris.data.iloc[[0, 60, 106, 119]].to_numpy().astype(np.float32)
    expected = forest.predict_proba(rows)
    for row, shares in zip(rows, expected, strict=True):
        answer = predictor(row.tolist(), top_k=None)
        assert answer == predictor(dict(zip(iris.data.columns, row.tolist(), strict=True)))
        assert answer == asyncio.run(predictor.acall(row.tolist()))
        assert dict(answer.items) == pytest.approx(dict(zip(names, shares, strict=True)), abs=1e-6)
    table = Table(["kept", *iris.data.columns], [["x", *map(str, row)] for row in rows.tolist()])
    told = predictor.predict_table(table)
    assert told.columns == ["prediction", "score", *table.columns]
    assert told.column("prediction") == [names[best] for best in expected.argmax(1)]
    assert told.column("score") == pytest.approx(expected.max(1), abs=1e-4)
    assert told.column("kept") == ["x"] * 4
    assert asyncio.run(predictor.apredict_table(table)).rows == told.rows


def test_a_regressor_gives_scikit_learns_numbers() -> None:
    data = load_diabetes(as_frame=True)
    forest = RandomForestRegressor(20, random_state=0).fit(data.data.to_numpy(), data.target)
    predictor = TabularPredictor(session_of(forest), features=features_of(data.data))
    rows = data.data.iloc[:5].to_numpy().astype(np.float32)
    assert predictor(rows[0].tolist()) == pytest.approx(forest.predict(rows[:1])[0], rel=1e-5)
    told = predictor.predict_table(Table(data.data.columns, rows.tolist()))
    assert told.columns[0] == "prediction"
    assert told.column("prediction") == pytest.approx(forest.predict(rows), rel=1e-5)
    assert told.rows[0][0] == predictor(rows[0].tolist())
    assert str(told.rows[0][0]) == str(np.float32(told.rows[0][0])), "float32's own digits"


def test_several_numbers_are_several_columns() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    line = LinearRegression().fit(x, x @ rng.normal(size=(3, 2)))
    predictor = TabularPredictor(session_of(line), features=[Feature(name, -3, 3, 0) for name in "abc"])
    assert predictor([1, 2, 0.5]) == pytest.approx(line.predict([[1, 2, 0.5]])[0], rel=1e-4)
    assert predictor.predict_table(Table("abc", [[1, 2, 3]])).columns[:2] == ["prediction 1", "prediction 2"]


def test_a_model_of_texts_and_numbers_has_an_input_a_column() -> None:
    frame = pandas.DataFrame({"city": ["Oslo", "Rome", "Rome", "Oslo"] * 5, "age": [20.0, 41.0, 33.0, 70.0] * 5})
    encode = ColumnTransformer([("city", OneHotEncoder(), ["city"])], remainder="passthrough")
    made = make_pipeline(encode, LogisticRegression()).fit(frame, ["no", "yes", "yes", "no"] * 5)
    predictor = TabularPredictor(session_of(made, frame), features=features_of(frame))
    assert predictor({"city": "Rome", "age": 35}).best == "yes", "the model's own word"
    assert predictor({"city": "Oslo", "age": 35}).best == "no"
    told = predictor.predict_table(Table(["age", "city"], [[20, "Rome"], ["70", "Oslo"]]))
    assert told.column("prediction") == ["yes", "no"]
    with pytest.raises(InvalidInput, match=r'row 1, "city": expected one of Oslo, Rome, got \'Paris\''):
        predictor({"city": "Paris"})


def test_choices_of_a_numeric_model_are_their_positions() -> None:
    x = np.array([[0.0], [1.0], [2.0]] * 10)
    line = LinearRegression().fit(x, [10, 20, 30] * 10)
    predictor = TabularPredictor(session_of(line), features=[Feature("size", choices=("S", "M", "L"))])
    assert [predictor([size]) for size in "SML"] == pytest.approx([10, 20, 30], rel=1e-5)


def test_functions_for_an_app_are_a_form_and_a_table(tmp_path: Path) -> None:
    iris = load_iris(as_frame=True)
    forest = RandomForestClassifier(5, random_state=0).fit(iris.data.to_numpy(), iris.target)
    predictor = TabularPredictor(
        session_of(forest), features=features_of(iris.data), labels=[str(name) for name in iris.target_names]
    )
    app = App(*predictor.functions("flower", "flowers"), title="Iris")
    assert app.folder == Path(__file__).parent, "where the App is made, not where the task's functions are"
    assert [f["name"] for f in app.schema()["functions"]] == ["flower", "flowers"]
    assert app.schema()["functions"][1]["inputs"][0]["options"] == {"columns": list(iris.data.columns)}
    assert app["flower"](petal_width_cm=0.2, petal_length_cm=1.4).best == "setosa"
    table = Table(iris.data.columns, iris.data.iloc[[0]].to_numpy().tolist())
    assert app["flowers"](table).column("prediction") == ["setosa"]


def test_rows_and_models_that_do_not_fit_are_sentences() -> None:
    iris = load_iris(as_frame=True)
    session = session_of(RandomForestClassifier(3, random_state=0).fit(iris.data.to_numpy(), iris.target))
    features = features_of(iris.data)
    with pytest.raises(InvalidInput, match="the model reads 4 features, got 3: sepal length"):
        TabularPredictor(session, features=features[:3])
    with pytest.raises(InvalidInput, match="got 2 labels for 3 classes"):
        TabularPredictor(session, features=features, labels=["a", "b"])
    predictor = TabularPredictor(session, features=features)
    with pytest.raises(InvalidInput, match="expected 4 values, got 2"):
        predictor([1, 2])
    with pytest.raises(InvalidInput, match='no feature "petal"'):
        predictor({"petal": 1})
    with pytest.raises(InvalidInput, match=r'row 2, "petal width \(cm\)": expected a number, got \'\'; fill it in'):
        predictor.predict_table(Table(iris.data.columns, [[1, 2, 3, 4], [1, 2, 3, ""]]))
    with pytest.raises(InvalidInput, match=r'no column "petal width \(cm\)"; it has'):
        predictor.predict_table(Table(iris.data.columns[:3], [[1, 2, 3]]))
    with pytest.raises(InvalidInput, match="expected at least one row, got none"):
        predictor.predict_table(Table(iris.data.columns, []))
