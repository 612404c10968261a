"""CPUExecutionProvider in CPython: the onnxruntime package of this machine."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..dtypes import DataType, Narrow, from_ort_type
from ..errors import InvalidInput, InvalidModel, OnnxletError, ProviderError, Refused
from ..source import ModelMetadata, ModelSource, NodeArg, NoSuchFile, Signature
from .base import Value

if TYPE_CHECKING:
    from ..options import SessionOptions

__all__ = ["NativeExecutable", "NativeProvider"]

_NODE_NAME = re.compile(r"node with name '([^']+)'|In Node, \(\"([^\"]+)\"")


class NativeProvider:
    """onnxruntime's CPU provider."""

    name = "CPUExecutionProvider"

    def unavailable(self) -> str:
        """Whether the package is missing."""
        if importlib.util.find_spec("onnxruntime") is None:
            return "the onnxruntime package is not installed"
        return ""

    def load(self, source: ModelSource, options: SessionOptions) -> NativeExecutable:
        """Raises: InvalidModel, NoSuchFile: the file is broken or gone; Refused: no kernel, or too new."""
        import onnxruntime as ort

        model: Any = str(source.path) if source.path else source.data()
        native = _native_options(options, source)
        traces = None
        if options.enable_profiling:  # it writes a file, even of a model that it refuses
            traces = tempfile.TemporaryDirectory(prefix="onnxlet-trace-")
            native.profile_file_prefix = str(Path(traces.name) / "trace")
        try:
            session = ort.InferenceSession(
                model if isinstance(model, str) else bytes(model),
                native,
                providers=["CPUExecutionProvider"],
                enable_fallback=0,
            )
        except Exception as error:
            if traces:
                traces.cleanup()
            raise _load_error(error, source) from error
        return NativeExecutable(session, traces)


class NativeExecutable:
    """A native session. Its signature is what onnxruntime inferred, which is more than the file says."""

    def __init__(self, session: Any, traces: tempfile.TemporaryDirectory[str] | None = None) -> None:
        self._session = session
        self._traces = traces  # where onnxruntime writes its trace
        self._kinds = {a.name: from_ort_type(a.type) for a in (*session.get_inputs(), *session.get_outputs())}
        self.signature = Signature(
            inputs=_node_args(session.get_inputs()),
            outputs=_node_args(session.get_outputs()),
            overridable=_node_args(session.get_overridable_initializers()),
            metadata=_metadata(session.get_modelmeta()),
        )

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """Raises: InvalidInput: onnxruntime found a feed wrong; ProviderError: a node failed."""
        narrow = [self._kinds.get(n, DataType.UNDEFINED) for n in (*fetches, *feeds)]
        try:
            if any(kind.is_narrow for kind in narrow if kind):
                return self._run_narrow(fetches, feeds)
            return list(self._session._sess.run(list(fetches), dict(feeds), None))
        except Exception as error:
            raise _run_error(error) from error

    def _run_narrow(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """The same through OrtValue: onnxruntime's numpy interface has no bfloat16 and no 4-bit integers."""
        import onnxruntime as ort

        from ..tensors import from_packed, to_packed

        values = {}
        for name, value in feeds.items():
            if isinstance(value, Narrow):
                packed = np.frombuffer(to_packed(value), np.uint8)
                holder = ort.OrtValue.ortvalue_from_shape_and_type(list(value.shape), int(value.data_type))
                ctypes.memmove(holder.data_ptr(), packed.ctypes.data, packed.nbytes)
                values[name] = holder
            else:
                values[name] = ort.OrtValue.ortvalue_from_numpy(value)
        results: list[Value] = []
        for name, value in zip(fetches, self._session.run_with_ort_values(list(fetches), values), strict=True):
            kind = self._kinds[name]
            if kind.is_narrow:
                shape = tuple(value.shape())
                size = (int(np.prod(shape)) * kind.bits + 7) // 8
                results.append(from_packed(kind, ctypes.string_at(value.data_ptr(), size), shape))
            else:
                results.append(value.numpy())
        return results

    async def arun(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """Runs in place: the session moves native runs to a thread."""
        return self.run(fetches, feeds)

    def trace(self) -> list[dict[str, Any]]:
        """Events so far (see `base.Traced`)."""
        if not self._traces:
            return []
        events: list[dict[str, Any]] = json.loads(Path(self._session.end_profiling()).read_bytes())
        self._forget_traces()
        return events

    async def atrace(self) -> list[dict[str, Any]]:
        """The same."""
        return self.trace()

    def close(self) -> None:
        """Give the memory back."""
        self._session = None
        self._forget_traces()

    def _forget_traces(self) -> None:
        if self._traces:
            self._traces.cleanup()
            self._traces = None


def _native_options(options: SessionOptions, source: ModelSource) -> Any:
    import onnxruntime as ort

    native = ort.SessionOptions()
    for name in options._defaults:
        value = getattr(options, name)
        kind = type(getattr(native, name))
        setattr(native, name, kind(int(value)) if hasattr(kind, "__members__") else value)
    if options.log_severity_level < 0:
        native.log_severity_level = 3  # what goes wrong comes as an exception, not on stderr
    for key, entry in options.config.items():
        native.add_session_config_entry(key, entry)
    for symbol, size in options.free_dimensions.items():
        native.add_free_dimension_override_by_name(symbol, size)
    if source.base and not source.path:
        native.add_session_config_entry("session.model_external_initializers_file_folder_path", str(source.base))
    return native


def _node_args(args: Sequence[Any]) -> tuple[NodeArg, ...]:
    return tuple(NodeArg(a.name, a.type, list(a.shape)) for a in args)


def _metadata(meta: Any) -> ModelMetadata:
    return ModelMetadata(**{name: getattr(meta, name) for name in ModelMetadata.__slots__})


def _load_error(error: Exception, source: ModelSource) -> OnnxletError:
    kind, text = type(error).__name__, str(error)
    where = f"model {source.name!r}: " if source.name else "model: "
    if kind == "NoSuchFile":
        return NoSuchFile(where + text)
    if kind in ("InvalidProtobuf", "InvalidArgument") or (kind == "InvalidGraph" and "No Op registered" not in text):
        return InvalidModel(where + text)
    return Refused(where + text, [a or b for a, b in _NODE_NAME.findall(text)])


def _run_error(error: Exception) -> OnnxletError:
    if isinstance(error, OnnxletError):
        return error
    if type(error).__name__ == "InvalidArgument":
        return InvalidInput(str(error))
    return ProviderError(f"onnxruntime: {error}")
