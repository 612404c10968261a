"""OrtValue and IOBinding beside onnxruntime's."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import onnxlet

ADD1 = str(Path(__file__).parents[1] / "data" / "P_add1.onnx")
X = np.arange(6, dtype=np.float32).reshape(2, 3)
BOTH = pytest.mark.parametrize("ort", [onnxlet, onnxruntime], ids=["onnxlet", "onnxruntime"])


@BOTH
def test_values_describe_themselves_and_feed_a_run(ort: Any) -> None:
    value = ort.OrtValue.ortvalue_from_numpy(X.copy())
    assert (value.shape(), value.data_type(), value.element_type()) == ([2, 3], "tensor(float)", 1)
    assert (value.device_name(), value.is_tensor(), value.has_value()) == ("cpu", True, True)
    session = ort.InferenceSession(ADD1, providers=["CPUExecutionProvider"])
    y, total = session.run_with_ort_values(["y", "s"], {"x": value})
    np.testing.assert_array_equal(y.numpy(), X + 1)
    assert (float(total.numpy()), total.shape()) == (15.0, [])
    value.update_inplace(X * 2)
    np.testing.assert_array_equal(session.run_with_ort_values(["y"], {"x": value})[0].numpy(), X * 2 + 1)


@BOTH
def test_a_binding_is_used_by_many_runs(ort: Any) -> None:
    session = ort.InferenceSession(ADD1, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_output("s")
    room = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32)
    binding.bind_ortvalue_output("y", room)
    session.run_with_iobinding(binding)
    total, y = binding.copy_outputs_to_cpu()
    assert float(total) == 15.0
    np.testing.assert_array_equal(y, X + 1)
    np.testing.assert_array_equal(room.numpy(), X + 1)
    assert [v.shape() for v in binding.get_outputs()] == [[], [2, 3]]


@BOTH
def test_a_binding_belongs_to_its_session(ort: Any) -> None:
    one, other = (ort.InferenceSession(ADD1, providers=["CPUExecutionProvider"]) for _ in range(2))
    with pytest.raises(ValueError, match="IOBinding must be used with the session that created it"):
        one.run_with_iobinding(other.io_binding())
