"""A model file as it goes to the page: one file, in a version that ONNX Runtime Web reads.

What is older or as old as the web runtime stays byte for byte, unless its weights lie in other files: those are merged.
What is newer is converted down, and both versions must give the same answers on random inputs before it counts.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

import onnxlet
from onnxlet import protobuf
from onnxlet.dtypes import Array, DataType, from_ort_type
from onnxlet.errors import BuildError, InvalidModel, OnnxletError
from onnxlet.model import Model
from onnxlet.source import ModelSource, Signature

__all__ = ["MAX_IR", "MAX_OPSET", "Prepared", "prepare", "random_feeds", "read_model", "snr_db"]

# ONNX Runtime Web 1.30 (measured: IR 14 and opset 27 are refused).
MAX_IR = 13
MAX_OPSET = {"": 26, "ai.onnx.ml": 5}
_OLDEST_OPSET = 21  # converting further down only loses operators
_AGREE_DB = 100.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """A model, ready for the page.

    Args:
        data: the file's bytes.
        changes: a sentence for each thing that was changed.
    """

    model: Model
    data: bytes
    signature: Signature
    changes: list[str] = field(default_factory=list)


def read_model(path: Path) -> Model:
    """Read a model, weights in other files included.

    Raises: BuildError: it cannot be read; the message names the file and the reason.
    """
    try:
        return protobuf.read(path)
    except InvalidModel as error:
        raise BuildError(str(error).replace(path.name, str(path), 1) + _remedy(str(error), path)) from error
    except OSError as error:
        raise BuildError(f"{path}: cannot be read: {error.strerror or error}; check the path") from error


def _remedy(said: str, path: Path) -> str:
    """What to do about a file that ends too early; other messages of the reader say it themselves."""
    cut = re.search(r"(\d+) bytes too early", said)
    if not cut:
        return ""
    size = path.stat().st_size
    return f"; the file was cut, {size:,} of at least {size + int(cut[1]):,} bytes are there: get it again"


def prepare(path: Path) -> Prepared:
    """Read a model and bring it into the form that the page can load.

    Raises: BuildError: it is no model, is over 2 GiB, or is too new and cannot be converted.
    """
    model = read_model(path)
    raw = path.read_bytes()
    changes = []
    try:
        whole = protobuf.dump(model) if _has_external(raw) else raw
    except InvalidModel as error:
        raise BuildError(f"{path}: {error}; quantize it, or split it into several models") from error
    if whole is not raw:
        changes.append(f"merged the weights outside the file into it ({len(whole):,} bytes)")
    if newer := _newer(model):
        whole = _converted(path, model, whole, newer, changes)
        model = protobuf.load(whole)
    return Prepared(model, whole, ModelSource(whole, name=path.name).signature(), changes)


def _has_external(raw: bytes) -> bool:
    """Whether any tensor of the model lies in another file. A search for the key is enough to look closer."""
    if b"location" not in raw:
        return False
    proto = onnx.load_model_from_string(raw)
    tensors = onnx.external_data_helper._get_all_tensors(proto)
    return any(onnx.external_data_helper.uses_external_data(tensor) for tensor in tensors)


def _newer(model: Model) -> str:
    """What is newer than the web runtime, as "opset 27 (the page takes 26)"; "" where nothing is."""
    new = [f"IR version {model.ir_version} (the page takes {MAX_IR})"] if model.ir_version > MAX_IR else []
    for domain, version in model.opset_imports.items():
        if version > MAX_OPSET.get(domain, version):
            new.append(f"{domain or 'opset'} {version} (the page takes {MAX_OPSET[domain]})")
    return " and ".join(new)


def _converted(path: Path, model: Model, data: bytes, newer: str, changes: list[str]) -> bytes:
    reasons: list[str] = []
    proto = onnx.load_model_from_string(data)
    first = min(model.opset_imports.get("", 0), MAX_OPSET[""])
    for opset in range(first, min(first, _OLDEST_OPSET) - 1, -1):
        try:
            older = _at_opset(proto, opset)
        except Exception as error:  # the converter raises RuntimeError or its own ConvertError
            reasons.append(f"to opset {opset}: {str(error).strip().splitlines()[0]}")
            continue
        candidate = older.SerializeToString()
        if different := _differs(data, candidate):
            reasons.append(f"to opset {opset}: {different}")
            continue
        changes.append(
            f"converted from {newer} to IR {older.ir_version}, opset {opset}; outputs agree on random inputs"
        )
        return candidate
    raise BuildError(
        f"{path}: has {newer}, newer than ONNX Runtime Web 1.30, and cannot be converted down "
        f"({reasons[0] if reasons else 'no older version'}); export it with opset {_OLDEST_OPSET}"
    )


def _at_opset(proto: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    now = next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), opset)
    older = onnx.version_converter.convert_version(proto, opset) if now != opset else onnx.ModelProto()
    if now == opset:
        older.CopyFrom(proto)
    older.ir_version = min(older.ir_version, MAX_IR)
    return older


def _differs(one: bytes, other: bytes) -> str:
    """ "" where both models give the same outputs for random inputs, else what went wrong."""
    sessions = [
        onnxlet.InferenceSession(data, providers=["CPUExecutionProvider", "NumpyExecutionProvider"])
        for data in (one, other)
    ]
    problem = "no inputs could be made"
    for size in (2, 1, 8, 16, 64, 224):  # a guess for symbolic dimensions
        try:
            feeds = random_feeds(sessions[0], size)
            expected, got = (session.run(None, feeds) for session in sessions)
        except OnnxletError as error:
            problem = f"random inputs do not run: {str(error).splitlines()[0]}"
            continue
        for arg, a, b in zip(sessions[0].get_outputs(), expected, got, strict=True):
            if (db := snr_db(np.asarray(a), np.asarray(b))) < _AGREE_DB:
                return f"output {arg.name!r} differs from the original's ({db:.0f} dB)"
        return ""
    return problem


def random_feeds(session: onnxlet.InferenceSession, size: int, seed: int = 0) -> dict[str, Array]:
    """Random values for a session's inputs; unknown dimensions become `size`.

    Raises: BuildError: an input is no tensor of numbers or strings.
    """
    rng = np.random.default_rng(seed)
    feeds = {}
    for arg in session.get_inputs():
        shape = tuple(d if isinstance(d, int) and d > 0 else size for d in arg.shape)
        kind = from_ort_type(arg.type)
        if kind == DataType.UNDEFINED:
            raise BuildError(f"input {arg.name!r} is {arg.type}")
        if kind == DataType.STRING:
            feeds[arg.name] = np.array([f"s{i % 7}" for i in range(int(np.prod(shape)))], object).reshape(shape)
        elif kind.numpy.kind in "fc":
            feeds[arg.name] = rng.standard_normal(shape).astype(kind.numpy)
        else:
            feeds[arg.name] = rng.integers(0, 2, shape).astype(kind.numpy)
    return feeds


def snr_db(expected: Array, got: Array) -> float:
    """Signal-to-noise ratio of `got` in decibels; infinite where both are equal, NaN in the same places included."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return -np.inf
    if expected.dtype.kind not in "fc":
        return np.inf if bool(np.all(expected == got)) else -np.inf
    same = (expected == got) | (np.isnan(expected) & np.isnan(got))
    a, b = (x[~same].astype(np.float64) for x in (expected, got))
    noise = float(np.sum((a - b) ** 2))
    if noise == 0:
        return np.inf
    signal = float(np.nansum(expected[np.isfinite(expected)].astype(np.float64) ** 2))
    return 10 * float(np.log10(signal / noise)) if signal and np.isfinite(noise) else -np.inf
