"""`import onnxruntime` in the page: the same names, over this core.

Code that catches onnxruntime's own exceptions finds them where onnxruntime has them, as this package's classes.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from . import session
from .errors import InvalidInput, InvalidModel, ProviderError, UnsupportedOp
from .source import NoSuchFile

__all__ = ["install"]

VERSION = "1.32.0"  # the release whose interface this follows

_EXCEPTIONS = {
    "EPFail": ProviderError,
    "EngineError": ProviderError,
    "Fail": ProviderError,
    "InvalidArgument": InvalidInput,
    "InvalidGraph": InvalidModel,
    "InvalidProtobuf": InvalidModel,
    "ModelLoaded": ProviderError,
    "NoModel": InvalidModel,
    "NoSuchFile": NoSuchFile,
    "NotImplemented": UnsupportedOp,
    "RuntimeException": ProviderError,
}


def install() -> None:
    """Put the modules in place. A real onnxruntime that was imported before stays."""
    if "onnxruntime" in sys.modules:
        return
    names = {name: getattr(session, name) for name in session.__all__}
    names |= {"set_default_logger_severity": _ignore, "set_default_logger_verbosity": _ignore, "set_seed": _ignore}
    names |= {"disable_telemetry_events": _ignore, "enable_telemetry_events": _ignore}
    names |= {"get_version_string": lambda: VERSION, "__version__": VERSION, "__getattr__": _missing}
    state = _module("onnxruntime.capi.onnxruntime_pybind11_state", {**names, **_EXCEPTIONS})
    capi = _module("onnxruntime.capi", {"onnxruntime_pybind11_state": state, "_pybind_state": state}, package=True)
    sys.modules["onnxruntime.capi._pybind_state"] = state
    _module("onnxruntime", {**names, "capi": capi}, package=True)


def _module(name: str, content: dict[str, Any], package: bool = False) -> ModuleType:
    module = ModuleType(name, __doc__)
    module.__dict__.update(content)
    if package:
        module.__path__ = []
    sys.modules[name] = module
    return module


def _ignore(*args: Any, **kwargs: Any) -> None:
    """What there is nothing to do for."""


def _missing(name: str) -> Any:
    raise AttributeError(f"onnxruntime.{name} is not available in the page; onnxlet has {', '.join(session.__all__)}")
