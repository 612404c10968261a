"""Where things lie: the repository's folders and the user's cache."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

from onnxlet.errors import BuildError

__all__ = [
    "CORE",
    "PINS",
    "TYPES",
    "WEB",
    "cache",
    "find_node_module",
    "node_modules",
    "scratch",
    "use_cache",
    "write_whole",
]

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web" / "src"
TYPES = ROOT / "web" / "types" / "onnxlet.d.ts"
PINS = ROOT / "wasm" / "pins.toml"
CORE = Path(__file__).resolve().parents[1] / "onnxlet"

_cache = user_cache_path("onnxlet", appauthor=False)


def use_cache(folder: Path) -> None:
    """Keep downloads in `folder` from now on. Called once, by the command line."""
    global _cache
    _cache = folder.expanduser().resolve()


def cache(*parts: str) -> Path:
    """A path in the user's cache; its parent folder exists afterwards.

    Raises: BuildError: the cache cannot be written.
    """
    path = _cache.joinpath(*parts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BuildError(
            f"cache {_cache}: cannot be written ({error.strerror}); set ONNXLET_CACHE to a folder that can"
        ) from error
    return path


@contextmanager
def scratch(parent: Path, prefix: str = ".onnxlet-") -> Iterator[Path]:
    """A temporary folder in `parent` (files in it can be renamed into place); gone afterwards in any case."""
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that another process sees whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).chmod(0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def node_modules(package: str) -> Path:
    """The folder of an installed npm package that the page ships.

    Raises: BuildError: it is not installed.
    """
    folder = find_node_module(package)
    if folder is None:
        raise BuildError(
            f"npm package {package}: not found in {ROOT / 'web/node_modules'}; run `npm ci` in {ROOT / 'web'}"
        )
    return folder


def find_node_module(package: str) -> Path | None:
    """The folder of an installed npm package; None where it is not installed."""
    folder = ROOT / "web" / "node_modules" / package
    return folder if folder.is_dir() else None
