"""ai.onnx.ml: preparing features, and maps between names and numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput, InvalidModel
from .ml_scores import as_matrix
from .registry import op
from .text import strings

__all__: list[str] = []


@op("Binarizer", domain="ai.onnx.ml")
def Binarizer(x: Array, *, threshold: float = 0.0) -> Array:
    """1 above the threshold, else 0. Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_Binarizer.html, ml 1+."""
    return (x > threshold).astype(x.dtype)


@op("Scaler", domain="ai.onnx.ml")
def Scaler(x: Array, *, offset: Sequence[float] = (), scale: Sequence[float] = ()) -> Array:
    """(x - offset) * scale, float32; one value for all features, or one each.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_Scaler.html, ml 1+.
    """
    return (x.astype(np.float32) - np.asarray(offset, np.float32)) * np.asarray(scale, np.float32)


@op("Normalizer", domain="ai.onnx.ml")
def Normalizer(x: Array, *, norm: str = "MAX") -> Array:
    """Rows divided by their norm, float32; rows of norm 0 stay.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_Normalizer.html, ml 1+.
    """
    x = x.astype(np.float32)
    if norm == "MAX":
        divisor = x.max(axis=-1, keepdims=True)
    elif norm == "L1":
        divisor = np.abs(x).sum(axis=-1, keepdims=True)
    elif norm == "L2":
        divisor = np.sqrt(np.square(x).sum(axis=-1, keepdims=True))
    else:
        raise InvalidModel(f'norm is "{norm}", expected MAX, L1 or L2')
    return np.where(divisor == 0, x, x / divisor)


@op("Imputer", domain="ai.onnx.ml")
def Imputer(
    x: Array,
    *,
    imputed_value_floats: Sequence[float] = (),
    imputed_value_int64s: Sequence[int] = (),
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Array:
    """What equals a value (NaN counts as equal to NaN) replaced by another: one for all features, or one each.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_Imputer.html, ml 1+.
    """
    floats = x.dtype.kind == "f"
    old: float = replaced_value_float if floats else replaced_value_int64
    new = np.asarray(imputed_value_floats if floats else imputed_value_int64s, x.dtype)
    return np.where(np.isnan(x) if math.isnan(old) else x == x.dtype.type(old), new, x)


@op("OneHotEncoder", domain="ai.onnx.ml")
def OneHotEncoder(
    x: Array, *, cats_int64s: Sequence[int] = (), cats_strings: Sequence[str] = (), zeros: int = 1
) -> Array:
    """A 1 at the category's place, along a new last axis, float32.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_OneHotEncoder.html, ml 1+.

    Args:
        zeros: 0: a value that is no category is an error instead of all zeros.
    """
    if x.dtype == object:
        hot = x[..., None] == strings(cats_strings, (len(cats_strings),))
    else:
        hot = x[..., None].astype(np.int64) == np.asarray(cats_int64s, np.int64)
    if not zeros and not hot.any(axis=-1).all():
        raise InvalidInput(f"{x[~hot.any(axis=-1)][0]!r} is none of the categories")
    return hot.astype(np.float32)


def _mapped(x: Array, keys: Sequence[Any], values: Sequence[Any], default: Any, dtype: Any) -> Array:
    """Each element looked up; NaN finds NaN, and of equal keys the last counts."""
    table = {_key(k): v for k, v in zip(keys, values, strict=True)}
    found = [table.get(_key(item), default) for item in x.reshape(-1).tolist()]
    if np.dtype(dtype).kind == "O":
        return strings(found, x.shape)
    return np.array(found, dtype).reshape(x.shape)


def _key(item: Any) -> Any:
    return "NaN" if isinstance(item, float) and math.isnan(item) else item


@op("LabelEncoder", domain="ai.onnx.ml")
def LabelEncoder_1(
    x: Array, *, classes_strings: Sequence[str] = (), default_int64: int = -1, default_string: str = "_Unused"
) -> Array:
    """Strings to their places in a list, or back.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_LabelEncoder.html, ml 1.
    """
    places = range(len(classes_strings))
    if x.dtype == object:
        return _mapped(x, classes_strings, places, default_int64, np.int64)
    return _mapped(x, places, classes_strings, default_string, object)


@op("LabelEncoder", domain="ai.onnx.ml", since=2)
def LabelEncoder(
    x: Array,
    *,
    default_float: float = -0.0,
    default_int64: int = -1,
    default_string: str = "_Unused",
    default_tensor: Array | None = None,
    keys_floats: Sequence[float] | None = None,
    keys_int64s: Sequence[int] | None = None,
    keys_strings: Sequence[str] | None = None,
    keys_tensor: Array | None = None,
    values_floats: Sequence[float] | None = None,
    values_int64s: Sequence[int] | None = None,
    values_strings: Sequence[str] | None = None,
    values_tensor: Array | None = None,
) -> Array:
    """Keys to values, one to one; what is no key becomes the default.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_LabelEncoder.html, ml 2+ (tensors from 4).
    """
    keys = next((k for k in (keys_floats, keys_int64s, keys_strings) if k is not None), None)
    if keys is None:
        if keys_tensor is None:
            raise InvalidModel("has no keys")
        keys = keys_tensor.reshape(-1).tolist()
    if values_tensor is not None:
        usual: Any = "_Unused" if values_tensor.dtype == object else -1 if values_tensor.dtype.kind in "iu" else -0.0
        default = usual if default_tensor is None else default_tensor.reshape(-1)[0]
        return _mapped(x, keys, values_tensor.reshape(-1).tolist(), default, values_tensor.dtype)
    if values_strings is not None:
        return _mapped(x, keys, values_strings, default_string, object)
    if values_int64s is not None:
        return _mapped(x, keys, values_int64s, default_int64, np.int64)
    if values_floats is None:
        raise InvalidModel("has no values")
    return _mapped(x, keys, values_floats, default_float, np.float32)


@op("CategoryMapper", domain="ai.onnx.ml")
def CategoryMapper(
    x: Array,
    *,
    cats_int64s: Sequence[int],
    cats_strings: Sequence[str],
    default_int64: int = -1,
    default_string: str = "_Unused",
) -> Array:
    """Strings to integers or back. Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_CategoryMapper.html, ml 1+."""
    if x.dtype == object:
        return _mapped(x, cats_strings, cats_int64s, default_int64, np.int64)
    return _mapped(x, cats_int64s, cats_strings, default_string, object)


@op("FeatureVectorizer", domain="ai.onnx.ml")
def FeatureVectorizer(*x: Array, inputdimensions: Sequence[int]) -> Array:
    """Columns side by side, float32 [N, sum(inputdimensions)]; cut or filled with zeros to the given widths.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_FeatureVectorizer.html, ml 1+.
    """
    columns = []
    for part, width in zip(x, inputdimensions, strict=True):
        matrix = as_matrix(part)[:, :width]
        columns.append(np.pad(matrix, [(0, 0), (0, width - matrix.shape[1])]))
    return np.concatenate(columns, axis=1)


def _from_values(values: Sequence[Any]) -> Array:
    """[1, n] in the type of a map's values."""
    if all(isinstance(v, str) for v in values) and values:
        return strings(values, (1, len(values)))
    kind = np.int64 if values and all(isinstance(v, int | np.integer) for v in values) else np.float32
    return np.array([values], kind)


