"""The page's tokenizer, run here on Node's library, against the `tokenizers` package: ids, tokens, offsets, text.

Every kind of part that a tokenizer.json may have stands here in front of a model that the package has trained.
"""

from __future__ import annotations

import io
import itertools
import json
import random
import sys
import unicodedata
from collections.abc import Iterator

import pytest
import sentencepiece
import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from onnxlet import InvalidInput
from onnxlet.tokens.character_tables import ACCENTS, CONTROLS, MARKS, PUNCTUATION, SPACES, members
from onnxlet.tokens.definition import Definition, read
from onnxlet.tokens.engines import NativeEngine
from onnxlet.tokens.portable import JsonLibrary, PortableEngine, refuse_unknown
from onnxlet.wire_format import Message

from .languages import mixed_texts
from .node_library import NodeTokenizers
from .test_tokenizer import DATA, LONE, VOCAB

TEXTS = [text.translate(LONE) for text in mixed_texts()]
# what GPT-4's and Llama 3's tokenizers split at
LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


def bpe(**options: object) -> Tokenizer:
    """Characters seen rarely are unknown to it."""
    made = Tokenizer(models.BPE(unk_token="<unk>", **options))
    suffix = {"end_of_word_suffix": options["end_of_word_suffix"]} if "end_of_word_suffix" in options else {}
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=["<unk>"], limit_alphabet=120, show_progress=False, **suffix
    )
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.train_from_iterator(TEXTS, trainer)
    return made


def unigram() -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.UnigramTrainer(vocab_size=900, special_tokens=special, unk_token="<unk>", show_progress=False)
    made.train_from_iterator(TEXTS[:700], trainer)
    spec = json.loads(made.to_str())
    # The package reads some decimals one bit off, so equally likely ways to cut "aaaa…" may be ranked otherwise: scores
    # that are exact in binary have true ties, and both sides take the same of them.
    spec["model"]["vocab"] = [[token, round(score * 1024) / 1024] for token, score in spec["model"]["vocab"]]
    return Tokenizer.from_str(json.dumps(spec))


def bytes_bpe() -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=900, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator(TEXTS, trainer)
    made.decoder = decoders.ByteLevel()
    return made


MODELS = {"bpe": bpe, "unigram": unigram, "bytes": bytes_bpe, "suffix": lambda: bpe(end_of_word_suffix="</w>")}

# model, normalizer, pre_tokenizer, decoder, and what is changed in the model
KINDS: dict[str, tuple] = {
    "nfc": ("bpe", normalizers.NFC(), pre_tokenizers.WhitespaceSplit(), None, {}),
    "nfd, fused": ("bpe", normalizers.NFD(), pre_tokenizers.Whitespace(), decoders.Fuse(), {"fuse_unk": True}),
    "nfkc": ("bpe", normalizers.NFKC(), pre_tokenizers.Punctuation("contiguous"), None, {}),
    "nfkd, lower, accents": (
        "bpe",
        normalizers.Sequence([normalizers.NFKD(), normalizers.Lowercase(), normalizers.StripAccents()]),
        pre_tokenizers.Punctuation("merged_with_previous"),
        None,
        {},
    ),
    "strip, replace": (
        "bpe",
        normalizers.Sequence(
            [normalizers.Strip(), normalizers.Replace(Regex(r"\s+"), "__"), normalizers.Replace("o", "0")]
        ),
        pre_tokenizers.Punctuation("merged_with_next"),
        decoders.Sequence([decoders.Replace("__", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)]),
        {},
    ),
    "digits": (
        "bpe",
        None,
        pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.CharDelimiterSplit("e")]),
        None,
        {"ignore_merges": True},
    ),
    "suffix": (
        "suffix",
        normalizers.Lowercase(),
        pre_tokenizers.Sequence([pre_tokenizers.Digits(), pre_tokenizers.WhitespaceSplit()]),
        decoders.BPEDecoder(),
        {},
    ),
    "cased bert": (
        "bpe",
        normalizers.BertNormalizer(lowercase=False, handle_chinese_chars=False),
        pre_tokenizers.BertPreTokenizer(),
        None,
        {},
    ),
    "unigram": ("unigram", normalizers.NFKC(), pre_tokenizers.Metaspace(), decoders.Metaspace(), {}),
    "unigram, first": (
        "unigram",
        normalizers.NFC(),
        pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
        decoders.Metaspace(prepend_scheme="never"),
        {},
    ),
    "unigram, bytes": (
        "unigram",
        normalizers.Prepend("▁"),
        pre_tokenizers.Split(Regex("▁"), "merged_with_next"),
        decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]),
        {"byte_fallback": True},
    ),
    "gpt-2": ("bytes", None, pre_tokenizers.ByteLevel(add_prefix_space=True), decoders.ByteLevel(), {}),
    "llama 3": (
        "bytes",
        normalizers.NFC(),
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(LLAMA), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        ),
        decoders.ByteLevel(),
        {"ignore_merges": True},
    ),
    "removed, inverted": (
        "bpe",
        None,
        pre_tokenizers.Split(Regex(r"\p{L}+"), "removed", invert=True),
        None,
        {},
    ),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JsonLibrary]:
    script = NodeTokenizers(tmp_path_factory.mktemp("node"))
    yield JsonLibrary(script)
    script.close()


