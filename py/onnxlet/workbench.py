"""An app's source, changed and run again in the same interpreter; and a prompt in the app's own scope.

What the page's Python panel does. An edited app takes the place of the running one only when it can be imported: until
then, and after an error, the app that ran before goes on. Models stay loaded: `session.lending` hands them over.
"""

from __future__ import annotations

import builtins
import importlib
import linecache
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import session as _session
from .app import App
from .errors import InvalidInput
from .ops import registry

__all__ = ["Console", "Workbench", "find_app"]


def find_app(module: ModuleType, name: str) -> App:
    """The App that a module holds under a name. Raises: InvalidInput: it holds none."""
    app = getattr(module, name, None)
    if isinstance(app, App):
        return app
    found = f"got {type(app).__name__}" if hasattr(module, name) else "found none"
    raise InvalidInput(f"{module.__name__}.py: expected an App in `{name}`, {found}; write `{name} = App(function)`")


class Workbench:
    """The files of an app, and the module that they make.

    Args:
        root: the app's folder; it is on ``sys.path``.
        module, name: where the App is.
    """

    def __init__(self, root: Path, module: str = "app", name: str = "app") -> None:
        self.root = root
        self._module = module
        self._name = name
        self._originals: dict[str, bytes] = {}  # of the files that were ever changed

    @property
    def namespace(self) -> dict[str, Any]:
        """The scope of the app's module."""
        return vars(sys.modules[self._module])

    def start(self) -> App:
        """Import the app. Raises: InvalidInput: there is no App; else what the import raises."""
        return find_app(importlib.import_module(self._module), self._name)

    def run(self, sources: Mapping[str, str]) -> App:
        """Import the app from other sources.

        Args:
            sources: text by path in the app's folder; a file that is missing has its original text again.
        Returns: the new app; sessions of the old one are closed, except those whose model the new one took over.
        Raises: InvalidInput: a path is no file of the app, or there is no App; else what the import raises. The old
            app, its files, its operators and its sessions are then as they were.
        """
        for path in sources:
            self._check(path)
        before = {path: (self.root / path).read_bytes() for path in {*sources, *self._originals}}
        self._originals = {**before, **self._originals}
        wanted = self._originals | {path: text.encode() for path, text in sources.items()}
        modules = self._modules()
        operators = registry.use({})
        packages = {
            key: [one for one in ones if one.function.__module__ not in modules] for key, ones in operators.items()
        }
        registry.use({key: ones for key, ones in packages.items() if ones})  # the app registers its own again
        old = list(_session.sessions.values())
        self._write(wanted)
        try:
            for name in modules:
                del sys.modules[name]
            with _session.lending(old), _no_bytecode():
                app = self.start()
                self._close(old)
        except BaseException:
            for name in self._modules():
                del sys.modules[name]
            sys.modules.update(modules)
            registry.use(operators)
            self._close([one for one in _session.sessions.values() if one not in old])
            self._write(before)
            raise
        return app

    @staticmethod
    def _close(sessions: list[_session.InferenceSession]) -> None:
        for session in sessions:
            session.close()
            _session.sessions.pop(session.number, None)

    def _check(self, path: str) -> None:
        root = self.root.resolve()
        file = (root / path).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            raise InvalidInput(f"{path!r}: expected a file of the app in {self.root}, and there is none")

    def _modules(self) -> dict[str, ModuleType]:
        """What was imported from the app's folder."""
        root = f"{self.root.resolve()}{os.sep}"
        return {
            name: module
            for name, module in list(sys.modules.items())
            if os.path.realpath(getattr(module, "__file__", None) or "").startswith(root)
        }

    def _write(self, files: Mapping[str, bytes]) -> None:
        for path, data in files.items():
            (self.root / path).write_bytes(data)
            # bytecode is compared by whole seconds and size, which two edits may share
            shutil.rmtree((self.root / path).parent / "__pycache__", ignore_errors=True)
        importlib.invalidate_caches()
        linecache.clearcache()  # tracebacks show the lines as they are now


@contextmanager
def _no_bytecode() -> Iterator[None]:
    before = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


class Console:
    """A prompt that reads line by line, in the scope of an app; ``await`` works at its top level.

    Args:
        make: makes an interpreter in a namespace, with ``stdout_callback`` and ``stderr_callback``: Pyodide's
            `pyodide.console.Console`.
        workbench: whose app it is; `numpy` is there as ``np`` even where the app does not import it.
    """

    def __init__(self, make: Callable[..., Any], workbench: Workbench) -> None:
        self._workbench = workbench
        self._write: Callable[[str, str], Any] = lambda kind, text: None
        self._console = make(
            {},
            stdout_callback=lambda text: self._write("out", text),
            stderr_callback=lambda text: self._write("err", text),
        )

    async def push(self, line: str, write: Callable[[str, str], Any]) -> bool:
        """Read one line, and run what is complete with it.

        Args:
            write: takes what comes of it, piece by piece: its kind ("out", "err", "value") and text.
        Returns: whether more lines are needed.
        """
        self._write = write
        scope = self._workbench.namespace  # another one after each import
        scope.setdefault("np", np)
        self._console.globals = scope
        answer = self._console.push(line)
        if answer.syntax_check == "incomplete":
            return True
        try:
            value = await answer
        except BaseException as error:
            write("err", answer.formatted_error or f"{type(error).__name__}: {error}\n")
            return False
        if value is not None:
            builtins._ = value  # type: ignore[attr-defined]  # as Python's own prompt does
            write("value", f"{_shown(value)}\n")
        return False


SHOWN = 20_000  # characters of one value: a page chokes on more, and nobody reads them


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ... {len(text) - SHOWN} more characters"
