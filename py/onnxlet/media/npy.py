"""Arrays in .npy files, without pickle."""

import io

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput

__all__ = ["read_npy", "write_npy"]


def read_npy(data: bytes, name: str = "") -> Array:
    """The array of a .npy file.

    Raises: InvalidInput: no .npy file, cut, or an object array (these are pickles, which can run code).
    """
    where = f'tensor "{name}"' if name else "tensor"
    if not data.startswith(b"\x93NUMPY"):
        raise InvalidInput(
            f"{where}: expected a .npy file, got {len(data):,} bytes that start with {data[:8]!r}; use numpy.save"
        )
    try:
        array: Array = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # numpy raises ValueError, SyntaxError, MemoryError ... on damaged headers
        raise InvalidInput(f"{where}: {error}; write it again by numpy.save, without objects") from None
    return array


def write_npy(array: Array) -> bytes:
    """A .npy file. Raises: InvalidInput: an object array."""
    out = io.BytesIO()
    try:
        np.lib.format.write_array(out, np.asarray(array), allow_pickle=False)
    except ValueError as error:
        raise InvalidInput(f"tensor: {error}; expected numbers or texts") from None
    return out.getvalue()
