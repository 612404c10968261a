"""What models of sound read: log-mel spectrograms and normalized samples, equal to those that they were trained on.

Sources: Davis & Mermelstein 1980, doi:10.1109/TASSP.1980.1163420; the mel scales of HTK and of Slaney's Auditory
Toolbox (librosa's default); Kaldi's fbank. Parameters are named as librosa and torchaudio name them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..records import dataclass
from ..values import Audio

__all__ = ["LogMel", "Waveform", "features_from_config"]

_BLOCK = 4096  # frames at once: minutes of sound must not fill the memory
_CHOICES = {
    "window": ("hann", "hamming", "povey"),
    "framing": ("center", "inside", "kaldi"),
    "mel_scale": ("htk", "slaney", "kaldi"),
    "norm": (None, "slaney"),
    "log": (None, "log", "log10", "db"),
    "reference": (None, "max"),
}


@dataclass(frozen=True, slots=True)
class LogMel:
    """A log-mel spectrogram; the defaults are torchaudio's MelSpectrogram with 80 mels and a natural logarithm.

    Args:
        sample_rate_hz: what sound is resampled to.
        n_fft: points of the Fourier transform.
        hop_length: samples from frame to frame.
        win_length: samples of the window; None: n_fft.
        n_mels: bands.
        f_min, f_max: their range in Hz; None: up to half the sample rate.
        window, periodic: "hann", "hamming" or "povey"; periodic for a transform, symmetric otherwise.
        framing: "center": frame t is centred on sample t * hop_length, the sound being mirrored at its ends (librosa,
            torch); "inside": all frames lie in the sound; "kaldi": so too, of win_length samples without their mean.
        preemphasis: share of each sample that is taken from the next one in its frame.
        power: of the magnitudes, 1 or 2.
        mel_scale: "htk", "slaney", or "kaldi": HTK's, with triangles that are straight in mels.
        norm: "slaney" gives all bands one area; None one height.
        log: "log", "log10", "db" (10 log10 of a power, 20 log10 of a magnitude), or None.
        floor: what less than it counts as, before the logarithm.
        reference: "max" makes the loudest the zero of "db".
        dynamic_range: how far below the loudest anything may lie, after the logarithm; None: any.
        mean, std: subtracted, and divided by.
        samples: the sound is cut to these, or silence follows; None: as it is.
        frames: the same for frames: zeros follow, and are normalized too.
        drop_last: leave the last frame out, as Whisper does.
        time_first: [frames, n_mels] instead of [n_mels, frames].
    Raises: InvalidInput: a choice that there is none of, a window longer than the transform.
    """

    sample_rate_hz: int = 16_000
    n_fft: int = 400
    hop_length: int = 160
    win_length: int | None = None
    n_mels: int = 80
    f_min: float = 0.0
    f_max: float | None = None
    window: Literal["hann", "hamming", "povey"] = "hann"
    periodic: bool = True
    framing: Literal["center", "inside", "kaldi"] = "center"
    preemphasis: float = 0.0
    power: float = 2.0
    mel_scale: Literal["htk", "slaney", "kaldi"] = "htk"
    norm: Literal["slaney"] | None = None
    log: Literal["log", "log10", "db"] | None = "log"
    floor: float = 1e-10
    reference: Literal["max"] | None = None
    dynamic_range: float | None = None
    mean: float = 0.0
    std: float = 1.0
    samples: int | None = None
    frames: int | None = None
    drop_last: bool = False
    time_first: bool = False

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            if getattr(self, name) not in known:
                raise InvalidInput(f"LogMel: {name} is {getattr(self, name)!r}, expected one of {known}")
        for name in ("sample_rate_hz", "n_fft", "hop_length", "n_mels", "power", "floor", "std"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"LogMel: expected {name} above 0, got {getattr(self, name)}")
        if not 0 < (self.win_length or self.n_fft) <= self.n_fft:
            raise InvalidInput(f"LogMel: expected a win_length of at most n_fft {self.n_fft}, got {self.win_length}")
        if not 0 <= self.f_min < (self.f_max or self.sample_rate_hz / 2):
            raise InvalidInput(f"LogMel: expected f_min below f_max, got {self.f_min} and {self.f_max}")

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> LogMel:
        """The front end that a Hugging Face preprocessor_config.json describes: Whisper's or AST's.

        Raises: InvalidInput: another one; it says which are known.
        """
        found = features_from_config(config)
        if not isinstance(found, cls):
            raise InvalidInput(f"LogMel: {_type(config)} reads samples; take features_from_config")
        return found

    def __call__(self, audio: Audio) -> Array:
        """Sound -> features, float32 [1, n_mels, frames], or [1, frames, n_mels].

        Raises: InvalidInput: the sound is shorter than a window, or than half of one where the framing is "center".
        """
        samples = _samples(audio, self.sample_rate_hz, self.samples).astype(np.float64)
        bands = self._powers(samples) @ mel_filters(self).T
        levels = self._logarithm(np.maximum(bands, self.floor))
        levels = levels[:-1] if self.drop_last else levels
        if self.dynamic_range is not None and levels.size:
            levels = np.maximum(levels, levels.max() - self.dynamic_range)
        if self.frames is not None:
            levels = np.pad(levels[: self.frames], ((0, max(0, self.frames - len(levels))), (0, 0)))
        levels = ((levels - self.mean) / self.std).astype(np.float32)
        return levels[None] if self.time_first else levels.T[None]

    def _powers(self, samples: Array) -> Array:
        """Magnitudes to the power, float64 [frames, n_fft // 2 + 1]."""
        width, window = self.win_length or self.n_fft, _window(self)
        if self.framing != "kaldi":  # torch and librosa put a short window into the middle of the transform
            before = (self.n_fft - width) // 2
            window, width = np.pad(window, (before, self.n_fft - width - before)), self.n_fft
        half = self.n_fft // 2 if self.framing == "center" else 0
        if len(samples) <= half or len(samples) + 2 * half < width:
            raise InvalidInput(
                f"LogMel: expected at least {half + 1 if half else width} samples at {self.sample_rate_hz} Hz, got "
                f"{len(samples)}; record more"
            )
        samples = np.pad(samples, half, mode="reflect")
        frames = np.lib.stride_tricks.sliding_window_view(samples, width)[:: self.hop_length]
        parts = []
        for first in range(0, len(frames), _BLOCK):
            block = frames[first : first + _BLOCK]
            if self.framing == "kaldi":
                block = block - block.mean(axis=1, keepdims=True)
            if self.preemphasis:
                before_each = np.concatenate([block[:, :1], block[:, :-1]], axis=1)
                block = block - self.preemphasis * before_each
            parts.append(np.abs(np.fft.rfft(block * window, self.n_fft)) ** self.power)
        return np.concatenate(parts)

    def _logarithm(self, bands: Array) -> Array:
        if self.log is None:
            return bands
        if self.log != "db":
            return np.log(bands) if self.log == "log" else np.log10(bands)
        levels = 20 / self.power * np.log10(bands)
        return levels - levels.max() if self.reference == "max" else levels


@dataclass(frozen=True, slots=True)
class Waveform:
    """The samples themselves, as Wav2Vec2's family reads them.

    Args:
        sample_rate_hz: what sound is resampled to.
        normalize: to mean 0 and variance 1.
        samples: the sound is cut to these, or zeros follow it once it is normalized; None: as it is.
    """

    sample_rate_hz: int = 16_000
    normalize: bool = True
    samples: int | None = None

    def __call__(self, audio: Audio) -> Array:
        """Sound -> float32 [1, samples]."""
        samples = _samples(audio, self.sample_rate_hz, None)[: self.samples]
        if self.normalize:
            exact = samples.astype(np.float64)
            samples = ((exact - exact.mean()) / np.sqrt(exact.var() + 1e-7)).astype(np.float32)
        return np.pad(samples, (0, max(0, (self.samples or 0) - len(samples))))[None]


def features_from_config(config: Mapping[str, Any]) -> LogMel | Waveform:
    """The front end that a Hugging Face preprocessor_config.json describes.

    Args:
        config: the file's content; its ``feature_extractor_type`` is that of Whisper, AST or Wav2Vec2 (HuBERT, WavLM
            and others have that one too).
    Raises: InvalidInput: another type.
    """
    rate = int(config.get("sampling_rate", 16_000))
    match _type(config):
        case "WhisperFeatureExtractor":
            return LogMel(
                sample_rate_hz=rate,
                n_fft=int(config.get("n_fft", 400)),
                hop_length=int(config.get("hop_length", 160)),
                n_mels=int(config.get("feature_size", 80)),
                f_max=8000.0,
                mel_scale="slaney",
                norm="slaney",
                log="log10",
                dynamic_range=8.0,
                mean=-4.0,
                std=4.0,
                samples=int(config.get("chunk_length", 30)) * rate,
                drop_last=True,
            )
        case "ASTFeatureExtractor":
            normalize = config.get("do_normalize", True)
            return LogMel(
                sample_rate_hz=rate,
                n_fft=512,
                win_length=400,
                n_mels=int(config.get("num_mel_bins", 128)),
                f_min=20.0,
                periodic=False,
                framing="kaldi",
                preemphasis=0.97,
                mel_scale="kaldi",
                floor=2.0**-23,
                mean=float(config.get("mean", -4.2677393)) if normalize else 0.0,
                std=2 * float(config.get("std", 4.5689974)) if normalize else 1.0,
                frames=int(config.get("max_length", 1024)),
                time_first=True,
            )
        case "Wav2Vec2FeatureExtractor":
            return Waveform(rate, normalize=bool(config.get("do_normalize", True)))
        case other:
            raise InvalidInput(
                f"features: {other or 'no feature_extractor_type'}, expected WhisperFeatureExtractor, "
                "ASTFeatureExtractor or Wav2Vec2FeatureExtractor; describe its LogMel by hand"
            )


@lru_cache(maxsize=4)
def mel_filters(of: LogMel) -> Array:
    """Triangles over the bins of the transform, float64 [n_mels, n_fft // 2 + 1]."""
    top = of.f_max or of.sample_rate_hz / 2
    to_mel, to_hz = (_slaney, _from_slaney) if of.mel_scale == "slaney" else (_htk, _from_htk)
    lowest, highest = to_mel(np.array([of.f_min, top])).tolist()
    edges = np.linspace(lowest, highest, of.n_mels + 2)
    bins = np.arange(of.n_fft // 2 + 1) * (of.sample_rate_hz / of.n_fft)
    if of.mel_scale == "kaldi":
        bins = to_mel(bins)
    else:
        edges = to_hz(edges)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    filters = np.maximum(0, np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle)))
    return filters * (2 / (high - low)) if of.norm == "slaney" else filters


