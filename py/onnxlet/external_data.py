"""Tensors whose elements lie in other files than the model's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from .errors import InvalidModel
from .files import map_file
from .model import ExternalData, Model
from .wire_format import Bytes, Message

__all__ = ["ExternalFiles", "externalize"]

PAGE_BYTES = 4096  # where onnx.proto wants external data to begin, so that runtimes can map it


class ExternalFiles:
    """The files in a model's folder, each mapped once.

    Args:
        base: the model's folder; nothing outside it is opened, by whatever path or link.
    """

    def __init__(self, base: Path) -> None:
        self._base = base.resolve()
        self._files: dict[str, memoryview] = {}

    def fetch(self, tensor: Message, where: ExternalData, size_bytes: int) -> memoryview:
        """A tensor's elements.

        Raises: InvalidModel: the file lies outside the folder, is missing, or is too short.
        """
        if where.length is not None and where.length != size_bytes:
            raise tensor.error(f'has {where.length} bytes in "{where.location}", expected {size_bytes} for its dims')
        if where.location not in self._files:
            self._files[where.location] = map_file(self._inside(tensor, where.location))
        data = self._files[where.location]
        if where.offset + size_bytes > len(data):
            raise tensor.error(
                f'needs bytes {where.offset} to {where.offset + size_bytes} of "{where.location}", '
                f"which has only {len(data)}: it is cut, or belongs to another model"
            )
        return data[where.offset : where.offset + size_bytes]

    def _inside(self, tensor: Message, location: str) -> Path:
        relative = PurePosixPath(location.replace("\\", "/"))
        if relative.is_absolute() or ".." in relative.parts or ":" in location or "\0" in location:
            raise tensor.error(f'is said to lie in "{location}", expected a path below the model\'s folder')
        path = (self._base / relative).resolve()
        if not path.is_relative_to(self._base):
            raise tensor.error(f'is said to lie in "{location}", a link that leaves the model\'s folder')
        if not path.is_file():
            raise tensor.error(f'is stored in "{location}", which is not beside the model: put it there')
        return path


def externalize(model: Model, file_name: str, threshold_bytes: int) -> tuple[Model, Iterable[Bytes]]:
    """Move the elements of large initializers of the main graph into a second file.

    Returns: the model that refers to the file, and the file's content in pieces.
    """
    if PurePosixPath(file_name).name != file_name:
        raise InvalidModel(f'"{file_name}" must be a plain file name: external data lies beside the model')
    parts: list[Bytes] = []
    offset = 0
    initializers = []
    for tensor in model.graph.initializers:
        if tensor.external and not len(tensor.data) and 0 not in tensor.dims:
            raise InvalidModel(
                f'initializer "{tensor.name}": its elements in "{tensor.external.location}" were not fetched'
            )
        size = len(tensor.data)
        if size >= threshold_bytes and size:
            padding = -offset % PAGE_BYTES
            parts += [bytes(padding), tensor.data]
            offset += padding
            tensor = replace(tensor, data=b"", external=ExternalData(file_name, offset, size))
            offset += size
        initializers.append(tensor)
    return replace(model, graph=replace(model.graph, initializers=tuple(initializers))), parts
