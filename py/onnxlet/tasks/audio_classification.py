"""Audio classification: a sound in, labels with scores out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from ..dtypes import Array, from_ort_type
from ..errors import InvalidInput
from ..session import InferenceSession
from ..values import Audio, Labels
from .metadata import labels_of
from .scores import labelled
from .steps import Run, Steps, arun, run

__all__ = ["AudioClassifier"]


class AudioClassifier:
    """A classifier that is called with a sound.

    Args:
        session: the model; its first input is what `features` gives, its first output the scores, [1, N]. A second
            input ``attention_mask`` gets ones.
        features: how sound becomes the input, float32 with a batch of 1 in front: a `LogMel`, a `Waveform`, or a
            function of your own.
        labels: a name a class, in order, or by number (``id2label``); by default those of the metadata (``names``),
            else the numbers.
        function_to_apply: what makes scores of the outputs: "softmax" where one class is right, "sigmoid" where several
            may be (AudioSet), "none" where the model has done it.
    Raises: InvalidInput: another function, inputs that are not known, or another number of labels than of classes.
    """

    def __init__(
        self,
        session: InferenceSession,
        *,
        features: Callable[[Audio], Array],
        labels: Sequence[str] | Mapping[int, str] | None = None,
        function_to_apply: Literal["softmax", "sigmoid", "none"] = "softmax",
    ) -> None:
        if function_to_apply not in ("softmax", "sigmoid", "none"):
            raise InvalidInput(
                f'AudioClassifier: function_to_apply is {function_to_apply!r}, expected "softmax", "sigmoid" or "none"'
            )
        others = [arg.name for arg in session.get_inputs()[1:] if arg.name != "attention_mask"]
        if others:
            raise InvalidInput(f"AudioClassifier: expected one input and maybe attention_mask, also got {others[0]}")
        self.session = session
        self.features = features
        classes = session.get_outputs()[0].shape[1:2]
        self.labels = labels_of(session, labels, classes[0] if classes else None, "AudioClassifier")
        self.function_to_apply = function_to_apply

    def __call__(self, audio: Audio, top_k: int | None = 5) -> Labels:
        """Name what a sound is.

        Args:
            audio: of any rate, which is resampled; channels are averaged.
            top_k: how many labels, the best first; None: all.
        Raises: InvalidInput: the sound is too short; the outputs are no scores, hold NaN, or do not go with the labels.
        """
        return run(self._steps(audio, top_k))

    async def acall(self, audio: Audio, top_k: int | None = 5) -> Labels:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(audio, top_k))

    def _steps(self, audio: Audio, top_k: int | None) -> Steps[Labels]:
        x = self.features(audio)
        into, *others = self.session.get_inputs()
        feeds = {into.name: x.astype(from_ort_type(into.type).numpy)}
        for arg in others:
            feeds[arg.name] = np.ones(x.shape[:2], from_ort_type(arg.type).numpy)
        (scores,) = yield Run(self.session, [self.session.get_outputs()[0].name], feeds)
        return labelled(scores, self.labels, top_k, self.function_to_apply)

    def __repr__(self) -> str:
        return f"<AudioClassifier of {len(self.labels) or 'unnamed'} classes>"
