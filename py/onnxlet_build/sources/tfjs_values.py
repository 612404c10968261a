"""What the converters of TensorFlow.js's operators work with: nodes, and values that know in which order they lie."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from .graph import GraphBuilder

__all__ = ["FIRST_AXIS", "TO_FIRST", "TO_LAST", "Converter", "TfNode", "Value", "dtype_of"]

TO_FIRST, TO_LAST = (0, 3, 1, 2), (0, 2, 3, 1)
FIRST_AXIS = (0, 2, 3, 1)  # where each axis of NHWC lies in NCHW
_DTYPES = {
    "DT_FLOAT": np.float32,
    "DT_HALF": np.float16,
    "DT_INT32": np.int32,
    "DT_INT64": np.int32,  # TensorFlow.js has no wider ones, and its weights are stored so
    "DT_BOOL": np.bool_,
    "DT_UINT8": np.uint8,
}


def dtype_of(name: str) -> Any:
    """numpy's dtype for TensorFlow's name. Raises: BuildError: there is none here."""
    name = {"1": "DT_FLOAT", "3": "DT_INT32", "9": "DT_INT64", "10": "DT_BOOL"}.get(str(name), str(name))
    if name not in _DTYPES:
        raise BuildError(f"has type {name}, expected one of {', '.join(_DTYPES)}")
    return np.dtype(_DTYPES[name])


@dataclass(frozen=True, slots=True)
class TfNode:
    """A node of model.json; attributes are read by kind, with TensorFlow's defaults where they are missing."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attributes: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, entry: dict[str, Any]) -> "TfNode":
        """From its JSON; control inputs only say an order, and are dropped."""
        inputs = tuple(name for name in entry.get("input", ()) if not name.startswith("^"))
        return cls(entry["name"], entry["op"], inputs, entry.get("attr", {}))

    def _get(self, name: str, kind: str) -> Any:
        return self.attributes.get(name, {}).get(kind)

    def whole(self, name: str, default: int = 0) -> int:
        value = self._get(name, "i")
        return default if value is None else int(value)

    def number(self, name: str, default: float) -> float:
        value = self._get(name, "f")
        return default if value is None else float(value)

    def flag(self, name: str) -> bool:
        return bool(self._get(name, "b"))

    def type(self, name: str, default: str = "DT_FLOAT") -> str:
        return str(self._get(name, "type") or default)

    def text(self, name: str, default: str = "") -> str:
        value = self._get(name, "s")
        return default if value is None else base64.b64decode(value).decode()

    def wholes(self, name: str) -> list[int]:
        return [int(value) for value in (self._get(name, "list") or {}).get("i", ())]

    def texts(self, name: str) -> list[str]:
        return [base64.b64decode(value).decode() for value in (self._get(name, "list") or {}).get("s", ())]

    def shape(self, name: str) -> list[int] | None:
        """-1 where it is open; None where the rank is."""
        shape = self._get(name, "shape")
        if shape is None or shape.get("unknownRank"):
            return None
        return [int(size.get("size", 0)) for size in shape.get("dim", ())]


@dataclass(slots=True)
class Value:
    """A value of the graph.

    Args:
        plain: its name in ONNX as TensorFlow orders it; "" until a node wants it so.
        first: the name of the same value with channels first, where it is NHWC of rank 4; "" until it is wanted.
        constant: its content, where it is known.
    """

    plain: str = ""
    first: str = ""
    constant: Array | None = None


class Converter:
    """The graph being written, and what each of TensorFlow's nodes became.

    Args:
        weights: content of the Const nodes.
    """

    def __init__(self, weights: dict[str, Array]) -> None:
        self.graph = GraphBuilder()
        self.weights = weights
        self.values: dict[str, list[Value]] = {}

    def value(self, reference: str) -> Value:
        """What a node's input means: "node" or "node:1"."""
        name, _, index = reference.partition(":")
        made = self.values[name]
        at = int(index.rpartition(":")[2] or 0)
        if at >= len(made):
            raise BuildError(f'takes output {at} of "{name}", which is converted with {len(made)}')
        return made[at]

    def known(self, reference: str, what: str) -> Array:
        """The content of an input. Raises: BuildError: it is computed while the model runs."""
        constant = self.value(reference).constant
        if constant is None:
            raise BuildError(f"its {what} is computed while the model runs, expected a constant")
        return constant

    def known_ints(self, reference: str, what: str) -> list[int]:
        return [int(value) for value in np.ravel(self.known(reference, what))]

    @staticmethod
    def made(plain: str) -> Value:
        return Value(plain=plain)

    def plain(self, value: Value) -> str:
        """The name of a value in TensorFlow's order."""
        if not value.plain:
            if value.constant is not None:
                value.plain = self.graph.constant(value.constant)
            else:
                value.plain = self.graph.op("Transpose", [value.first], perm=TO_LAST)
        return value.plain

    def first(self, value: Value) -> str:
        """The name of a value of rank 4 with channels first."""
        if not value.first:
            if value.constant is not None:
                value.first = self.graph.constant(first_constant(value.constant))
            else:
                value.first = self.graph.op("Transpose", [value.plain], perm=TO_FIRST)
        return value.first

    def together(self, references: Sequence[str]) -> tuple[list[str], bool]:
        """Names of several values in one order, and whether that is channels first: whatever needs no transposition."""
        values = [self.value(reference) for reference in references]
        computed = [value for value in values if value.constant is None]
        is_first = bool(computed) and all(value.first for value in computed) and not all(v.plain for v in computed)
        if is_first and all(value.constant is None or value.constant.ndim <= 4 for value in values):
            return [self.first(value) for value in values], True
        return [self.plain(value) for value in values], False

    def result(self, name: str, is_first: bool) -> Value:
        return Value(first=name) if is_first else Value(plain=name)

    def op(self, node: TfNode, op_type: str, inputs: Sequence[Any], **attributes: Any) -> str:
        """Append a node with one output, named after TensorFlow's."""
        return self.graph.op(op_type, inputs, name=node.name, **attributes)

    def int64(self, reference: str) -> str:
        """A shape, indices or repetitions, as ONNX wants them."""
        value = self.value(reference)
        if value.constant is not None:
            return self.graph.constant(np.ravel(value.constant), np.int64)
        return self.graph.op("Cast", [self.plain(value)], to=7)


def first_constant(array: Array) -> Array:
    """A constant that is broadcast against NHWC, for NCHW; single numbers stay."""
    if array.size == 1:
        return array.reshape(())
    return array.reshape((1,) * (4 - array.ndim) + array.shape).transpose(TO_FIRST)
