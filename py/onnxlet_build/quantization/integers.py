"""Numbers as integers of 8 and 4 bits with scales."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxlet.dtypes import Array

__all__ = ["BLOCK", "Affine", "affine", "blocks", "mean_shift", "symmetric"]

# Weights whose largest is below this are zeros for every purpose; their scale would be a denormal number or zero.
_TINY = 1e-30
# Values that share a scale in MatMulNBits and GatherBlockQuantized: ONNX Runtime Web's WebGPU kernels have 32.
BLOCK = 32
# A block's outliers may cost less clipped than they cost everybody else as a coarse scale.
_SHRINKS = (1.0, 0.95, 0.9, 0.85, 0.8)


@dataclass(frozen=True, slots=True)
class Affine:
    """real = (integer - zero_point) * scale, integers in 0..255."""

    scale: np.float32
    zero_point: np.uint8


def affine(low: float, high: float) -> Affine:
    """Scale and zero point for values in [low, high]; 0 is always represented exactly."""
    low, high = min(low, 0.0), max(high, 0.0)
    if high - low < _TINY:
        return Affine(np.float32(1), np.uint8(0))
    scale = (high - low) / 255
    return Affine(np.float32(scale), np.uint8(min(255, max(0, round(-low / scale)))))


def symmetric(weights: Array, axis: int | None = None, floor: Array | float = 0.0) -> tuple[Array, Array]:
    """Weights in -127..127, zero point 0.

    Args:
        weights: float32, finite.
        axis: with a scale of its own for each index along it; None for one scale.
        floor: no scale is smaller.
    Returns: int8 of the weights' shape; float32 scales [size along axis], or [] without an axis.
    """
    others = None if axis is None else tuple(i for i in range(weights.ndim) if i != axis % weights.ndim)
    largest = np.abs(weights).max(axis=others)
    wanted = np.maximum(np.where(largest < _TINY, 0, largest.astype(np.float64) / 127), floor)
    scale = np.where(wanted < _TINY, 1.0, wanted).astype(np.float32)
    shape = [1] * weights.ndim
    if axis is not None:
        shape[axis] = -1
    rounded = np.rint(weights / scale.reshape(shape))
    return np.clip(rounded, -127, 127).astype(np.int8), scale


def mean_shift(weight: Array, integers: Array, scale: Array, means: Sequence[float]) -> Array:
    """What rounding a convolution's weight adds to the mean of each output channel. Inputs behind a Relu are not
    centred around 0, so this is most of the error of filters whose weights add up to little; it belongs off the bias.

    Source: Nagel et al. 2019, "Data-free quantization through weight equalization and bias correction", section 4.2.

    Args:
        weight: float32 [O, C / groups, ...]; integers: int8 of that shape; scale: [O].
        means: of each input channel, [C].
    Returns: float64 [O].
    """
    shape = [-1, *[1] * (weight.ndim - 1)]
    error = (integers * scale.reshape(shape).astype(np.float64) - weight).reshape(*weight.shape[:2], -1).sum(2)
    groups = len(means) // weight.shape[1]
    inputs = np.asarray(means).reshape(groups, -1)
    shift: Array = np.einsum("goc,gc->go", error.reshape(groups, -1, weight.shape[1]), inputs)
    return shift.reshape(-1)


def blocks(weights: Array, bits: int) -> tuple[Array, Array, Array]:
    """Each row in blocks of 32 with a scale and a zero point, as MatMulNBits stores them.

    Args:
        weights: float32 [N, K], finite; K is filled up with zeros to whole blocks.
        bits: 4 or 8. Two integers of 4 bits share a byte, the first in its lower half.
    Returns: integers uint8 [N, blocks, 32 * bits / 8]; scales float32 [N, blocks];
        zero points uint8 [N, ceil(blocks * bits / 8)].
    """
    n, k = weights.shape
    count = -(-k // BLOCK)
    padded = np.zeros((n, count * BLOCK), np.float32)
    padded[:, :k] = weights
    values = padded.reshape(n, count, BLOCK)
    top = 2**bits - 1
    best: tuple[Array, Array, Array] | None = None
    least = np.full((n, count), np.inf)
    for shrink in _SHRINKS if bits == 4 else _SHRINKS[:1]:
        low = np.minimum(values.min(2), 0) * np.float32(shrink)
        high = np.maximum(values.max(2), 0) * np.float32(shrink)
        scale = np.where(high - low < _TINY, 1, (high - low) / top).astype(np.float32)
        zero = np.clip(np.rint(-low / scale), 0, top)
        quantized = np.clip(np.rint(values / scale[..., None]) + zero[..., None], 0, top)
        error = np.sum(((quantized - zero[..., None]) * scale[..., None] - values) ** 2, axis=2)
        better = error < least
        least = np.where(better, error, least)
        found = (quantized, scale, zero)
        best = (
            found
            if best is None
            else tuple(  # type: ignore[assignment]
                np.where(better[..., None] if new.ndim == 3 else better, new, old)
                for new, old in zip(found, best, strict=True)
            )
        )
    assert best is not None
    quantized, scale, zero = best
    return _packed(quantized.astype(np.uint8), bits), scale, _packed(zero.astype(np.uint8), bits)


def _packed(values: Array, bits: int) -> Array:
    if bits == 8:
        return values
    if values.shape[-1] % 2:
        values = np.concatenate([values, np.zeros((*values.shape[:-1], 1), np.uint8)], axis=-1)
    return values[..., ::2] | (values[..., 1::2] << 4)
