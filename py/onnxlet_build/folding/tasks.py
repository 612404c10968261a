"""Which tasks can be folded."""

from collections.abc import Callable
from typing import Any

from onnxlet.form import Function
from onnxlet.tasks import ImageClassifier, TabularPredictor
from onnxlet.tasks.declared import declared

from . import image_classification, tabular
from .folded import Folded, Unfoldable

__all__ = ["fold"]

_TASKS: dict[type, Callable[..., Folded]] = {
    ImageClassifier: image_classification.fold,
    TabularPredictor: tabular.fold,
}


def fold(function: Function) -> Folded | None:
    """The function's chain; None where it has code of its own.

    Raises: Unfoldable: it is a task, but cannot be folded; says why.
    """
    what = declared(function.call)
    if what is None:
        return None
    return _folder(what.task)(function, what, what.task)


def _folder(task: Any) -> Callable[..., Folded]:
    for kind, folder in _TASKS.items():
        if type(task) is kind:  # a subclass may do anything
            return folder
    raise Unfoldable(f"{type(task).__name__} is not folded")
