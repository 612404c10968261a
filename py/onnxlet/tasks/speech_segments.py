"""Frames of sound that are likely speech become segments: rules and defaults of silero_vad's get_speech_timestamps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..errors import InvalidInput
from ..records import dataclass

__all__ = ["FRAME", "SAMPLE_RATE_HZ", "Speech", "SpeechRules", "SpeechTracker"]

SAMPLE_RATE_HZ = 16_000
FRAME = 512  # samples, 32 ms, of which a model says how likely they are speech


class Speech(NamedTuple):
    """Where somebody speaks, in seconds from the start."""

    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class SpeechRules:
    """When frames are speech.

    Args:
        threshold: speech starts with a frame of at least this.
        neg_threshold: and is over below this; None: threshold - 0.15, at least 0.01.
        min_speech_duration_ms: what is not longer is dropped.
        min_silence_duration_ms: shorter pauses are part of the speech.
        speech_pad_ms: added on both sides; half the pause between two segments at most.
    Raises: InvalidInput: a threshold outside 0 to 1, a negative duration.
    """

    threshold: float = 0.5
    neg_threshold: float | None = None
    min_speech_duration_ms: float = 250
    min_silence_duration_ms: float = 100
    speech_pad_ms: float = 30

    def __post_init__(self) -> None:
        if not 0 <= self.threshold <= 1:
            raise InvalidInput(f"SpeechRules: expected a threshold of 0 to 1, got {self.threshold}")
        for name in ("min_speech_duration_ms", "min_silence_duration_ms", "speech_pad_ms"):
            if getattr(self, name) < 0:
                raise InvalidInput(f"SpeechRules: expected {name} of at least 0, got {getattr(self, name)}")

    def segments(self, probabilities: Iterable[float], samples: int | None = None) -> list[Speech]:
        """Find the segments of a whole recording.

        Args:
            probabilities: a frame each.
            samples: how many there are at SAMPLE_RATE_HZ; None: as many as the frames have.
        Returns: in order.
        """
        tracker = SpeechTracker(self)
        found = [ended for probability in probabilities if (ended := tracker.hear(float(probability)).ended)]
        total = tracker.frames * FRAME if samples is None else samples
        if tracker.start is not None:
            found.append((tracker.start, total))
        shortest, pad = self._samples(self.min_speech_duration_ms), self._samples(self.speech_pad_ms)
        kept = [(start, end) for start, end in found if end - start > shortest]
        padded = []
        for number, (start, end) in enumerate(kept):
            before = min(start, pad) if number == 0 else _share(start - kept[number - 1][1], pad)
            after = min(total - end, pad) if number == len(kept) - 1 else _share(kept[number + 1][0] - end, pad)
            padded.append(Speech(int(start - before) / SAMPLE_RATE_HZ, int(end + after) / SAMPLE_RATE_HZ))
        return padded

    def _samples(self, ms: float) -> float:
        return SAMPLE_RATE_HZ * ms / 1000


class Heard(NamedTuple):
    """What a frame changed, in samples: where speech started; from where to where there was speech that is over."""

    started: int | None = None
    ended: tuple[int, int] | None = None


class SpeechTracker:
    """Follows frames one by one.

    Attributes:
        start: of the speech that is going on, in samples.
        frames: how many were heard.
    """

    def __init__(self, rules: SpeechRules) -> None:
        self._threshold, lower = rules.threshold, rules.neg_threshold
        self._neg_threshold = max(rules.threshold - 0.15, 0.01) if lower is None else lower
        self._min_silence = rules._samples(rules.min_silence_duration_ms)
        self._quiet_since: int | None = None
        self.start: int | None = None
        self.frames = 0

    def hear(self, probability: float) -> Heard:
        """Take the next frame."""
        at = self.frames * FRAME
        self.frames += 1
        if probability >= self._threshold:
            self._quiet_since = None
            if self.start is None:
                self.start = at
                return Heard(started=at)
        elif probability < self._neg_threshold and self.start is not None:
            if self._quiet_since is None:
                self._quiet_since = at
            if at - self._quiet_since >= self._min_silence:
                ended = (self.start, self._quiet_since)
                self.start = self._quiet_since = None
                return Heard(ended=ended)
        return Heard()


def _share(silence: int, pad: float) -> float:
    """How much of a pause goes to the speech on one side of it."""
    return pad if silence >= 2 * pad else silence // 2
