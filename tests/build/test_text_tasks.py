"""Tasks on texts against transformers' own pipelines, over models that go the whole way: saved, exported, opened."""

import asyncio
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from shutil import copytree
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest

pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from onnxlet import InferenceSession, InvalidInput, Labels, Spans, Tokenizer  # noqa: E402 (after what is skipped)
from onnxlet.tasks import (  # noqa: E402
    EmbeddingClassifier,
    FeatureExtractor,
    MaskFiller,
    TextClassifier,
    TokenClassifier,
    ZeroShotClassifier,
)
from onnxlet_build.sources import export  # noqa: E402
from tests.build.text_models import LONG, TEXTS, save  # noqa: E402

CLOSE = 1e-4
ENTITIES = dict(enumerate(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC"]))


class Made(NamedTuple):
    """A model on both sides: the folder for transformers, session and tokenizer for onnxlet."""

    folder: Path
    data: bytes
    session: InferenceSession
    tokenizer: Tokenizer

    def pipeline(self, task: str, **options: Any) -> Any:
        return transformers.pipeline(task, model=str(self.folder), device="cpu", **options)

    def told(self, folder: Path, labels: Sequence[str], problem: str | None = None) -> "Made":
        """The same network under another configuration: for transformers in its file, for onnxlet in its metadata."""
        copytree(self.folder, folder, dirs_exist_ok=True)
        config = json.loads((folder / "config.json").read_text())
        names = dict(enumerate(labels))
        config |= {"id2label": names, "label2id": {name: i for i, name in names.items()}, "problem_type": problem}
        (folder / "config.json").write_text(json.dumps(config))
        said = onnx.ModelProto()
        told = {"names": str(names), **({"onnxlet.problem_type": problem} if problem else {})}
        onnx.helper.set_model_props(
            said, told
        )  # messages that follow each other are one, in which the last word counts
        return self._replace(folder=folder, session=InferenceSession(self.data + said.SerializeToString()))


Make = Callable[..., Made]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Make]:
    """A function that makes a model, once for each set of arguments."""
    made: dict[str, Made] = {}
    transformers.logging.set_verbosity_error()

    def one(head: str, labels: dict[int, str], byte: bool = False) -> Made:
        key = f"{head} {len(labels)} {byte}"
        if key not in made:
            folder = save(tmp_path_factory.mktemp("model"), head, labels, byte=byte)
            data = export(folder, "model.onnx").data
            made[key] = Made(folder, data, InferenceSession(data), Tokenizer(folder))
        return made[key]

    yield one
    made.clear()


def assert_labels(got: Labels, expected: list[dict[str, Any]]) -> None:
    assert [label for label, _ in got.items] == [one["label"] for one in expected]
    np.testing.assert_allclose([s for _, s in got.items], [one["score"] for one in expected], atol=CLOSE)


def test_texts_are_classified_as_by_the_pipeline(make: Make) -> None:
    made = make("ForSequenceClassification", {0: "bad", 1: "fair", 2: "good"})
    classify, theirs = TextClassifier(made.session, made.tokenizer), made.pipeline("text-classification")
    for text in TEXTS:
        assert_labels(classify(text), theirs(text, top_k=None))
    assert_labels(classify(TEXTS[0], TEXTS[1], top_k=2), theirs({"text": TEXTS[0], "text_pair": TEXTS[1]}, top_k=2))
    assert len({classify(text).best for text in TEXTS}) > 1  # a model that always says the same would show little


def test_a_text_of_many_tokens_loses_its_end_and_says_so(make: Make) -> None:
    made = make("ForSequenceClassification", {0: "bad", 1: "fair", 2: "good"})
    classify, theirs = TextClassifier(made.session, made.tokenizer), made.pipeline("text-classification")
    with pytest.warns(UserWarning, match=r"the text has \d+ tokens and the model takes 64; the rest is left out"):
        assert_labels(classify(LONG), theirs(LONG, top_k=None, truncation=True))
    for pair in ((TEXTS[0], LONG), (LONG, TEXTS[0]), (LONG, LONG)):
        with pytest.warns(UserWarning, match="the rest is left out"):
            got = classify(*pair)
        assert_labels(got, theirs({"text": pair[0], "text_pair": pair[1]}, top_k=None, truncation=True))


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ("abc", "multi_label_classification"),
        ("abc", "single_label_classification"),
        ("a", "regression"),
        ("a", None),
    ],
)
def test_the_configuration_decides_between_softmax_sigmoid_and_neither(
    make: Make, labels: str, problem: str | None, tmp_path: Path
) -> None:
    made = make("ForSequenceClassification", dict(enumerate(labels))).told(tmp_path, labels, problem)
    classify, theirs = TextClassifier(made.session, made.tokenizer), made.pipeline("text-classification")
    for text in TEXTS[:3]:
        assert_labels(classify(text), theirs(text, top_k=None))
    for function in ("softmax", "sigmoid", "none"):
        ours = TextClassifier(made.session, made.tokenizer, function_to_apply=function)
        assert_labels(ours(TEXTS[0]), theirs(TEXTS[0], top_k=None, function_to_apply=function))


