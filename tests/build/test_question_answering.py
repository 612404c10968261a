"""Answers against those of transformers 4.57.6, the last with a pipeline for them, over a network of known logits."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("transformers")

from onnxlet import InferenceSession, InvalidInput, Spans, Tokenizer
from onnxlet.tasks import QuestionAnswerer
from tests.build.question_model import reader
from tests.build.text_models import LONG, byte_tokenizer, word_tokenizer

RECORDED = json.loads((Path(__file__).parents[1] / "data/question_answering.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tokenizer]:
    folders = {name: tmp_path_factory.mktemp(name) for name in ("word", "byte")}
    word_tokenizer().save_pretrained(folders["word"])
    byte_tokenizer().save_pretrained(folders["byte"])
    return {name: Tokenizer(folder) for name, folder in folders.items()}


@pytest.fixture(scope="module")
def session() -> InferenceSession:
    return InferenceSession(reader(1000))


def best_of(windows: list[list[list[Any]]], top_k: int) -> list[list[Any]]:
    """The pipeline's answers of each window as one list: of equal ones the best, of "no answer" the least likely.

    The pipeline itself adds up what windows say, and so gives probabilities of 2.4.
    """
    found: dict[str, list[Any]] = {}
    for answer in sorted((one for window in windows for one in window), key=lambda one: -one[3]):
        if not answer[0] or answer[0].lower() not in found:
            found[answer[0].lower()] = answer
    return sorted(found.values(), key=lambda one: -one[3])[:top_k]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['tokenizer']}-{case['question']}-{case['call']}")
def test_answers_are_the_pipelines(
    case: dict[str, Any], session: InferenceSession, tokenizers: dict[str, Tokenizer]
) -> None:
    answer = QuestionAnswerer(session, tokenizers[case["tokenizer"]], **case["made"])
    got = answer(case["question"], case["context"], **case["call"])
    expected = best_of(case["windows"], case["call"].get("top_k", 1))
    assert [[span.word, span.start, span.end] for span in got.items] == [one[:3] for one in expected]
    np.testing.assert_allclose([span.score for span in got.items], [one[3] for one in expected], atol=1e-4)
    assert all(span.word == case["context"][span.start : span.end] for span in got.items)


def test_the_recorded_answers_come_from_one_window_and_from_many() -> None:
    counts = {len(case["windows"]) for case in RECORDED}
    assert 1 in counts
    assert max(counts) > 20


def test_a_network_of_one_length_gets_its_texts_filled_up(
    session: InferenceSession, tokenizers: dict[str, Tokenizer]
) -> None:
    fixed = QuestionAnswerer(InferenceSession(reader(1000, 40, onnx.TensorProto.INT32)), tokenizers["word"])
    free = QuestionAnswerer(session, tokenizers["word"], max_seq_len=40)
    assert fixed("what?", "Angela in Paris", top_k=3) == free("what?", "Angela in Paris", top_k=3)
    assert fixed("what cities?", LONG, top_k=3) == free("what cities?", LONG, top_k=3)


def test_an_answer_is_awaited_alike(session: InferenceSession, tokenizers: dict[str, Tokenizer]) -> None:
    answer = QuestionAnswerer(session, tokenizers["word"])
    assert asyncio.run(answer.acall("what cities?", LONG, top_k=3)) == answer("what cities?", LONG, top_k=3)


@pytest.mark.parametrize(
    ("question", "context", "options", "said"),
    [
        ("what?", " \n", {}, "the context is empty; write something"),
        ("", "a city", {}, "the question is empty; write something"),
        ("what " * 70, "a city " * 40, {}, r"73 tokens stand beside the text and the model takes 64; shorten them"),
        ("what?", "a city", {"top_k": 0}, "top_k=0, max_answer_len=15; expected 1 or more"),
    ],
)
def test_what_has_no_answer_is_a_sentence(
    question: str,
    context: str,
    options: dict[str, int],
    said: str,
    session: InferenceSession,
    tokenizers: dict[str, Tokenizer],
) -> None:
    with pytest.raises(InvalidInput, match=said):
        QuestionAnswerer(session, tokenizers["word"])(question, context, **options)


def test_best_is_what_the_best_span_says() -> None:
    assert Spans("a city", [("", 0.2, 0, 1), ("", 0.7, 2, 6)]).best == "city"
    assert Spans("a city", []).best == ""