def _window(of: LogMel) -> Array:
    """Float64 [win_length]."""
    width = of.win_length or of.n_fft
    turns = 2 * np.pi * np.arange(width) / (width if of.periodic else max(1, width - 1))
    if of.window == "hamming":
        return 0.54 - 0.46 * np.cos(turns)
    hann = 0.5 - 0.5 * np.cos(turns)
    return hann**0.85 if of.window == "povey" else hann


def _samples(audio: Audio, sample_rate_hz: int, count: int | None) -> Array:
    """Mono samples at a rate, float32, cut or followed by silence."""
    samples = audio.mono().resample(sample_rate_hz).samples[:count]
    return np.pad(samples, (0, max(0, (count or 0) - len(samples))))


def _type(config: Mapping[str, Any]) -> str:
    return str(config.get("feature_extractor_type") or config.get("processor_class") or "")


def _htk(hz: Array) -> Array:
    return 2595 * np.log10(1 + hz / 700)


def _from_htk(mels: Array) -> Array:
    return 700 * (10 ** (mels / 2595) - 1)


def _slaney(hz: Array) -> Array:
    """Straight below 1 kHz, 15 mels there; above, 27 mels for each factor of 6.4."""
    return np.where(hz < 1000, 3 * hz / 200, 15 + 27 * np.log(np.maximum(hz, 1000) / 1000) / np.log(6.4))


def _from_slaney(mels: Array) -> Array:
    return np.where(mels < 15, 200 * mels / 3, 1000 * 6.4 ** ((np.maximum(mels, 15) - 15) / 27))
