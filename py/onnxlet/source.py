"""Where a model comes from, and what is known of it without running it."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import InvalidModel
from .records import dataclass, field

if TYPE_CHECKING:
    from .model import Model

__all__ = [
    "ModelMetadata",
    "ModelSource",
    "NoSuchFile",
    "NodeArg",
    "RecordedModels",
    "Signature",
    "caller_folder",
    "use_recorded",
    "watchers",
]

MAP_BYTES = 16 << 20  # files from here on are mapped, not read: most of their bytes may never be looked at
_PACKAGE = str(Path(__file__).parent)


class NoSuchFile(InvalidModel, FileNotFoundError):
    """The model's file is not there."""


@dataclass(frozen=True, slots=True)
class NodeArg:
    """An input or output as onnxruntime shows it: ``type`` such as "tensor(float)"; symbols and None in ``shape``."""

    name: str
    type: str
    shape: list[int | str | None]

    def __str__(self) -> str:
        return f"NodeArg(name={self.name!r}, type={self.type!r}, shape={self.shape!r})"


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """What a model file says of itself, by onnxruntime's names."""

    producer_name: str = ""
    graph_name: str = ""
    domain: str = ""
    description: str = ""
    graph_description: str = ""
    version: int = 0
    custom_metadata_map: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Signature:
    """What goes into a model and what comes out."""

    inputs: tuple[NodeArg, ...]
    outputs: tuple[NodeArg, ...]
    overridable: tuple[NodeArg, ...] = ()
    metadata: ModelMetadata = ModelMetadata()


@dataclass(frozen=True, slots=True)
class RecordedModels:
    """The models that the build recorded, in the page.

    Args:
        root: the app's folder.
        models: site.json's entry of each, by path relative to the root, plus its "id".
        read: gives a model's file by id; may block, or raise ProviderError where the page cannot wait.
        fetch: the same, awaitable.
    """

    root: Path
    models: Mapping[str, Mapping[str, Any]]
    read: Callable[[str], bytes]
    fetch: Callable[[str], Awaitable[bytes]]


watchers: list[Callable[[ModelSource], None]] = []
"""Called with every model that a session opens; the build records an app's models this way."""

_recorded: RecordedModels | None = None


def use_recorded(recorded: RecordedModels | None) -> RecordedModels | None:
    """Let the build's models stand in for files (the page's host does). Returns: those that did so before."""
    global _recorded
    before, _recorded = _recorded, recorded
    return before


