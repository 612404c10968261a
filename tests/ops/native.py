"""One node through the whole executor and through native onnxruntime, for operators that need constants or types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from onnxlet import protobuf
from onnxlet.providers.reference import ReferenceExecutable

onnxruntime.set_default_logger_severity(4)
OPSETS = {"": 21, "ai.onnx.ml": 3, "com.microsoft": 1}


def one_node(
    op_type: str,
    inputs: Sequence[Any],
    outputs: Sequence[str],
    domain: str,
    constants: Iterable[int],
    **attributes: Any,
) -> tuple[bytes, dict[str, Any]]:
    """A model of one node, and its feeds. Args: constants: places of the inputs that are initializers."""
    names = ["" if value is None else f"x{i}" for i, value in enumerate(inputs)]
    fixed = {f"x{i}" for i in constants}
    given = {name: np.asarray(value) for name, value in zip(names, inputs, strict=True) if name}
    infos = [
        helper.make_tensor_value_info(
            name,
            onnx.TensorProto.STRING if value.dtype == object else helper.np_dtype_to_tensor_dtype(value.dtype),
            value.shape,
        )
        for name, value in given.items()
        if name not in fixed
    ]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, outputs, name="it", domain=domain, **attributes)],
        "one_node",
        infos,
        [helper.make_empty_tensor_value_info(name) for name in outputs if name],
        [numpy_helper.from_array(value, name) for name, value in given.items() if name in fixed],
    )
    opsets = [helper.make_opsetid(*item) for item in OPSETS.items()]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return model.SerializeToString(), {name: value for name, value in given.items() if name not in fixed}


def assert_equals_native(
    op_type: str,
    *inputs: Any,
    domain: str = "com.microsoft",
    outputs: int | Sequence[str] = 1,
    constants: Iterable[int] = (),
    rtol: float = 1e-4,
    atol: float = 1e-5,
    steps: int = 0,
    **attributes: Any,
) -> list[Any]:
    """Every output has native's type and shape, and its values: strings and integers exactly, or within `steps`.

    Args:
        outputs: how many, or their names with "" for those left out.
        constants: places of the inputs that onnxruntime wants as initializers.
    Returns: our outputs.
    """
    names = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
    data, feeds = one_node(op_type, inputs, names, domain, constants, **attributes)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    expected = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    results = ReferenceExecutable(protobuf.load(data)).run([n for n in names if n], feeds)
    for result, right in zip(results, expected, strict=True):
        if isinstance(right, list):
            assert [list(r) for r in result] == [list(r) for r in right]
            np.testing.assert_allclose([list(r.values()) for r in result], [list(r.values()) for r in right], rtol)
            continue
        assert (result.dtype, result.shape) == (right.dtype, right.shape)
        if right.dtype.kind in "Ob":
            np.testing.assert_array_equal(result, right)
        elif right.dtype.kind in "iu":
            assert np.abs(result.astype(np.int64) - right.astype(np.int64)).max(initial=0) <= steps
        else:
            np.testing.assert_allclose(result, right, rtol=rtol, atol=atol)
    return results
