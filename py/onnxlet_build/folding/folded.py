"""What a folded function is, and why another is none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxlet.session import InferenceSession

__all__ = ["FORM", "Folded", "Given", "Shown", "Unfoldable"]

FORM = "form."  # before a parameter's name: of an input that is never the name of one of the model's


class Unfoldable(Exception):
    """Why a function waits for Python."""


@dataclass(frozen=True, slots=True)
class Given:
    """How a value of the form becomes an input of the first graph.

    Args:
        name: of the input, `FORM` and the parameter's.
        kind: "pixels": uint8 [H, W, 4] RGBA; "number": float64 [1]; "choice": int64 [1], its position.
        limits: of "pixels": ``pixels``, and ``ratio`` of the longer side to the shorter; what is beyond waits for
            Python.
    """

    name: str
    kind: str
    limits: dict[str, float]


@dataclass(frozen=True, slots=True)
class Shown:
    """How outputs become what is shown.

    Args:
        kind: "labels" of texts and scores, or "json" of one number.
        label: as the display has it.
        tensors: the names of the outputs.
    """

    kind: str
    label: str
    tensors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Folded:
    """A function as a chain of graphs: ``pre``, the app's own model, ``post``.

    Args:
        pre: makes the model's feeds, named as its inputs are, of `inputs`.
        post: makes what is shown of the model's outputs, named as they are; None where these are shown as they are.
        session: the task's.
        fetches: the outputs of the model that are wanted.
    """

    pre: bytes
    post: bytes | None
    session: InferenceSession
    fetches: tuple[str, ...]
    inputs: tuple[Given, ...]
    outputs: tuple[Shown, ...]

    @property
    def model(self) -> Path:
        """The file of the model."""
        path = self.session.source.path
        if path is None:
            raise Unfoldable("its model is not a file")
        return Path(path)

    def described(self) -> dict[str, Any]:
        """For site.json, but for the files."""
        return {
            "fetches": list(self.fetches),
            "inputs": [{"name": one.name, "kind": one.kind, **one.limits} for one in self.inputs],
            "outputs": [{"kind": o.kind, "label": o.label, "tensors": list(o.tensors)} for o in self.outputs],
        }