@pytest.fixture(scope="module")
def trained() -> dict[str, Tokenizer]:
    return {name: make() for name, make in MODELS.items()}


def assert_equal(definition: Definition, library: JsonLibrary, texts: list[str]) -> None:
    native, page = NativeEngine(definition), PortableEngine(definition, library)
    for text in texts:
        expected, got = native.split(text), page.split(text)
        for name in expected._fields:
            assert getattr(got, name) == getattr(expected, name), (name, text)
        for skip in (True, False):
            assert page.decode(got.ids, skip) == native.decode(got.ids, skip), text


@pytest.mark.parametrize("file", [VOCAB, DATA / "K02_bytebpe.json", DATA / "K03_unigram.json"], ids=lambda f: f.stem)
def test_the_page_gives_the_ids_and_offsets_of_the_package_over_a_thousand_texts(file, library):
    assert len(TEXTS) >= 1000
    assert_equal(read(file), library, TEXTS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_part_does_in_the_page_what_it_does_in_the_package(kind, library, trained):
    name, normalizer, pre_tokenizer, decoder, changes = KINDS[kind]
    spec = json.loads(trained[name].to_str())
    made = Tokenizer.from_str(json.dumps({**spec, "normalizer": None, "pre_tokenizer": None, "decoder": None}))
    made.add_special_tokens(
        ["<s>", AddedToken("<mask>", lstrip=True, rstrip=True), AddedToken("</s>", single_word=True)]
    )
    made.add_tokens([AddedToken("World", normalized=True), AddedToken("hell", single_word=True), "ガ"])
    if normalizer:
        made.normalizer = normalizer
    if pre_tokenizer:
        made.pre_tokenizer = pre_tokenizer
    if decoder:
        made.decoder = decoder
    spec = json.loads(made.to_str())
    spec["model"] |= changes
    assert_equal(Definition(kind, spec, {}), library, TEXTS[::2])


@pytest.mark.parametrize("rule", ["nmt_nfkc", "nfkc_cf"])
def test_sentencepieces_compiled_normalizer_is_followed(rule, library, trained):
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS[3:40]),
        model_writer=written,
        vocab_size=200,
        hard_vocab_limit=False,
        normalization_rule_name=rule,
        minloglevel=3,
    )
    # sentencepiece_model.proto: ModelProto.normalizer_spec = 3, NormalizerSpec.precompiled_charsmap = 2
    data = memoryview(written.getvalue())
    charsmap = Message(data, 0, len(data), "model").message(3, "normalizer_spec", lambda spec: bytes(spec.blob(2)))
    made = Tokenizer.from_str(trained["unigram"].to_str())
    steps = [normalizers.Precompiled(charsmap), normalizers.Replace(Regex(" {2,}"), " ")]
    made.normalizer = normalizers.Sequence(steps)  # as transformers writes T5's and XLM-RoBERTa's
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    made.decoder = decoders.Metaspace()
    chosen = random.Random(3)
    signs = [*sorted(set("".join(TEXTS))), *"\u0301\u0327\u200d\u200c\ufe0f\uff9e\u0e33a1é©" * 4]
    scrambled = ["".join(chosen.choices(signs, k=chosen.randint(1, 8))) for _ in range(1000)]
    assert_equal(Definition(rule, json.loads(made.to_str()), {}), library, [*TEXTS[::2], *scrambled])