@pytest.mark.parametrize("byte", [False, True], ids=["wordpiece", "bytes"])
@pytest.mark.parametrize("strategy", ["none", "simple", "first", "average", "max"])
def test_entities_are_found_and_grouped_as_by_the_pipeline(make: Make, strategy: str, byte: bool) -> None:
    made = make("ForTokenClassification", ENTITIES, byte)
    find = TokenClassifier(made.session, made.tokenizer, aggregation_strategy=strategy)
    theirs = made.pipeline("token-classification", aggregation_strategy=strategy)
    seen = set()
    for text in (*TEXTS, ""):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # transformers' own about tokenizers without words
            expected = theirs(text)
        assert_spans(find(text), text, expected, words=not byte)
        seen |= {one["entity" if strategy == "none" else "entity_group"] for one in expected}
    assert len(seen) > 2


def assert_spans(got: Spans, text: str, expected: list[dict[str, Any]], words: bool) -> None:
    """`words` False: transformers joins tokens of bytes twice, which breaks what is not ASCII."""
    assert got.text == text
    names = [one.get("entity_group", one.get("entity")) for one in expected]
    assert [(s.label, s.start, s.end) for s in got.items] == [
        (name, one["start"], one["end"]) for name, one in zip(names, expected, strict=True)
    ]
    np.testing.assert_allclose([s.score for s in got.items], [one["score"] for one in expected], atol=CLOSE)
    if words:
        assert [s.word for s in got.items] == [one["word"] for one in expected]


@pytest.mark.parametrize("stride", [4, 20])
def test_entities_of_a_long_text_are_read_in_windows(make: Make, stride: int) -> None:
    made = make("ForTokenClassification", ENTITIES)
    expected = made.pipeline("token-classification", aggregation_strategy="simple", stride=stride)(LONG)
    got = TokenClassifier(made.session, made.tokenizer, stride=stride)(LONG)
    assert_spans(got, LONG, expected, words=True)
    assert got.items[-1].end > len(LONG) - 60  # nothing was cut off


