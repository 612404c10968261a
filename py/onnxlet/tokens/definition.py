"""What a tokenizer's files say: Hugging Face's tokenizer.json, or BERT's vocab.txt brought into that form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ..errors import InvalidInput
from ..records import dataclass

__all__ = ["Definition", "read"]

_ROLES = ("unk", "pad", "cls", "sep", "mask", "bos", "eos")
# what tokens are called where no tokenizer_config.json says so: BERT's names, RoBERTa's and SentencePiece's
_USUAL = {
    "unk": ("[UNK]", "<unk>"),
    "pad": ("[PAD]", "<pad>", "<|pad|>"),
    "cls": ("[CLS]", "<s>"),
    "sep": ("[SEP]", "</s>"),
    "mask": ("[MASK]", "<mask>"),
    "bos": ("<s>", "<bos>", "<|begin_of_text|>"),
    "eos": ("</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>"),
}
_NO_LIMIT = 10**9  # transformers writes 10^30 where a model has no limit


@dataclass(frozen=True)
class Definition:
    """A tokenizer as its files describe it.

    Args:
        name: of the file, for messages.
        spec: what tokenizer.json holds.
        config: what tokenizer_config.json and special_tokens_map.json hold; empty where there are none.
    """

    name: str
    spec: Mapping[str, Any]
    config: Mapping[str, Any]

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """The id of every token, added ones too."""
        vocab = self.spec["model"]["vocab"]
        ids = dict(vocab) if isinstance(vocab, Mapping) else {entry[0]: i for i, entry in enumerate(vocab)}
        return ids | {token["content"]: token["id"] for token in self.added}

    @cached_property
    def tokens(self) -> dict[int, str]:
        """The token of every id; of an id that has several, the added one."""
        vocab = self.spec["model"]["vocab"]
        if isinstance(vocab, Mapping):
            tokens = {number: token for token, number in vocab.items()}
        else:
            tokens = {i: entry[0] for i, entry in enumerate(vocab)}  # a token may stand there twice
        return tokens | {token["id"]: token["content"] for token in self.added}

    @property
    def added(self) -> list[dict[str, Any]]:
        """The tokens that are found in the text before anything else is done to it."""
        return list(self.spec.get("added_tokens") or ())

    @cached_property
    def roles(self) -> dict[str, str]:
        """The special tokens by what they are for: unk, pad, cls, sep, mask, bos, eos."""
        found = {}
        special = {token["content"] for token in self.added}
        for role in _ROLES:
            said = self.config.get(f"{role}_token")
            token = said.get("content") if isinstance(said, Mapping) else said
            if token is None:
                token = next((usual for usual in _USUAL[role] if usual in special), None)
            if token in self.vocabulary:
                found[role] = str(token)
        return found

    @property
    def max_length(self) -> int | None:
        """How many tokens the model takes at most, where the files say so."""
        said = self.config.get("model_max_length") or (self.spec.get("truncation") or {}).get("max_length")
        return int(said) if said and said < _NO_LIMIT else None


def read(path: Path) -> Definition:
    """Read a tokenizer.json or vocab.txt, and the tokenizer_config.json and special_tokens_map.json beside it.

    Raises: InvalidInput: the file is neither.
    """
    config: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        beside = path.with_name(name)
        if beside.is_file():
            config |= _json(beside)
    if path.suffix != ".json":
        return Definition(path.name, _from_vocab(path, config), config)
    spec = _json(path)
    if not isinstance(spec.get("model"), Mapping) or not spec["model"].get("vocab"):
        raise InvalidInput(f'{path.name}: no "model" with a "vocab"; expected Hugging Face\'s tokenizer.json')
    return Definition(path.name, spec, config)


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except ValueError as error:
        raise InvalidInput(f"{path.name}: is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{path.name}: expected a JSON object, got {type(value).__name__}")
    return value


def _from_vocab(path: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """BERT's tokenizer over a list of tokens, one a line, as transformers makes it of such a file."""
    try:
        # not splitlines: vocabularies hold U+2028 and U+0085 as tokens
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name}: is not UTF-8 (byte {error.start})") from error
    vocab = {line.rstrip("\r"): i for i, line in enumerate(lines)}
    names = {}
    for role, usual in (("pad", "[PAD]"), ("unk", "[UNK]"), ("cls", "[CLS]"), ("sep", "[SEP]"), ("mask", "[MASK]")):
        said = config.get(f"{role}_token", usual)
        names[role] = said.get("content", usual) if isinstance(said, Mapping) else said
    if names["unk"] not in vocab:
        raise InvalidInput(f"{path.name}: has no line {names['unk']}; expected the vocab.txt of a WordPiece model")
    special = sorted((vocab[token], token) for token in set(names.values()) if token in vocab)
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    around = names["cls"] in vocab and names["sep"] in vocab
    ends = {"cls": [names["cls"], vocab.get(names["cls"])], "sep": [names["sep"], vocab.get(names["sep"])]}
    return {
        "added_tokens": [{"id": number, "content": token, **plain} for number, token in special],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": config.get("tokenize_chinese_chars", True),
            "strip_accents": config.get("strip_accents"),
            "lowercase": config.get("do_lower_case", True),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", **ends} if around else None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": names["unk"],
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocab,
        },
    }
