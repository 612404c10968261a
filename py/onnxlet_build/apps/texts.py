"""Apps that take texts."""

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from onnxlet import InferenceSession, Tokenizer
from onnxlet.errors import BuildError, InvalidInput
from onnxlet.media.npy import write_npy
from onnxlet.tasks import FeatureExtractor
from onnxlet.tasks.metadata import names_of

from .draft import Draft, call, quoted
from .files import add_texts, lines_of
from .pictures import labels_argument
from .subject import Subject

__all__ = ["answering", "classification", "entities", "filling", "vectors", "zero_shot"]

TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "tokenizer_config.json", "special_tokens_map.json")

_CLASSIFY = '''\
def classify(text: Annotated[str, Text(lines=3)]) -> Labels:
    """Which class does this text belong to?"""
    return classifier(text)
'''

_ENTITIES = '''\
def find(text: Annotated[str, Text(lines=5)]) -> Spans:
    """What is named in this text?"""
    return classifier(text)
'''

_ZERO_SHOT = '''\
def classify(text: Annotated[str, Text(lines=3)], labels: str) -> Labels:
    """Which of these labels, with commas between, suits the text?"""
    return classifier(text, labels)
'''

_ANSWER = '''\
def answer(question: str, context: Annotated[str, Text(lines=6)]) -> Spans:
    """Where in this text is the answer?"""
    return reader(question, context)
'''

_FILL = '''\
def fill(text: Annotated[str, Text(lines=3)]) -> Labels:
    """Which word belongs in the place of {mask}?"""
    return filler(text)
'''

_COMPARE = '''\
def compare(text: str, lines: Annotated[str, Text(lines=5)]) -> Labels:
    """Which of these lines is nearest to the text in meaning?"""
    others = [line for line in lines.splitlines() if line.strip()]
    vector, *vectors = extractor([text, *others])
    return Labels([(other, float(vector @ one)) for other, one in zip(others, vectors, strict=True)])
'''

_SEARCH = '''\
def search(query: str, top: Annotated[int, Number(min=1, max=20)] = 5) -> Labels:
    """Which texts are nearest to the query in meaning?"""
    return find(query, top)
'''


def classification(subject: Subject) -> Draft:
    """A text in, its classes out."""
    draft = Draft(f"{subject.title}: what class of text is this?", _CLASSIFY, "classify")
    _begin(draft, subject, "text-classification", ["Labels", "Text"], "TextClassifier")
    arguments = ["session", "tokenizer", *_labels(draft, subject)]
    draft.setup.append(call("classifier = TextClassifier", arguments))
    add_texts(draft, subject, ["text"], [("This is the best day I have had in years.",), ("Nothing here works.",)])
    return draft


def entities(subject: Subject) -> Draft:
    """A text in, the same with what is named in it marked out."""
    draft = Draft(f"{subject.title}: what is named in a text?", _ENTITIES, "find")
    _begin(draft, subject, "token-classification", ["Spans", "Text"], "TokenClassifier")
    if not subject.labels:
        raise BuildError(
            f"{subject.path}: does not name its classes; give --labels FILE, a name a line, in their order"
        )
    arguments = ["session", "tokenizer", *_labels(draft, subject)]
    draft.setup.append(call("classifier = TokenClassifier", arguments))
    add_texts(draft, subject, ["text"], [("Marie Curie was born in Warsaw and worked at the University of Paris.",)])
    return draft


def zero_shot(subject: Subject) -> Draft:
    """A text and labels in, which label suits it out."""
    draft = Draft(f"{subject.title}: which of your labels suits a text?", _ZERO_SHOT, "classify")
    example = ("The match went into extra time after a late goal.", "sport, politics, cooking")
    if any(arg.name in ("last_hidden_state", "sentence_embedding") for arg in subject.signature.outputs):
        _begin(draft, subject, "zero-shot-classification", ["Labels", "Text"], "FeatureExtractor")
        draft.use("onnxlet.tasks", "EmbeddingClassifier")
        _extractor(draft, subject)
        draft.setup.append("classifier = EmbeddingClassifier(extractor)")
        add_texts(draft, subject, ["text", "labels"], [example])
        return draft
    _begin(draft, subject, "zero-shot-classification", ["Labels", "Text"], "ZeroShotClassifier")
    if not any(label.lower().startswith("entail") for label in subject.labels):
        raise BuildError(
            f"{subject.path}: none of its classes is entailment ({', '.join(subject.labels) or 'it names none'}); take "
            "a model of natural language inference or of vectors, or give --labels FILE"
        )
    arguments = ["session", "tokenizer", *_labels(draft, subject)]
    draft.setup.append(call("classifier = ZeroShotClassifier", arguments))
    add_texts(draft, subject, ["text", "labels"], [example])
    return draft


def answering(subject: Subject) -> Draft:
    """A question and a text in, where the answer stands out."""
    draft = Draft(f"{subject.title}: where in a text is the answer?", _ANSWER, "answer")
    _begin(draft, subject, "question-answering", ["Spans", "Text"], "QuestionAnswerer")
    draft.setup.append("reader = QuestionAnswerer(session, tokenizer)")
    text = "The museum is open from nine to five every day but Monday. Children under twelve enter for free."
    add_texts(draft, subject, ["question", "context"], [("When is the museum closed?", text)])
    return draft


