"""The features of training data, for the form of a tabular app: names, ranges, usual values, choices."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError
from onnxlet.tasks import Feature

__all__ = ["describe", "features_of"]

_STEPS = 100  # that a slider has at least from end to end
_MOST_CHOICES = 100  # that a form can offer; a column of more different texts is no category


def describe(data: Any, names: Sequence[str] | None = None) -> bytes:
    """features.json for ``model()`` to return beside the model; the app reads it with ``onnxlet.tasks.read_features``.

    Args:
        data, names: as `features_of` takes them.
    """
    entries = [feature.to_dict() for feature in features_of(data, names)]
    return (json.dumps(entries, indent=1, ensure_ascii=False) + "\n").encode()


def features_of(data: Any, names: Sequence[str] | None = None) -> list[Feature]:
    """Find the features of training data.

    A column of numbers has the range from its lowest to its highest value, rounded outwards to whole steps (1, 2 or 5
    by a power of ten, at least 100 of them), and its median as default. Texts, booleans and pandas categories are
    choices; a category's keep its order, since its positions are what LightGBM and XGBoost were trained on.

    Args:
        data: a pandas DataFrame, or an array [N, F]; missing values do not count.
        names: of the columns; a DataFrame has them.
    Raises: BuildError: another shape, another number of names, a column without any value or with too many texts.
    """
    if hasattr(data, "columns") and hasattr(data, "iloc"):
        found = [str(column) for column in data.columns] if names is None else list(names)
        columns: list[Any] = [data.iloc[:, at] for at in range(data.shape[1])]
    else:
        array = np.asarray(data)
        if array.ndim != 2:
            raise BuildError(f"features: expected a DataFrame or an array [N, F], got {list(array.shape)}")
        found = [f"feature {at + 1}" for at in range(array.shape[1])] if names is None else list(names)
        columns = list(array.T)
    if len(found) != len(columns):
        raise BuildError(f"features: expected {len(columns)} names, one a column, got {len(found)}")
    return [_feature(name, column) for name, column in zip(found, columns, strict=True)]


def _feature(name: str, column: Any) -> Feature:
    kept = [value for value in column if not _is_missing(value)]
    if not kept:
        raise BuildError(f'features: column "{name}" has no value at all; leave it out')
    if hasattr(column, "cat"):
        return _choices(name, [str(value) for value in column.cat.categories], kept)
    if all(isinstance(value, (bool, np.bool_)) for value in kept) or any(isinstance(value, str) for value in kept):
        return _choices(name, sorted({str(value) for value in kept}), kept)
    return _number(name, np.asarray(kept, np.float64))


def _choices(name: str, choices: Sequence[str], kept: Iterable[Any]) -> Feature:
    if not 2 <= len(choices) <= _MOST_CHOICES:
        raise BuildError(
            f'features: column "{name}" has {len(choices)} different texts, expected 2 to {_MOST_CHOICES}; '
            "leave it out, or make it numbers"
        )
    texts = [str(value) for value in kept]
    return Feature(name, choices=tuple(choices), default=max(choices, key=texts.count))


def _number(name: str, values: Array) -> Feature:
    low, high, middle = float(values.min()), float(values.max()), float(np.median(values))
    if not math.isfinite(low) or not math.isfinite(high):
        raise BuildError(f'features: column "{name}" has an infinite value; leave its rows out')
    if not (values % 1).any():
        return Feature(name, int(low), int(high), int(middle), integer=True)
    if low == high:
        return Feature(name, low, high, low)
    step = _step(high - low)
    digits = max(0, -math.floor(math.log10(step)))
    low, high = (round(edge * step, digits) for edge in (math.floor(low / step), math.ceil(high / step)))
    return Feature(name, low, high, round(round(middle / step) * step, digits), step=step)


def _step(span: float) -> float:
    """The largest of 1, 2 or 5 by a power of ten of which `span` has at least `_STEPS`."""
    power = math.floor(math.log10(span / _STEPS))
    size = next(factor for factor in (5, 2, 1) if factor * 10.0**power <= span / _STEPS)
    return float(f"{size}e{power}")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)) or str(value) == "<NA>"
