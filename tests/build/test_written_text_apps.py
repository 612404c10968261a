"""A Hugging Face folder of a text model becomes an app, which answers as the pipeline of its task does."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxlet.errors import BuildError
from onnxlet_build.apps import Wanted, write_app
from onnxlet_build.progress import Reporter

from .test_written_apps import load, looks_hand_written, run_example

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXT = """[PAD] [UNK] [CLS] [SEP] [MASK] the cat sat on mat this is best day have had in years nothing here works marie
was born and at university of paris match went into extra time after late goal when museum closed open from to every but
monday children enter for free sport politics cooking example i a ##s ##ing . ? , i"""
SMALL = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
Make = Callable[..., Path]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A function that saves a model of random weights with a slow tokenizer's vocab.txt; it returns the folder."""

    def made(auto: str, **options: Any) -> Path:
        torch.manual_seed(0)
        words = list(dict.fromkeys(TEXT.split()))
        config = transformers.BertConfig(vocab_size=len(words), max_position_embeddings=64, **SMALL, **options)
        model = getattr(transformers, auto).from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(4)
        folder = tmp_path_factory.mktemp("model") / auto
        model.save_pretrained(folder)
        (folder / "vocab.txt").write_text("\n".join(words) + "\n")
        (folder / "tokenizer_config.json").write_text(
            json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 64})
        )
        return folder

    return made


def same(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> None:
    assert [label for label, _ in found] == [label for label, _ in expected]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-3)


def test_a_classifier(make: Make, tmp_path: Path, report: Reporter) -> None:
    folder = make("AutoModelForSequenceClassification", id2label={0: "bad", 1: "good", 2: "so so"})
    app = write_app(folder, tmp_path / "app", report, Wanted(example=("The cat sat.", "Nothing works here")))
    looks_hand_written(app)
    assert {file.name for file in app.parent.iterdir()} == {
        *("app.py", ".written", "AutoModelForSequenceClassification.onnx"),
        *("tokenizer.json", "tokenizer_config.json"),
    }
    pipe = transformers.pipeline("text-classification", str(folder))
    (expected,) = pipe(["The cat sat."], top_k=None)
    same(run_example(app).items, [(one["label"], one["score"]) for one in expected])