def filling(subject: Subject) -> Draft:
    """A text with a gap in, words for the gap out."""
    draft = Draft(f"{subject.title}: which word belongs in the gap?", "", "fill")
    tokenizer = _begin(draft, subject, "fill-mask", ["Labels", "Text"], "MaskFiller")
    if tokenizer.mask_token is None:
        raise BuildError(f"{subject.path}: its tokenizer has no mask token; take a model that fills gaps")
    draft.function = _FILL.format(mask=tokenizer.mask_token)
    draft.setup.append("filler = MaskFiller(session, tokenizer)")
    add_texts(draft, subject, ["text"], [(f"The cat sat on the {tokenizer.mask_token}.",)])
    return draft


def vectors(subject: Subject) -> Draft:
    """Texts in, which are near each other in meaning out; with --corpus, a search among its lines."""
    corpus = subject.wanted.lines("corpus") if subject.wanted.corpus else []
    about = "find texts by what they mean" if corpus else "which texts mean the same?"
    draft = Draft(f"{subject.title}: {about}", _SEARCH if corpus else _COMPARE, "search" if corpus else "compare")
    values = ["Labels", "Number" if corpus else "Text"]
    tokenizer = _begin(draft, subject, "feature-extraction", values, "FeatureExtractor")
    pooling = _extractor(draft, subject)
    if not corpus:
        lines = "A dog is asleep.\nThe stock market fell.\nAn animal takes a nap."
        add_texts(draft, subject, ["text", "lines"], [("The cat is sleeping.", lines)])
        return draft
    try:
        table = FeatureExtractor(InferenceSession(subject.made.data), tokenizer, pooling=pooling)(corpus)
    except InvalidInput as error:
        raise BuildError(f"{subject.path}: {error}") from error
    draft.files |= {"corpus.txt": lines_of(corpus), "corpus.npy": write_npy(table)}
    draft.use("numpy as np")
    draft.use("onnxlet.tasks", "SemanticSearch")
    draft.setup += [
        'corpus = (HERE / "corpus.txt").read_text(encoding="utf-8").splitlines()',
        "# A vector a line, made by this model when the app was written: make them again where either changes.",
        'find = SemanticSearch(extractor, corpus, embeddings=np.load(HERE / "corpus.npy"))',
    ]
    add_texts(draft, subject, ["query"], [(corpus[0],)])
    return draft


def _extractor(draft: Draft, subject: Subject) -> str:
    """The line that makes the extractor. Returns: its pooling."""
    pooling = _pooling(draft, subject)
    arguments = ["session", "tokenizer", *([] if pooling == "mean" else [f"pooling={quoted(pooling)}"])]
    draft.setup.append(call("extractor = FeatureExtractor", arguments))
    return pooling


def _pooling(draft: Draft, subject: Subject) -> str:
    """How the vectors of tokens become the text's, as sentence-transformers keeps it beside the model."""
    if any(len(arg.shape) == 2 for arg in subject.signature.outputs):
        return "mean"  # of no matter: there is a vector a text
    try:
        said = json.loads((subject.path / "1_Pooling" / "config.json").read_bytes())
    except (OSError, ValueError):
        draft.notes.append("does not say how its tokens' vectors become a text's: assumed their mean; see pooling=")
        return "mean"
    modes = {"pooling_mode_cls_token": "cls", "pooling_mode_max_tokens": "max"}
    return next((pooling for mode, pooling in modes.items() if said.get(mode)), "mean")


def _begin(draft: Draft, subject: Subject, task: str, values: Sequence[str], name: str) -> Tokenizer:
    """The session and the tokenizer, its files beside the app."""
    if "input_ids" not in (inputs := [arg.name for arg in subject.signature.inputs]):
        raise BuildError(
            f"{subject.path}: takes {', '.join(inputs)}, and {task} needs a model that takes input_ids; "
            "say another --task"
        )
    files = _tokenizer_files(subject)
    draft.files |= files
    draft.open_session(subject.model)
    draft.use("typing", "Annotated")
    draft.use("onnxlet", "Tokenizer", *values)
    draft.use("onnxlet.tasks", name)
    draft.setup.append(f"tokenizer = Tokenizer(HERE / {quoted(next(iter(files)))})")
    with tempfile.TemporaryDirectory() as folder:
        for file, content in files.items():
            (Path(folder) / file).write_bytes(content)
        try:
            return Tokenizer(Path(folder) / next(iter(files)))
        except InvalidInput as error:
            raise BuildError(f"{subject.path}: {error}") from error


def _tokenizer_files(subject: Subject) -> Mapping[str, bytes]:
    """What the tokenizer reads, the file that it is opened by first.

    Raises: BuildError: there is none.
    """
    files = {name: subject.made.files[name] for name in TOKENIZER_FILES if name in subject.made.files}
    if said := subject.wanted.tokenizer:
        first = "vocab.txt" if said.suffix == ".txt" else "tokenizer.json"
        beside = {name: (said.parent / name) for name in TOKENIZER_FILES[2:]}
        files = {first: subject.wanted.file("tokenizer")}
        files |= {name: path.read_bytes() for name, path in beside.items() if path.is_file()}
    if not files.keys() & set(TOKENIZER_FILES[:2]):
        raise BuildError(f"{subject.path}: has no tokenizer beside it; give --tokenizer tokenizer.json, or a vocab.txt")
    if "tokenizer.json" in files:
        files.pop("vocab.txt", None)
    return files


def _labels(draft: Draft, subject: Subject) -> list[str]:
    """The argument with the names of the classes, where the model's metadata does not have them."""
    if names_of(subject.metadata) and not subject.wanted.labels:
        return []
    return labels_argument(draft, subject, subject.classes)
