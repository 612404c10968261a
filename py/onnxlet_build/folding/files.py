"""The folded functions of an app as files, or why they wait for Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onnxlet.app import App
from onnxlet.form import Function

from .folded import Folded, Unfoldable
from .generated import Inputs
from .proof import Proof, prove
from .tasks import fold

__all__ = ["Direct", "fold_app"]


@dataclass(frozen=True, slots=True)
class Direct:
    """What became of a function that is a task.

    Args:
        waits: why it waits for Python; "" where it is folded, and only then the rest is there.
        pre, post: files of graphs; `post` only where there is one.
        model: file of the app's model.
        described: as in site.json, but for the files.
        samples, max_abs: as in `Proof`.
    """

    waits: str = ""
    pre: Path = Path()
    post: Path | None = None
    model: Path = Path()
    described: Mapping[str, Any] | None = None
    samples: int = 0
    max_abs: float = 0.0

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Direct:
        """What `fold_app` wrote down."""
        paths = {name: Path(said[name]) for name in ("pre", "post", "model") if said.get(name)}
        return cls(**{**said, **paths})


def fold_app(app: App, examples: Mapping[str, Sequence[Inputs]], folder: Path) -> dict[str, dict[str, Any]]:
    """Fold those functions of an app that are tasks, and prove them.

    Args:
        examples: of each function, in wire form.
        folder: for the graphs.
    Returns: by function the fields of `Direct`, for JSON.
    """
    told = {}
    for function in app.functions.values():
        try:
            folded = fold(function)
            if folded is not None:
                proof = prove(app, function, folded, examples.get(function.name, ()))
                told[function.name] = _written(function, folded, proof, folder)
        except Unfoldable as why:
            told[function.name] = {"waits": str(why)}
    return told


def _written(function: Function, folded: Folded, proof: Proof, folder: Path) -> dict[str, Any]:
    files = {}
    for name, data in (("pre", folded.pre), ("post", folded.post)):
        if data:
            file = folder / f"{function.name}.{name}.onnx"
            file.write_bytes(data)
            files[name] = str(file)
    return {
        **files,
        "model": str(folded.model),
        "described": folded.described(),
        "samples": proof.samples,
        "max_abs": proof.max_abs,
    }
