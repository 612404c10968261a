"""Models of sound read the same in CPython and in the page; tests/build compares all of it with transformers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxlet import Audio
from onnxlet.tasks import SpeechRules, features_from_config

DATA = Path(__file__).parents[1] / "data"

# shape, mean, standard deviation and element of transformers 5.24's extractors for A05_44100.wav, resampled to 16 kHz
EXPECTED: dict[str, tuple[dict[str, Any], tuple[int, ...], float, float, tuple[tuple[int, ...], float]]] = {
    "Whisper": ({"chunk_length": 1}, (1, 80, 100), -0.4771, 0.3418, ((0, 15, 0), 0.8989)),
    "AST": ({"max_length": 64}, (1, 64, 128), -0.6256, 0.7823, ((0, 0, 5), -1.2776)),
    "Wav2Vec2": ({}, (1, 8000), 0.0, 1.0, ((0, 5), 1.3025)),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_features_are_those_of_transformers_on_both_sides(name: str) -> None:
    config, shape, mean, std, (at, element) = EXPECTED[name]
    audio = Audio.open(DATA / "A05_44100.wav")
    ours = features_from_config({"feature_extractor_type": f"{name}FeatureExtractor", **config})(audio)
    assert ours.dtype == np.float32
    assert ours.shape == shape
    assert ours.mean() == pytest.approx(mean, abs=1e-3)
    assert ours.std() == pytest.approx(std, abs=1e-3)
    assert ours[at] == pytest.approx(element, abs=1e-3)


@pytest.mark.parametrize("name", [f"A05_{rate}.wav" for rate in (8000, 11025, 44100, 48000)])
def test_a_tone_is_loudest_in_its_band_whatever_the_rate(name: str) -> None:
    """1000 Hz is mel 15 of Slaney's scale, and so band 26 of 80 that reach to 8 kHz (45.2 mels)."""
    expected = json.loads((DATA / "A_audio.json").read_text())[name]["after_resampling_to_16k"]
    features = features_from_config({"feature_extractor_type": "WhisperFeatureExtractor", "chunk_length": 1})
    loudest = features(Audio.open(DATA / name))[0, :, 10:20].mean(1).argmax()
    assert expected["fft_peak_hz"] == 1000
    assert loudest in (25, 26)


def test_rules_find_the_same_speech_on_both_sides() -> None:
    frames = np.repeat([0.1, 0.9, 0.4, 0.2, 0.8, 0.1], [5, 20, 2, 2, 10, 20])
    (speech,) = SpeechRules().segments(frames)
    assert speech == ((5 * 512 - 480) / 16000, (39 * 512 + 480) / 16000)
    assert SpeechRules(min_silence_duration_ms=32).segments(frames)[0].end_s == (27 * 512 + 480) / 16000
