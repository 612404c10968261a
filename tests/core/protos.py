"""Comparing models as messages of the `onnx` package, by meaning."""

import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import numpy_helper


def difference(a: Message, b: Message, path: str = "") -> str:
    """Where two messages differ in meaning, "" where nowhere.

    A field that is absent equals one that holds its default; tensors are equal when their elements are, bit by bit,
    in whatever field they stand; "ai.onnx" is "".
    """
    if isinstance(a, onnx.TensorProto) and a.data_location != onnx.TensorProto.EXTERNAL:
        return _tensor_difference(a, b, path)
    for field in a.DESCRIPTOR.fields:
        at = f"{path}.{field.name}"
        x, y = getattr(a, field.name), getattr(b, field.name)
        if field.is_repeated:
            if len(x) != len(y):
                return f"{at}: {len(x)} != {len(y)} items"
            pairs = zip(x, y, strict=True)
            found = [d for i, (p, q) in enumerate(pairs) if (d := _value_difference(field, p, q, f"{at}[{i}]"))]
            if found:
                return found[0]
        elif field.message_type and not (a.HasField(field.name) and b.HasField(field.name)):
            if a.HasField(field.name) or b.HasField(field.name):
                return f"{at}: only in one of them"
        elif found := _value_difference(field, x, y, at):
            return found
    return ""


def _value_difference(field, x, y, at: str) -> str:
    if field.message_type:
        return difference(x, y, at)
    if field.name == "domain":
        x, y = x.replace("ai.onnx.ml", "ML"), y.replace("ai.onnx.ml", "ML")
        x, y = x.replace("ai.onnx", ""), y.replace("ai.onnx", "")
    same = x == y or (isinstance(x, float) and np.isnan(x) and np.isnan(y))
    return "" if same else f"{at}: {x!r} != {y!r}"


def _tensor_difference(a: onnx.TensorProto, b: onnx.TensorProto, path: str) -> str:
    for name in ("name", "doc_string", "data_type"):
        if getattr(a, name) != getattr(b, name):
            return f"{path}.{name}: {getattr(a, name)!r} != {getattr(b, name)!r}"
    if list(a.dims) != list(b.dims):
        return f"{path}.dims: {list(a.dims)} != {list(b.dims)}"
    if list(a.string_data) != list(b.string_data):
        return f"{path}.string_data"
    if a.data_type != onnx.TensorProto.STRING:
        x, y = numpy_helper.to_array(a), numpy_helper.to_array(b)
        if x.tobytes() != y.tobytes():
            return f"{path}: other elements"
    return ""
