"""Native ONNX Runtime, in a worker: one thread, so that results are the same on every machine and with any number of
workers, and computing what the page will compute."""

import io
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import onnxruntime as ort

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError, InvalidInput
from onnxlet.feeds import FeedCheck
from onnxlet.source import NodeArg

from ..executors import Cargo
from ..samples import Feeds, load_feeds

__all__ = ["Native", "Unfit", "content", "opened", "read_sample"]

_SETTINGS = {
    # else DequantizeLinear and MatMul compute with activations of 8 bits, which they do not on WebGPU
    "session.qdq_matmulnbits_accuracy_level": "1",
    # x86 without VNNI adds products of int8 in 16 bits and saturates; WebAssembly does not
    "session.x64quantprecision": "1",
}


class Unfit(BuildError):
    """Native ONNX Runtime does not take a model, or fails on it."""


class Native:
    """A session.

    Args:
        model: the file.
        plain: run the nodes as they stand, without fusions.
    Raises: Unfit: native ONNX Runtime does not take it.
    """

    def __init__(self, model: Cargo, *, plain: bool = False) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        if plain:
            options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        for key, value in _SETTINGS.items():
            options.add_session_config_entry(key, value)
        whole: Any = str(model) if isinstance(model, Path) else model
        try:
            self._session = ort.InferenceSession(whole, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise Unfit(f"native ONNX Runtime does not take it: {str(error).splitlines()[0]}") from error
        self.outputs = [arg.name for arg in self._session.get_outputs()]
        inputs, overridable = (
            [NodeArg(arg.name, arg.type, list(arg.shape)) for arg in args]
            for args in (self._session.get_inputs(), self._session.get_overridable_initializers())
        )
        self._check = FeedCheck(inputs, overridable)

    def feeds(self, feeds: Feeds, where: str) -> dict[str, Any]:
        """Check a sample. Raises: BuildError: it does not fit the model's inputs."""
        try:
            return self._check(feeds)
        except InvalidInput as error:
            raise BuildError(f"{where}: {error}") from error

    def run(self, feeds: dict[str, Any], names: Sequence[str] | None = None) -> list[Any]:
        """Raises: Unfit: a node failed."""
        try:
            results: list[Array] = self._session.run(names, feeds)
        except Exception as error:
            raise Unfit(f"native ONNX Runtime fails: {str(error).splitlines()[0]}") from error
        return results


@lru_cache(maxsize=2)
def opened(model: Cargo) -> Native:
    """A session that stays open in its worker for the next job with the same file; what jobs name never changes."""
    return Native(model)


def content(file: Cargo) -> bytes:
    """A file's bytes."""
    return file.read_bytes() if isinstance(file, Path) else file


def read_sample(file: Cargo) -> Feeds:
    """One sample's arrays."""
    return load_feeds(file if isinstance(file, Path) else io.BytesIO(file))
