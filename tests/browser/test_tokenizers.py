"""Tokenizers in the page: the ids, offsets and text that the `tokenizers` package gives natively (rows K02, K03)."""

import json
from pathlib import Path
from typing import Any

import pytest

from onnxlet import Tokenizer
from tests.browser.driver import Visit
from tests.core.languages import mixed_texts
from tests.core.test_tokenizer import DATA, VOCAB

FILES = {"vocab.txt": VOCAB, **{name: DATA / name for name in ("K02_bytebpe.json", "K03_unigram.json")}}


def ask(visitor: Visit, function: str, name: str, *values: Any) -> Any:
    inputs = [{"kind": "text", "text": name}]
    for value in values:
        number = isinstance(value, int)
        inputs.append({"kind": "number", "value": value} if number else {"kind": "text", "text": json.dumps(value)})
    answer = visitor.call(function, *inputs)
    assert "error" not in answer, answer
    return json.loads(answer["outputs"][0]["text"])


def native(path: Path, texts: list[str]) -> list[Any]:
    tokenizer = Tokenizer(path)
    found = [tokenizer.encode(text) for text in texts]
    lists = [[f.ids, f.offsets, f.word_ids, tokenizer.decode(f.ids)] for f in found]
    return json.loads(json.dumps(lists))  # as it crosses: tuples become lists


def test_over_a_thousand_texts_the_page_has_the_native_ids_offsets_and_text(visit, cases):
    visitor = visit(cases, "iso+csp")
    assert "error" not in visitor.start("tokens")
    texts = mixed_texts()
    for name, path in FILES.items():
        got = ask(visitor, "encode", name, texts)
        for text, mine, theirs in zip(texts, got, native(path, texts), strict=True):
            assert mine == theirs, (name, text)
    for name in ("K02_bytebpe", "K03_unigram"):
        rows = json.loads((DATA / f"{name}_expected.json").read_text())["cases"]
        rows = list(rows.values()) if isinstance(rows, dict) else rows
        encoded = [row for row in rows if "text" in row]
        got = ask(visitor, "encode", f"{name}.json", [row["text"] for row in encoded])
        assert [ids for ids, *_ in got] == [row["ids"] for row in encoded]
        decoded = [row for row in rows if "decoded" in row]
        texts_back = ask(visitor, "decode", f"{name}.json", [row["ids"] for row in decoded])
        assert texts_back == [row["decoded"] for row in decoded]


@pytest.mark.parametrize(("conditions", "waits"), [("iso+nojspi", "atomics"), ("plain+nojspi", "none")])
def test_tokenizers_need_no_way_to_wait(visit, cases, conditions, waits):
    visitor = visit(cases, conditions)
    assert visitor.start("tokens")["waits"] == waits
    texts = mixed_texts(400)[::4]
    for name, path in FILES.items():
        assert ask(visitor, "encode", name, texts) == native(path, texts)
    feeds = ask(visitor, "pairs", "vocab.txt", texts, texts[::-1], 24)
    expected = Tokenizer(VOCAB).batch(texts, texts[::-1], max_length=24)
    assert feeds == {name: feed.tolist() for name, feed in expected.items()}
