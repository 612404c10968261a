"""What there is to know of a model before its app is written."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from onnxlet.errors import BuildError
from onnxlet.model import Model
from onnxlet.source import ModelSource, NodeArg, Signature
from onnxlet.tasks.metadata import names_of

from ..sources import Export
from ..sources.yolo import LABELS
from .options import Wanted, read_labels

__all__ = ["Subject"]


@dataclass(frozen=True)
class Subject:
    """A model as ONNX, and what was said of it.

    Args:
        path: where it came from, for messages.
        made: the model, with the files that came along.
        model: name of the .onnx file beside the app.
        wanted: the options.
    """

    path: Path
    made: Export
    model: str
    wanted: Wanted

    @cached_property
    def signature(self) -> Signature:
        return ModelSource(self.made.data, name=self.model).signature()

    @cached_property
    def graph(self) -> Model:
        return ModelSource(self.made.data, name=self.model).model()

    @property
    def metadata(self) -> dict[str, str]:
        """What the file says of itself."""
        return dict(self.signature.metadata.custom_metadata_map)

    @property
    def title(self) -> str:
        """Of the app: what was said, else the model's name as words."""
        if self.wanted.title:
            return self.wanted.title
        words = re.sub(r"[-_\s]+", " ", Path(self.model).stem).strip()
        return words[:1].upper() + words[1:]

    @cached_property
    def labels(self) -> list[str]:
        """Names of the classes: of --labels, of labels.txt that came along, of the metadata; [] where nobody says."""
        if self.wanted.labels:
            return read_labels(self.wanted)
        if LABELS in self.made.files:
            return self.made.files[LABELS].decode().splitlines()
        return list(names_of(self.metadata))

    @property
    def classes(self) -> int:
        """The size of the first output's last axis; 0 where it is open."""
        shape = self.signature.outputs[0].shape
        return shape[-1] if shape and isinstance(shape[-1], int) else 0

    def named(self, classes: int) -> list[str]:
        """The labels, as many as the model has classes (0: nobody knows how many).

        Raises: BuildError: they are more or fewer.
        """
        if self.labels and classes and len(self.labels) != classes:
            where = f"--labels {self.wanted.labels}" if self.wanted.labels else f"{self.path}: its list of labels"
            raise BuildError(
                f"{where}: has {len(self.labels)} names, but {self.model} gives {classes} scores; name every "
                "class, in the order of its outputs"
            )
        return self.labels

    @cached_property
    def picture(self) -> NodeArg | None:
        """The input that is a picture, [N, 3, H, W] or [N, H, W, 3]; None where none is."""
        first, *others = self.signature.inputs or (None,)
        if first is None or len(first.shape) != 4 or any(arg.name != "pixel_mask" for arg in others if arg):
            return None
        return first if first.shape[1] in (1, 3) or first.shape[3] in (1, 3) else None

    def ends_with(self, *op_types: str) -> bool:
        """Whether the first output comes from such a node."""
        name = self.signature.outputs[0].name
        makers = {output: node for node in self.graph.graph.nodes for output in node.outputs}
        node = makers.get(name)
        while node and node.op_type in ("Identity", "Cast", "Reshape", "Squeeze", "Flatten", "DequantizeLinear"):
            node = makers.get(node.inputs[0])
        return node is not None and node.op_type in op_types

    def json(self, name: str) -> Any:
        """The content of a file that came along, {} where there is none.

        Raises: BuildError: it is no JSON.
        """
        import json

        try:
            return json.loads(self.made.files.get(name, b"{}"))
        except ValueError as error:
            raise BuildError(f"{self.path}: {name} is no JSON ({error}); mend it, or take it away") from error
