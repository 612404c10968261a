"""Apps that take texts."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from onnxlet import Tokenizer
from onnxlet.errors import BuildError, InvalidInput
from onnxlet.tasks.metadata import names_of

from .draft import Draft, call, quoted
from .files import add_texts
from .pictures import labels_argument
from .subject import Subject

__all__ = ["answering", "classification", "entities", "filling", "zero_shot"]

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
    _begin(draft, subject, "zero-shot-classification", ["Labels", "Text"], "ZeroShotClassifier")
    if not any(label.lower().startswith("entail") for label in subject.labels):
        raise BuildError(
            f"{subject.path}: none of its classes is entailment ({', '.join(subject.labels) or 'it names none'}); take "
            "a model of natural language inference, or give --labels FILE"
        )
    arguments = ["session", "tokenizer", *_labels(draft, subject)]
    draft.setup.append(call("classifier = ZeroShotClassifier", arguments))
    example = ("The match went into extra time after a late goal.", "sport, politics, cooking")
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
