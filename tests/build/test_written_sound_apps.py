"""A Hugging Face folder of a sound model becomes an app, which answers as transformers does."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxlet import Audio
from onnxlet.errors import BuildError
from onnxlet_build.apps import Wanted, write_app
from onnxlet_build.progress import Reporter

from .test_written_apps import looks_hand_written, run_example

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

NAMES = {0: "speech", 1: "music", 2: "a door"}
SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}


def saved(model: Any, folder: Path) -> Path:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    model.save_pretrained(folder)
    return folder


def spectrogram(folder: Path) -> tuple[Path, Any, Any]:
    config = transformers.ASTConfig(
        **SMALL, id2label=NAMES, max_length=64, num_mel_bins=32, patch_size=16, frequency_stride=16, time_stride=16
    )
    model = transformers.ASTForAudioClassification(config).eval()
    extractor = transformers.ASTFeatureExtractor(max_length=64, num_mel_bins=32)
    return saved(model, folder), model, extractor


def waveform(folder: Path) -> tuple[Path, Any, Any]:
    config = transformers.Wav2Vec2Config(
        **SMALL,
        id2label=NAMES,
        conv_dim=(16, 16),
        conv_kernel=(10, 8),
        conv_stride=(5, 8),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2,
        classifier_proj_size=8,
    )
    model = transformers.Wav2Vec2ForSequenceClassification(config).eval()
    return saved(model, folder), model, transformers.Wav2Vec2FeatureExtractor()


@pytest.mark.parametrize("make", [spectrogram, waveform])
def test_a_classifier_needs_no_option(make: Any, tmp_path: Path, report: Reporter) -> None:
    torch.manual_seed(0)
    folder, model, extractor = make(tmp_path / "sounds")
    with pytest.raises(BuildError, match=r"put the preprocessor_config\.json that it was trained with beside it"):
        write_app(folder, tmp_path / "app", report)
    extractor.save_pretrained(folder)
    app = write_app(folder, tmp_path / "app", report)
    looks_hand_written(app)
    sound = Audio.open(app.parent / "example.wav")
    with torch.no_grad():
        logits = model(**extractor(sound.samples, sampling_rate=16_000, return_tensors="pt")).logits[0]
    shares = torch.softmax(logits.double(), 0)
    order = shares.argsort(descending=True)
    found = run_example(app).items
    assert [label for label, _ in found] == [NAMES[int(i)] for i in order]
    np.testing.assert_allclose([score for _, score in found], shares[order], atol=1e-3)
    with pytest.raises(BuildError, match="--features: is not for audio-classification, which takes --labels, --ex"):
        write_app(folder, tmp_path / "again", report, Wanted(features=tmp_path / "x.csv"))
