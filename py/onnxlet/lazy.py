"""Packages whose names come from modules that are imported when a name is first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["names_of"]


def names_of(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A package's ``__getattr__`` and ``__dir__``. For type checkers it imports the same names by itself.

    Args:
        modules: the names that each of the package's modules gives it, with spaces between.
    """
    where = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{where[name]}"), name)
        setattr(sys.modules[package], name, value)  # the next time it is found without us
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *where})
