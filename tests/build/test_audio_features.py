"""Log-mel spectrograms and samples are those that transformers' feature extractors and audio_utils give."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from transformers import ASTFeatureExtractor, Wav2Vec2FeatureExtractor, WhisperFeatureExtractor
from transformers.audio_utils import mel_filter_bank, spectrogram, window_function

from onnxlet import Audio, InferenceSession, InvalidInput
from onnxlet.tasks import AudioClassifier, LogMel, Waveform, features_from_config
from onnxlet.tasks.audio_features import mel_filters

VOICES = Path(__file__).parents[2] / "examples" / "voice" / "two-voices.wav"
RATE = 16000


def sounds() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    t = np.arange(RATE * 2) / RATE
    chirp = 0.5 * np.sin(2 * np.pi * (100 + 1500 * t) * t)
    quiet = 1e-4 * rng.normal(size=5000)
    return [x.astype(np.float32) for x in (Audio.open(VOICES).resample(RATE).samples, chirp, quiet, np.zeros(4000))]


@pytest.mark.parametrize(
    "extractor",
    [
        WhisperFeatureExtractor(),
        WhisperFeatureExtractor(feature_size=128, chunk_length=3),
        ASTFeatureExtractor(),
        ASTFeatureExtractor(num_mel_bins=64, max_length=100, mean=-3.0, std=2.0),
        ASTFeatureExtractor(do_normalize=False),
        Wav2Vec2FeatureExtractor(),
        Wav2Vec2FeatureExtractor(do_normalize=False),
    ],
    ids=lambda extractor: type(extractor).__name__,
)
def test_features_of_a_config_are_its_extractors(extractor: Any) -> None:
    features = features_from_config(extractor.to_dict())
    for sound in sounds():
        (expected,) = [
            v for k, v in extractor(sound, sampling_rate=RATE, return_tensors="np").items() if k != "attention_mask"
        ]
        ours = features(Audio(sound, RATE))
        assert ours.dtype == np.float32
        assert ours.shape == expected.shape
        np.testing.assert_allclose(ours, expected, atol=1e-4)


@pytest.mark.parametrize("norm", [None, "slaney"])
@pytest.mark.parametrize("mel_scale", ["htk", "slaney", "kaldi"])
@pytest.mark.parametrize(
    ("n_fft", "n_mels", "f_min", "f_max", "rate"),
    [(400, 80, 0.0, 8000.0, 16000), (1024, 64, 50.0, 14000.0, 32000), (2048, 128, 0.0, 11025.0, 22050)],
)
def test_mel_filters_are_those_of_transformers(
    n_fft: int, n_mels: int, f_min: float, f_max: float, rate: int, mel_scale: Any, norm: Any
) -> None:
    mine = LogMel(rate, n_fft, n_mels=n_mels, f_min=f_min, f_max=f_max, mel_scale=mel_scale, norm=norm)
    theirs = mel_filter_bank(
        n_fft // 2 + 1, n_mels, f_min, f_max, rate, norm, mel_scale, triangularize_in_mel_space=mel_scale == "kaldi"
    )
    np.testing.assert_allclose(mel_filters(mine), theirs.T, atol=1e-9, rtol=2e-5)  # 1127 ln is not quite 2595 log10


STYLES: list[dict[str, Any]] = [
    {"n_fft": 400},  # torchaudio's defaults
    {"n_fft": 1024, "win_length": 400, "window": "hamming"},
    {
        "n_fft": 2048,
        "hop_length": 512,
        "n_mels": 128,
        "mel_scale": "slaney",
        "norm": "slaney",
        "log": "db",
    },  # librosa's
    {"n_fft": 512, "log": "db", "reference": "max", "dynamic_range": 80.0},
    {"n_fft": 512, "log": "db", "power": 1.0, "n_mels": 40},
    {"n_fft": 400, "log": "log10", "framing": "inside", "periodic": False, "window": "povey"},
    {"n_fft": 400, "log": None},
]


@pytest.mark.parametrize("style", STYLES, ids=lambda style: ", ".join(f"{k}={v}" for k, v in style.items()))
def test_spectrograms_of_every_style_are_those_of_transformers(style: dict[str, Any]) -> None:
    mine = LogMel(RATE, **style)
    window = window_function(mine.win_length or mine.n_fft, mine.window, mine.periodic, frame_length=mine.n_fft)
    for sound in sounds()[:3]:
        theirs = spectrogram(
            sound,
            window,
            mine.n_fft,
            mine.hop_length,
            power=mine.power,
            center=mine.framing == "center",
            mel_filters=mel_filter_bank(mine.n_fft // 2 + 1, mine.n_mels, 0, RATE / 2, RATE, mine.norm, mine.mel_scale),
            mel_floor=1e-10,
            log_mel="dB" if mine.log == "db" else mine.log,
        )
        if mine.log == "db":  # their dB has a floor and a range of its own
            theirs = np.maximum(theirs, -100 if mine.power == 2 else -200)
            theirs = theirs - theirs.max() if mine.reference else theirs
            theirs = np.maximum(theirs, theirs.max() - 80) if mine.dynamic_range else theirs
        ours = mine(Audio(sound, RATE))[0]
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, atol=1e-3 if mine.log == "db" else 1e-4, rtol=1e-4)


def test_long_sound_is_worked_on_in_parts_without_seams() -> None:
    sound = np.random.default_rng(1).normal(0, 0.1, 5000 * 160).astype(np.float32)
    whole = LogMel()(Audio(sound, RATE))[0]
    assert whole.shape == (80, 5001)
    part = LogMel()(Audio(sound[4000 * 160 :], RATE))[0]
    np.testing.assert_allclose(whole[:, 4002:5000], part[:, 2:1000], atol=1e-4)


def test_a_longer_sound_is_cut_and_a_shorter_one_padded() -> None:
    for seconds in (1, 3):
        audio = Audio(np.ones(seconds * RATE, np.float32), RATE)
        assert LogMel(samples=2 * RATE)(audio).shape == (1, 80, 201)
        assert LogMel(frames=150, time_first=True)(audio).shape == (1, 150, 80)
        assert Waveform(samples=2 * RATE)(audio).shape == (1, 2 * RATE)


def test_sound_of_another_rate_and_of_two_channels_gives_nearly_the_same() -> None:
    audio = Audio.open(VOICES)
    both = Audio(np.stack([audio.samples, audio.samples]), audio.sample_rate_hz)
    np.testing.assert_allclose(LogMel()(both), LogMel()(audio.resample(RATE)), atol=1e-5)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: LogMel(window="kaiser"), "window is 'kaiser', expected one of"),  # type: ignore[arg-type]
        (lambda: LogMel(hop_length=0), "expected hop_length above 0, got 0"),
        (lambda: LogMel(win_length=500), "expected a win_length of at most n_fft 400, got 500"),
        (lambda: LogMel(f_min=9000), "expected f_min below f_max, got 9000 and None"),
        (
            lambda: LogMel()(Audio(np.ones(200), RATE)),
            "expected at least 201 samples at 16000 Hz, got 200",
        ),
        (lambda: LogMel(framing="kaldi")(Audio(np.ones(399), RATE)), "expected at least 400 samples at 16000 Hz"),
        (
            lambda: features_from_config({"feature_extractor_type": "ClapFeatureExtractor"}),
            "ClapFeatureExtractor",
        ),
        (lambda: features_from_config({}), "no feature_extractor_type, expected WhisperFeatureExtractor"),
        (lambda: LogMel.from_config(Wav2Vec2FeatureExtractor().to_dict()), "reads samples; take features_from_config"),
    ],
)
def test_what_cannot_be_is_a_sentence(made: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        made()


# -------------------------------------------------------------------------------------------------- classifier


def pitches(metadata: bool = False, mask: bool = False) -> InferenceSession:
    """A classifier of features [1, 80, T]: how loud the low, the middle and the high bands are on average."""
    weights = np.repeat(np.eye(3, dtype=np.float32), [27, 27, 26], axis=0) / 27
    nodes = [
        helper.make_node("ReduceMean", ["features"], ["bands"], axes=[2], keepdims=0),
        helper.make_node("MatMul", ["bands", "weights"], ["logits"]),
    ]
    inputs = [helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, 80, "T"])]
    if mask:
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, [1, 80]))
    graph = helper.make_graph(
        nodes,
        "pitches",
        inputs,
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 3])],
        [helper.make_tensor("weights", TensorProto.FLOAT, [80, 3], weights.ravel())],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
    if metadata:
        helper.set_model_props(proto, {"names": "{0: 'low', 1: 'middle', 2: 'high'}"})
    onnx.checker.check_model(proto)
    return InferenceSession(proto.SerializeToString())


def tone(hz: float, rate: int = 44100) -> Audio:
    return Audio(np.sin(2 * np.pi * hz * np.arange(rate) / rate).astype(np.float32), rate)


@pytest.mark.parametrize("mask", [False, True])
def test_a_classifier_names_what_it_hears(mask: bool) -> None:
    classifier = AudioClassifier(pitches(mask=mask), features=LogMel(), labels=["low", "middle", "high"])
    assert [classifier(tone(hz)).best for hz in (150, 1500, 6000)] == ["low", "middle", "high"]
    answer = classifier(tone(150))
    assert sum(score for _, score in answer.items) == pytest.approx(1)
    assert asyncio.run(classifier.acall(tone(150))) == answer
    assert len(classifier(tone(150), top_k=2).items) == 2


def test_labels_come_from_the_models_metadata_and_several_may_be_right() -> None:
    classifier = AudioClassifier(pitches(metadata=True), features=LogMel(mean=-23), function_to_apply="sigmoid")
    answer = classifier(tone(150))
    assert answer.best == "low"
    assert all(0 <= score <= 1 for _, score in answer.items)
    plain = AudioClassifier(pitches(metadata=True), features=LogMel(mean=-23), function_to_apply="none")(tone(150))
    for (label, score), (same, logit) in zip(answer.items, plain.items, strict=True):
        assert label == same
        assert score == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-6)


def test_a_classifier_that_cannot_be_is_a_sentence() -> None:
    with pytest.raises(InvalidInput, match="got 2 labels for 3 classes"):
        AudioClassifier(pitches(), features=LogMel(), labels=["a", "b"])
    with pytest.raises(InvalidInput, match="function_to_apply is 'max', expected \"softmax\""):
        AudioClassifier(pitches(), features=LogMel(), function_to_apply="max")  # type: ignore[arg-type]
    two = InferenceSession(Path(__file__).parents[1] / "data" / "G03_pool_ceil_a.onnx")
    assert AudioClassifier(two, features=LogMel()).labels == ()
