"""The tasks that an app can be written for, with what each takes: names are those of Hugging Face's pipelines."""

from collections.abc import Callable
from dataclasses import dataclass

from onnxlet.errors import BuildError

from . import images, pictures, reading, sounds, tables, tensors, texts
from .draft import Draft
from .options import Wanted, flag
from .subject import Subject

__all__ = ["TASKS", "Task", "check_options"]

_ALWAYS = ("task", "title")


@dataclass(frozen=True, slots=True)
class Task:
    """A task.

    Args:
        write: makes the app. Raises: BuildError: the model cannot be for this, or an option is missing.
        takes: names of the options that it heeds, besides --title.
        about: what a visitor gives and gets.
    """

    write: Callable[[Subject], Draft]
    takes: tuple[str, ...]
    about: str


_PICTURE = (*images.OPTIONS, "example")
_TEXT = ("tokenizer", "example")

TASKS = {
    "image-classification": Task(pictures.classification, ("labels", *_PICTURE), "a picture -> its classes"),
    "object-detection": Task(pictures.detection, ("labels", "example"), "a picture -> boxes around things"),
    "image-segmentation": Task(pictures.segmentation, ("labels", *_PICTURE), "a picture -> which part is what"),
    "background-removal": Task(pictures.background, _PICTURE, "a picture -> the same without its background"),
    "image-to-image": Task(pictures.transformation, _PICTURE, "a picture -> another picture"),
    "ocr": Task(reading.reading, ("recognizer", "characters", "example"), "a picture -> the text in it; two models"),
    "text-classification": Task(texts.classification, ("labels", *_TEXT), "a text -> its classes"),
    "token-classification": Task(texts.entities, ("labels", *_TEXT), "a text -> what is named in it"),
    "zero-shot-classification": Task(texts.zero_shot, ("labels", *_TEXT), "a text and labels -> which label suits"),
    "question-answering": Task(texts.answering, _TEXT, "a question and a text -> where the answer stands"),
    "fill-mask": Task(texts.filling, _TEXT, "a text with a gap -> words for it"),
    "feature-extraction": Task(texts.vectors, ("corpus", *_TEXT), "texts -> which are near; a search in --corpus"),
    "audio-classification": Task(sounds.classification, ("labels", "example"), "a sound -> its classes"),
    "voice-activity-detection": Task(sounds.speech, ("example",), "a sound -> where somebody speaks"),
    "tabular-classification": Task(tables.classification, ("features", "labels"), "a row of a table -> its class"),
    "tabular-regression": Task(tables.regression, ("features",), "a row of a table -> a number"),
    "tensors": Task(tensors.tensors, ("example",), ".npy files -> tensors; for every model"),
}


def check_options(task: str, wanted: Wanted) -> None:
    """See that a task heeds what was said.

    Raises: BuildError: it does not; says what the task takes, and which task takes the option.
    """
    takes = TASKS[task].takes
    for name in wanted.given():
        if name in (*_ALWAYS, *takes):
            continue
        others = [other for other, one in TASKS.items() if name in one.takes]
        raise BuildError(
            f"{flag(name)}: is not for {task}, which takes {_listed([*map(flag, takes), '--title'], 'and')}"
            f"; it is for {_listed(others, 'and')}"
        )


def _listed(words: list[str], last: str) -> str:
    return f" {last} ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
