"""Vectors of texts and search by them: small models whose answers can be reckoned, and the example's own."""

import asyncio
import runpy
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper as h
from onnx.numpy_helper import from_array

from onnxlet import InferenceSession, InvalidInput, Tokenizer
from onnxlet.tasks import FeatureExtractor, SemanticSearch
from tests.fetching import fetching

EXAMPLE = Path(__file__).parents[2] / "examples/search"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "green", "blue", "light", "dark"]
VECTORS = np.array(
    [[9, 9, 9], [0, 0, 0], [0, 0, 0.3], [0, 0, -0.3], [3, 0, 0], [0, 4, 0], [0, 0, 5], [0.5, 0.5, 0], [-1, -1, 0]],
    np.float32,
)


def embedding_model(length: int | str = "t", output: str = "last_hidden_state", axes: tuple[int, ...] = ()) -> bytes:
    """Looks each id up in VECTORS; `axes` are averaged away, for models that pool by themselves."""
    i64, f32 = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    last = "found" if axes else output
    nodes = [h.make_node("Gather", ["table", "input_ids"], [last])]
    if axes:
        nodes.append(h.make_node("ReduceMean", ["found", "axes"], [output], keepdims=0))
    inputs = [h.make_tensor_value_info(name, i64, [1, length]) for name in ("input_ids", "attention_mask")]
    outputs = [h.make_tensor_value_info(output, f32, None)]
    constants = [from_array(VECTORS, "table"), from_array(np.array(axes, np.int64), "axes")]
    graph = h.make_graph(nodes, "embedding", inputs, outputs, constants)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=9).SerializeToString()


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    return Tokenizer(tmp_path)


def extractor(tokenizer: Tokenizer, model: bytes | None = None, **options) -> FeatureExtractor:
    return FeatureExtractor(InferenceSession(model or embedding_model()), tokenizer, **options)


@pytest.mark.parametrize(("pooling", "expected"), [("mean", [0.75, 1, 0]), ("cls", [0, 0, 0.3]), ("max", [3, 4, 0.3])])
def test_the_vectors_of_the_tokens_become_one_by(tokenizer, pooling, expected):
    found = extractor(tokenizer, pooling=pooling, normalize=False)("red green")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [expected], rtol=1e-6)


def test_vectors_have_length_one_and_depend_on_no_other_text(tokenizer):
    extract = extractor(tokenizer)
    together = extract(["red", "green green green green", "light"])
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-6)
    np.testing.assert_array_equal(together, np.concatenate([extract(t) for t in ("red", "green " * 4, "light")]))
    np.testing.assert_array_equal(together, asyncio.run(extract.acall(["red", "green green green green", "light"])))


def test_what_fills_up_an_input_of_one_length_does_not_count(tokenizer):
    fixed = extractor(tokenizer, embedding_model(length=7))
    np.testing.assert_array_equal(fixed(["red green"]), extractor(tokenizer)(["red green"]))


def test_a_model_that_pools_by_itself_is_taken_at_its_word(tokenizer):
    model = embedding_model(output="sentence_embedding", axes=(1,))
    np.testing.assert_allclose(extractor(tokenizer, model)("red green"), extractor(tokenizer)("red green"), rtol=1e-6)


def test_search_ranks_by_likeness_with_given_vectors_and_without(tokenizer):
    extract = extractor(tokenizer)
    corpus = ["blue", "red", "dark", "green"]
    found = SemanticSearch(extract, corpus)("light red", top_k=3)
    assert [text for text, _ in found.items] == ["red", "green", "blue"]
    assert found.items[0][1] == pytest.approx(float(extract("light red")[0] @ extract("red")[0]))
    ready = SemanticSearch(extract, corpus, embeddings=extract(corpus))
    assert ready("light red", top_k=3) == found
    assert asyncio.run(ready.acall("light red", top_k=3)) == found
    assert len(ready("light", top_k=9).items) == 4


def test_wrong_uses_are_refused_in_a_sentence(tokenizer):
    extract = extractor(tokenizer)
    with pytest.raises(InvalidInput, match='no pooling "median"; known are mean, cls, max'):
        extractor(tokenizer, pooling="median")
    with pytest.raises(InvalidInput, match="got no texts"):
        extract([])
    with pytest.raises(InvalidInput, match="the text is empty"):
        extract(["red", " "])
    with pytest.raises(InvalidInput, match="the corpus is empty"):
        SemanticSearch(extract, [])
    with pytest.raises(InvalidInput, match="sentence 1 of the corpus is empty"):
        SemanticSearch(extract, ["red", ""])
    with pytest.raises(InvalidInput, match="normalize=True"):
        SemanticSearch(extractor(tokenizer, normalize=False), ["red"])
    with pytest.raises(InvalidInput, match=r"got embeddings \[1, 3\] for 2 sentences"):
        SemanticSearch(extract, ["red", "blue"], embeddings=extract("red"))
    with pytest.raises(InvalidInput, match="the embeddings have 2 columns and the model gives 3"):
        SemanticSearch(extract, ["red"], embeddings=np.ones((1, 2)))("red")
    with pytest.raises(InvalidInput, match="the query is empty"):
        SemanticSearch(extract, ["red"])("")


@pytest.fixture(scope="module")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> FeatureExtractor:
    """The example's model and vocabulary, as its model.py gets them."""
    folder = tmp_path_factory.mktemp("minilm")
    with fetching():
        made = runpy.run_path(str(EXAMPLE / "model.py"))["model"]()
    for name in ("vocab.txt", "minilm.onnx"):
        (folder / name).write_bytes(Path(made[name]).read_bytes())
    return FeatureExtractor(InferenceSession(folder / "minilm.onnx"), Tokenizer(folder / "vocab.txt"))


def test_minilm_puts_related_sentences_near_and_others_far(minilm):
    texts = ["A cat sits on the mat.", "A kitten rests on a rug.", "The stock market fell sharply today."]
    likeness = minilm(texts) @ minilm(texts).T
    assert likeness[0, 1] > 0.6
    assert abs(likeness[0, 2]) < 0.15


@pytest.fixture(scope="module")
def search(minilm: FeatureExtractor) -> SemanticSearch:
    return SemanticSearch(minilm, (EXAMPLE / "facts.txt").read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How do plants make their food?", "Leaves turn sunlight"),
        ("Why does the sea rise?", "Tides rise and fall"),
        ("Who was the first programmer?", "Ada Lovelace wrote"),
        ("What keeps an aircraft from falling?", "Aeroplanes fly because"),
        ("How are loaves made fluffy?", "Bread rises because"),
    ],
)
def test_the_example_finds_the_fact_that_answers(search, question, answer):
    assert search(question).best.startswith(answer)
