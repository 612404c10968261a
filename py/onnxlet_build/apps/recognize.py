"""What a model is for: as its files say, else as its inputs and outputs look."""

from typing import NamedTuple

from onnxlet.tasks.metadata import TASK

from ..sources.yolo import detector
from .registry import TASKS
from .subject import Subject
from .tables import gives_probabilities, takes_rows

__all__ = ["Found", "recognize_task"]

_IMAGENET = (1000, 1001)  # classes; the second with a first one for none of them
_ULTRALYTICS = {"detect": "object-detection", "classify": "image-classification"}


class Found(NamedTuple):
    """A task, and how it is known, for people: "task (reason)". `guessed`: nothing but shapes say so."""

    task: str
    reason: str
    guessed: bool = False


def recognize_task(subject: Subject) -> Found:
    """The task that was asked for, else the one that the model's own words tell, else what its shapes suggest."""
    if subject.wanted.task:
        return Found(subject.wanted.task, "as --task says")
    if subject.metadata.get(TASK) in TASKS:
        return Found(subject.metadata[TASK], "as its files say")
    told = _ULTRALYTICS.get(subject.metadata.get("task", ""), "")
    if told and (told != "object-detection" or detector(subject.made)):
        return Found(told, "as the model's metadata says")
    return _by_shapes(subject)


def _by_shapes(subject: Subject) -> Found:
    if detector(subject.made):
        return Found("object-detection", "its outputs are those of a detector", guessed=True)
    if subject.picture and _gives_rows(subject):
        if subject.classes in _IMAGENET:
            return Found("image-classification", "it takes pictures and has ImageNet's number of outputs", guessed=True)
        if subject.wanted.labels and len(subject.labels) == subject.classes:
            return Found("image-classification", "it takes pictures and has as many outputs as labels", guessed=True)
        return Found("tensors", "nothing says what it is for; it could be image-classification", guessed=True)
    if {arg.name for arg in subject.signature.inputs} in ({"input", "state", "sr"}, {"input", "h", "c"}):
        return Found("voice-activity-detection", "its inputs are those of Silero's detector", guessed=True)
    if takes_rows(subject) and subject.wanted.features:
        kind = "classification" if gives_probabilities(subject) or subject.wanted.labels else "regression"
        return Found(f"tabular-{kind}", "it takes rows, and --features names their columns", guessed=True)
    if takes_rows(subject) and gives_probabilities(subject):
        return Found(
            "tensors", "it could be tabular-classification, for which --features names the columns", guessed=True
        )
    return Found("tensors", "nothing says what it is for", guessed=True)


def _gives_rows(subject: Subject) -> bool:
    outputs = subject.signature.outputs
    shape = [size for size in outputs[0].shape[1:] if size != 1]
    return len(outputs) == 1 and len(shape) == 1 and isinstance(shape[0], int)
