"""What models say of themselves in their metadata, by which a task needs no options.

| key | value |
|---|---|
| ``names`` | the classes, a dict or a list as Python writes it; Ultralytics' exports have it too |
| ``onnxlet.task`` | the task, by the name that Hugging Face's pipelines have for it |
| ``onnxlet.problem_type`` | of a text classifier: ``problem_type`` of its Hugging Face configuration, if it has one |
| ``onnxlet.max_length`` | how many tokens the model takes, special ones among them |

`onnxlet_build.sources.transformers` writes all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from ..errors import InvalidInput
from ..session import InferenceSession

__all__ = ["MAX_LENGTH", "PROBLEM_TYPE", "TASK", "custom_metadata", "labels_of", "literal", "names_of"]

TASK = "onnxlet.task"
PROBLEM_TYPE = "onnxlet.problem_type"
MAX_LENGTH = "onnxlet.max_length"


def custom_metadata(session: InferenceSession) -> Mapping[str, str]:
    """The model's ``custom_metadata_map``."""
    return session.get_modelmeta().custom_metadata_map


def names_of(metadata: Mapping[str, str]) -> tuple[str, ...]:
    """The classes that ``names`` lists, by index, an index that it leaves out being its own name; empty without it."""
    names = literal(metadata.get("names", ""))
    if isinstance(names, list):
        return tuple(map(str, names))
    if isinstance(names, dict) and names and all(isinstance(key, int) for key in names):
        return tuple(str(names.get(i, i)) for i in range(max(names) + 1))
    return ()


def labels_of(
    session: InferenceSession, labels: Sequence[str] | Mapping[int, str] | None, classes: int | str | None, task: str
) -> tuple[str, ...]:
    """The labels of a classifier's outputs: those given, else those of the metadata.

    Args:
        labels: by index; None asks the metadata.
        classes: how many the model gives; anything but an int is not known.
        task: the class that asks, for messages.
    Returns: one a class; empty where nobody says.
    Raises: InvalidInput: another number than `classes`.
    """
    told = {"names": repr(dict(labels))} if isinstance(labels, Mapping) else {}
    found = names_of(told or custom_metadata(session)) if labels is None or told else tuple(map(str, labels))
    if found and isinstance(classes, int) and len(found) != classes:
        whose = "the model's metadata has" if labels is None else "got"
        raise InvalidInput(f"{task}: {whose} {len(found)} labels for {classes} classes; give labels=, one a class")
    return found


def literal(text: str) -> object:
    """The value that a text writes down in Python; None where it writes none."""
    try:
        return ast.literal_eval(text) if text else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
