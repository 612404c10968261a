"""What a snapshot of Python's memory must forget before it is made, and learn when it comes back.

The build makes one after the imports of a start (wasm/snapshot/make.js); a page's Python then begins where it ended.
Frozen in it are the hash seed of `str`, which Python cannot change afterwards, and everything that modules computed as
they were imported.
"""

import gc
import linecache
import os
import random
import sys
import tempfile
import time
import zipimport
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["freeze", "thaw"]

_MAKERS_OWN = ("PYTHONHASHSEED",)


def freeze(main: dict[str, Any]) -> None:
    """Forget what belongs to the machine that makes the snapshot.

    Args:
        main: the namespace in which the imports were made; only its dunder names stay.
    """
    import _onnxlet_late  # noqa: F401  (the page's first archive is not there when it is needed)

    for name in [name for name in main if not name.startswith("__")]:
        del main[name]
    for name in _MAKERS_OWN:
        os.environ.pop(name, None)
    tempfile._name_sequence = None  # type: ignore[attr-defined]  # random names, drawn from a seed of their own
    linecache.clearcache()
    sys.path_importer_cache.clear()
    zipimport._zip_directory_cache.clear()  # type: ignore[attr-defined]
    gc.collect()
    gc.freeze()


def thaw(environment: Mapping[str, str]) -> None:
    """Be the visitor's Python: random numbers from a new seed, the machine's time zone, its variables.

    Raises: RuntimeError: numpy does not compute any more.
    """
    os.environ.update(environment)
    _be_here()
    random.seed()
    sys.path[:] = dict.fromkeys(sys.path)  # Pyodide puts "" before it at each start
    row = np.arange(4.0)
    if float(row @ row) != 14 or np.linalg.inv(np.diag(row + 1))[1, 1] != 0.5:
        raise RuntimeError("numpy computes wrong numbers")


def _be_here() -> None:
    """Set what `time` computed of the time zone as it was imported. Source: init_timezone in CPython's timemodule.c."""
    year_s = (365 * 24 + 6) * 3600
    start_s = time.time() // year_s * year_s
    zones = [time.localtime(at_s) for at_s in (start_s, start_s + year_s / 2)]
    zones.sort(key=lambda zone: zone.tm_gmtoff)  # summer time is ahead, on either half of the Earth
    standard, summer = zones
    time.timezone, time.altzone = -standard.tm_gmtoff, -summer.tm_gmtoff
    time.daylight = int(standard.tm_gmtoff != summer.tm_gmtoff)
    time.tzname = (standard.tm_zone, summer.tm_zone)
