"""What a caller feeds, checked against what the model declares and brought into the one form that providers take.

A feed is accepted when it says the same numbers: any memory layout or byte order, lists and Python numbers, and another
dtype as long as the declared one holds every value exactly. Everything else raises InvalidInput that names the input,
what was expected, what came and what to do. Providers get C-contiguous, aligned, native-endian arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .dtypes import Array, DataType, Narrow, from_numpy, from_ort_type
from .errors import InvalidInput
from .masks import mask_of
from .providers.base import Value
from .source import NodeArg

__all__ = ["FeedCheck", "describe", "public"]

SEEN = 256  # shapes of a model that are kept in mind: enough for those that come back, little where each is new


class FeedCheck:
    """What one model may be fed.

    Args:
        inputs: what it needs; an ``optional(...)`` may be left out.
        overridable: initializers that may be fed as well.
        where: the model's name, for messages.
    """

    def __init__(self, inputs: Sequence[NodeArg], overridable: Sequence[NodeArg], where: str = "") -> None:
        self._inputs = inputs
        self._overridable = overridable
        self._where = where
        self._args = {a.name: a for a in (*inputs, *overridable)}
        self._needed = {a.name for a in inputs if not a.type.startswith("optional")}
        self._seen: set[tuple[str, np.dtype[Any], tuple[int, ...]]] = set()

    def __call__(self, feeds: Mapping[str, Any]) -> dict[str, Value]:
        """Check every feed and convert it.

        Args:
            feeds: by input name.
        Raises: InvalidInput: a name, rank, size or dtype does not fit.
        """
        if type(feeds) is not dict and not isinstance(feeds, Mapping):
            raise InvalidInput(f"feeds: expected a dict of input name to array, got {type(feeds).__name__}")
        if not self._needed <= feeds.keys() <= self._args.keys():
            raise InvalidInput(_names(self._inputs, self._overridable, feeds, self._where))
        return {name: self._convert(name, value) for name, value in feeds.items()}

    def _convert(self, name: str, value: Any) -> Value:
        """The feed as providers take it; an array that was right as it came is right again in its dtype and shape."""
        plain = type(value) is np.ndarray and (flags := value.flags).c_contiguous and flags.aligned
        if plain and (name, value.dtype, value.shape) in self._seen:
            return value
        converted = _convert(self._args[name], value)
        if plain and converted is value:
            if len(self._seen) == SEEN:
                self._seen.clear()
            self._seen.add((name, value.dtype, value.shape))
        return converted


def describe(arg: NodeArg) -> str:
    """What an input takes, in numpy's words: ``float32 [batch, 784]``."""
    kind = from_ort_type(arg.type)
    if kind == DataType.UNDEFINED:
        return arg.type
    return f"{_dtype_name(kind)} {_shape_text(arg.shape)}"


def public(value: Value) -> Any:
    """A result as onnxruntime gives it: narrow types as the integers that hold their bits."""
    if isinstance(value, Narrow):
        return bits(value)
    if isinstance(value, list):
        return [public(v) for v in value]
    return value


def bits(value: Narrow) -> Array:
    """Each element's bits: uint16 for bfloat16, uint8 for float8; 2- and 4-bit integers are their values."""
    from .tensors import to_bits

    return to_bits(value)


def _convert(arg: NodeArg, value: Any) -> Value:
    kind = from_ort_type(arg.type)
    if kind == DataType.UNDEFINED:  # a sequence, map or optional: its elements are the provider's to check
        return np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value
    if isinstance(value, Narrow):
        if value.data_type != kind:
            raise InvalidInput(_mismatch(arg, f"{value.data_type.name.lower()} {_shape_text(value.shape)}"))
        _check_shape(arg, value.values)
        return value
    array, typed = _as_array(arg, value)
    _check_shape(arg, array)
    if kind == DataType.STRING:
        return _strings(arg, array)
    if kind.is_narrow:
        return _narrow(arg, kind, array)
    if from_numpy(array.dtype) == kind and array.dtype.kind != "O":
        if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
            return array
        # order="C" keeps rank 0, which ascontiguousarray does not; the copy is always aligned
        return np.array(array, dtype=kind.numpy, order="C")
    return _cast(arg, kind, array, typed)


