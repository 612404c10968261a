"""`OrtValue` and `IOBinding` with onnxruntime's names, for code that uses them: values are numpy arrays on the CPU.

Nothing is bound to a device here; what a provider keeps on a GPU is its own business. Source of names and behaviour:
onnxruntime 1.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .dtypes import Array, DataType, from_numpy
from .errors import InvalidInput

if TYPE_CHECKING:
    from .session import InferenceSession

__all__ = ["IOBinding", "OrtValue"]


class OrtValue:
    """A value that goes into a model or comes out: an array, a list (sequence) or None."""

    def __init__(self, value: Any) -> None:
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Array, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """A copy of an array. Raises: InvalidInput: a device other than the CPU."""
        if device_type != "cpu":
            raise InvalidInput(f"OrtValue: expected the device cpu, got {device_type!r}; values are kept on the CPU")
        return OrtValue(np.array(numpy_obj, order="C"))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Room for a tensor of a numpy dtype, or of an ONNX element type's number."""
        dtype = DataType(element_type).numpy if isinstance(element_type, int) else np.dtype(element_type)
        return OrtValue.ortvalue_from_numpy(np.empty(tuple(shape), dtype), device_type, device_id)

    def numpy(self) -> Array:
        """The array itself."""
        return np.asarray(self._value)

    def shape(self) -> list[int]:
        """Sizes."""
        return list(self.numpy().shape)

    def data_type(self) -> str:
        """Such as ``tensor(float)``."""
        return "seq" if isinstance(self._value, list) else from_numpy(self.numpy().dtype).ort_type

    def element_type(self) -> int:
        """TensorProto.DataType's number."""
        return int(from_numpy(self.numpy().dtype))

    def device_name(self) -> str:
        """Always "cpu"."""
        return "cpu"

    def has_value(self) -> bool:
        """False for an empty optional."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Whether it holds an array."""
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self) -> bool:
        """Whether it holds a list."""
        return isinstance(self._value, list)

    def update_inplace(self, np_arr: Array) -> None:
        """Overwrite the elements. Raises: InvalidInput: another shape."""
        if np_arr.shape != self.numpy().shape:
            raise InvalidInput(f"OrtValue: expected shape {self.shape()}, got {list(np_arr.shape)}")
        self.numpy()[...] = np_arr


class IOBinding:
    """Inputs and outputs that are named once and used by many runs."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, OrtValue] = {}
        self._outputs: dict[str, OrtValue | None] = {}
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Array) -> None:
        """Feed an array."""
        self._inputs[name] = OrtValue(arr_on_cpu)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Feed a value."""
        self._inputs[name] = ortvalue

    def bind_output(self, name: str, *device: Any, **options: Any) -> None:
        """Ask for an output; the device and its details mean nothing here."""
        self._outputs[name] = None

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Ask for an output and have it written into a value of the right shape."""
        self._outputs[name] = ortvalue

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self._outputs.clear()

    def synchronize_inputs(self) -> None:
        """Nothing is under way between runs."""

    def synchronize_outputs(self) -> None:
        """Nothing is under way after a run."""

    def get_outputs(self) -> list[OrtValue]:
        """What the last run gave, in the order of binding."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The same as arrays and lists."""
        return [value._value for value in self._results]

    def _run(self) -> None:
        names = list(self._outputs)
        values = self._session.run(names, {name: value._value for name, value in self._inputs.items()})
        self._results = []
        for name, value in zip(names, values, strict=True):
            into = self._outputs[name]
            if into is None:
                into = OrtValue(value)
            else:
                into.update_inplace(value)
            self._results.append(into)