def test_entities(make: Make, tmp_path: Path, report: Reporter) -> None:
    folder = make("AutoModelForTokenClassification", id2label={0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC"})
    app = write_app(folder, tmp_path / "app", report)
    looks_hand_written(app)
    (text,) = load(app).app.examples[0].values.values()
    pipe = transformers.pipeline("token-classification", str(folder), aggregation_strategy="simple")
    expected = pipe(text)
    found = run_example(app).items
    assert [(one.label, one.start, one.end) for one in found] == [
        (one["entity_group"], one["start"], one["end"]) for one in expected
    ]
    assert found
    np.testing.assert_allclose([one.score for one in found], [one["score"] for one in expected], rtol=1e-3)


def test_entailment_chooses_among_the_visitors_labels(make: Make, tmp_path: Path, report: Reporter) -> None:
    names = {0: "contradiction", 1: "neutral", 2: "entailment"}
    folder = make("AutoModelForSequenceClassification", id2label=names, label2id={n: i for i, n in names.items()})
    app = write_app(folder, tmp_path / "app", report)
    looks_hand_written(app)
    text, labels = load(app).app.examples[0].values.values()
    pipe = transformers.pipeline("zero-shot-classification", str(folder))
    expected = pipe(text, labels.split(", "))
    same(run_example(app).items, list(zip(expected["labels"], expected["scores"], strict=True)))


def test_answers(make: Make, tmp_path: Path, report: Reporter) -> None:
    folder = make("AutoModelForQuestionAnswering")
    app = write_app(folder, tmp_path / "app", report)
    looks_hand_written(app)
    question, context = load(app).app.examples[0].values.values()
    # transformers 5 has no such pipeline: the best pair of places, by its own model.
    words = transformers.AutoTokenizer.from_pretrained(folder)
    encoded = words(question, context, return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        out = transformers.AutoModelForQuestionAnswering.from_pretrained(folder).eval()(**encoded)
    inside = [i for i, sequence in enumerate(encoded.sequence_ids(0)) if sequence == 1]
    starts, ends = out.start_logits[0], out.end_logits[0]
    first, last = max(
        ((i, j) for i in inside for j in inside if i <= j < i + 15), key=lambda pair: starts[pair[0]] + ends[pair[1]]
    )
    (answer,) = run_example(app).items
    assert answer.start <= offsets[first][0]
    assert answer.end >= offsets[last][1]


def test_gaps(make: Make, tmp_path: Path, report: Reporter) -> None:
    folder = make("AutoModelForMaskedLM")
    app = write_app(folder, tmp_path / "app", report)
    looks_hand_written(app)
    assert "in the place of [MASK]?" in app.read_text()
    pipe = transformers.pipeline("fill-mask", str(folder))
    expected = pipe("The cat sat on the [MASK].")
    same(run_example(app).items, [(one["token_str"], one["score"]) for one in expected])


def test_a_bare_model_needs_task_and_tokenizer_and_says_so(make: Make, tmp_path: Path, report: Reporter) -> None:
    folder = make("AutoModelForMaskedLM")
    app = write_app(folder, tmp_path / "app", report)
    bare = tmp_path / "bare.onnx"
    shutil.copy(next(app.parent.glob("*.onnx")), bare)
    with pytest.raises(BuildError, match=r"has no tokenizer beside it; give --tokenizer tokenizer\.json, or a vocab"):
        write_app(bare, tmp_path / "again", report)
    assert not (tmp_path / "again").exists()
    again = write_app(bare, tmp_path / "again", report, Wanted(tokenizer=folder / "vocab.txt"))
    assert (again.parent / "vocab.txt").is_file()
    same(run_example(again).items, run_example(app).items)
    shutil.copytree(folder, tmp_path / "mute", ignore=shutil.ignore_patterns("vocab.txt", "tokenizer*"))
    with pytest.raises(BuildError, match="mute: has no tokenizer beside it; give --tokenizer"):
        write_app(tmp_path / "mute", tmp_path / "silent", report)
    with pytest.raises(BuildError, match=r"--example: got 1 texts, expected 2 an example \(question, context\)"):
        write_app(make("AutoModelForQuestionAnswering"), tmp_path / "qa", report, Wanted(example=("Who?",)))


def test_vectors_compare_texts_and_search_a_corpus(make: Make, tmp_path: Path, report: Reporter) -> None:
    folder = make("AutoModel")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    words = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()

    def vector(text: str) -> np.ndarray:
        with torch.no_grad():
            first = model(**words(text, return_tensors="pt")).last_hidden_state[0, 0].double().numpy()
        return first / np.linalg.norm(first)

    with pytest.raises(BuildError, match="--task vectors: is not known; expected image-classification, "):
        write_app(folder, tmp_path / "none", report, Wanted("vectors"))
    lines = ["the cat sat on the mat", "nothing works here", "children enter for free"]
    app = write_app(folder, tmp_path / "compare", report, Wanted(example=("the cat", "\n".join(lines))))
    looks_hand_written(app)
    cosines = {line: float(vector("the cat") @ vector(line)) for line in lines}
    found = dict(run_example(app).items)
    assert found == pytest.approx(cosines, abs=1e-4)
    (tmp_path / "corpus.txt").write_text("\n".join(lines) + "\n\n")
    app = write_app(folder, tmp_path / "search", report, Wanted(corpus=tmp_path / "corpus.txt", example=("the cat",)))
    looks_hand_written(app)
    assert dict(run_example(app).items) == pytest.approx(cosines, abs=1e-4)
    assert np.load(app.parent / "corpus.npy").shape == (3, 32)
    app = write_app(
        folder, tmp_path / "zero", report, Wanted("zero-shot-classification", example=("the cat", "mat, best"))
    )
    looks_hand_written(app)
    cosines = {label: float(vector("the cat") @ vector(f"This example is {label}.")) for label in ("mat", "best")}
    assert run_example(app).best == max(cosines, key=lambda label: cosines[label])


def test_a_task_that_is_said_gets_its_own_head(make: Make, tmp_path: Path, report: Reporter) -> None:
    """A folder that fills gaps also has vectors."""
    app = write_app(make("AutoModelForMaskedLM"), tmp_path / "app", report, Wanted("feature-extraction"))
    assert "FeatureExtractor" in app.read_text()
    labels = run_example(app).items
    assert len(labels) == 3
    assert all(-1.001 <= score <= 1.001 for _, score in labels)
