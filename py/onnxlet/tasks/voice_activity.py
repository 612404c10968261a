"""Voice activity: where somebody speaks, in a whole recording or while it comes in.

For Silero's models (MIT, https://github.com/snakers4/silero-vad): the plain one hears a frame of 32 ms a run and
carries its state on, the "sequence" one hears many frames a run. Both are known by their inputs.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..media.resample import Resampler
from ..session import InferenceSession
from ..values import Audio
from .speech_segments import FRAME, SAMPLE_RATE_HZ, Speech, SpeechRules, SpeechTracker
from .steps import Run, Steps, arun, run

__all__ = ["SpeechEvent", "VoiceActivityDetector", "VoiceStream"]

_CONTEXT = 64  # samples before a frame that the model hears again
_STATE = 128  # width of the LSTM
_MOST_FRAMES = 512  # that one run of a sequence model gets: 16 s
_INPUTS = ({"input", "state"}, {"input", "state", "sr"}, {"input", "h", "c"})


class SpeechEvent(NamedTuple):
    """Somebody starts or stops speaking, at a time in seconds from the start of the stream."""

    kind: Literal["start", "end"]
    at_s: float


class VoiceActivityDetector:
    """Finds speech in sound.

    Args:
        session: Silero's model for 16 kHz: inputs ``input``, ``state`` and maybe ``sr``, or ``input``, ``h`` and ``c``.
        threshold, neg_threshold, min_speech_duration_ms, min_silence_duration_ms, speech_pad_ms: see `SpeechRules`.
    Raises: InvalidInput: the model has other inputs; a rule that cannot be.
    """

    def __init__(
        self,
        session: InferenceSession,
        *,
        threshold: float = 0.5,
        neg_threshold: float | None = None,
        min_speech_duration_ms: float = 250,
        min_silence_duration_ms: float = 100,
        speech_pad_ms: float = 30,
    ) -> None:
        names = {arg.name for arg in session.get_inputs()}
        if names not in _INPUTS:
            raise InvalidInput(
                f"VoiceActivityDetector: expected Silero's inputs (input, state, sr; or input, h, c), got "
                f"{', '.join(sorted(names))}; take silero_vad_16k_op15.onnx or silero_vad_16k_sequence.onnx"
            )
        self.session = session
        self.rules = SpeechRules(
            threshold, neg_threshold, min_speech_duration_ms, min_silence_duration_ms, speech_pad_ms
        )
        self._inputs = names

    def __call__(self, audio: Audio, threshold: float | None = None) -> list[Speech]:
        """Find where somebody speaks.

        Args:
            audio: of any rate, which is resampled; channels are averaged.
            threshold: for this sound; None: the detector's.
        Returns: segments in order.
        """
        return self.segments(audio, self.probabilities(audio), threshold)

    async def acall(self, audio: Audio, threshold: float | None = None) -> list[Speech]:
        """As a call, for ``async def`` apps."""
        return self.segments(audio, await self.aprobabilities(audio), threshold)

    def probabilities(self, audio: Audio) -> Array:
        """How likely each frame of 32 ms is speech, float32 [frames] of 0 to 1; the last frame ends with silence."""
        return run(self._whole(audio))

    async def aprobabilities(self, audio: Audio) -> Array:
        """The same, for ``async def`` apps."""
        return await arun(self._whole(audio))

    def segments(self, audio: Audio, probabilities: Array, threshold: float | None = None) -> list[Speech]:
        """The segments that a sound's `probabilities` mean; what a call gives, without running the model again."""
        rules = self.rules if threshold is None else replace(self.rules, threshold=threshold)
        samples = -(-audio.samples.shape[-1] * SAMPLE_RATE_HZ // audio.sample_rate_hz)
        return rules.segments(probabilities, samples)

    def stream(self, sample_rate_hz: int = SAMPLE_RATE_HZ) -> VoiceStream:
        """A stream with a state of its own, for sound that comes in pieces of one rate."""
        return VoiceStream(self, sample_rate_hz)

    def _whole(self, audio: Audio) -> Steps[Array]:
        samples = audio.mono().resample(SAMPLE_RATE_HZ).samples
        frames = np.pad(samples, (0, -len(samples) % FRAME)).reshape(-1, FRAME)
        probabilities, _ = yield from self._hear(frames, _Memory.fresh())
        return probabilities

    def _hear(self, frames: Array, memory: _Memory) -> Generator[Run, list[Any], tuple[Array, _Memory]]:
        """Frames [n, FRAME] -> probabilities float32 [n], and what the model remembers after them."""
        if not len(frames):
            return np.zeros(0, np.float32), memory
        context = np.concatenate([memory.context, frames[:-1, -_CONTEXT:]])
        heard = np.concatenate([context, frames], axis=1)
        state, found = memory.state, []
        for first in range(0, len(heard), 1 if "state" in self._inputs else _MOST_FRAMES):
            if "state" in self._inputs:
                feeds = {"input": heard[first : first + 1], "state": state}
                if "sr" in self._inputs:
                    feeds["sr"] = np.array(SAMPLE_RATE_HZ, np.int64)
                probability, state = yield Run(self.session, None, feeds)
            else:
                feeds = {"input": heard[first : first + _MOST_FRAMES], "h": state[:1], "c": state[1:]}
                probability, hidden, cell = yield Run(self.session, None, feeds)
                state = np.concatenate([hidden, cell])
            found.append(np.ravel(probability))
        return np.concatenate(found), _Memory(frames[-1:, -_CONTEXT:], state)

    def __repr__(self) -> str:
        return f"<VoiceActivityDetector {self.session!r}>"


class _Memory(NamedTuple):
    """What a model needs of the past: context [1, _CONTEXT] and state [2, 1, _STATE], float32."""

    context: Array
    state: Array

    @classmethod
    def fresh(cls) -> _Memory:
        return cls(np.zeros((1, _CONTEXT), np.float32), np.zeros((2, 1, _STATE), np.float32))


class VoiceStream:
    """Sound that comes in pieces of any length; made by `VoiceActivityDetector.stream`.

    A start or an end is told as soon as the rules know of it: an end after ``min_silence_duration_ms`` of silence.
    Short sounds are not dropped, as they are in a whole recording: their start has been told already.

    Attributes:
        probabilities: of the frames that the last piece completed, float32 [n].
    """

    def __init__(self, detector: VoiceActivityDetector, sample_rate_hz: int) -> None:
        self._detector = detector
        self._resampler = Resampler(sample_rate_hz, SAMPLE_RATE_HZ)
        self._rest = np.zeros(0, np.float32)  # less than a frame, for the next piece
        self._memory = _Memory.fresh()
        self._tracker = SpeechTracker(detector.rules)
        self._pad = SAMPLE_RATE_HZ * detector.rules.speech_pad_ms / 1000
        self.probabilities = np.zeros(0, np.float32)

    @property
    def speaking(self) -> bool:
        """Whether somebody is."""
        return self._tracker.start is not None

    @property
    def time_s(self) -> float:
        """How much has been heard, in whole frames."""
        return self._tracker.frames * FRAME / SAMPLE_RATE_HZ

    def feed(self, samples: Array) -> list[SpeechEvent]:
        """Hear the next samples, float [n] at the stream's rate. Returns: who started or stopped, in order."""
        return run(self._steps(samples))

    async def afeed(self, samples: Array) -> list[SpeechEvent]:
        """The same, for ``async def`` apps; await one piece before you give the next."""
        return await arun(self._steps(samples))

    def _steps(self, samples: Array) -> Steps[list[SpeechEvent]]:
        samples = np.asarray(samples)
        if samples.ndim != 1 or samples.dtype.kind != "f":
            raise InvalidInput(
                f"VoiceStream: expected float samples [n], got {samples.dtype} {list(samples.shape)}; take the mean of "
                "the channels, and divide integers by their full scale"
            )
        came = np.concatenate([self._rest, self._resampler.feed(samples.astype(np.float32))])
        whole = len(came) // FRAME * FRAME
        self._rest = came[whole:]
        frames = came[:whole].reshape(-1, FRAME)
        self.probabilities, self._memory = yield from self._detector._hear(frames, self._memory)
        events = []
        for probability in self.probabilities.tolist():
            started, ended = self._tracker.hear(probability)
            if started is not None:
                events.append(SpeechEvent("start", max(0.0, started - self._pad) / SAMPLE_RATE_HZ))
            if ended is not None:
                events.append(SpeechEvent("end", (ended[1] + self._pad) / SAMPLE_RATE_HZ))
        return events
