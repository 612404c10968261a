"""Run a person's file inside the child process, and see what it opens, imports and feeds."""

import contextlib
import hashlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from onnxlet.errors import BuildError

from .samples import save_feeds

__all__ = ["FeedRecorder", "Reads", "imported_files", "load", "watch_sessions"]

MAX_SAMPLES = 64
MAX_BYTES = 256 << 20


def load(path: Path) -> ModuleType:
    """Run a file as the module of its name, with its folder as working directory and first on sys.path."""
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BuildError(f"{path}: is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def imported_files() -> set[str]:
    """Files of all modules that were imported."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return {str(Path(file).resolve()) for file in files if file}


class Reads:
    """Files that were opened for reading, by an audit hook; hooks cannot be removed, so it can be switched off."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.on = False
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or not self.on or not isinstance(args[0], str | bytes | os.PathLike):
            return
        _, mode, flags = args
        writes = any(c in mode for c in "wax+") if isinstance(mode, str) else flags & (os.O_WRONLY | os.O_RDWR)
        if not writes:
            self.paths.add(os.path.abspath(os.fsdecode(args[0])))

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Note what is opened inside."""
        self.on = True
        try:
            yield
        finally:
            self.on = False


def watch_sessions(session: type, note: Callable[[str], object]) -> None:
    """Note the paths that a class of sessions is made with, before it looks whether they are there."""
    construct = session.__init__  # type: ignore[misc]

    def watched(self: Any, path_or_bytes: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(path_or_bytes, str | os.PathLike):
            self._onnxlet_path = os.path.abspath(path_or_bytes)
            note(self._onnxlet_path)
        construct(self, path_or_bytes, *args, **kwargs)

    session.__init__ = watched  # type: ignore[misc]


class FeedRecorder:
    """Keeps what an app feeds its models, one .npz a run, up to `most` and 256 MB a model; the same feeds once.

    Args:
        folder: where to write, a folder a model.
    """

    def __init__(self, folder: Path, most: int = MAX_SAMPLES) -> None:
        self._folder = folder
        self._most = most
        self._quota = 0
        self._taken: dict[str, int] = {}  # of the present example
        self._lock = threading.Lock()  # an app's runs may come from several threads
        self._seen: set[str] = set()
        self._bytes: dict[str, int] = {}
        self.samples: dict[str, list[str]] = {}

    @contextlib.contextmanager
    def example(self, examples: int) -> Iterator[None]:
        """Record inside: of each of so many examples the same share, lest one with many runs is all there is."""
        self._quota, self._taken = -(-self._most // examples), {}
        try:
            yield
        finally:
            self._quota = 0

    def note(self, model: str, feeds: Mapping[str, Any]) -> None:
        """A session is about to run."""
        if not self._quota or not all(isinstance(v, np.ndarray) and v.dtype.kind in "biufcOU" for v in feeds.values()):
            return
        with self._lock:
            kept = self.samples.setdefault(model, [])
            size = sum(value.nbytes for value in feeds.values())
            total, taken = self._bytes.get(model, 0) + size, self._taken.get(model, 0)
            if len(kept) >= self._most or total > MAX_BYTES or taken >= self._quota or self._known(model, feeds):
                return
            path = self._folder / str(list(self.samples).index(model)) / f"{len(kept):06}.npz"
            path.parent.mkdir(parents=True, exist_ok=True)
            save_feeds(path, feeds, f"what the app feeds {model}")
            kept.append(str(path))
            self._bytes[model], self._taken[model] = total, taken + 1

    def _known(self, model: str, feeds: Mapping[str, Any]) -> bool:
        digest = hashlib.sha256(model.encode())
        for name, value in sorted(feeds.items()):
            plain = repr(value.tolist()).encode() if value.dtype.kind == "O" else np.ascontiguousarray(value).tobytes()
            digest.update(f"{name} {value.dtype} {value.shape}".encode() + plain)
        known = digest.hexdigest() in self._seen
        self._seen.add(digest.hexdigest())
        return known

    def watch(self) -> None:
        """See every run of this package's sessions and of onnxruntime's own, synchronous or not."""
        import onnxruntime

        import onnxlet.session

        onnxlet.session.observers.append(
            lambda session, _fetches, feeds: self.note(str(session.source.path), feeds) if session.source.path else None
        )
        native: Any = onnxruntime.InferenceSession
        for name in ("run", "run_async"):
            setattr(native, name, self._seeing(getattr(native, name)))

    def _seeing(self, run: Callable[..., Any]) -> Callable[..., Any]:
        def seen(session: Any, output_names: Any, input_feed: Any, *args: Any, **kwargs: Any) -> Any:
            path = getattr(session, "_onnxlet_path", "")
            if path and isinstance(input_feed, Mapping):
                self.note(path, {name: np.asarray(value) for name, value in input_feed.items()})
            return run(session, output_names, input_feed, *args, **kwargs)

        return seen