def test_half_characters_are_decoded_alike_while_text_streams_in(library):
    definition = read(DATA / "K02_bytebpe.json")
    native, page = NativeEngine(definition), PortableEngine(definition, library)
    ids = page.split("♩ é👩\u200d👧 ガ").ids
    for start, end in itertools.combinations(range(len(ids) + 1), 2):
        assert page.decode(ids[start:end], True) == native.decode(ids[start:end], True)
    assert page.decode([240, 159, 99999, -1], True) == "\ufffd"


def test_the_tables_of_characters_are_those_of_the_package():
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    plain = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    clean = normalizers.BertNormalizer(**{**plain, "clean_text": True})
    assert clean.normalize_str("".join(f"a{char}b" for char in every)) == "".join(
        "ab" if char in members(CONTROLS) else "a b" if char in SPACES else f"a{char}b" for char in every
    )
    accents = normalizers.BertNormalizer(**{**plain, "strip_accents": True})
    marks, punctuation = normalizers.StripAccents(), pre_tokenizers.BertPreTokenizer()
    for char in every:
        kind = unicodedata.category(char)[0]
        if kind in "M" or char in members(MARKS):
            assert (accents.normalize_str(f"a{char}b") == "ab") == (char in members(ACCENTS))
            assert (marks.normalize_str(f"a{char}b") == "ab") == (char in members(MARKS))
        if kind in "PS" or char in members(PUNCTUATION):
            assert (len(punctuation.pre_tokenize_str(f"a{char}b")) == 3) == (char in members(PUNCTUATION))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalizer": {"type": "Nmt"}}, 'x.json: normalizer "Nmt" has no equal in the page'),
        ({"pre_tokenizer": {"type": "UnicodeScripts"}}, 'x.json: pre_tokenizer "UnicodeScripts" has no equal'),
        ({"decoder": {"type": "CTC"}}, 'x.json: decoder "CTC" has no equal in the page'),
        ({"model": {"type": "WordLevel", "vocab": {"a": 0}}}, 'x.json: model "WordLevel" has no equal in the page'),
    ],
)
def test_what_the_page_lacks_is_refused_with_its_name(changes, message):
    spec = json.loads((DATA / "K02_bytebpe.json").read_text())
    with pytest.raises(InvalidInput, match=message):
        refuse_unknown(Definition("x.json", {**spec, **changes}, {}))


def test_a_model_goes_with_its_tokenizer():
    released = []

    class Script:
        def model(self, spec: str) -> int:
            return 7

        def release(self, model: int) -> None:
            released.append(model)

    engine = PortableEngine(read(DATA / "K02_bytebpe.json"), JsonLibrary(Script()))
    assert released == []
    del engine
    assert released == [7]


def test_a_pattern_without_an_equal_in_javascript_is_named(library):
    with pytest.raises(InvalidInput, match=r"JavaScript has no equal of the pattern '\[\[\.a\.\]\]' \(SyntaxError"):
        library.find("[[.a.]]", "a")


def test_the_package_is_the_pinned_one_that_the_page_was_compared_with():
    assert tokenizers.__version__ == "0.23.3"
