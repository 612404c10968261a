"""Several apps in one interpreter, one of them at a time: what each finds there is its own.

A page that embeds two apps of a site runs both in one Python. `enter` makes one of them current: its folder is the
working directory and on ``sys.path``, and its modules, operators, models, providers and sessions are those that code
sees. The core, the packages, the environment and the state of random generators are everybody's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from . import providers
from . import session as _session
from .ops import registry
from .records import dataclass, field
from .source import RecordedModels, use_recorded

__all__ = ["Place", "current", "enter", "leave"]


@dataclass(eq=False)
class Place:
    """One app's share of the interpreter, while another one is current.

    Args:
        root: the app's folder; modules whose file lies below it are the app's own.
    """

    root: Path
    folder: Path | None = None
    modules: dict[str, ModuleType] = field(default_factory=dict)
    sessions: Mapping[int, _session.InferenceSession] = field(default_factory=dict)
    recorded: RecordedModels | None = None
    offered: providers.Offered | None = None
    operators: registry.Table = field(default_factory=dict)


_current: Place | None = None


def current() -> Place | None:
    """The place that is current."""
    return _current


def enter(place: Place) -> None:
    """Make a place current, after leaving the one that is."""
    global _current
    if place is _current:
        return
    leave()
    _current = place
    sys.path.insert(0, str(place.root))
    os.chdir(place.folder or place.root)
    _look_again(str(place.root))
    sys.modules.update(place.modules)
    registry.use(place.operators)
    providers.use(place.offered)
    use_recorded(place.recorded)
    _session.sessions.update(place.sessions)
    place.modules, place.sessions = {}, {}


def leave() -> Place | None:
    """Keep what the current place has, for its next time. Returns: that place."""
    global _current
    place, _current = _current, None
    if place is None:
        return None
    root = str(place.root)
    place.folder = Path.cwd()
    if root in sys.path:
        sys.path.remove(root)
    place.modules = {name: module for name, module in list(sys.modules.items()) if _lies_in(module, root + os.sep)}
    for name in place.modules:
        del sys.modules[name]
    place.operators = registry.use({})
    place.offered = providers.use(None)
    place.recorded = use_recorded(None)
    place.sessions = _session.sessions.copy()  # weak, as they were
    _session.sessions.clear()
    return place


def _look_again(root: str) -> None:
    """Have imports see files that were laid into a folder since the last one looked there.

    `importlib.invalidate_caches` does that for every folder, and imports `importlib.metadata` for it.
    """
    for path in list(sys.path_importer_cache):
        if path == root or path.startswith(root + os.sep):
            del sys.path_importer_cache[path]


def _lies_in(module: ModuleType, folder: str) -> bool:
    """Whether a module came from a folder; a package without ``__init__.py`` has only a path."""
    file = getattr(module, "__file__", None)
    places = [file] if file else list(getattr(module, "__path__", ()))
    return any(str(place).startswith(folder) for place in places)
