"""One node, run by the core's operators and by native onnxruntime."""

from typing import Any

import numpy as np
import onnxruntime
from onnx import helper

from onnxlet.ops import find, load_all

load_all()
onnxruntime.set_default_logger_severity(4)

NDArray = np.ndarray[Any, Any]


def ours(op_type: str, *inputs: NDArray | None, opset: int = 21, outputs: int = 1, domain: str = "", **attributes: Any):
    """The node's outputs as a list, by the registered function. None among the inputs is one left out."""
    operator = find(domain, op_type, opset)
    if operator.wants_n_outputs:
        attributes["n_outputs"] = outputs
    with np.errstate(all="ignore"):
        result = operator.function(*inputs, **attributes)
    return [np.asarray(value) for value in (result if isinstance(result, tuple) else (result,))][:outputs]


def native(
    op_type: str, *inputs: NDArray | None, opset: int = 21, outputs: int = 1, domain: str = "", **attributes: Any
):
    """The same by onnxruntime."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    given = {name: value for name, value in zip(names, inputs, strict=True) if name}
    node = helper.make_node(op_type, names, [f"y{i}" for i in range(outputs)], domain=domain, **attributes)
    graph = helper.make_graph(
        [node],
        "one_node",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in given.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in node.output],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, given)


def assert_same(op_type: str, *inputs: NDArray | None, rtol: float = 1e-5, atol: float = 1e-6, **options: Any) -> None:
    """Ours equals native: shapes and dtypes exactly, integers exactly, floats within rtol and atol."""
    for mine, theirs in zip(ours(op_type, *inputs, **options), native(op_type, *inputs, **options), strict=True):
        assert mine.dtype == theirs.dtype
        assert mine.shape == theirs.shape
        np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=atol)
