"""The ways to run a graph, by onnxruntime's names.

Which ones there are depends on where we are: in CPython the native onnxruntime, in the page what `host.py` installs.
The core's own operators are everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..records import dataclass
from .base import Executable, Provider, Value

__all__ = [
    "CPU",
    "KERNELS",
    "NUMPY",
    "WEBGPU",
    "Executable",
    "Offered",
    "Provider",
    "Value",
    "available",
    "find",
    "install",
    "use",
]

WEBGPU = "WebGpuExecutionProvider"
CPU = "CPUExecutionProvider"
KERNELS = "KernelExecutionProvider"
NUMPY = "NumpyExecutionProvider"


def _native() -> Provider:
    from .ort_native import NativeProvider

    return NativeProvider()


def _kernels() -> Provider:
    from .kernels import KernelProvider

    return KernelProvider()


def _reference() -> Provider:
    from .reference import ReferenceProvider

    return ReferenceProvider()


@dataclass(frozen=True, slots=True)
class Offered:
    """Providers that one app sees: how to make each, and those that are made."""

    makers: Mapping[str, Callable[[], Provider]]
    made: Mapping[str, Provider]


_makers: dict[str, Callable[[], Provider]] = {CPU: _native, KERNELS: _kernels, NUMPY: _reference}
_made: dict[str, Provider] = {}


def install(makers: Mapping[str, Callable[[], Provider]]) -> None:
    """Replace every provider but the core's own by these, in order of preference (the page's host does)."""
    _makers.clear()
    _made.clear()
    _makers.update({**makers, NUMPY: _reference})


def use(offered: Offered | None) -> Offered:
    """Have other providers in place of those that are. Returns: the latter, for another time.

    Args:
        offered: what `use` returned before; None keeps those that are until `install`.
    """
    before = Offered(dict(_makers), dict(_made))
    if offered is not None:
        _makers.clear()
        _made.clear()
        _makers.update(offered.makers)
        _made.update(offered.made)
    return before


def find(name: str) -> Provider | None:
    """The provider of that name, made at its first use; None where nobody offers it."""
    return _get(name) if name in _makers else None


def _get(name: str) -> Provider:
    if name not in _made:
        _made[name] = _makers[name]()
    return _made[name]


def available() -> list[str]:
    """Names of the providers that can run here, the preferred one first."""
    return [name for name in _makers if name == NUMPY or not _get(name).unavailable()]
