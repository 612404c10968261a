"""What the sources share: their result, and the comparison with the library that a model comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import onnx

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from ..convert import snr_db
from ..samples import Feeds

__all__ = ["MAX_IR", "MAX_OPSET", "Export", "library", "library_roots", "portable", "verify"]

# What is written is older than what ONNX Runtime Web reads, so that other runtimes and older sites take it too.
MAX_IR = 10
MAX_OPSET = 21
LEAST_DB = 80.0  # float32 against float32 gives 110-140; a wrong attribute or a lost layer gives under 40


@dataclass(frozen=True, slots=True)
class Export:
    """A model as ONNX.

    Args:
        data: the .onnx file, weights inside.
        verified: a sentence: how its outputs were compared with the source library's, with the number.
        notes: sentences that the person should read: what was assumed, which way was taken and why.
        samples: feeds that the source came with.
        files: sidecar files (tokenizer, labels ...) by name, to lie beside the model.
    """

    data: bytes
    verified: str
    notes: tuple[str, ...] = ()
    samples: tuple[Feeds, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


def library_roots(thing: Any) -> set[str]:
    """Top-level names of the libraries that a thing's classes come from; cheap, for ``takes``."""
    return {kind.__module__.partition(".")[0] for kind in type(thing).__mro__}


def library(module: str, extra: str) -> ModuleType:
    """Import a library that comes with an extra of this package.

    Raises: BuildError: it is not installed, or cannot be imported.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise BuildError(
            f'{module}: cannot be imported where the build runs ({error}); run: pip install "onnxlet[{extra}]"'
        ) from error


def portable(proto: onnx.ModelProto, name: str) -> bytes:
    """The bytes of a model that an exporter made, at an IR version that every current runtime reads.

    Raises: BuildError: it does not fit into one file.
    """
    proto.ir_version = min(proto.ir_version, MAX_IR)
    if (size := proto.ByteSize()) >= 2**31:
        raise BuildError(f"{name}: has {size:,} bytes, over the 2 GiB of one ONNX file; split it into several models")
    return proto.SerializeToString()


def verify(
    data: bytes,
    feeds: Sequence[Feeds],
    expected: Sequence[Sequence[Array]],
    *,
    name: str,
    source: str,
    least_db: float = LEAST_DB,
    rtol: float | None = None,
    atol: float = 1e-6,
    remedy: str = "export it in another way, and report this model",
) -> str:
    """Run a model on native ONNX Runtime and compare what it gives with the source library's outputs.

    Args:
        data: the .onnx file.
        feeds: one dict a run.
        expected: the library's outputs of each run, in the order of the model's outputs.
        name: of the model; source: the library and its version, such as "PyTorch 2.13.0". Both for messages.
        least_db: the lowest signal-to-noise ratio of a floating-point output; others must be equal.
        rtol: instead, the largest relative difference of every single number (for models whose rows are
            right or wrong each, as trees').
        atol: differences up to here count as none.
    Returns: a sentence with the number.
    Raises: BuildError: ONNX Runtime fails, or an output differs; names it, with what was expected and what came.
    """
    session = native_session(data, name)
    names = [output.name for output in session.get_outputs()]
    do = f"; {remedy}" if remedy else ""
    worst_db, worst_abs = np.inf, 0.0
    for number, (one, wanted) in enumerate(zip(feeds, expected, strict=True), 1):
        try:
            answers = session.run(None, one)
        except Exception as error:  # onnxruntime's own exceptions derive from Exception only
            shapes = ", ".join(f"{key} {value.dtype}{list(value.shape)}" for key, value in one.items())
            raise BuildError(f"{name}: its export fails on {shapes} ({error}){do}") from error
        if len(wanted) != len(names):
            raise BuildError(f"{name}: its export has {len(names)} outputs, {source} gives {len(wanted)}{do}")
        for output, a, b in zip(names, wanted, answers, strict=True):
            where = f'{name}: output "{output}" of its export differs from {source} on input {number} of {len(feeds)}'
            a, b = _alike(np.asarray(a), np.asarray(b), where, do)
            gap = _gap(a, b)
            db = snr_db(a, b)
            near = gap <= atol + (rtol or 0) * np.abs(a) if a.dtype.kind in "fc" else gap == 0
            if not near.all() and (rtol is not None or db < least_db):
                at = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.where(near, -1, gap))), gap.shape))
                allowed = f"{least_db:g} dB" if rtol is None else f"a relative difference of {rtol:g}"
                raise BuildError(
                    f"{where}: expected {a[at]!s}, got {b[at]!s} at {list(at)} "
                    f"({np.count_nonzero(~near)} of {a.size} differ, {db:.0f} dB; allowed: {allowed}){do}"
                )
            worst_db, worst_abs = min(worst_db, db), max(worst_abs, float(gap.max(initial=0)))
    how = "equal" if worst_abs == 0 else f"{worst_db:.0f} dB, largest difference {worst_abs:.1e}"
    return f"agrees with {source} on {len(feeds)} input{'s' * (len(feeds) != 1)} ({how})"


def native_session(data: bytes, name: str) -> Any:
    """An onnxruntime.InferenceSession on the CPU, weight-only matrix products in full precision.

    Raises: BuildError: ONNX Runtime does not load the model.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    try:
        return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exceptions derive from Exception only
        raise BuildError(f"{name}: ONNX Runtime does not load it ({str(error).splitlines()[0]})") from error


def _alike(a: Array, b: Array, where: str, do: str) -> tuple[Array, Array]:
    """Both arrays with one dtype: libraries compute in wider types than their exports, and keep texts as objects."""
    kinds = [
        {"O": "text", "U": "text", "S": "text", "f": "float", "c": "float"}.get(x.dtype.kind, "int") for x in (a, b)
    ]
    if a.shape != b.shape or kinds[0] != kinds[1]:
        raise BuildError(f"{where}: expected {a.dtype}{list(a.shape)}, got {b.dtype}{list(b.shape)}{do}")
    if kinds[0] == "text":
        return a.astype(str), b.astype(str)
    return (a.astype(b.dtype), b) if kinds[0] == "float" else (a.astype(np.int64), b.astype(np.int64))


def _gap(a: Array, b: Array) -> Array:
    """Absolute difference of each pair, 0 or 1 of what is no number, inf where only one is NaN or infinite."""
    if a.dtype.kind not in "fc":
        return (a != b).astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        gap = np.abs(a.astype(np.float64) - b.astype(np.float64)) if a.dtype.kind == "f" else np.abs(a - b)
    return np.where(same, 0, np.where(np.isnan(gap), np.inf, gap))
