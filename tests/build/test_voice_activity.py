"""Silero's model finds the speech that its own package finds, in whole sounds and in streams."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxlet import Audio, InferenceSession, InvalidInput
from onnxlet.tasks import SpeechEvent, SpeechRules, VoiceActivityDetector
from onnxlet_build.fetch import from_pypi

VOICE = Path(__file__).parents[2] / "examples" / "voice"
MODELS = {
    "silero_vad_16k_op15.onnx": "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
    "silero_vad_16k_sequence.onnx": "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85",
}


@pytest.fixture(scope="module")
def detector_of() -> Callable[..., VoiceActivityDetector]:
    paths = {name: from_pypi("silero-vad==6.2.3", f"silero_vad/data/{name}", digest) for name, digest in MODELS.items()}
    sessions = {name: InferenceSession(path, providers=["CPUExecutionProvider"]) for name, path in paths.items()}
    return lambda name="silero_vad_16k_op15.onnx", **options: VoiceActivityDetector(sessions[name], **options)


@pytest.fixture(scope="module")
def silero() -> Any:
    """The package's own wrapper of the model, and its rules; it imports PyTorch."""
    utils = pytest.importorskip("silero_vad.utils_vad", reason="of the dev extra")
    path = from_pypi(
        "silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_op15.onnx", MODELS["silero_vad_16k_op15.onnx"]
    )
    with pytest.warns(UserWarning, match="16000"):
        return utils, utils.OnnxWrapper(str(path))


def voices(sample_rate_hz: int = 16000) -> Audio:
    return Audio.open(VOICE / "two-voices.wav").resample(sample_rate_hz)


def pieces(samples: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    return np.split(samples, np.sort(rng.integers(0, len(samples), 60)))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sound", ["two-voices.wav", "noise.wav"])
def test_probabilities_and_segments_are_those_of_sileros_package(
    model: str, sound: str, detector_of: Callable[..., VoiceActivityDetector], silero: Any
) -> None:
    import torch

    utils, wrapper = silero
    audio = Audio.open(VOICE / sound)
    samples = torch.from_numpy(audio.resample(16000).samples)
    detector = detector_of(model)
    np.testing.assert_allclose(
        detector.probabilities(audio), wrapper.audio_forward(samples[None], 16000)[0].numpy(), atol=1e-5
    )
    expected = utils.get_speech_timestamps(samples, wrapper)
    assert [(s.start_s * 16000, s.end_s * 16000) for s in detector(audio)] == [(e["start"], e["end"]) for e in expected]


def test_somebody_is_heard_in_the_voices_and_nobody_in_the_noise(
    detector_of: Callable[..., VoiceActivityDetector],
) -> None:
    """espeak-ng speaks twice, from 0.3 to 1.5 s and from 2.1 to 4.0 s."""
    detector = detector_of()
    first, second = detector(voices())
    assert first == pytest.approx((0.3, 1.5), abs=0.15)
    assert second == pytest.approx((2.1, 4.0), abs=0.15)
    noise = Audio.open(VOICE / "noise.wav")
    assert detector(noise) == []
    assert detector.probabilities(noise).max() < 0.3
    assert detector(Audio(np.zeros(100), 16000)) == []


@pytest.mark.parametrize("seed", range(30))
def test_rules_are_those_of_sileros_package_on_any_probabilities(seed: int, silero: Any) -> None:
    utils, _ = silero
    rng = np.random.default_rng(seed)
    length = int(rng.integers(1, 120))
    # a smooth walk crosses the thresholds in both directions, often within the shortest durations
    probabilities = 0.5 + 0.5 * np.sin(np.cumsum(rng.normal(0, 0.9, length)))
    options = {
        "threshold": float(rng.uniform(0.05, 0.95)),
        "min_speech_duration_ms": float(rng.choice([0, 64, 250])),
        "min_silence_duration_ms": float(rng.choice([0, 32, 100, 300])),
        "speech_pad_ms": float(rng.choice([0, 30, 33.3, 100])),
        "neg_threshold": None if seed % 3 else 0.03,
    }
    samples = length * 512 - int(rng.integers(0, 512))
    expected = utils.get_speech_timestamps_from_probs(probabilities.tolist(), audio_length_samples=samples, **options)
    ours = SpeechRules(**options).segments(probabilities, samples)
    assert [(s.start_s * 16000, s.end_s * 16000) for s in ours] == [(e["start"], e["end"]) for e in expected]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000])
