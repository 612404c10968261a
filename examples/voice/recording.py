"""A microphone that is heard piece by piece."""

import numpy as np

from onnxlet import Audio
from onnxlet.tasks import Speech, VoiceActivityDetector

KEPT_S = 10
FRAME_S = 0.032  # that the detector hears at a time


class Recording:
    """The last seconds of a sound, and how likely each frame of them is speech."""

    def __init__(self, detector: VoiceActivityDetector, sample_rate_hz: int) -> None:
        self.detector = detector
        self.stream = detector.stream(sample_rate_hz)
        self.sound = Audio(np.zeros(1), sample_rate_hz)
        self.samples = self.probabilities = np.zeros(0, np.float32)

    def add(self, sound: Audio) -> float:
        """Hear the next piece, remembering what came before. Returns: how likely there was speech in it."""
        samples = sound.mono().samples
        self.stream.feed(samples)
        self.samples = np.concatenate([self.samples, samples])[-KEPT_S * sound.sample_rate_hz :]
        self.sound = Audio(self.samples, sound.sample_rate_hz)
        frames = max(1, int(self.sound.duration_s / FRAME_S))
        self.probabilities = np.concatenate([self.probabilities, self.stream.probabilities])[-frames:]
        return float(self.stream.probabilities.max(initial=0))

    def speech(self) -> list[Speech]:
        """Where somebody speaks, in seconds from the start of what is kept."""
        return self.detector.segments(self.sound, self.probabilities)
