"""scikit-learn: any fitted estimator or pipeline that skl2onnx converts, LightGBM and XGBoost inside it included.

The outputs keep skl2onnx's names: label and probabilities (a tensor, never a list of dicts) of a classifier, variable
of most others. The arithmetic is in float32, unless rows on the thresholds of trees show that it must be in float64.
"""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from ..samples import Feeds
from .columns import Columns, column_of, raw_steps, read_columns, tree_thresholds
from .exported import Export, library, library_roots, native_session, verify
from .probes import border_rows
from .sklearn_graph import converted

__all__ = ["export", "open_file", "takes", "takes_file"]

_ROWS = 300
_BORDER_ROWS = 1000
# A row is another one when a number of it is off by more: a leaf of one tree in a thousand is.
_RTOL, _ATOL = 1e-4, 1e-5
_METHODS = ("predict_proba", "decision_function", "transform", "score_samples", "predict")


def takes(thing: Any) -> bool:
    """A fitted estimator, alone or with example rows: (estimator, X)."""
    return "sklearn" in library_roots(_parts(thing)[0])


def takes_file(path: Path) -> bool:
    """What joblib.dump wrote."""
    return path.is_file() and path.suffix == ".joblib"


def open_file(path: Path) -> Any:
    """Load an estimator. A .joblib file is a program: open only files that you trust.

    Raises: BuildError: it cannot be read.
    """
    library("sklearn", "sklearn")
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # unpickling runs any code, which may raise anything
        raise BuildError(
            f"{path}: cannot be loaded ({type(error).__name__}: {error}); load it with the versions it was saved with"
        ) from error


@dataclass(frozen=True, slots=True)
class _Made:
    """One way to write the estimator.

    Args:
        verified: the sentence of the comparison on rows that it may meet.
        off: how many of `_BORDER_ROWS` rows on thresholds are answered otherwise.
        unknown: outputs that no method of the estimator gives.
    """

    data: bytes
    verified: str
    off: int
    unknown: tuple[str, ...]


def export(thing: Any, name: str) -> Export:
    """Convert an estimator and compare it with its own predictions.

    Raises: BuildError: it is not fitted, skl2onnx has no converter for a step, or the export answers otherwise.
    """
    estimator, example = _parts(thing)
    sklearn = library("sklearn", "sklearn")
    library("skl2onnx", "sklearn")
    _check_fitted(estimator, name)
    source = f"scikit-learn {sklearn.__version__}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = read_columns(estimator, example, name)
        rows = columns.random_rows(_ROWS)
        if example is not None:
            rows = _with_example(rows, example)
        made, notes = _best(estimator, columns, rows, _border(estimator, columns), name, source)
    if made.off:
        notes.append(
            f"{made.off} of {_BORDER_ROWS} rows made to lie on thresholds of its trees go another way than in "
            f"{source}: what comes before the trees rounds differently"
        )
    notes += [f'output "{output}" has no counterpart in {source}: it was not compared' for output in made.unknown]
    notes += [_says_missing(column, columns) for column in _with_missing_text(estimator, columns)]
    samples = columns.feeds([column[:64] for column in rows])
    return Export(made.data, made.verified, tuple(notes), (samples,))


def _parts(thing: Any) -> tuple[Any, Any]:
    return (thing[0], thing[1]) if isinstance(thing, tuple) and len(thing) == 2 else (thing, None)


def _check_fitted(estimator: Any, name: str) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise BuildError(f"{name}: the estimator is not fitted; call its fit(X, y) in model.py first") from error
    except TypeError as error:  # a class, or no estimator at all
        raise BuildError(f"{name}: {error}; let model() return a fitted estimator") from error


def _best(
    estimator: Any, columns: Columns, rows: list[Array], border: list[Array] | None, name: str, source: str
) -> tuple[_Made, list[str]]:
    """The estimator in float32, or in float64 where that is nearer; and why."""
    made = None
    with suppress(BuildError):  # float64 may do; where it does not either, its error says the same
        made = _make(estimator, columns, rows, border, name, source, double=False)
        if not made.off:
            return made, []
    try:
        exact = _make(estimator, columns, rows, border, name, source, double=True)
    except BuildError:
        if made is None:
            raise
        return made, []
    if made is None:
        return exact, [f"computes in float64: in float32 its answers differ from those of {source}"]
    if exact.off < made.off:
        lost = f"{made.off} of {_BORDER_ROWS} rows on thresholds of its trees go another way"
        return exact, [f"computes in float64: in float32 {lost}"]
    return made, []


def _make(
    estimator: Any,
    columns: Columns,
    rows: list[Array],
    border: list[Array] | None,
    name: str,
    source: str,
    *,
    double: bool,
) -> _Made:
    data = converted(estimator, columns, name, double=double)
    feeds, expected, unknown = _clear_cut(estimator, columns, rows, data, name)
    verified = verify(data, [feeds], [expected], name=name, source=source)
    verified += f", {len(expected[0]):,} rows"
    if border is None:
        return _Made(data, verified, 0, unknown)
    feeds, expected, _ = _clear_cut(estimator, columns, border, data, name)
    off = int(np.count_nonzero(_differing(expected, native_session(data, name).run(None, feeds))))
    verified += f"; so do {_BORDER_ROWS - off} of {_BORDER_ROWS} rows on thresholds of its trees"
    return _Made(data, verified, off, unknown)


