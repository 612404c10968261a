"""Change the sample rate of sound: a polyphase windowed-sinc filter.

Source of the method: J. O. Smith, Digital Audio Resampling, https://ccrma.stanford.edu/~jos/resample/.
"""

from functools import lru_cache
from math import ceil, gcd

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput

__all__ = ["MAX_RATE_HZ", "Resampler", "resample"]

MAX_RATE_HZ = 384_000  # the highest in use; it bounds the filter's table to 100 MB

_ZERO_CROSSINGS = 32  # on each side of the centre, at the lower of the two rates
_KAISER_BETA = 9.0  # stop band about -90 dB, below 16-bit noise
_ROLLOFF = 0.92  # cut-off as a share of the lower rate's half; with 32 crossings the transition ends at the half
_STEPS = 4096  # of the filter's table; linear interpolation errs by (pi / 4096)^2 / 8, below float32
_MAX_SAMPLES = 1 << 28  # 1 GB: a header that lies about its rate must not take all memory
_BLOCK = 1 << 19  # products held at once


def resample(samples: Array, from_hz: int, to_hz: int) -> Array:
    """Resample with a low-pass at the lower of the two rates; the ends are as if silence lay outside.

    Args:
        samples: float32 [channels, n].
        from_hz, to_hz: whole rates of 1 to MAX_RATE_HZ.
    Returns: float32 [channels, ceil(n * to_hz / from_hz)].
    Raises: InvalidInput: a rate out of range.
    """
    up, down = _ratio(from_hz, to_hz)
    channels, n = samples.shape
    if up == down or n == 0:
        return samples.copy()
    count = -(-n * up // down)
    if count * channels > _MAX_SAMPLES:
        raise InvalidInput(
            f"resample: {n} samples at {from_hz} Hz are {count * channels:,} at {to_hz} Hz, expected at most "
            f"{_MAX_SAMPLES:,}; check the sound's sample rate, or take a part of it"
        )
    taps = _filters(up, down, min(up, count))
    half = taps.shape[1] // 2
    return _filtered(np.pad(samples, ((0, 0), (half - 1, half))), taps, up, down, count)


class Resampler:
    """Resamples sound that comes in pieces: put together, what it gives is what `resample` gives for the whole.

    What comes out lags by half a filter (4 ms from 48 to 16 kHz): those samples need ones that have not come yet.

    Args:
        from_hz, to_hz: whole rates of 1 to MAX_RATE_HZ.
    Raises: InvalidInput: a rate out of range.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._up, self._down = _ratio(from_hz, to_hz)
        self._taps = _filters(self._up, self._down, self._up) if self._up != self._down else np.ones((1, 2), np.float32)
        self._half = self._taps.shape[1] // 2
        self._rest = np.zeros(self._half - 1, np.float32)  # what later samples still need; silence before the first
        self._came = self._gave = 0
        self._start = 0  # where among all outputs those of `_rest` start: always a multiple of `up`

    def feed(self, samples: Array) -> Array:
        """Take the next samples, float32 [n]. Returns: float32 [m], as many as are certain now; maybe none."""
        if self._up == self._down:
            return np.asarray(samples, np.float32)
        self._came += len(samples)
        certain = -(-(self._came - self._half) * self._up // self._down)
        return self._until(np.concatenate([self._rest, samples]), max(certain, self._gave))

    def finish(self) -> Array:
        """What is left, as if silence followed: float32 [m]. Nothing may be fed afterwards."""
        if self._up == self._down:
            return np.zeros(0, np.float32)
        total = -(-self._came * self._up // self._down)
        return self._until(np.concatenate([self._rest, np.zeros(self._half, np.float32)]), total)

    def _until(self, samples: Array, end: int) -> Array:
        """The outputs from where the last ones ended up to `end`."""
        out = _filtered(samples[None], self._taps, self._up, self._down, end - self._start)[0]
        out = out[self._gave - self._start :]
        rounds = (end - self._start) // self._up  # whole turns of the filters are over
        self._rest = samples[rounds * self._down :]
        self._start += rounds * self._up
        self._gave = end
        return out


def _ratio(from_hz: int, to_hz: int) -> tuple[int, int]:
    for rate in (from_hz, to_hz):
        if not 1 <= rate <= MAX_RATE_HZ:
            raise InvalidInput(f"resample: expected sample rates of 1 to {MAX_RATE_HZ} Hz, got {rate}")
    common = gcd(from_hz, to_hz)
    return to_hz // common, from_hz // common


def _filtered(padded: Array, taps: Array, up: int, down: int, count: int) -> Array:
    """The first `count` outputs, float32 [channels, count]; `padded` starts half a filter before the first."""
    out = np.empty((len(padded), count), np.float32)
    width = taps.shape[1]
    step = max(1, _BLOCK * up // (width * max(up, down)))  # so that a block's windows, overlapping, fit 32-bit sizes
    for start in range(0, count, step):
        at = np.arange(start, min(start + step, count), dtype=np.int64)  # wasm32's default has 32 bits
        first = at * down // up
        block = padded[:, first[0] : first[-1] + width]
        windows = np.lib.stride_tricks.sliding_window_view(block, width, axis=1)[:, first - first[0]]
        out[:, at] = np.einsum("cnt,nt->cn", windows, taps[at % up], optimize=False)
    return out


def _filters(up: int, down: int, count: int) -> Array:
    """The filters of the first outputs; after `up` of them they repeat.

    Returns: float32 [count, 2 * half]. Output n lies n * down / up samples after the first: tap t weighs the sample
        t - half + 1 after the whole part of that.
    """
    narrow = min(1.0, up / down)
    half = ceil(_ZERO_CROSSINGS / narrow)
    taps = np.empty((count, 2 * half), np.float32)
    offset = np.arange(2 * half) - (half - 1)
    kernel, slope = _kernel()
    rows = max(1, _BLOCK // (2 * half))
    for first in range(0, count, rows):
        phase = (np.arange(first, min(first + rows, count), dtype=np.int64) * down % up)[:, None] / up
        at = np.minimum(np.abs(offset - phase) * (narrow * _STEPS), len(kernel) - 1)
        entry = at.astype(np.intp)  # np.interp searches, which is seven times slower in Pyodide
        block = kernel[entry] + (at - entry) * slope[entry]
        taps[first : first + rows] = block / block.sum(axis=1, keepdims=True)  # a constant passes unchanged
    return taps


@lru_cache(maxsize=1)
def _kernel() -> tuple[Array, Array]:
    """One side of the windowed sinc in _STEPS entries a sample of the lower rate, and the way to each next entry."""
    x = np.linspace(0, _ZERO_CROSSINGS, _ZERO_CROSSINGS * _STEPS + 1)
    kernel = np.sinc(x * _ROLLOFF) * np.i0(_KAISER_BETA * np.sqrt(1 - (x / _ZERO_CROSSINGS) ** 2))
    kernel[-1] = 0.0  # beyond the last crossing
    return kernel, np.diff(kernel, append=0.0)
