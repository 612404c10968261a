"""Outputs: from what an app function returned to what the page draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..dtypes import Narrow
from ..errors import InvalidInput
from ..form import Output
from ..masks import is_masked
from ..media.npy import write_npy
from ..values import Audio, Boxes, Image, Labels, Mask, Spans, Table
from ..values.json_text import to_text
from .inputs import Wire

__all__ = ["encode"]

_SUMMARY_ELEMENTS = 1000  # beyond, a tensor's text shows its corners only; its buffer has all of it


def encode(value: Any, output: Output, buffers: list[bytes]) -> Wire:
    """The display of one value.

    Args:
        value: of the declared kind, or something that becomes one: a mapping for labels, an array or a Pillow image
            for an image, rows or a data frame for a table. None is shown as JSON null, whatever was declared.
        buffers: grows by the value's bytes.
    Raises: InvalidInput: the value is not of the declared kind.
    """
    kind = _kind(value) if output.kind == "auto" else "json" if value is None else output.kind
    try:
        wire = _ENCODERS[kind](value, buffers)
    except InvalidInput as error:
        raise InvalidInput(f'result "{output.label}": {error}') from error
    return {"kind": kind, "label": output.label, **wire}


def _kind(value: Any) -> str:
    """The display that a value's own type asks for; JSON for all others."""
    types: tuple[tuple[Any, str], ...] = (
        (Labels, "labels"),
        (Image, "image"),
        (Boxes, "boxes"),
        (Mask, "mask"),
        (Spans, "spans"),
        (str, "text"),
        (Table, "table"),
        (Audio, "audio"),
        (np.ndarray, "tensor"),
        (Narrow, "tensor"),
    )
    return next((kind for cls, kind in types if isinstance(value, cls)), "json")


def _expect(value: Any, *classes: type) -> None:
    if not isinstance(value, classes):
        names = " or ".join(cls.__name__ for cls in classes)
        raise InvalidInput(f"expected {names}, as the annotation says, got {type(value).__name__}")


def _put(buffers: list[bytes], data: bytes) -> int:
    buffers.append(data)
    return len(buffers) - 1


def _number(value: float) -> float | str:
    """JSON has no NaN and no infinity: they are texts."""
    return value if math.isfinite(value) else str(value)


def _picture(image: Image, buffers: list[bytes]) -> Wire:
    return {"width": image.width, "height": image.height, "buffer": _put(buffers, image.rgba.tobytes())}


def _labels(value: Any, buffers: list[bytes]) -> Wire:
    labels = Labels(value) if isinstance(value, Mapping) else value
    _expect(labels, Labels)
    return {"items": [{"label": label, "score": _number(score)} for label, score in labels.items]}


def _image(value: Any, buffers: list[bytes]) -> Wire:
    if not isinstance(value, Image):
        if not hasattr(value, "__array_interface__"):
            _expect(value, Image, np.ndarray)
        value = Image.from_array(value)
    return _picture(value, buffers)


def _boxes(value: Any, buffers: list[bytes]) -> Wire:
    _expect(value, Boxes)
    width, height = value.size
    items = [{"label": b.label, "score": _number(b.score), "box": list(b.box)} for b in value.items]
    picture = {} if value.image is None else {"buffer": _picture(value.image, buffers)["buffer"]}
    return {"width": width, "height": height, "items": items, **picture}


def _mask(value: Any, buffers: list[bytes]) -> Wire:
    mask = Mask(value) if isinstance(value, np.ndarray) else value
    _expect(mask, Mask)
    height, width = mask.array.shape
    wire = {"width": width, "height": height, "buffer": _put(buffers, mask.array.tobytes())}
    return wire if mask.image is None else {**wire, "picture": _picture(mask.image, buffers)["buffer"]}


def _spans(value: Any, buffers: list[bytes]) -> Wire:
    _expect(value, Spans)
    items = [
        {"label": s.label, "score": _number(s.score), "start": s.start, "end": s.end, "word": s.word}
        for s in value.items
    ]
    return {"text": value.text, "items": items}


def _text(value: Any, buffers: list[bytes]) -> Wire:
    _expect(value, str)
    return {"text": value}


def _table(value: Any, buffers: list[bytes]) -> Wire:
    table = _as_table(value)
    align = ["right" if rows and all(map(_is_number, rows)) else "left" for rows in zip(*table.rows, strict=True)]
    return {
        "columns": table.columns,
        "rows": [[_cell(cell) for cell in row] for row in table.rows],
        "align": align or ["left"] * len(table.columns),
    }


def _as_table(value: Any) -> Table:
    if isinstance(value, Table):
        return value
    if isinstance(value, Mapping):
        return Table.from_dict(value)
    if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        return Table.from_records(value)
    if hasattr(value, "columns") and hasattr(value, "itertuples"):  # a pandas data frame
        return Table(value.columns, value.itertuples(index=False))
    raise InvalidInput(f"expected Table, a dict of columns or a list of dicts, got {type(value).__name__}")


def _cell(cell: Any) -> str:
    return cell if isinstance(cell, str) else "" if cell is None else to_text(cell)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, (bool, np.bool_)):
        return False
    if isinstance(cell, (int, float, np.number)) or cell is None:
        return True
    if not isinstance(cell, str):
        return False
    try:
        float(cell or 0)
    except ValueError:
        return False
    return True


def _audio(value: Any, buffers: list[bytes]) -> Wire:
    _expect(value, Audio)
    frames = np.atleast_2d(value.samples).T.astype("<f4").tobytes()
    return {"sample_rate": value.sample_rate_hz, "channels": value.channels, "buffer": _put(buffers, frames)}


def _json(value: Any, buffers: list[bytes]) -> Wire:
    return {"text": to_text(value)}


def _tensor(value: Any, buffers: list[bytes]) -> Wire:
    if is_masked(value):
        raise InvalidInput("expected a tensor without masked elements; use .filled(value), or return Json of it")
    array = np.asarray(value.values if isinstance(value, Narrow) else value)
    dtype = value.data_type.name.lower() if isinstance(value, Narrow) else str(array.dtype)
    text = np.array2string(array, threshold=_SUMMARY_ELEMENTS, max_line_width=100, separator=", ")
    return {"dtype": dtype, "shape": list(array.shape), "text": text, "buffer": _put(buffers, _npy(array))}


def _npy(array: Any) -> bytes:
    """Object arrays (onnxruntime's strings) become numpy texts, so that the file needs no pickle."""
    return write_npy(array.astype(str) if array.dtype.kind == "O" else array)


_ENCODERS: dict[str, Callable[[Any, list[bytes]], Wire]] = {
    "labels": _labels,
    "image": _image,
    "boxes": _boxes,
    "mask": _mask,
    "spans": _spans,
    "text": _text,
    "table": _table,
    "audio": _audio,
    "json": _json,
    "tensor": _tensor,
}
