"""LightGBM and XGBoost: boosters, their scikit-learn wrappers, and the files that both write.

A booster becomes X float32 [rows, features] -> variable [rows, outputs], as its ``predict`` says. A classifier becomes
label [rows] and probabilities [rows, classes], any other wrapper a variable; the names are skl2onnx's.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from .exported import MAX_OPSET, Export, library, library_roots, portable, verify
from .graph import GraphBuilder, tensor
from .probes import border_rows
from .trees import Forest

__all__ = ["Boosted", "export", "open_file", "read", "takes", "takes_file"]

_LIBRARIES = {"lightgbm", "xgboost"}
# Sums of a hundred float32 leaves are right to about 1e-6; the last tree's leaves are larger than that.
_RTOL = 1e-5
_TIE = 1e-5  # a label whose class is ahead by less may be either


def takes(thing: Any) -> bool:
    """A Booster or a fitted wrapper, alone or with example rows: (model, X)."""
    return bool(library_roots(_parts(thing)[0]) & _LIBRARIES)


def takes_file(path: Path) -> bool:
    """What ``Booster.save_model`` wrote: LightGBM's .txt, XGBoost's .json and .ubj."""
    if not path.is_file() or path.suffix not in (".txt", ".json", ".ubj"):
        return False
    with path.open("rb") as stream:
        start = stream.read(4096)
    if path.suffix == ".txt":
        return start.startswith((b"tree\n", b"tree\r"))
    return start.startswith(b"{") and b"learner" in start and b"modelTopology" not in start


def open_file(path: Path) -> Any:
    """The Booster that a file holds.

    Raises: BuildError: the library is not installed, or does not read the file.
    """
    if path.suffix == ".txt":
        lightgbm = library("lightgbm", "boosting")
        # LightGBM ends the process on some damaged files, so the end is looked at first.
        text = path.read_text(errors="replace")
        if "end of trees" not in text:
            raise BuildError(f'{path}: has no line "end of trees": it was cut, or is no LightGBM model; save it again')
        try:
            return lightgbm.Booster(model_str=text)
        except lightgbm.basic.LightGBMError as error:
            raise BuildError(f"{path}: LightGBM does not read it ({error}); save it with Booster.save_model") from error
    xgboost = library("xgboost", "boosting")
    booster = xgboost.Booster()
    try:
        booster.load_model(path)
    except xgboost.core.XGBoostError as error:
        said = next((line for line in str(error).splitlines() if line.strip()), "no reason given")
        raise BuildError(f"{path}: XGBoost does not read it ({said}); save it with Booster.save_model") from error
    return booster


@dataclass(frozen=True, slots=True)
class Boosted:
    """A model of either library, understood.

    Args:
        predict: the library's own outputs for rows float32 [N, features], in the order of the export's.
        source: the library and its version.
    """

    forest: Forest
    predict: Callable[[Array], list[Array]]
    source: str
    notes: tuple[str, ...] = ()


def export(thing: Any, name: str) -> Export:
    """Write the trees as ONNX and compare with the library, on rows that lie on every threshold.

    Raises: BuildError: not fitted, a kind of model that ONNX has no trees for, or another answer than the library's.
    """
    model, example = _parts(thing)
    boosted = read(model, name)
    forest = boosted.forest
    graph = GraphBuilder()
    made = forest.write(graph, "X")
    if forest.classes is None:
        outputs = [tensor(graph.rename(made[0], "variable"), np.float32, ["rows", _width(forest)])]
    else:
        outputs = [
            tensor(graph.rename(made[0], "label"), forest.classes.dtype, ["rows"]),
            tensor(graph.rename(made[1], "probabilities"), np.float32, ["rows", len(forest.classes)]),
        ]
    data = portable(graph.model([tensor("X", np.float32, ["rows", forest.features])], outputs, MAX_OPSET), name)

    rows = border_rows(forest.thresholds, forest.features, whole=forest.whole, nan_share=0.05)
    if example is not None:
        rows = np.concatenate([_as_rows(example, forest.features, name), rows])
    with _quiet():
        expected = boosted.predict(rows)
    if forest.classes is not None:
        clear = np.ptp(np.sort(expected[1], axis=1)[:, -2:], axis=1) > _TIE
        rows, expected = rows[clear], [output[clear] for output in expected]
    largest = max(1.0, float(np.abs(expected[-1]).max(initial=0)))
    verified = verify(
        data, [{"X": rows}], [expected], name=name, source=boosted.source, rtol=_RTOL, atol=1e-6 * largest
    )
    count = sum(map(len, forest.thresholds.values()))
    verified += f", {len(rows):,} rows on the {count:,} thresholds of the trees and one float32 step beside them"
    return Export(data, verified, boosted.notes, ({"X": rows[:64]},))


def read(model: Any, name: str) -> Boosted:
    """Understand a Booster or a wrapper.

    Raises: BuildError: it is not fitted, or cannot be written as ONNX.
    """
    if "lightgbm" in library_roots(model):
        return _lightgbm(model, name)
    return _xgboost(model, name)


def _lightgbm(model: Any, name: str) -> Boosted:
    from lightgbm import __version__

    from . import lightgbm_trees

    booster = _fitted(lambda: model.booster_, name) if hasattr(model, "fit") else model
    classes = _classes(model)
    forest = lightgbm_trees.forest(booster, classes, name)

    def predict(rows: Array) -> list[Array]:
        if classes is None:
            return [booster.predict(rows).reshape(len(rows), -1)]
        return [model.predict(rows), model.predict_proba(rows)]

    return Boosted(forest, predict, f"LightGBM {__version__}", lightgbm_trees.category_notes(booster))


def _xgboost(model: Any, name: str) -> Boosted:
    import xgboost

    from . import xgboost_trees

    wrapper = hasattr(model, "get_booster")
    booster = _fitted(model.get_booster, name) if wrapper else model
    best = booster.attr("best_iteration") if wrapper else None
    if best is not None:  # as the wrapper's predict does, and a Booster's does not
        booster = booster[: int(best) + 1]
    missing = model.missing if wrapper and model.missing is not None else np.nan
    classes = _classes(model)
    forest = xgboost_trees.forest(booster, classes, float(missing), name)

    def predict(rows: Array) -> list[Array]:
        if wrapper:
            values = model.predict_proba(rows, validate_features=False) if classes is not None else None
            label = model.predict(rows, validate_features=False)
            return [label.reshape(len(rows), -1)] if values is None else [label, values]
        names, types = booster.feature_names, booster.feature_types
        matrix = xgboost.DMatrix(rows, feature_names=names, feature_types=types, enable_categorical=True)
        return [booster.predict(matrix).reshape(len(rows), -1)]

    return Boosted(forest, predict, f"XGBoost {xgboost.__version__}")


def _parts(thing: Any) -> tuple[Any, Any]:
    return (thing[0], thing[1]) if isinstance(thing, tuple) and len(thing) == 2 else (thing, None)


def _fitted(get: Callable[[], Any], name: str) -> Any:
    from sklearn.exceptions import NotFittedError

    try:
        return get()
    except NotFittedError as error:
        raise BuildError(f"{name}: the estimator is not fitted; call its fit(X, y) in model.py first") from error


def _classes(model: Any) -> Array | None:
    """The classes of a classifier's wrapper, text as objects."""
    if not hasattr(model, "predict_proba"):
        return None
    classes = np.asarray(model.classes_)
    return classes.astype(object) if classes.dtype.kind in "OU" else classes


def _width(forest: Forest) -> int:
    return 1 if forest.link == "best" else len(forest.base)


def _as_rows(example: Any, features: int, name: str) -> Array:
    """Example rows as float32 [N, features]."""
    try:
        rows = np.asarray(example, np.float32)
    except (TypeError, ValueError) as error:
        raise BuildError(f"{name}: its example rows are not all numbers ({error}); give categories as codes") from error
    if rows.ndim != 2 or rows.shape[1] != features:
        raise BuildError(f"{name}: its example rows have shape {list(rows.shape)}, expected [rows, {features}]")
    return rows[:1000]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings about column names, which arrays do not have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
