"""The tasks on texts, each with a small model of its own: what the page answers is compared with the native answers."""

from typing import Annotated

from onnxlet import App, InferenceSession, Labels, Spans, Text, Tokenizer
from onnxlet.tasks import MaskFiller, QuestionAnswerer, TextClassifier, TokenClassifier

tokenizer = Tokenizer("tokenizer.json")
classifier = TextClassifier(InferenceSession("classes.onnx"), tokenizer)
finder = TokenClassifier(InferenceSession("entities.onnx"), tokenizer, aggregation_strategy="first")
filler = MaskFiller(InferenceSession("gaps.onnx"), tokenizer)
reader = QuestionAnswerer(InferenceSession("answers.onnx"), tokenizer)


def classify(text: str) -> Labels:
    """How does it sound?"""
    return classifier(text)


def find(text: Annotated[str, Text(lines=4)]) -> Spans:
    """Which names are in it?"""
    return finder(text)


def fill(text: str) -> Labels:
    """Which word is missing?"""
    return filler(text, top_k=8)


def answer(question: str, context: Annotated[str, Text(lines=4)], top_k: int = 3) -> Spans:
    """Where does the answer stand?"""
    return reader(question, context, top_k)


TEXTS = [
    "Angela Merkel visited the Louvre in Paris.",
    "東京 and Αθήνα are cities",
    "Zürich 🏔 naïve café",
    "Ангела в Москве",
]
LONG = "Jean-Baptiste's mail cost $3.50 twice! " * 8

app = App(
    classify,
    find,
    fill,
    answer,
    title="Texts",
    examples={
        "classify": [*TEXTS, LONG],
        "find": [*TEXTS, LONG],
        "fill": ["Angela [MASK] visited the Louvre", f"{LONG} [MASK] {LONG}"],
        "answer": [("what cities?", TEXTS[1]), ("what?", TEXTS[2]), ("what cost twice?", LONG)],
    },
)