class ModelSource:
    """A model that nobody has parsed yet (bytes, a file, or one that the build recorded), or nobody has written.

    Args:
        path_or_bytes: the model itself, or its path: in the working directory, else beside the calling file.
        name: what to call it in messages; the file's name where it has one.
        base: the folder of its external data; the file's own where it has one.
    Raises: NoSuchFile: no file there; TypeError: neither a path nor bytes, nor a model.
    """

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes | bytearray | memoryview | Model,
        *,
        name: str = "",
        base: Path | None = None,
    ) -> None:
        self.name = name
        self.base = base
        self.path: Path | None = None
        self.page_id = ""
        self._data: bytes | memoryview | None = None
        self._parsed: Model | None = None
        self._entry: Mapping[str, Any] | None = None
        if isinstance(path_or_bytes, bytes | bytearray | memoryview):
            self._data = bytes(path_or_bytes) if isinstance(path_or_bytes, bytearray) else path_or_bytes
        elif isinstance(path_or_bytes, str | os.PathLike):
            self._find(Path(os.fspath(path_or_bytes)))
        else:
            self._parsed = _a_model(path_or_bytes)

    def _find(self, path: Path) -> None:
        self.name = self.name or path.name
        folders = [Path.cwd(), caller_folder()]
        if _recorded:
            for folder in (*folders, _recorded.root):
                self._entry = _recorded.models.get(_relative(folder / path, _recorded.root))
                if self._entry:
                    self.page_id = self._entry["id"]
                    return
        for folder in folders:
            if (folder / path).is_file():
                self.path = (folder / path).absolute()
                self.base = self.base or self.path.parent
                return
        where = " or ".join(str(f) for f in dict.fromkeys(folders)) if not path.is_absolute() else str(path.parent)
        known = f"; the site holds {', '.join(sorted(_recorded.models)) or 'no model'}" if _recorded else ""
        raise NoSuchFile(f"model {str(path)!r}: no such file in {where}{known}")

    @property
    def preferred(self) -> str:
        """The provider that the page found best for this model; "" where nobody said."""
        return str(self._entry.get("provider", "")) if self._entry else ""

    def fault(self, provider: str) -> str:
        """What the build knows that a provider computes wrongly in a recorded model; "" where nothing is known."""
        return str(self._entry.get("faults", {}).get(provider, "")) if self._entry else ""

    def variant(self, provider: str) -> Mapping[str, Any]:
        """What site.json says of the file that a provider loads of a recorded model: name, format, bytes, error."""
        found: Mapping[str, Any] = self._entry.get("variants", {}).get(provider, {}) if self._entry else {}
        return found

    @property
    def references(self) -> list[Mapping[str, str]]:
        """Where the site keeps samples of a recorded model: paths of "feeds" and of the original's "outputs"."""
        return list(self._entry.get("references") or ()) if self._entry else []

    def data(self) -> bytes | memoryview:
        """The model file's bytes. Raises: ProviderError: the page cannot wait for them."""
        if self._data is None:
            if self._parsed and not (self.path or self.page_id):
                from . import protobuf

                return protobuf.dump(self._parsed)
            if self.path:
                from .files import map_file  # mmap takes a page 5 ms, and a recorded model is no file there

                large = self.path.stat().st_size >= MAP_BYTES
                self._data = map_file(self.path) if large else self.path.read_bytes()
            else:
                assert _recorded, "a source without data or path is a recorded model"
                self._data = _recorded.read(self.page_id)
        return self._data

    async def fetch(self) -> None:
        """Have the bytes at hand, where `data` could not wait for them."""
        if self._data is None and self.page_id and _recorded:
            self._data = await _recorded.fetch(self.page_id)

    def model(self) -> Model:
        """The parsed model, read once. Raises: InvalidModel."""
        if self._parsed is None:
            from . import protobuf

            self._parsed = protobuf.load(self.data(), self.base)
        return self._parsed

    def pieces(self) -> list[bytes | memoryview]:
        """The model's file with its weights in it: in one piece where there is one, else as `protobuf.pieces` gives it.

        Raises: InvalidModel: weights beside it were never found; ProviderError: the page cannot wait for the file.
        """
        from . import protobuf

        try:
            apart = (self._data is None and self._parsed) or any(t.external for t in self.model().graph.initializers)
        except InvalidModel:
            apart = False  # for the runtime to say
        return protobuf.pieces(self.model()) if apart else [self.data()]

    def signature(self) -> Signature:
        """Inputs and outputs: from site.json where there is one, else from the file."""
        if self._entry:
            return _from_entry(self._entry)
        from .model_signature import read_signature

        return read_signature(self.model())

    def __repr__(self) -> str:
        return f"ModelSource({self.name or 'bytes'!r})"


def caller_folder() -> Path:
    """The folder of the first file on the stack that is not this package's."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return Path(frame.f_code.co_filename).absolute().parent


def _relative(path: Path, root: Path) -> str:
    normal = os.path.normpath(path)
    return Path(os.path.relpath(normal, root)).as_posix()


def _a_model(thing: object) -> Model:
    from .model import Model

    if not isinstance(thing, Model):
        raise TypeError(f"Unable to load from type {type(thing)!r}: expected a path or bytes")
    return thing


def _from_entry(entry: Mapping[str, Any]) -> Signature:
    def args(key: str) -> tuple[NodeArg, ...]:
        return tuple(NodeArg(a["name"], a["type"], list(a["shape"])) for a in entry.get(key) or ())

    metadata = {k: v for k, v in (entry.get("metadata") or {}).items() if k in ModelMetadata.__slots__}
    return Signature(args("inputs"), args("outputs"), args("overridable"), ModelMetadata(**metadata))