def test_a_stream_in_pieces_of_any_length_hears_what_the_whole_has(
    model: str, rate: int, detector_of: Callable[..., VoiceActivityDetector]
) -> None:
    audio = voices(rate)
    detector = detector_of(model)
    stream = detector.stream(rate)
    heard, events, speaking = [], [], False
    for piece in pieces(audio.samples, np.random.default_rng(rate)):
        events += stream.feed(piece)
        heard.append(stream.probabilities)
        speaking = speaking or stream.speaking
    heard_all = np.concatenate(heard)
    whole = detector.probabilities(audio)
    assert len(whole) - 2 <= len(heard_all) <= len(whole), "all but what waits for more"
    np.testing.assert_allclose(heard_all, whole[: len(heard_all)], atol=1e-4)
    assert stream.time_s == len(heard_all) * 0.032
    assert speaking
    assert not stream.speaking
    times = [second for segment in detector(audio) for second in segment]
    assert [event.kind for event in events] == ["start", "end"] * 2
    assert [event.at_s for event in events] == pytest.approx(times)


def test_a_stream_tells_what_sileros_iterator_tells(
    detector_of: Callable[..., VoiceActivityDetector], silero: Any
) -> None:
    import torch

    utils, wrapper = silero
    iterator = utils.VADIterator(wrapper)
    samples = voices().samples
    expected = []
    for first in range(0, len(samples) - 511, 512):
        expected += (iterator(torch.from_numpy(samples[first : first + 512])) or {}).items()
    events = detector_of().stream().feed(samples)
    assert [(event.kind, event.at_s * 16000) for event in events] == expected


def test_streams_do_not_disturb_each_other(detector_of: Callable[..., VoiceActivityDetector]) -> None:
    detector = detector_of()
    samples = voices().samples
    first, second = detector.stream(), detector.stream()
    first.feed(samples[:20000])
    assert second.feed(samples) == detector.stream().feed(samples)


def test_async_apps_get_the_same(detector_of: Callable[..., VoiceActivityDetector]) -> None:
    detector = detector_of()
    audio = voices()

    async def both() -> tuple[Any, list[SpeechEvent]]:
        return await detector.acall(audio), await detector.stream().afeed(audio.samples)

    assert asyncio.run(both()) == (detector(audio), detector.stream().feed(audio.samples))


def test_a_higher_threshold_hears_less(detector_of: Callable[..., VoiceActivityDetector]) -> None:
    audio = voices()
    spoken = [
        sum(end - start for start, end in detector_of()(audio, threshold=threshold)) for threshold in (0.1, 0.5, 0.999)
    ]
    assert spoken[0] > spoken[1] > spoken[2]


def test_channels_are_averaged(detector_of: Callable[..., VoiceActivityDetector]) -> None:
    detector = detector_of()
    samples = voices().samples
    assert detector(Audio(np.stack([samples, samples]), 16000)) == detector(Audio(samples, 16000))


def test_what_cannot_be_heard_is_a_sentence(detector_of: Callable[..., VoiceActivityDetector]) -> None:
    stream = detector_of().stream()
    with pytest.raises(InvalidInput, match=r"expected float samples \[n\], got int16 \[3\]"):
        stream.feed(np.zeros(3, np.int16))
    with pytest.raises(InvalidInput, match=r"expected float samples \[n\], got float32 \[2, 5\]"):
        stream.feed(np.zeros((2, 5), np.float32))
    with pytest.raises(InvalidInput, match=r"expected a threshold of 0 to 1, got 50"):
        detector_of(threshold=50)
    with pytest.raises(InvalidInput, match=r"expected speech_pad_ms of at least 0, got -1"):
        detector_of(speech_pad_ms=-1)
    other = InferenceSession(Path(__file__).parents[1] / "data" / "P_add1.onnx")
    with pytest.raises(InvalidInput, match=r"expected Silero's inputs \(input, state, sr; or input, h, c\), got "):
        VoiceActivityDetector(other)