def _clear_cut(
    estimator: Any, columns: Columns, rows: list[Array], data: bytes, name: str
) -> tuple[Feeds, list[Array], tuple[str, ...]]:
    """Feeds and the estimator's outputs in the order of the export's, without rows whose best two classes are even."""
    feeds = columns.feeds(rows)
    frame = getattr(estimator, "feature_names_in_", None)
    names = [str(one) for one in frame] if frame is not None else None
    given = columns.native(rows, names)
    session = native_session(data, name)
    try:
        answers = session.run(None, feeds)
    except Exception as error:  # onnxruntime's own exceptions derive from Exception only
        raise BuildError(f"{name}: its export fails ({str(error).splitlines()[0]}); report this model") from error
    expected: list[Array] = []
    unknown = []
    even = np.zeros(len(rows[0]), bool)
    for output, answer in zip(session.get_outputs(), answers, strict=True):
        wanted = _counterpart(estimator, given, np.asarray(answer), output.name, name)
        if wanted is None:
            unknown.append(output.name)
            wanted = np.asarray(answer)
        elif output.name in ("probabilities", "scores") and wanted.ndim == 2 and wanted.shape[1] > 1:
            even |= np.ptp(np.sort(wanted, axis=1)[:, -2:], axis=1) <= _ATOL
        expected.append(wanted)
    even &= not even.all()
    return {key: value[~even] for key, value in feeds.items()}, [e[~even] for e in expected], tuple(unknown)


def _counterpart(estimator: Any, given: Any, answer: Array, output: str, name: str) -> Array | None:
    """What the estimator's own method gives for an output; None where none gives the like."""
    methods = ("predict", "transform") if output == "label" or output.startswith("variable") else _METHODS
    for method in methods:
        if not hasattr(estimator, method):
            continue
        try:
            got = getattr(estimator, method)(given)
        except Exception as error:
            raise BuildError(
                f"{name}: scikit-learn's {method} fails on made-up rows ({type(error).__name__}: {error}); "
                "let model() return (estimator, some rows)"
            ) from error
        wanted = np.asarray(got.toarray() if hasattr(got, "toarray") else got)
        if wanted.ndim == 1 and answer.shape == (len(wanted), 1):
            wanted = wanted[:, None]
        if wanted.ndim == 1 and answer.shape == (len(wanted), 2):  # the score of the second class alone
            wanted = np.stack([-wanted, wanted], axis=1)
        if wanted.shape == answer.shape:
            return wanted
    return None


def _border(estimator: Any, columns: Columns) -> list[Array] | None:
    """Rows on the thresholds of the trees, taken back through the steps before them; None where there are none."""
    thresholds = tree_thresholds(estimator)
    if not thresholds or set(columns.kinds) != {"float"} or columns.names is not None:
        return None
    before = getattr(getattr(estimator, "best_estimator_", estimator), "steps", [])[:-1]
    steps = [step for _, step in before if step not in ("passthrough", None) and not hasattr(step, "statistics_")]
    if not all(hasattr(step, "inverse_transform") for step in steps):
        return None
    rows = border_rows(thresholds, _width(estimator, columns), count=_BORDER_ROWS).astype(np.float64)
    for step in reversed(steps):
        rows = step.inverse_transform(rows)
    return list(rows.astype(np.float32).astype(np.float64).T)


def _width(estimator: Any, columns: Columns) -> int:
    """How many columns the trees see."""
    steps = getattr(getattr(estimator, "best_estimator_", estimator), "steps", None)
    return int(steps[-1][1].n_features_in_) if steps else len(columns.kinds)


def _differing(expected: Sequence[Array], got: Sequence[Array]) -> Array:
    """Which rows are answered otherwise."""
    off = np.zeros(len(expected[0]), bool)
    for a, b in zip(expected, map(np.asarray, got), strict=True):
        if a.dtype.kind in "fc":
            scale = max(1.0, float(np.abs(a).max(initial=0)))
            near = np.isclose(b, a, rtol=_RTOL, atol=_ATOL * scale, equal_nan=True)
        else:
            near = a.astype(str) == b.astype(str)
        off |= ~near.reshape(len(a), -1).all(axis=1)
    return off


def _with_example(rows: list[Array], example: Any) -> list[Array]:
    both = []
    for index, made in enumerate(rows):
        cells = column_of(example, index)[:1000]
        if made.dtype.kind == "f":
            cells = cells.astype(np.float32).astype(np.float64)
        both.append(np.concatenate([cells, made]))
    return both


def _with_missing_text(estimator: Any, columns: Columns) -> list[int]:
    """Text columns whose encoder has met a missing value."""
    found = []
    for step, picked in raw_steps(estimator, list(range(len(columns.kinds)))):
        for column, categories in zip(picked, getattr(step, "categories_", ()), strict=False):
            if columns.kinds[column] == "text" and any(value is None or value != value for value in categories):
                found.append(column)
    return found


def _says_missing(column: int, columns: Columns) -> str:
    label = columns.names[column] if columns.names else f"{column} of X"
    return f'a missing text in column {label} is fed as "nan"'
