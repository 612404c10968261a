"""Small transformers for texts: random weights of a fixed seed, real tokenizers, saved as trained ones are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

__all__ = ["LONG", "TEXTS", "WORDS", "byte_tokenizer", "save", "word_tokenizer"]

TEXTS = (
    "Angela Merkel visited the Louvre in Paris.",
    "nobody minds",
    "Jean-Baptiste's e-mail to O'Brien cost $3.50 (twice!)",
    "Ангела Меркель была в Москве",
    "東京 and Αθήνα are cities",
    "Zürich 🏔 naïve café",
    "مرحبا بالعالم",
    "a",
)
LONG = " ".join(TEXTS * 6)  # more than the models' 64 positions

_WHOLE = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] angela merkel visited the in and are cities nobody minds mail to cost twice what"
)
_ENDS = "##s ##ed ##is ##ille ##kel ##aine ##ia ##er ##el"
_LETTERS = "abcdefghijklmnopqrstuvwxyzангелмрькбытвсоαθηνγδ東京0123456789.,!?'()-$"
WORDS = list(dict.fromkeys([*_WHOLE.split(), *_ENDS.split(), *_LETTERS, *(f"##{letter}" for letter in _LETTERS)]))
_SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}


def word_tokenizer() -> Any:
    """WordPiece over these words and letters, as BERT's; Arabic and the mountain are unknown to it."""
    built = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    built.normalizer = normalizers.BertNormalizer()
    built.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    built.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    built.decoder = decoders.WordPiece()
    named = {"unk": "[UNK]", "pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=built,
        model_max_length=64,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{role}_token": token for role, token in named.items()},
    )


def byte_tokenizer() -> Any:
    """BPE over bytes with a few merges, as RoBERTa's: no text is unknown, letters may be halves of characters."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [
        ("a", "n"),
        ("i", "n"),
        ("Ġ", "m"),
        ("Ġ", "c"),
        ("e", "r"),
        ("Ġ", "a"),
        ("o", "n"),
        ("Ġm", "in"),
        ("Ð", "°"),
    ]
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *alphabet, *("".join(pair) for pair in merges)]
    built = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    built.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    built.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    built.decoder = decoders.ByteLevel()
    named = {"unk": "<unk>", "pad": "<pad>", "cls": "<s>", "sep": "</s>", "mask": "<mask>", "bos": "<s>", "eos": "</s>"}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=built,
        model_max_length=62,
        model_input_names=["input_ids", "attention_mask"],
        **{f"{role}_token": token for role, token in named.items()},
    )


def save(folder: Path, head: str, labels: Mapping[int, str] | None = None, *, byte: bool = False, **more: Any) -> Path:
    """A model in a folder as `save_pretrained` leaves it.

    Args:
        head: what its class is called after Bert or Roberta, such as "ForTokenClassification".
        labels: by class.
        byte: a RoBERTa with `byte_tokenizer`, else a BERT with `word_tokenizer`.
        more: for its configuration.
    """
    tokenizer = byte_tokenizer() if byte else word_tokenizer()
    family = "Roberta" if byte else "Bert"
    if labels:
        more |= {"id2label": dict(labels), "label2id": {label: i for i, label in labels.items()}}
    # With the usual 0.02 a model says nearly the same of every text.
    more["initializer_range"] = 0.3 if head == "ForSequenceClassification" else 0.08
    if byte:
        more |= {"pad_token_id": 1, "type_vocab_size": 1}
    config = getattr(transformers, f"{family}Config")(vocab_size=len(tokenizer), **_SIZES, **more)
    torch.manual_seed(4)
    model = getattr(transformers, f"{family}{head}")(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
