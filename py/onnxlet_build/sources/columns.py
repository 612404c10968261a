"""What a fitted scikit-learn estimator is fed: one matrix, or one input a column where types or names differ.

The types come from example rows, or else from what the fitted encoders know. The same knowledge makes up rows to
compare the export on: categories that were seen, numbers in the range of the scalers, thresholds of the trees.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from ..samples import Feeds
from . import boosting

__all__ = ["Columns", "column_of", "raw_steps", "read_columns", "tree_thresholds"]


@dataclass(slots=True)
class Columns:
    """The columns of an estimator's input.

    Args:
        names: of the columns where each is an input of its own; None where one matrix "X" holds all.
        kinds: "float", "int" or "text", by column.
        values: what a text or int column may hold; empty for numbers.
        center, scale: of the numbers.
        documents: whether the only column holds texts of many words, which scikit-learn takes as a list.
    """

    names: tuple[str, ...] | None
    kinds: list[str]
    values: list[list[Any]] = field(default_factory=list)
    center: Array = field(default_factory=lambda: np.zeros(0))
    scale: Array = field(default_factory=lambda: np.ones(0))
    documents: bool = False

    def initial_types(self, *, double: bool) -> list[tuple[str, Any]]:
        """The inputs, as skl2onnx wants them said."""
        from skl2onnx.common import data_types as t

        number = t.DoubleTensorType if double else t.FloatTensorType
        kinds = {"float": number, "int": t.Int64TensorType, "text": t.StringTensorType}
        if self.names is None:
            return [("X", kinds[self.kinds[0]]([None, len(self.kinds)]))]
        return [(name, kinds[kind]([None, 1])) for name, kind in zip(self.names, self.kinds, strict=True)]

    def feeds(self, rows: Sequence[Array]) -> Feeds:
        """Rows, one array [N] a column, as the exported model takes them."""
        dtypes = {"float": np.float32, "int": np.int64, "text": object}
        cells = [column.astype(dtypes[kind])[:, None] for column, kind in zip(rows, self.kinds, strict=True)]
        if self.names is None:
            return {"X": np.concatenate(cells, axis=1)}
        return dict(zip(self.names, cells, strict=True))

    def native(self, rows: Sequence[Array], frame_names: Sequence[str] | None) -> Any:
        """The same rows as scikit-learn takes them: a DataFrame where it was fitted on one."""
        if self.documents:
            return list(rows[0])
        if self.names is not None or frame_names is not None:
            import pandas

            return pandas.DataFrame(dict(zip(frame_names or self.names or (), rows, strict=True)))
        if len(set(self.kinds)) == 1:
            return np.stack(rows, axis=1)
        return np.stack([column.astype(object) for column in rows], axis=1)

    def random_rows(self, count: int, seed: int = 0) -> list[Array]:
        """Rows that the estimator may meet, one array [count] a column; numbers are float32 values in float64."""
        rng = np.random.default_rng(seed)
        rows = []
        for column, kind in enumerate(self.kinds):
            if self.documents:
                words = rng.choice(np.array(self.values[column], object), (count, 6))
                rows.append(np.array([" ".join(line) for line in words], object))
            elif self.values[column]:
                chosen = rng.integers(0, len(self.values[column]), count)
                rows.append(np.array(self.values[column], object if kind == "text" else None)[chosen])
            else:
                numbers = self.center[column] + self.scale[column] * rng.standard_normal(count)
                rows.append(numbers.astype(np.float32).astype(np.float64))
        return rows


def read_columns(estimator: Any, example: Any, name: str) -> Columns:
    """Find out what an estimator is fed.

    Args:
        example: rows, as its `fit` took them; None to go by the fitted steps alone.
    Raises: BuildError: the number of columns cannot be told, or the example does not fit.
    """
    count = getattr(estimator, "n_features_in_", None)
    if example is not None:
        shape = np.shape(example)
        if len(shape) != 2 or count not in (None, shape[1]):
            raise BuildError(
                f"{name}: its example rows have shape {list(shape)}, expected [rows, {count or 'columns'}]"
            )
        count = shape[1]
    steps = list(raw_steps(estimator, list(range(count or 1))))
    documents = count is None and any(hasattr(step, "vocabulary_") for step, _ in steps)
    if count is None and not documents:
        raise BuildError(
            f"{name}: a {type(estimator).__name__} does not say how many columns it takes; "
            "let model() return (estimator, some rows)"
        )
    found = Columns(None, ["float"] * (count or 1), [[] for _ in range(count or 1)], documents=documents)
    found.center, found.scale = np.zeros(count or 1), np.ones(count or 1)
    for step, columns in steps:
        _learn(found, step, columns)
    if example is not None:
        _learn_from(found, example)
    named = getattr(estimator, "feature_names_in_", None)
    by_name = named is not None and any(_picks_by_name(step) for step in _pickers(estimator))
    if len(set(found.kinds)) > 1 or by_name:
        found.names = tuple(map(str, named)) if named is not None else tuple(f"x{i}" for i in range(count or 1))
    return found


def raw_steps(step: Any, columns: list[int]) -> Iterator[tuple[Any, list[int]]]:
    """The fitted parts of an estimator that see its input as it comes, with the columns that each of them sees."""
    step = getattr(step, "best_estimator_", step)
    if hasattr(step, "steps"):
        for _, inner in step.steps:
            if inner in ("passthrough", None):
                continue
            yield from raw_steps(inner, columns)
            if not hasattr(inner, "statistics_"):  # imputers leave columns as they are
                return
    elif hasattr(step, "transformers_"):
        for label, inner, _ in step.transformers_:
            if not isinstance(inner, str):
                picked = step._transformer_to_input_indices[label]
                yield from raw_steps(inner, [columns[i] for i in picked])
    elif hasattr(step, "transformer_list"):
        for _, inner in step.transformer_list:
            if not isinstance(inner, str):
                yield from raw_steps(inner, columns)
    else:
        yield step, columns


def _pickers(estimator: Any) -> Iterator[Any]:
    """ColumnTransformers, at any depth of pipelines."""
    estimator = getattr(estimator, "best_estimator_", estimator)
    for _, step in getattr(estimator, "steps", ()):
        yield from _pickers(step)
    if hasattr(estimator, "transformers_"):
        yield estimator


def _picks_by_name(picker: Any) -> bool:
    chosen = [columns for _, step, columns in picker.transformers if not callable(columns)]
    return any(isinstance(c, str) or (isinstance(c, list) and c and isinstance(c[0], str)) for c in chosen)


def _learn(found: Columns, step: Any, columns: list[int]) -> None:
    if hasattr(step, "vocabulary_"):
        found.kinds[columns[0]] = "text"
        found.values[columns[0]] = [str(word) for word in step.vocabulary_]
    for column, categories in zip(columns, getattr(step, "categories_", ()), strict=False):
        kind = np.asarray(categories).dtype.kind
        known = [value for value in categories if value is not None and value == value]
        if kind in "OU":
            found.kinds[column], found.values[column] = "text", [str(value) for value in known]
        elif kind in "iu":
            found.kinds[column], found.values[column] = "int", [int(value) for value in known]
        else:
            found.values[column] = [float(value) for value in known]
    for column, filler in zip(columns, getattr(step, "statistics_", ()), strict=False):
        if isinstance(filler, str):
            found.kinds[column], found.values[column] = "text", found.values[column] or [filler]
    center, scale = _range_of(step, len(columns))
    found.center[columns], found.scale[columns] = center, scale


def _range_of(step: Any, count: int) -> tuple[Any, Any]:
    """Where the numbers lay that a step was fitted on, as far as it remembers."""
    for middle in ("mean_", "center_"):
        if getattr(step, middle, None) is not None and getattr(step, "scale_", None) is not None:
            return getattr(step, middle), step.scale_
    if hasattr(step, "data_min_"):
        return (step.data_min_ + step.data_max_) / 2, (step.data_max_ - step.data_min_) / 4
    for rows in ("support_vectors_", "_fit_X", "cluster_centers_", "X_train_", "theta_"):
        known = getattr(step, rows, None)
        if isinstance(known, np.ndarray) and known.ndim == 2 and known.shape[1] == count and len(known):
            return np.nanmean(known, axis=0), np.nanstd(known, axis=0) + 1e-6
    thresholds = tree_thresholds(step)
    center, scale = np.zeros(count), np.ones(count)
    for column, values in thresholds.items():
        if column < count:
            cells = np.array(list(values))
            center[column], scale[column] = cells.mean(), cells.std() + 1e-3
    return center, scale


def _learn_from(found: Columns, example: Any) -> None:
    """Kinds and values of example rows, which outrank what the steps say."""
    for column in range(len(found.kinds)):
        cells = column_of(example, column)
        if cells.dtype.kind in "OUT" and any(isinstance(cell, str) for cell in cells.tolist()):
            found.kinds[column] = "text"
            found.values[column] = [cell for cell in dict.fromkeys(cells.tolist()) if isinstance(cell, str)]
        elif found.kinds[column] == "float":
            numbers = cells.astype(np.float64)
            found.center[column] = np.nan_to_num(np.nanmean(numbers))
            found.scale[column] = np.nan_to_num(np.nanstd(numbers)) + 1e-6


def column_of(example: Any, column: int) -> Array:
    """One column of a DataFrame or an array."""
    return np.asarray(example.iloc[:, column] if hasattr(example, "iloc") else np.asarray(example)[:, column])


def tree_thresholds(estimator: Any) -> Mapping[int, set[float]]:
    """Thresholds of every decision tree in an estimator, by the column that its trees see."""
    found: dict[int, set[float]] = {}
    for features, values in _splits(estimator):
        for feature, value in zip(features.tolist(), values.tolist(), strict=True):
            found.setdefault(feature, set()).add(value)
    return found


def _splits(estimator: Any) -> Iterator[tuple[Array, Array]]:
    estimator = getattr(estimator, "best_estimator_", estimator)
    if hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    if boosting.takes(estimator):
        for feature, values in boosting.read(estimator, type(estimator).__name__).forest.thresholds.items():
            yield np.full(len(values), feature), np.array(sorted(values))
        return
    if hasattr(estimator, "tree_"):
        split = estimator.tree_.children_left != -1
        yield estimator.tree_.feature[split], estimator.tree_.threshold[split]
    for predictor in np.ravel(getattr(estimator, "_predictors", ())):
        nodes = predictor.nodes[predictor.nodes["is_leaf"] == 0]
        yield nodes["feature_idx"], nodes["num_threshold"]
    inner = [getattr(estimator, "estimator_", None), *np.ravel(getattr(estimator, "estimators_", ()))]
    inner += [part.estimator for part in getattr(estimator, "calibrated_classifiers_", ())]
    for part in inner:
        if part is not None and not isinstance(part, str):
            yield from _splits(part)
