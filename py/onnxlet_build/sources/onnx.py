"""ONNX itself: a file, its bytes, or an onnx.ModelProto. Nothing is changed, quantized models included.

Weights in other files are merged into the one file that the page loads.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from onnxlet import protobuf
from onnxlet.errors import BuildError, InvalidModel
from onnxlet.model import Model

from ..convert import read_model
from ..models import nodes
from .exported import Export, library_roots

__all__ = ["OnnxFile", "export", "external_files", "open_file", "takes", "takes_file"]

_QUANTIZED = re.compile(r"QuantizeLinear$|DequantizeLinear$|^QLinear|^QGemm$|Integer$|NBits$|BlockQuantized$")


@dataclass(frozen=True, slots=True)
class OnnxFile:
    """An .onnx file, with the weights beside it."""

    path: Path


def takes(thing: Any) -> bool:
    """Whether it is an `OnnxFile`, a ModelProto, or bytes."""
    kinds = OnnxFile | bytes | bytearray | memoryview
    return isinstance(thing, kinds) or ("onnx" in library_roots(thing) and hasattr(thing, "graph"))


def takes_file(path: Path) -> bool:
    """Whether it is a file by the name of .onnx."""
    return path.suffix == ".onnx" and path.is_file()


def open_file(path: Path) -> OnnxFile:
    """The file; it is read when it is exported."""
    return OnnxFile(path)


def export(thing: Any, name: str) -> Export:
    """See `sources.export`. Weights of bytes and of a ModelProto are looked for in the working directory."""
    if isinstance(thing, OnnxFile):
        model, raw = read_model(thing.path), thing.path.read_bytes()
    else:
        raw = _serialized(thing, name) if isinstance(thing, onnx.ModelProto) else bytes(thing)
        try:
            model = protobuf.load(raw, Path.cwd())
        except InvalidModel as error:
            raise BuildError(f"{name}: {error}") from error
    notes = []
    if files := external_files(raw):
        raw = _merged(model, name)
        notes.append(f"merged the weights in {', '.join(files)} into the model ({len(raw):,} bytes)")
    if quantized := sum(bool(_QUANTIZED.search(node.op_type)) for node in nodes(model)):
        notes.append(f"is quantized already ({quantized} nodes) and stays as it is")
    return Export(raw, "is the source itself, unchanged", tuple(notes))


def _serialized(proto: onnx.ModelProto, name: str) -> bytes:
    try:
        return proto.SerializeToString()
    except ValueError as error:  # protobuf's EncodeError, for more than 2 GiB
        raise BuildError(f"{name}: does not fit into one file ({error}); split it into several models") from error


def _merged(model: Model, name: str) -> bytes:
    try:
        return protobuf.dump(model)
    except InvalidModel as error:
        raise BuildError(f"{name}: {error}; quantize it, or split it into several models") from error


def external_files(raw: bytes) -> list[str]:
    """Where weights lie outside a model's file: paths relative to its folder."""
    if b"location" not in raw:
        return []
    proto = onnx.load_model_from_string(raw)
    tensors = onnx.external_data_helper._get_all_tensors(proto)
    used = [tensor for tensor in tensors if onnx.external_data_helper.uses_external_data(tensor)]
    return sorted({entry.value for tensor in used for entry in tensor.external_data if entry.key == "location"})
