"""Sound, as apps see it."""

from __future__ import annotations

import io
import sys
import warnings
from typing import Any, Self

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..media.resample import resample
from ..media.source import Source, read
from ..media.wav import is_wav, read_wav, write_wav

__all__ = ["Audio"]


class Audio:
    """Sound as float samples.

    Samples that are not finite (NaN, infinite: a fault of some recorders) are set to 0 with a warning, and
    `repaired` counts them: one bad sample must not turn a model's whole answer into NaN. Samples beyond -1 .. 1 are
    legal and kept.

    A live microphone comes in pieces, one after the other and every sample once: `start_s` says where in the recording
    a piece begins. It is 0 for the first piece, and for all sound that is whole.

    Args:
        samples: float [n] (mono) or [channels, n], at least one sample, full scale is -1 .. 1.
        sample_rate_hz: at least 1.
        start_s: seconds of the recording before the first sample.
    Raises: InvalidInput: no samples, integers, another shape, or a rate below 1.
    """

    def __init__(self, samples: Any, sample_rate_hz: int, *, start_s: float = 0.0) -> None:
        array = np.asarray(samples)
        if array.dtype.kind != "f":
            raise InvalidInput(f"Audio: expected float samples, got {array.dtype}; divide integers by their full scale")
        if array.ndim not in (1, 2) or 0 in array.shape:
            raise InvalidInput(f"Audio: expected [n] or [channels, n] with at least 1 sample, got {list(array.shape)}")
        if int(sample_rate_hz) != sample_rate_hz or sample_rate_hz < 1:
            raise InvalidInput(f"Audio: expected a whole sample rate of at least 1 Hz, got {sample_rate_hz}")
        if array.ndim == 2 and array.shape[0] == 1:
            array = array[0]
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
        bad = ~np.isfinite(array)
        self.repaired = int(bad.sum())
        if self.repaired:
            array[bad] = 0
            warnings.warn(f"{self.repaired} of {array.size} samples are not finite; they are set to 0", stacklevel=2)
        self.samples: Array = array
        self.sample_rate_hz = int(sample_rate_hz)
        self.start_s = float(start_s)
        self.source: bytes | None = None
        self.name = ""

    @classmethod
    def open(cls, source: Source, name: str = "") -> Self:
        """Read a sound file: WAV by the core's own reader; others by ``soundfile`` where it is installed.

        In the page, the browser decodes other formats before they come here.

        Raises: InvalidInput: no sound, damaged, empty, or a format that nothing here reads; OSError: no such file.
        """
        data, name = read(source, name)
        where = f'sound "{name}"' if name else "sound"
        if not data:
            raise InvalidInput(f"{where}: expected a sound file, got 0 bytes; choose another file")
        samples, rate = read_wav(data, name) if is_wav(data) else _by_soundfile(data, where)
        if samples.size == 0:
            raise InvalidInput(f"{where}: expected at least 1 sample, got 0; record it again")
        audio = cls(samples, rate)
        audio.source, audio.name = data, name
        return audio

    @property
    def channels(self) -> int:
        return 1 if self.samples.ndim == 1 else int(self.samples.shape[0])

    @property
    def duration_s(self) -> float:
        return float(self.samples.shape[-1] / self.sample_rate_hz)

    def mono(self) -> Audio:
        """The mean of the channels, samples [n]."""
        if self.samples.ndim == 1:
            return self
        return Audio(self.samples.mean(axis=0), self.sample_rate_hz, start_s=self.start_s)

    def resample(self, sample_rate_hz: int) -> Audio:
        """The same sound at another rate, low-passed so that nothing aliases; see `media.resample`."""
        if sample_rate_hz == self.sample_rate_hz:
            return self
        out = resample(np.atleast_2d(self.samples), self.sample_rate_hz, sample_rate_hz)
        return Audio(out, sample_rate_hz, start_s=self.start_s)

    def to_wav(self, bits: int = 16) -> bytes:
        """A WAV file: bits 16 (integers, clipped to full scale) or 32 (floats, exact)."""
        return write_wav(np.atleast_2d(self.samples), self.sample_rate_hz, bits)

    def __repr__(self) -> str:
        return f"<Audio {self.duration_s:.3f} s, {self.channels} x {self.sample_rate_hz} Hz>"


def _by_soundfile(data: bytes, where: str) -> tuple[Array, int]:
    came = f"{where}: expected a WAV file, got {len(data):,} bytes that start with {data[:8]!r}"
    try:
        import soundfile
    except (ImportError, OSError):  # OSError: its libsndfile is missing
        in_page = sys.platform == "emscripten"
        raise InvalidInput(f"{came}; save it as WAV{'' if in_page else ', or pip install soundfile'}") from None
    try:
        samples, rate = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except Exception as error:
        raise InvalidInput(f"{came}, which soundfile cannot read either; save it as WAV") from error
    return samples.T, int(rate)
