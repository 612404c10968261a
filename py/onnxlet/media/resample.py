"""Change the sample rate of sound: a polyphase windowed-sinc filter.

Source of the method: J. O. Smith, Digital Audio Resampling, https://ccrma.stanford.edu/~jos/resample/.
"""

from math import ceil, gcd

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput

__all__ = ["MAX_RATE_HZ", "resample"]

MAX_RATE_HZ = 384_000  # the highest in use; it bounds the filter's table to 100 MB

_ZERO_CROSSINGS = 32  # on each side of the centre, at the lower of the two rates
_KAISER_BETA = 9.0  # stop band about -90 dB, below 16-bit noise
_ROLLOFF = 0.92  # cut-off as a share of the lower rate's half; with 32 crossings the transition ends at the half
_BLOCK = 1 << 21  # products held at once


def resample(samples: Array, from_hz: int, to_hz: int) -> Array:
    """Resample with a low-pass at the lower of the two rates; the ends are as if silence lay outside.

    Args:
        samples: float32 [channels, n].
        from_hz, to_hz: whole rates of 1 to MAX_RATE_HZ.
    Returns: float32 [channels, ceil(n * to_hz / from_hz)].
    Raises: InvalidInput: a rate out of range.
    """
    for rate in (from_hz, to_hz):
        if not 1 <= rate <= MAX_RATE_HZ:
            raise InvalidInput(f"resample: expected sample rates of 1 to {MAX_RATE_HZ} Hz, got {rate}")
    common = gcd(from_hz, to_hz)
    up, down = to_hz // common, from_hz // common
    channels, n = samples.shape
    if up == down or n == 0:
        return samples.copy()
    taps = _filters(up, down)
    half = taps.shape[1] // 2
    padded = np.pad(samples, ((0, 0), (half - 1, half)))
    count = -(-n * up // down)
    out = np.empty((channels, count), np.float32)
    step = max(1, _BLOCK // taps.shape[1])
    windows = np.lib.stride_tricks.sliding_window_view(padded, taps.shape[1], axis=1)
    for start in range(0, count, step):
        at = np.arange(start, min(start + step, count)) * down
        out[:, start : start + step] = np.einsum("cnt,nt->cn", windows[:, at // up], taps[at % up], optimize=False)
    return out


def _filters(up: int, down: int) -> Array:
    """One filter a phase: float32 [up, 2 * half]; tap t of phase p weighs the sample t - half + 1 - p / up away."""
    cutoff = min(1.0, up / down) * _ROLLOFF
    reach = _ZERO_CROSSINGS / min(1.0, up / down)
    half = ceil(reach)
    taps = np.empty((up, 2 * half), np.float32)
    offset = np.arange(2 * half) - (half - 1)
    rows = max(1, _BLOCK // (2 * half))
    for first in range(0, up, rows):
        phase = np.arange(first, min(first + rows, up))[:, None] / up
        x = offset - phase
        window = np.i0(_KAISER_BETA * np.sqrt(np.maximum(1 - (x / reach) ** 2, 0))) * (np.abs(x) <= reach)
        block = np.sinc(x * cutoff) * window
        taps[first : first + rows] = block / block.sum(axis=1, keepdims=True)  # each phase passes a constant unchanged
    return taps