@op("DictVectorizer", domain="ai.onnx.ml")
def DictVectorizer(
    x: Mapping[Any, Any], *, int64_vocabulary: Sequence[int] = (), string_vocabulary: Sequence[str] = ()
) -> Array:
    """A map's values in the vocabulary's order, [1, n]; what is not in the map is 0 or "".

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_DictVectorizer.html, ml 1+.
    """
    absent: Any = "" if any(isinstance(v, str) for v in x.values()) else 0
    whole = all(isinstance(v, int | np.integer) for v in x.values())
    row = [x.get(key, absent) for key in string_vocabulary or int64_vocabulary]
    return _from_values(row if absent == "" or whole else [float(v) for v in row])


@op("CastMap", domain="ai.onnx.ml")
def CastMap(x: Mapping[int, Any], *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1) -> Array:
    """A map's values in the order of its keys, [1, n], or at the places that its keys name, [1, max_map].

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_CastMap.html, ml 1+.
    """
    empty: Any = "" if cast_to == "TO_STRING" else 0
    row = [x[k] for k in sorted(x)] if map_form == "DENSE" else [x.get(k, empty) for k in range(max_map)]
    if cast_to == "TO_STRING":
        return strings([v if isinstance(v, str) else f"{v:g}" for v in row], (1, len(row)))
    if cast_to == "TO_INT64":
        return np.array([[int(float(v)) for v in row]], np.int64)
    return np.array([[float(v) for v in row]], np.float32)


@op("ZipMap", domain="ai.onnx.ml")
def ZipMap(
    x: Array, *, classlabels_int64s: Sequence[int] = (), classlabels_strings: Sequence[str] = ()
) -> list[dict[Any, float]]:
    """Each row as a map from class to value.

    Spec: https://onnx.ai/onnx/operators/onnx_aionnxml_ZipMap.html, ml 1+.
    """
    labels = classlabels_strings or classlabels_int64s
    rows = np.atleast_2d(x)
    if rows.shape[1] != len(labels):
        raise InvalidInput(f"x has {rows.shape[1]} columns, expected {len(labels)} (one a class)")
    return [dict(zip(labels, row, strict=True)) for row in rows.tolist()]