def _as_array(arg: NodeArg, value: Any) -> tuple[Array, bool]:
    """The value as a plain array, and whether its dtype was chosen by somebody (not by numpy from Python numbers)."""
    mask = mask_of(value)
    if mask is not None:
        if mask.any():
            count = int(mask.sum())
            raise InvalidInput(
                _mismatch(arg, f"a masked array with {count} masked of {value.size}")
                + "; a model has no notion of missing values: fill them first, such as with .filled(0)"
            )
        value = value.data
    if isinstance(value, np.ndarray):
        array, typed = np.asarray(value), True
    elif value is None:
        raise InvalidInput(_mismatch(arg, "None"))
    else:
        try:
            array = np.asarray(value)
        except (ValueError, TypeError) as error:
            raise InvalidInput(_mismatch(arg, f"a {type(value).__name__} that is no array ({error})")) from error
        typed = isinstance(value, np.generic) or hasattr(value, "__array__")
    if array.dtype.kind == "O" and from_ort_type(arg.type) != DataType.STRING:
        try:  # a table's column of Python numbers
            plain = np.asarray(array.tolist())
        except ValueError:
            plain = array
        if plain.dtype.kind not in "biuf" or plain.shape != array.shape:
            raise InvalidInput(_mismatch(arg, _got(array)) + "; make it an array of numbers")
        array, typed = plain, False
    return array, typed


def _check_shape(arg: NodeArg, array: Array) -> None:
    # onnxruntime shows an unknown rank as [] too, and checks neither it nor a scalar's
    if not arg.shape:
        return
    if len(arg.shape) != array.ndim:
        hint = ""
        if array.ndim == len(arg.shape) - 1:
            hint = "; add an axis, such as x[None]"
        elif array.ndim == len(arg.shape) + 1 and 1 in array.shape:
            hint = f"; take an axis of size 1 away, such as x[{':, ' * array.shape.index(1)}0]"
        raise InvalidInput(_mismatch(arg, _got(array)) + f" (rank {array.ndim}, not {len(arg.shape)}){hint}")
    for axis, (want, got) in enumerate(zip(arg.shape, array.shape, strict=True)):
        if isinstance(want, int) and want != got:
            raise InvalidInput(_mismatch(arg, _got(array)) + f" (axis {axis} is {got}, not {want})")


def _cast(arg: NodeArg, kind: DataType, array: Array, typed: bool) -> Array:
    """The array in another dtype, where no value changes. Python's floats have no dtype: they round to the declared."""
    target = kind.numpy
    if array.dtype.kind not in "biuf" or target.kind not in "biuf":
        remedy = "; make it an array of numbers" if array.dtype.kind in "OSUT" else ""
        raise InvalidInput(_mismatch(arg, _got(array)) + remedy)
    with np.errstate(all="ignore"):
        out = np.array(array, dtype=target, order="C")
        if not typed and array.dtype.kind == "f" and target.kind == "f":
            return out
        wrong = ~_same(array, out)
    if not wrong.any():
        return out
    at = np.unravel_index(int(wrong.argmax()), wrong.shape) if wrong.ndim else ()
    example = f"{array[at]}" + (f" at [{', '.join(str(int(i)) for i in at)}]" if at else "")
    rounding = ".round()" if array.dtype.kind == "f" and target.kind in "iu" else ""
    raise InvalidInput(
        _mismatch(arg, _got(array))
        + f" with values that {target.name} cannot hold exactly, such as {example}"
        + f'; if rounding is what you want: x{rounding}.astype("{target.name}")'
    )


