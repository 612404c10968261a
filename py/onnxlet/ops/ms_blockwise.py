"""com.microsoft: weights quantized in blocks.

Spec of all: https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import Array, DataType, Narrow
from ..errors import InvalidInput
from .indexing import in_bounds
from .narrow import narrowed, type_of, widened
from .registry import op
from .support import axis_in_range, product

__all__ = ["unpacked"]

# The 16 values of NF4 (Dettmers et al. 2023, arXiv:2305.14314, appendix E) and of bitsandbytes' FP4, by code.
_NF4 = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
_FP4_HALF = (0.0, 0.0052083333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25)
_FP4 = (*_FP4_HALF, *(-v for v in _FP4_HALF))


def unpacked(packed: Array, bits: int) -> Array:
    """Codes of 2, 4 or 8 bits from bytes: the last axis grows by 8 / bits, lowest bits first."""
    if bits not in (2, 4, 8):
        raise InvalidInput(f"bits is {bits}, expected 2, 4 or 8")
    if bits == 8:
        return packed
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    codes = (packed[..., None] >> shifts) & np.uint8((1 << bits) - 1)
    return codes.reshape(*packed.shape[:-1], -1)


@op("MatMulNBits", domain="com.microsoft")
def MatMulNBits(
    a: Array,
    b: Array,
    scales: Array,
    zero_points: Array | None = None,
    g_idx: Array | None = None,
    bias: Array | None = None,
    *,
    K: int,
    N: int,
    accuracy_level: int = 0,
    bits: int = 4,
    block_size: int,
    weight_prepacked: int = 0,
) -> Array:
    """a @ dequantized(b).T + bias.

    Args:
        a: [..., K].
        b: uint8 [N, blocks, block_size * bits / 8].
        scales: [N * blocks].
        zero_points: uint8, packed like b over the blocks of a row, or a's type, one a block; default 2 ** (bits - 1).
        g_idx: int32 [K]: the block of each row of weights; default k // block_size.
        accuracy_level: what a runtime may round ``a`` to; here it is never rounded.
    Returns: [..., N].
    """
    if weight_prepacked:
        raise InvalidInput(f"weight_prepacked is {weight_prepacked}: weights in a GPU's own layout; export with 0")
    blocks = -(-K // block_size)
    codes = unpacked(b.reshape(N, -1), bits)[:, : blocks * block_size]
    if zero_points is None:
        zeros = np.full((N, blocks), 1 << (bits - 1), np.float32)
    elif zero_points.dtype == np.uint8:
        zeros = unpacked(zero_points.reshape(N, -1), bits)[:, :blocks].astype(np.float32)
    else:
        zeros = zero_points.reshape(N, blocks).astype(np.float32)
    scale = scales.reshape(N, blocks).astype(np.float32)
    block = np.arange(K) // block_size if g_idx is None else g_idx[:K]
    weights = (codes[:, :K].astype(np.float32) - zeros[:, block]) * scale[:, block]
    y = product(a.astype(np.float32), weights.T)
    return (y if bias is None else y + bias.astype(np.float32)).astype(a.dtype)


@op("MatMulBnb4", domain="com.microsoft")
def MatMulBnb4(
    a: Array,
    b: Array,
    absmax: Array,
    *,
    K: int,
    N: int,
    block_size: int,
    quant_type: int,
    training_mode: int = 0,
    transB: int = 1,
) -> Array:
    """a @ weights in bitsandbytes' 4-bit formats.

    Args:
        a: [..., K].
        b: uint8 [N * K / 2]; the first code of a byte is in its high bits.
        absmax: [ceil(N * K / block_size)].
        quant_type: 0 FP4, 1 NF4.
        transB: 1: b is [N, K]; 0: [K, N].
    """
    packed = b.reshape(-1)
    codes = np.stack([packed >> 4, packed & 15], axis=1).reshape(-1)[: N * K]
    values = np.array(_NF4 if quant_type else _FP4, np.float32)[codes]
    weights = values * np.repeat(absmax.reshape(-1).astype(np.float32), block_size)[: N * K]
    matrix = weights.reshape(N, K).T if transB else weights.reshape(K, N)
    return product(a.astype(np.float32), matrix).astype(a.dtype)


@op("GatherBlockQuantized", domain="com.microsoft", narrow=True)
def GatherBlockQuantized(
    data: Any,
    indices: Array,
    scales: Any,
    zero_points: Any = None,
    *,
    bits: int = 4,
    block_size: int = 128,
    gather_axis: int = 0,
    quantize_axis: int = 1,
) -> Any:
    """Gather from a table quantized in blocks, in the scales' type.

    Args:
        data: INT4 or UINT4; uint8 holding 8 / bits codes a byte along the last axis, with a default zero point of
            2 ** (bits - 1); or float8 and float4.
        scales: data's shape (codes counted), with ``quantize_axis`` divided by block_size.
        zero_points: data's type, the scales' shape (packed as the data is).
        block_size: 0: the whole axis.
    """
    codes, zeros = widened(data), None if zero_points is None else widened(zero_points)
    default = 0
    if isinstance(data, np.ndarray) and data.dtype == np.uint8:
        codes = unpacked(codes, bits)
        zeros = None if zeros is None else unpacked(zeros, bits)
        default = 1 << (bits - 1)
    scale = widened(scales)
    gather, quantize = axis_in_range(gather_axis, codes.ndim), axis_in_range(quantize_axis, codes.ndim)
    block = np.arange(codes.shape[quantize]) // (block_size or codes.shape[quantize])
    places = in_bounds(indices, codes.shape[gather])

    def picked(table: Array, *, blockwise: bool) -> Array:
        if blockwise and gather == quantize:
            return np.take(table, block[places], axis=gather)
        rows = np.take(table, places, axis=gather)
        if not blockwise:
            return rows
        return np.take(rows, block, axis=quantize if quantize < gather else quantize + places.ndim - 1)

    values = picked(codes, blockwise=False).astype(np.float32)
    values = values - (default if zeros is None else picked(zeros, blockwise=True).astype(np.float32))
    result = (values * picked(scale, blockwise=True).astype(np.float32)).astype(scale.dtype)
    kind: DataType = type_of(scales)
    return narrowed(result, kind) if isinstance(scales, Narrow) else result
