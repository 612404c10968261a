"""Tables: a row of features in, a class or a number out; the form is made of the features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from ..dtypes import Array, from_ort_type
from ..errors import InvalidInput
from ..session import InferenceSession
from ..values import Field, Labels, Table
from .declared import Declared, declare
from .features import Feature, feature_form, parameter_names
from .metadata import labels_of
from .scores import softmax
from .steps import Run, Steps, arun, run

__all__ = ["TabularPredictor"]

_TEXTS = "tensor(string)"


class TabularPredictor:
    """A classifier or a regressor on rows of named features.

    A classifier is known by an output whose name has "probabilit" in it, as scikit-learn's, LightGBM's and XGBoost's
    exports have, or by labels. Any other model gives numbers.

    Args:
        session: one input [N, F] with all features in order, or an input [N, 1] a feature, of its name.
        features: in the order of training.
        labels: of the classes, in the order of the probabilities; by default those of the model's metadata, else what
            the model itself says of the best class, and numbers for the others.
    Attributes:
        matrix: whether one input takes all features; else each has an input of its name.
        scores: the output with the probabilities; None of a regressor.
        fetches: the outputs that an answer needs; of a classifier the scores first, then its word for the best class.
    Raises: InvalidInput: inputs that do not go with the features; another number of labels than of classes.
    """

    def __init__(
        self,
        session: InferenceSession,
        *,
        features: Sequence[Feature],
        labels: Sequence[str] | Mapping[int, str] | None = None,
    ) -> None:
        self.session = session
        self.features = list(features)
        inputs, outputs = session.get_inputs(), session.get_outputs()
        names = [feature.name for feature in self.features]
        known = ", ".join(names)
        self.matrix = len(inputs) == 1 and (len(names) != 1 or inputs[0].name not in names)
        width = inputs[0].shape[-1] if inputs[0].shape else None
        if self.matrix and isinstance(width, int) and width != len(names):
            raise InvalidInput(f"TabularPredictor: the model reads {width} features, got {len(names)}: {known}")
        if not self.matrix and (missing := [arg.name for arg in inputs if arg.name not in names]):
            raise InvalidInput(f'TabularPredictor: no feature for the input "{missing[0]}"; there are {known}')
        scores = [arg for arg in outputs if "probabilit" in arg.name.lower()]
        if not scores and labels is not None:
            scores = [arg for arg in outputs if len(arg.shape) == 2 and from_ort_type(arg.type).numpy.kind == "f"]
        self.scores = scores[0].name if scores else None
        classes = scores[0].shape[-1] if scores and scores[0].shape else None
        self.labels = labels_of(session, labels, 2 if classes == 1 else classes, "TabularPredictor")
        others = [arg.name for arg in outputs if arg.name != self.scores]
        self.fetches = [self.scores, *others[:1]] if self.scores else others[:1]

    @property
    def classifies(self) -> bool:
        """Whether the answers are labels."""
        return self.scores is not None

    def __call__(self, row: Mapping[str, Any] | Sequence[Any], top_k: int | None = 5) -> Labels | float | list[float]:
        """Predict one row.

        Args:
            row: by feature name, where those that are missing have their default; or in order.
            top_k: how many labels to keep; None keeps all.
        Returns: labels of a classifier; the number of a regressor, or a list where it has several.
        Raises: InvalidInput: a cell that is no number or none of the choices; a name that no feature has.
        """
        return run(self._one(row, top_k))

    async def acall(
        self, row: Mapping[str, Any] | Sequence[Any], top_k: int | None = 5
    ) -> Labels | float | list[float]:
        """As a call, for ``async def`` apps."""
        return await arun(self._one(row, top_k))

    def predict_table(self, table: Table) -> Table:
        """Predict each row of a table whose columns are named as the features; others are carried along.

        Returns: the columns "prediction" and, of a classifier, "score", and then those of the table.
        Raises: InvalidInput: a column is missing, or a cell is no number or none of the choices.
        """
        return run(self._many(table))

    async def apredict_table(self, table: Table) -> Table:
        """The same, for ``async def`` apps."""
        return await arun(self._many(table))

    def functions(
        self, one: str = "predict", many: str = "predict_table", *, shown: Sequence[str] | None = None
    ) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Two functions for `App`: a form of the features for one row, and a CSV file for many.

        The first one may answer before Python is there (docs/tasks.md).

        Args:
            one, many: their names, which the page shows in words.
            shown: as `feature_form` takes it.
        """

        def predict_one(row: dict[str, Any]) -> Any:
            return self(row)

        def predict_many(table: Table) -> Table:
            return self.predict_table(table)

        predict_one.__name__, predict_one.__doc__ = one, "Choose the values of one row."
        predict_one.__annotations__["return"] = Labels if self.classifies else Any
        predict_many.__name__, predict_many.__doc__ = many, "Give a CSV file with a column for each feature."
        columns = [feature.name for feature in self.features]
        predict_many.__annotations__ = {"table": Annotated[Table, Field(columns=columns)], "return": Table}
        one_row = feature_form(self.features, shown=shown)(predict_one)
        by_name = {feature.name: feature for feature in self.features}
        names = parameter_names([by_name[name] for name in (columns if shown is None else shown)])
        declare(one_row, Declared(self, features=tuple((names[name], name) for name in names)))
        return one_row, predict_many

    def _one(self, row: Mapping[str, Any] | Sequence[Any], top_k: int | None) -> Steps[Labels | float | list[float]]:
        outputs = yield self._run([self._cells(row)])
        if not self.classifies:
            numbers = _numbers(outputs[0]).reshape(-1).tolist()
            return numbers[0] if len(numbers) == 1 else numbers
        return Labels.from_scores(self._shares(outputs[0])[0], names=self._names(outputs)[0], top=top_k)

    def _many(self, table: Table) -> Steps[Table]:
        columns = [table.column(feature.name) for feature in self.features]
        if not len(table):
            raise InvalidInput("table: expected at least one row, got none; add rows below the names")
        outputs = yield self._run(list(zip(*columns, strict=True)))
        if not self.classifies:
            values = _numbers(outputs[0]).reshape(len(table), -1)
            heads = ["prediction"] if values.shape[1] == 1 else [f"prediction {i + 1}" for i in range(values.shape[1])]
            told = values.tolist()
        else:
            shares, heads = self._shares(outputs[0]), ["prediction", "score"]
            best = shares.argmax(1)
            names = self._names(outputs)
            told = [
                [names[i][b] if names[i] else str(b), round(float(shares[i, b]), 4)]
                for i, b in enumerate(best.tolist())
            ]
        return Table([*heads, *table.columns], [[*a, *b] for a, b in zip(told, table.rows, strict=True)])

    def _run(self, rows: Sequence[Sequence[Any]]) -> Run:
        inputs = self.session.get_inputs()
        numeric = {arg.name: arg.type != _TEXTS for arg in inputs}
        columns = {}
        for at, feature in enumerate(self.features):
            as_number = numeric[inputs[0].name if self.matrix else feature.name]
            columns[feature.name] = [_value(feature, row[at], n, as_number) for n, row in enumerate(rows, 1)]
        if self.matrix:
            feeds = {inputs[0].name: _array(zip(*columns.values(), strict=True), inputs[0].type)}
        else:
            feeds = {arg.name: _array([[cell] for cell in columns[arg.name]], arg.type) for arg in inputs}
        return Run(self.session, self.fetches, feeds)

    def _cells(self, row: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
        names = [feature.name for feature in self.features]
        if isinstance(row, Mapping):
            if unknown := [name for name in row if name not in names]:
                raise InvalidInput(f'TabularPredictor: no feature "{unknown[0]}"; there are {", ".join(names)}')
            return [row.get(feature.name, feature.default) for feature in self.features]
        if len(row) != len(names):
            raise InvalidInput(f"TabularPredictor: expected {len(names)} values, got {len(row)}")
        return list(row)

    def _shares(self, scores: Any) -> Array:
        """Probabilities float64 [N, C] of what the model gives: those, one of the second class, or logits."""
        scores = np.asarray(scores, np.float64)
        scores = scores[:, None] if scores.ndim == 1 else scores
        if scores.shape[1] == 1:
            return np.concatenate([1 - scores, scores], axis=1)
        if (scores >= 0).all() and np.allclose(scores.sum(1), 1, atol=1e-3):
            return scores
        return softmax(scores)

    def _names(self, outputs: Sequence[Any]) -> list[Any]:
        """The classes' names, row by row: the labels, else the model's own word for the best class of the row."""
        shares = self._shares(outputs[0])
        if self.labels or len(outputs) < 2:
            return [self.labels or None] * len(shares)
        told = np.ravel(outputs[1]).tolist()
        if len(told) != len(shares):
            return [None] * len(shares)
        rows = []
        for best, word in zip(shares.argmax(1).tolist(), told, strict=True):
            names = [str(number) for number in range(shares.shape[1])]
            names[best] = str(word)
            rows.append(names)
        return rows


def _numbers(output: Any) -> Array:
    """What a regressor gives as float64, each number with the digits that it has as float32: 0.1, not 0.10000000149."""
    values = np.asarray(output)
    return values.astype(np.str_).astype(np.float64) if values.dtype == np.float32 else values.astype(np.float64)


def _value(feature: Feature, cell: Any, row: int, as_number: bool) -> Any:
    """A cell as the model takes it."""
    text = str(cell).strip()
    if feature.choices:
        if text not in feature.choices:
            raise InvalidInput(
                f'row {row}, "{feature.name}": expected one of {", ".join(feature.choices)}, got {cell!r}'
            )
        return feature.choices.index(text) if as_number else text
    if not as_number:
        return text
    try:
        return float(text if isinstance(cell, str) else cell)
    except (TypeError, ValueError):
        raise InvalidInput(f'row {row}, "{feature.name}": expected a number, got {cell!r}; fill it in') from None


def _array(rows: Iterable[Sequence[Any]], ort_type: str) -> Array:
    dtype: Any = object if ort_type == _TEXTS else from_ort_type(ort_type).numpy
    return np.array([list(row) for row in rows], dtype)