@pytest.mark.parametrize(
    "labels", [["entailment", "neutral", "contradiction"], ["contradiction", "neutral", "Entailed"]]
)
def test_zero_shot_labels_score_as_by_the_pipeline(make: Make, labels: list[str], tmp_path: Path) -> None:
    made = make("ForSequenceClassification", dict(enumerate(labels))).told(tmp_path, labels)
    ask, theirs = ZeroShotClassifier(made.session, made.tokenizer), made.pipeline("zero-shot-classification")
    for text in TEXTS[2:4]:
        for choice in ("cities, what, mail", ["minds"], "東京,Αθήνα"):
            for multi in (False, True):
                theirs_says = theirs(text, choice, multi_label=multi)
                got = ask(text, choice, multi_label=multi)
                assert [label for label, _ in got.items] == theirs_says["labels"]
                np.testing.assert_allclose([s for _, s in got.items], theirs_says["scores"], atol=CLOSE)
    said = theirs(LONG, ["mail", "cities"], hypothesis_template="It is {}!")
    with pytest.warns(UserWarning, match="the rest is left out"):
        got = ask(LONG, ["mail", "cities"], "It is {}!")
    assert [label for label, _ in got.items] == said["labels"]
    np.testing.assert_allclose([s for _, s in got.items], said["scores"], atol=CLOSE)


@pytest.mark.parametrize("byte", [False, True], ids=["wordpiece", "bytes"])
def test_gaps_are_filled_as_by_the_pipeline(make: Make, byte: bool) -> None:
    made = make("ForMaskedLM", {}, byte)
    fill, theirs = MaskFiller(made.session, made.tokenizer), made.pipeline("fill-mask")
    mask = made.tokenizer.mask_token
    for text in (f"Angela {mask} visited the Louvre", f"{mask}!", f"東京 and {mask} are cities", f"café {mask}"):
        for options in ({}, {"top_k": 12}, {"targets": ["a", "c", "n"]}):
            expected = theirs(text, **options)
            got = fill(text, **options).fills
            assert [(f.token, f.token_str, f.sequence) for f in got] == [
                (one["token"], one["token_str"], one["sequence"]) for one in expected
            ]
            np.testing.assert_allclose([f.score for f in got], [one["score"] for one in expected], atol=CLOSE)
    assert fill(f"a {mask}").items == [(f.token_str, f.score) for f in fill(f"a {mask}").fills]


def test_a_target_that_is_no_word_counts_by_its_first_token(make: Make) -> None:
    made = make("ForMaskedLM", {})
    fill, theirs = MaskFiller(made.session, made.tokenizer), made.pipeline("fill-mask")
    with pytest.warns(UserWarning, match='"merkelis" is no token of the model; its first, "merkel", counts'):
        got = fill("the [MASK]", targets=["merkelis", "cities"])
    assert [f.token_str for f in got.fills] == [
        one["token_str"] for one in theirs("the [MASK]", targets=["merkelis", "cities"])
    ]


def test_the_gap_of_a_long_text_is_seen_wherever_it_is(make: Make) -> None:
    made = make("ForMaskedLM", {})
    fill = MaskFiller(made.session, made.tokenizer)
    for text in (f"{LONG} [MASK] {LONG}", f"[MASK] {LONG}", f"{LONG} [MASK]"):
        with pytest.warns(UserWarning, match="the model takes 64"):
            got = fill(text)
        assert len(got.fills) == 5
        assert got.fills[0].sequence.count("visited") == text.count("visited")
    short = " ".join(["minds"] * 61)
    with pytest.warns(UserWarning, match="the model takes 64"):
        near = fill(f"[MASK] {short} minds")
    np.testing.assert_allclose(near.fills[0].score, fill(f"[MASK] {short}").fills[0].score, atol=CLOSE)


def test_each_text_is_answered_alone_and_awaited_alike(make: Make) -> None:
    """What was asked before, or beside, changes nothing."""
    made = make("ForTokenClassification", ENTITIES)
    find = TokenClassifier(made.session, made.tokenizer)

    async def together() -> list[Spans]:
        return [await find.acall(text) for text in TEXTS]

    alone = [TokenClassifier(made.session, made.tokenizer)(text) for text in TEXTS]
    assert asyncio.run(together()) == alone == [find(text) for text in reversed(TEXTS)][::-1]


