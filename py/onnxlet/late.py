"""Modules of Python's library that come after the page's start.

A page starts with the modules that numpy, the core and typical apps import. The rest comes in the background. Whoever
imports one of its modules before that waits: the import fetches the rest itself, synchronously, as a worker may.
"""

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Collection, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["LateFinder", "install"]


class LateFinder:
    """The last entry of `sys.meta_path`: knows the modules that are not there yet.

    Args:
        names: dotted names of those modules.
        library: the folder that they will lie in, which is on `sys.path`.
        bring: puts the files there, unless they are there already; raises OSError where it cannot.
    """

    def __init__(self, names: Collection[str], library: str, bring: Callable[[], None]) -> None:
        self._names = frozenset(names)
        self._library = library
        self._bring = bring
        self._bringing = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a late module, waiting for it where it has to.

        Raises: ImportError: it could not be fetched.
        """
        if name not in self._names or self._bringing:  # what brings them does without them
            return None
        self._bringing = True
        try:
            self._bring()
            importlib.invalidate_caches()
        except OSError as error:
            raise ImportError(f"{name}: this part of Python's library could not be had: {error}", name=name) from error
        finally:
            self._bringing = False
        # of a package that the start had, the late modules lie in a folder of their own
        folder = os.path.join(self._library, *name.split(".")[:-1])
        return PathFinder.find_spec(name, [*path, folder] if path is not None else None, target)


def install(thawed: bool, library: str, bring: Callable[[Callable[[Any], str]], str]) -> None:
    """Let imports find what the page left out of its start.

    Args:
        thawed: Python came out of a snapshot, and the files of the first archives come late as well.
        library: see LateFinder.
        bring: JavaScript: puts the files in place, after it has compared each one's hash (the argument makes it of a
            byte array) with what site.json says; gives why it cannot, "" where it can.
    """
    from _onnxlet_late import FIRST, NAMES  # in the page's first archive only

    def fetched() -> None:
        if fault := bring(_digest):
            raise OSError(fault)

    sys.meta_path.append(LateFinder(NAMES | FIRST if thawed else NAMES, library, fetched))


def _digest(data: Any) -> str:
    return hashlib.sha256(data.to_bytes()).hexdigest()