def _same(a: Array, b: Array) -> Array:
    """Where a conversion a -> b kept the value; NaN stays NaN."""
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        return (a == b) | (np.isnan(a) & np.isnan(b))
    same = b.astype(a.dtype) == a
    # Out-of-range conversions between float and integer saturate on some machines and look as if they came back.
    number, limit = (a, b.dtype) if a.dtype.kind == "f" else (b, a.dtype)
    if number.dtype.kind == "f" and limit.kind in "iu":
        info = np.iinfo(limit)
        same &= (number >= float(info.min)) & (number < float(info.max + 1))
    elif a.dtype.kind in "iu" and b.dtype.kind in "iu":
        same &= (a < 0) == (b < 0)
    return same


def _strings(arg: NodeArg, array: Array) -> Array:
    if array.dtype.kind not in "OUST":
        raise InvalidInput(_mismatch(arg, _got(array)) + "; turn it into text: x.astype(str)")
    out = np.empty(array.shape, dtype=object)
    for index, item in np.ndenumerate(array):
        if isinstance(item, bytes):
            out[index] = item.decode("utf-8")
        elif item is None:
            raise InvalidInput(
                _mismatch(arg, f"None at {list(index)}") + '; say what stands for missing, such as "nan"'
            )
        else:
            out[index] = str(item)  # onnxruntime does the same with numbers
    return out


def _narrow(arg: NodeArg, kind: DataType, array: Array) -> Narrow:
    from .tensors import from_bits

    if array.dtype.name == kind.name.lower() or (array.dtype.kind == "V" and array.dtype.itemsize * 8 >= kind.bits):
        array = array.view(f"u{array.dtype.itemsize}")  # ml_dtypes' arrays
    bit_dtype = _bit_dtype(kind)
    if array.dtype.newbyteorder("=") != bit_dtype:
        raise InvalidInput(
            _mismatch(arg, _got(array)) + f"; numpy has no {kind.name.lower()}: pass its bits as {bit_dtype.name}"
        )
    return from_bits(kind, np.array(array, dtype=bit_dtype, order="C"))


def _bit_dtype(kind: DataType) -> np.dtype[Any]:
    if kind.bits == 16:
        return np.dtype(np.uint16)
    return kind.numpy if kind.bits < 8 and kind.numpy.kind in "iu" else np.dtype(np.uint8)


def _names(inputs: Sequence[NodeArg], overridable: Sequence[NodeArg], feeds: Mapping[str, Any], where: str) -> str:
    missing = [a.name for a in inputs if a.name not in feeds and not a.type.startswith("optional")]
    known = {a.name for a in (*inputs, *overridable)}
    extra = [name for name in feeds if name not in known]
    takes = ", ".join(f"{a.name!r} ({describe(a)})" for a in inputs) or "no inputs"
    more = f", and optionally {', '.join(repr(a.name) for a in overridable)}" if overridable else ""
    model = f"model {where!r}: " if where else ""
    what = []
    if missing:
        what.append(f"Required inputs ({missing}) are missing from input feed ({list(feeds)})")
    if extra:
        what.append(f"there is no input {', '.join(repr(n) for n in extra)}")
    return f"{model}{'; '.join(what)}; the model takes {takes}{more}"


def _mismatch(arg: NodeArg, got: str) -> str:
    return f'input "{arg.name}": expected {describe(arg)}, got {got}'


def _got(array: Array) -> str:
    kind = from_numpy(array.dtype)
    name = "string" if kind == DataType.STRING and array.dtype.kind != "O" else array.dtype.name
    return f"{name} {_shape_text(array.shape)}"


def _dtype_name(kind: DataType) -> str:
    if kind == DataType.STRING or kind.is_narrow:
        return kind.name.lower()
    return kind.numpy.name


def _shape_text(shape: Sequence[Any]) -> str:
    return "[" + ", ".join("?" if d is None else str(d) for d in shape) + "]"