@pytest.mark.filterwarnings("ignore:ZeroShotClassifier")
def test_what_does_not_fit_is_a_sentence(make: Make, tmp_path: Path) -> None:
    entities, masked = make("ForTokenClassification", ENTITIES), make("ForMaskedLM", {})
    nli = make("ForSequenceClassification", {0: "entailment", 1: "neutral", 2: "contradiction"})
    nli = nli.told(tmp_path, ["entailment", "neutral", "contradiction"])
    ask = ZeroShotClassifier(nli.session, nli.tokenizer)
    fill = MaskFiller(masked.session, masked.tokenizer)
    for call, said in (
        (lambda: TextClassifier(nli.session, nli.tokenizer)("  \n"), "the text is empty; write something"),
        (lambda: TextClassifier(nli.session, nli.tokenizer, labels=["a"]), "got 1 labels for 3 classes; give labels="),
        (
            lambda: TextClassifier(nli.session, nli.tokenizer, function_to_apply="max"),
            "known are softmax, sigmoid, none",
        ),
        (lambda: TokenClassifier(masked.session, masked.tokenizer), "does not name its labels; give labels="),
        (
            lambda: TokenClassifier(entities.session, entities.tokenizer, aggregation_strategy="any"),
            "known are none, simple",
        ),
        (lambda: TokenClassifier(entities.session, entities.tokenizer, labels=["O"]), "got 1 labels for 6 classes"),
        (lambda: ask("a", " , "), "no labels to choose from"),
        (lambda: ask("a", "b", "no place"), "has no {} where the label goes"),
        (lambda: ask("a", "b", "{} and {}"), "is not one with {} for the label"),
        (lambda: ask("a", "minds " * 80), "is longer than the model takes; shorten the label"),
        (lambda: ZeroShotClassifier(entities.session, entities.tokenizer), "none of the labels is entailment"),
        (lambda: fill("no gap"), r"the text has no [MASK], expected one"),
        (lambda: fill("[MASK] [MASK]"), r"the text has 2 [MASK], expected one"),
        (lambda: fill(""), "the text is empty"),
        (lambda: fill("[MASK]", targets=[]), "none of the targets is a word of the model"),
    ):
        with pytest.raises(InvalidInput) as caught:
            call()
        assert said in str(caught.value)


def test_a_tokenizer_without_a_mask_fills_no_gaps(make: Make, tmp_path: Path) -> None:
    made = make("ForMaskedLM", {})
    spec = json.loads((made.folder / "tokenizer.json").read_text())
    spec["added_tokens"] = [token for token in spec["added_tokens"] if token["content"] != "[MASK]"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(spec))
    with pytest.raises(InvalidInput, match="the tokenizer has no mask token"):
        MaskFiller(made.session, Tokenizer(tmp_path))


def test_the_nearest_label_is_chosen_by_vectors(tmp_path: Path) -> None:
    """Against cosines that transformers' own model gives."""
    import torch

    folder = save(tmp_path, "Model", {})
    extractor = FeatureExtractor(InferenceSession(export(folder, "model.onnx").data), Tokenizer(folder))
    choose = EmbeddingClassifier(extractor)
    words, model = transformers.AutoTokenizer.from_pretrained(folder), transformers.AutoModel.from_pretrained(folder)
    labels = ["cities", "mail", "nobody"]

    def vector(text: str) -> Any:
        with torch.no_grad():
            mean = model(**words(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        return mean / mean.norm()

    for text in TEXTS[:3]:
        cosines = torch.stack([vector(f"This example is {label}.") for label in labels]) @ vector(text)
        shares = dict(zip(labels, (20 * cosines).softmax(0).tolist(), strict=True))
        got = choose(text, ", ".join(labels))
        assert [label for label, _ in got.items] == sorted(labels, key=shares.__getitem__, reverse=True)
        np.testing.assert_allclose([score for _, score in got.items], sorted(shares.values())[::-1], atol=CLOSE)
    with pytest.raises(InvalidInput, match="expected an extractor with normalize=True"):
        EmbeddingClassifier(FeatureExtractor(extractor._model.session, extractor._model.tokenizer, normalize=False))
