"""Strings: cleaning, joining, splitting, matching, counting n-grams."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput, InvalidModel
from .registry import op

__all__ = ["strings"]


def strings(values: Sequence[str], shape: tuple[int, ...]) -> Array:
    """A tensor of strings; numpy would take a list of equal ones for a fixed-width type."""
    result = np.empty(len(values), object)
    result[:] = values
    return result.reshape(shape)


@op("StringNormalizer", since=10)
def StringNormalizer(
    x: Array,
    *,
    case_change_action: str = "NONE",
    is_case_sensitive: int = 0,
    locale: str = "",
    stopwords: Sequence[str] = (),
) -> Array:
    """Without stop words, in upper or lower case.

    Spec: https://onnx.ai/onnx/operators/onnx__StringNormalizer.html, opset 10+.

    Args:
        x: strings [C] or [1, C].
        locale: has no effect: case follows Unicode's rules, as everywhere in the page.
    Returns: [kept] or [1, kept]; one empty string where nothing is kept.
    """
    if x.ndim > 2 or (x.ndim == 2 and x.shape[0] != 1):
        raise InvalidInput(f"x has shape {list(x.shape)}, expected [C] or [1, C]")
    fold: Callable[[str], str] = str if is_case_sensitive else str.lower
    stop = {fold(word) for word in stopwords}
    changes: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}
    if case_change_action not in changes:
        raise InvalidModel(f'case_change_action is "{case_change_action}", expected {", ".join(changes)}')
    change = changes[case_change_action]
    kept = [change(word) for word in x.reshape(-1) if fold(word) not in stop] or [""]
    return strings(kept, (len(kept),) if x.ndim == 1 else (1, len(kept)))


@op("StringConcat", since=20)
def StringConcat(x: Array, y: Array) -> Array:
    """x followed by y, broadcast. Spec: https://onnx.ai/onnx/operators/onnx__StringConcat.html, opset 20+."""
    return np.asarray(np.add(x, y), object)


@op("StringSplit", since=20)
def StringSplit(x: Array, *, delimiter: str = "", maxsplit: int | None = None) -> tuple[Array, Array]:
    """Pieces of each string, along a new last axis, and how many it has.

    Spec: https://onnx.ai/onnx/operators/onnx__StringSplit.html, opset 20+.

    Args:
        delimiter: "": runs of whitespace.
    Returns: strings [*shape, most pieces], filled up with ""; int64 counts [*shape].
    """
    pieces = [text.split(delimiter or None, -1 if maxsplit is None else maxsplit) for text in x.reshape(-1)]
    most = max(map(len, pieces), default=0)
    filled = [piece for row in pieces for piece in [*row, *[""] * (most - len(row))]]
    counts = np.array([len(row) for row in pieces], np.int64)
    return strings(filled, (*x.shape, most)), counts.reshape(x.shape)


@op("RegexFullMatch", since=20)
def RegexFullMatch(x: Array, *, pattern: str) -> Array:
    r"""Whether the whole string matches.

    Spec: https://onnx.ai/onnx/operators/onnx__RegexFullMatch.html, opset 20+. The pattern is RE2's; Python's `re`
    reads the same syntax but for a few signs: (?P<name>...) is shared, \z is written \Z, \C and \pN are missing.
    """
    try:
        matcher = re.compile(pattern.replace(r"\z", r"\Z"))
    except re.error as e:
        raise InvalidModel(f"pattern {pattern!r} is no regular expression that Python reads: {e}") from None
    return np.array([matcher.fullmatch(text) is not None for text in x.reshape(-1)], bool).reshape(x.shape)


@op("TfIdfVectorizer", since=9)
def TfIdfVectorizer(
    x: Array,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] | None = None,
    pool_strings: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
) -> Array:
    """How often each known n-gram occurs, with gaps of up to ``max_skip_count`` between its items.

    Spec: https://onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html, opset 9+.

    Args:
        x: [C] or [N, C], integers or strings.
        mode: "TF": counts; "IDF": the weight of what occurs; "TFIDF": counts times weights.
        ngram_counts: where the 1-grams, 2-grams, ... begin in the pool.
    Returns: float32 [max(ngram_indexes) + 1], or [N, the same].
    """
    pool = list(pool_strings if pool_strings is not None else pool_int64s or ())
    bounds = [*ngram_counts, len(pool)]
    place: dict[tuple[Any, ...], int] = {}
    for length, (begin, end) in enumerate(pairwise(bounds), 1):
        for start in range(begin, end, length):
            place[tuple(pool[start : start + length])] = len(place)
    columns = np.asarray(ngram_indexes, np.int64)
    rows = np.atleast_2d(x) if x.size else x.reshape(x.shape[0] if x.ndim == 2 else 1, 0)
    counts = np.zeros((len(rows), int(columns.max()) + 1), np.float32)
    for row, items in zip(counts, rows.tolist(), strict=True):
        for length in range(min_gram_length, max_gram_length + 1):
            # A 1-gram has no gaps: counting it once for every skip would be wrong.
            for gap in range(1, (max_skip_count if length > 1 else 0) + 2):
                for start in range(len(items) - gap * (length - 1)):
                    found = place.get(tuple(items[start : start + gap * length : gap]))
                    if found is not None:
                        row[columns[found]] += 1
    if mode != "TF":
        scale = np.ones(counts.shape[1], np.float32)
        if weights is not None:
            scale[columns] = weights
        counts = (counts if mode == "TFIDF" else np.minimum(counts, 1)) * scale
    return counts if x.ndim == 2 else counts[0]
