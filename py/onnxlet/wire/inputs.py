"""Inputs: from wire form to what an app function gets, and from native values to wire form."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..form import Param
from ..media.npy import read_npy, write_npy
from ..values import Audio, Drawing, File, Image, Table
from ..values.json_text import to_text

__all__ = ["Buffers", "Wire", "decode", "encode_input"]

Buffers = Sequence[bytes]
Wire = dict[str, Any]


def decode(param: Param, wire: Wire | None, buffers: Buffers) -> Any:
    """One value for one parameter.

    Raises: InvalidInput: naming the parameter, what was expected and what came.
    """
    if wire is None:
        raise InvalidInput(f'"{param.name}": expected {_A[param.kind]}, got nothing; give one')
    try:
        if not isinstance(wire, dict):
            raise InvalidInput(f"expected an object, got {type(wire).__name__}")
        return _DECODERS[param.kind](param, wire, buffers)
    except InvalidInput as error:
        raise InvalidInput(f'"{param.name}": {error}') from error


_A = {
    "image": "a picture",
    "drawing": "a drawing",
    "text": "a text",
    "number": "a number",
    "toggle": "true or false",
    "choice": "a choice",
    "file": "a file",
    "audio": "a sound",
    "table": "a table",
    "tensor": "a .npy file",
}


def _get(wire: Wire, key: str, *types: type) -> Any:
    value = wire.get(key)
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        names = " or ".join({int: "a whole number", str: "a text", list: "a list"}.get(t, t.__name__) for t in types)
        raise InvalidInput(f'expected "{key}" to be {names}, got {value!r:.80}')
    return value


def _bytes(wire: Wire, buffers: Buffers) -> bytes:
    index = _get(wire, "buffer", int)
    if not 0 <= index < len(buffers):
        raise InvalidInput(f'expected "buffer" to be one of {len(buffers)} buffers, got {index}')
    return bytes(buffers[index])


def _name(wire: Wire) -> str:
    return str(wire.get("name") or "")


def _image(param: Param, wire: Wire, buffers: Buffers) -> Image:
    if wire.get("encoding") != "rgba":
        return param.type.open(_bytes(wire, buffers), _name(wire))
    width, height, data = _get(wire, "width", int), _get(wire, "height", int), _bytes(wire, buffers)
    if width < 1 or height < 1 or len(data) != width * height * 4:
        raise InvalidInput(
            f"expected {width} x {height} x 4 = {width * height * 4} bytes of RGBA with pixels, got {len(data)}"
        )
    image: Image = param.type(np.frombuffer(data, np.uint8).reshape(height, width, 4))
    if "file" in wire:
        image.source, image.name = _bytes({"buffer": wire["file"]}, buffers), _name(wire)
    return image


def _drawing(param: Param, wire: Wire, buffers: Buffers) -> Image:
    if "strokes" not in wire:
        return _image(param, wire, buffers)
    return Drawing.from_strokes(
        _get(wire, "strokes", list),
        _get(wire, "width", int),
        _get(wire, "height", int),
        ink=param.options["ink"],
        paper=param.options["paper"],
    )


def _text(param: Param, wire: Wire, buffers: Buffers) -> Any:
    text: str = _get(wire, "text", str)
    limit = param.options.get("max_length")
    if limit is not None and len(text) > limit:
        raise InvalidInput(f"expected at most {limit} characters, got {len(text)}")
    if param.options.get("format") != "json":
        return text
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"expected JSON, such as [1, 2, 3]: {error}") from None
    expected = dict if param.type is dict else list
    if not isinstance(value, expected):
        raise InvalidInput(f"expected a JSON {'object' if expected is dict else 'array'}, got {text:.80}")
    return tuple(value) if param.type is tuple else value


def _number(param: Param, wire: Wire, buffers: Buffers) -> int | float:
    given = wire.get("value")
    whole = param.type is int
    try:
        if isinstance(given, bool) or not isinstance(given, (int, float, str)):
            raise ValueError
        value: int | float = _whole(given) if whole else float(given)
    except (ValueError, OverflowError):
        raise InvalidInput(f"expected {'a whole number' if whole else 'a number'}, got {given!r:.80}") from None
    low, high = param.options.get("min"), param.options.get("max")
    if (low is not None and not value >= low) or (high is not None and not value <= high):
        bounds = f"at least {low}" if high is None else f"at most {high}" if low is None else f"{low} to {high}"
        raise InvalidInput(f"expected {bounds}, got {given}")
    return value


def _whole(given: int | float | str) -> int:
    if isinstance(given, str):
        return int(given)
    if given != int(given):
        raise ValueError
    return int(given)


def _json_number(value: Any) -> int | float | str:
    """JSON has no NaN, no infinity and, in JavaScript, no integers beyond 2^53: they are texts."""
    if isinstance(value, (int, np.integer)):
        return int(value) if abs(int(value)) <= 2**53 else str(value)
    return float(value) if np.isfinite(value) else str(float(value))


def _toggle(param: Param, wire: Wire, buffers: Buffers) -> bool:
    return bool(_get(wire, "value", bool))


def _choice(param: Param, wire: Wire, buffers: Buffers) -> Any:
    text = wire.get("value")
    if not isinstance(text, str) or text not in param.members:
        raise InvalidInput(f"expected one of {', '.join(param.members)}, got {text!r:.80}")
    return param.members[text]


def _file(param: Param, wire: Wire, buffers: Buffers) -> File | bytes:
    data = _bytes(wire, buffers)
    limit = param.options.get("max_bytes")
    if limit is not None and len(data) > limit:
        raise InvalidInput(f"expected at most {limit:,} bytes, got {len(data):,}")
    return data if param.type is bytes else File(data, _name(wire), str(wire.get("type") or ""))


def _audio(param: Param, wire: Wire, buffers: Buffers) -> Audio:
    if wire.get("encoding") == "f32":
        channels, data = _get(wire, "channels", int), _bytes(wire, buffers)
        if channels < 1 or len(data) % (4 * channels):
            raise InvalidInput(f"expected whole frames of {channels} float32 samples, got {len(data)} bytes")
        samples = np.frombuffer(data, "<f4").reshape(-1, channels).T
        start_s = _get(wire, "start_s", int, float) if "start_s" in wire else 0
        audio = Audio(samples, _get(wire, "sample_rate", int, float), start_s=start_s)
    else:
        audio = Audio.open(_bytes(wire, buffers), _name(wire))
    rate = param.options.get("sample_rate")
    return audio.resample(rate) if rate else audio


def _table(param: Param, wire: Wire, buffers: Buffers) -> Table:
    if "buffer" in wire:
        table = Table.open(_bytes(wire, buffers), _name(wire))
    else:
        rows = _get(wire, "rows", list)
        if not all(isinstance(row, list) for row in rows):
            raise InvalidInput('expected "rows" to be lists of cells')
        table = Table(_get(wire, "columns", list), rows)
    if missing := [column for column in param.options.get("columns", ()) if column not in table.columns]:
        raise InvalidInput(f"expected columns {', '.join(missing)}; the table has {', '.join(table.columns)}")
    return table


def _tensor(param: Param, wire: Wire, buffers: Buffers) -> Array:
    array = read_npy(_bytes(wire, buffers), _name(wire))
    shape = param.options.get("shape")
    if shape is not None and not (
        len(shape) == array.ndim and all(want in (None, got) for want, got in zip(shape, array.shape, strict=True))
    ):
        raise InvalidInput(f"expected shape {['any' if n is None else n for n in shape]}, got {list(array.shape)}")
    dtype = param.options.get("dtype")
    if dtype is None or array.dtype == np.dtype(dtype):
        return array
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise InvalidInput(f"expected {dtype}, got {array.dtype}; convert it by astype before numpy.save")
    return array.astype(dtype)


_DECODERS: dict[str, Callable[[Param, Wire, Buffers], Any]] = {
    "image": _image,
    "drawing": _drawing,
    "text": _text,
    "number": _number,
    "toggle": _toggle,
    "choice": _choice,
    "file": _file,
    "audio": _audio,
    "table": _table,
    "tensor": _tensor,
}


def encode_input(param: Param, value: Any, buffers: list[bytes]) -> Wire:
    """Wire form of a native value, as the page would send it: files keep the bytes they were opened from.

    Args:
        buffers: grows by the value's bytes.
    Raises: InvalidInput: a value that the parameter cannot have.
    """
    wire = _encode_input(param, value, buffers)
    wire["kind"] = param.kind if wire.get("kind") is None else wire["kind"]
    return wire


def _encode_input(param: Param, value: Any, buffers: list[bytes]) -> Wire:
    def put(data: bytes) -> int:
        buffers.append(data)
        return len(buffers) - 1

    match param.kind, value:
        case "drawing", Drawing(strokes=list() as strokes):
            return {"width": value.width, "height": value.height, "strokes": strokes}
        case "image" | "drawing", Image(source=bytes() as data):
            return {"kind": "image", "buffer": put(data), "name": value.name, "type": ""}
        case "image" | "drawing", Image():
            rgba = {"width": value.width, "height": value.height, "encoding": "rgba"}
            return {"kind": "image", **rgba, "buffer": put(value.rgba.tobytes())}
        case "text", list() | tuple() | dict():
            return {"text": to_text(value)}
        case "text", str():
            return {"text": value}
        case "toggle", bool() | np.bool_():
            return {"value": bool(value)}
        case "number", int() | float() | np.number():
            return {"value": _json_number(value)}
        case "choice", _ if value in param.members.values():
            return {"value": next(text for text, member in param.members.items() if member == value)}
        case "file", bytes():
            return {"buffer": put(value), "name": "", "type": ""}
        case "file", File():
            return {"buffer": put(value.data), "name": value.name, "type": value.type}
        case "audio", Audio(source=bytes() as data):
            return {"buffer": put(data), "name": value.name, "type": ""}
        case "audio", Audio():
            frames = np.atleast_2d(value.samples).T.astype("<f4").tobytes()
            sound = {"encoding": "f32", "sample_rate": value.sample_rate_hz, "channels": value.channels}
            return {**sound, "buffer": put(frames)}
        case "table", Table(source=bytes() as data):
            return {"buffer": put(data), "name": value.name}
        case "table", Table():
            return {"buffer": put(value.to_csv().encode()), "name": ""}
        case "tensor", np.ndarray():
            return {"buffer": put(write_npy(value)), "name": ""}
    raise InvalidInput(f'"{param.name}": expected {_A[param.kind]}, got {type(value).__name__}')
