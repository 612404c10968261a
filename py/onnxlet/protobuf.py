"""ONNX files: bytes to `Model` and back.

Weights stay slices of what was read. A written file differs from the one that was read only where protobuf has several
ways to say one thing: typed fields such as ``float_data`` become ``raw_data``, fields that hold their default are left
out, "ai.onnx" becomes "".
"""

from __future__ import annotations

import os
from pathlib import Path

from .check_graph import check
from .errors import InvalidModel
from .external_data import ExternalFiles, externalize
from .file_kinds import explain_damage, refuse_other_kinds
from .files import map_file, write_whole
from .model import Model
from .proto_model import read_model, write_model
from .wire_format import Bytes, Message, Writer

__all__ = ["dump", "load", "pieces", "read", "save"]

PROTOBUF_LIMIT_BYTES = 2**31 - 1  # protobuf's readers refuse longer messages
PIECE_BYTES = 16 << 10  # shorter ones are joined


def load(data: bytes | memoryview, base: Path | None = None) -> Model:
    """Read a model from bytes, which the model then refers to.

    Args:
        data: an ONNX file's content.
        base: the folder in which tensors stored outside the file are looked for. Without it they stay where they
            are, and only asking for their elements fails.

    Raises: InvalidModel: the bytes are no ONNX model, the model breaks a rule of the format, or a tensor's file is
        missing, too short or outside `base`.
    """
    view = memoryview(data).cast("B")
    refuse_other_kinds(view)
    try:
        return check(read_model(Message(view, 0, len(view), "model", context=ExternalFiles(base) if base else None)))
    except InvalidModel as error:
        raise InvalidModel(f"{error}{explain_damage(view)}") from None


def read(path: str | os.PathLike[str]) -> Model:
    """Read a model file. It is mapped into memory, not copied: keep it unchanged while the model lives.

    Raises: InvalidModel: see `load`; OSError: the file cannot be read.
    """
    path = Path(path)
    try:
        return load(map_file(path), path.parent)
    except InvalidModel as error:
        raise InvalidModel(f"{path.name}: {error}") from None


def dump(model: Model) -> bytes:
    """Write a model as bytes that need no other file, but for tensors whose elements were never fetched.

    Raises: InvalidModel: it would be longer than protobuf's 2 GiB.
    """
    return b"".join(_encode(model).parts)


def pieces(model: Model) -> list[Bytes]:
    """What `dump` would join: the model's own weights where they lie, and what stands between them.

    Raises: InvalidModel: see `dump`.
    """
    found: list[Bytes] = []
    between: list[Bytes] = []
    for part in (*_encode(model).parts, None):
        if part is None or len(part) >= PIECE_BYTES:
            found += [b"".join(between)] if between else []
            between = []
            found += [part] if part is not None else []
        else:
            between.append(part)
    return found


def save(model: Model, path: str | os.PathLike[str], external: str | None = None, threshold_bytes: int = 1024) -> None:
    """Write a model file; it appears whole or not at all.

    Args:
        external: name of a second file, in the same folder, for the elements of initializers.
        threshold_bytes: initializers shorter than this stay in the model file.

    Raises: InvalidModel: the model file would be longer than 2 GiB, or a tensor's elements were never fetched.
    """
    path = Path(path)
    if external:
        model, parts = externalize(model, external, threshold_bytes)
        write_whole(path.with_name(external), parts)
    write_whole(path, _encode(model).parts)


def _encode(model: Model) -> Writer:
    out = write_model(model)
    if out.size > PROTOBUF_LIMIT_BYTES:
        raise InvalidModel(
            f"the model takes {out.size} bytes, more than protobuf's {PROTOBUF_LIMIT_BYTES}; "
            "save it with external= to put its weights into a second file"
        )
    return out
