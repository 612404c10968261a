"""Tokenizers of three kinds: what they make of a list of texts."""

from onnxlet import App, Json, Tokenizer

FILES = ("vocab.txt", "K02_bytebpe.json", "K03_unigram.json")
tokenizers = {name: Tokenizer(name) for name in FILES}


def encode(name: str, texts: list) -> Json:
    """Ids, offsets and words of each text, and the text of its ids."""
    tokenizer = tokenizers[name]
    found = [tokenizer.encode(text) for text in texts]
    return Json([[f.ids, f.offsets, f.word_ids, tokenizer.decode(f.ids)] for f in found])


def decode(name: str, ids: list) -> Json:
    """The text of each list of ids, special tokens too."""
    return Json([tokenizers[name].decode(numbers, skip_special_tokens=False) for numbers in ids])


def pairs(name: str, texts: list, seconds: list, most: int) -> Json:
    """The feeds of texts and their pairs, cut to a length."""
    return Json({key: feed.tolist() for key, feed in tokenizers[name].batch(texts, seconds, max_length=most).items()})


app = App(encode, decode, pairs, title="Tokens", examples={"encode": [("vocab.txt", ["Two words", ""])]})
