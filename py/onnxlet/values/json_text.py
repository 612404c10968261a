"""Any result as text that a person can read, with every digit."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..masks import is_masked, mask_of

__all__ = ["Json", "to_text"]

_MAX_ELEMENTS = 100_000  # of one array: beyond, the text is no longer read by people and slows the page
_MAX_BYTES = 4096  # of one bytes value
_MAX_DEPTH = 100
_LINE = 100  # a list or object that fits in this many characters stays on one line
_SURROGATE = re.compile("[\ud800-\udfff]")


class Json:
    """Show a value of any kind as indented JSON; see `to_text` for what is exact about it."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Json({self.value!r})"


def to_text(value: Any) -> str:
    """Write a value as indented JSON for reading.

    Integers of any size keep all digits, floats have the shortest digits of their own precision (float32 0.1 is 0.1),
    NaN and Infinity are these words, arrays are nested lists, masked elements null, bytes hexadecimal text, sets sorted
    lists, dataclasses and named tuples objects, enum members their values, keys of any type texts, and what JSON has no
    words for is its repr. Text is literal; half characters (lone surrogates) are escaped.

    Raises: InvalidInput: a value that contains itself, or is nested deeper than 100.
    """
    return _text(value, "", ())


def _text(value: Any, indent: str, parents: tuple[int, ...]) -> str:
    value = _plain(value)
    if not isinstance(value, (Mapping, list)):
        return _scalar(value)
    if id(value) in parents:
        raise InvalidInput("Json: expected a tree, got a value that contains itself")
    if len(parents) == _MAX_DEPTH:
        raise InvalidInput(f"Json: expected at most {_MAX_DEPTH} levels, got more")
    inner = indent + "  "
    parents = (*parents, id(value))
    if isinstance(value, Mapping):
        opening, closing = "{", "}"
        parts = [f"{_string(_key(key))}: {_text(item, inner, parents)}" for key, item in value.items()]
    else:
        opening, closing = "[", "]"
        parts = [_text(item, inner, parents) for item in value]
    line = opening + ", ".join(parts) + closing
    if len(line) + len(indent) <= _LINE and "\n" not in line:
        return line
    lines = f",\n{inner}".join(_rows(parts, inner) if opening == "[" else parts)
    return f"{opening}\n{inner}{lines}\n{indent}{closing}"


def _rows(parts: list[str], indent: str) -> Iterator[str]:
    """Join short neighbours, so that a long list of numbers is a paragraph and not a column."""
    row = ""
    for part in parts:
        if row and (len(indent) + len(row) + len(part) + 2 > _LINE or part[0] in "[{" or row[0] in "[{"):
            yield row
            row = part
        else:
            row = f"{row}, {part}" if row else part
    if row:
        yield row


def _plain(value: Any) -> Any:
    """Reduce containers to Mapping and list, and arrays to lists of numpy scalars or Python objects."""
    if isinstance(value, (enum.Enum, Json)):
        return _plain(value.value)
    if is_masked(value) and value.ndim == 0:  # numpy.ma.masked is an array by class
        return None
    if isinstance(value, np.ndarray):
        return _array(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    if isinstance(value, Set):
        return sorted(
            value, key=lambda item: (type(item).__name__, item if isinstance(item, (str, int)) else repr(item))
        )
    if isinstance(value, (tuple, range)):
        return list(value)
    return value


def _array(array: Array) -> Any:
    if array.size > _MAX_ELEMENTS:
        return f"{array.dtype} {list(array.shape)}: {array.size:,} elements, too many to write out"
    if array.ndim == 0:
        return _plain(array[()])
    if array.ndim > 1:
        return [array[i] for i in range(len(array))]
    masked = mask_of(array)
    return [None if masked is not None and masked[i] else array[i] for i in range(len(array))]


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return _integer(int(value))
    if isinstance(value, (float, np.floating)):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(str(value), _float(value))
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        more = f"... ({len(data):,} bytes)" if len(data) > _MAX_BYTES else ""
        return _string(data[:_MAX_BYTES].hex() + more)
    if isinstance(value, (datetime.date, datetime.time)):
        return _string(value.isoformat())
    if isinstance(value, (complex, np.complexfloating, np.datetime64, np.timedelta64)):
        return _string(str(value))
    return _string(repr(value))


def _integer(value: int) -> str:
    """Decimal digits, also beyond the length that Python refuses to convert for safety (4300 digits)."""
    try:
        return str(value)
    except ValueError:
        return _string(hex(value))


def _float(value: Any) -> str:
    """Shortest digits that give the value back in its own type."""
    if isinstance(value, float):  # float64 too
        return repr(float(value))
    return np.format_float_positional(value, trim="0") if 1e-4 <= abs(float(value)) < 1e16 else str(value)


def _string(text: str) -> str:
    return _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", json.dumps(str(text), ensure_ascii=False))


def _key(key: Any) -> str:
    key = key.value if isinstance(key, enum.Enum) else key
    return key if isinstance(key, str) else _scalar(key).strip('"') if not isinstance(key, tuple) else str(key)
