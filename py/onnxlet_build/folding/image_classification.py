"""`ImageClassifier` as graphs: a picture's pixels to the model's input, its output to labels."""

from __future__ import annotations

import numpy as np

from onnxlet.dtypes import from_ort_type
from onnxlet.form import Function
from onnxlet.media.codecs import MAX_PIXELS
from onnxlet.tasks import ImageClassifier, ImageInput
from onnxlet.tasks.declared import Declared

from ..sources.graph import GraphBuilder, tensor
from .folded import FORM, Folded, Given, Shown, Unfoldable
from .image_input import image_tensor
from .ink_input import ink_tensor
from .labels import LABELS, SCORES, applied, best, model_of, named
from .pixels import ROWS_A_COLUMN, opened
from .values import OPSET, Value

__all__ = ["fold"]

_MOST_PIXELS = 4_000_000  # in WebAssembly a graph takes some 0.1 s a megapixel, and 20 bytes a pixel


def fold(function: Function, what: Declared, task: ImageClassifier) -> Folded:
    """Raises: Unfoldable."""
    (param,) = function.inputs
    return Folded(
        pre=_before(task, FORM + param.name),
        post=_after(task, what.top_k),
        session=task.session,
        fetches=(task.session.get_outputs()[0].name,),
        inputs=(Given(FORM + param.name, "pixels", _limits(task.image)),),
        outputs=(Shown("labels", function.outputs[0].label, (LABELS, SCORES)),),
    )


def _before(task: ImageClassifier, name: str) -> bytes:
    graph = GraphBuilder()
    graph.new_name(name)
    into = task.session.get_inputs()[0]
    wanted = graph.new_name(into.name)
    picture = opened(graph, name)
    x = image_tensor(picture, task.image) if isinstance(task.image, ImageInput) else ink_tensor(picture, task.image)
    dtype = from_ort_type(into.type).numpy
    graph.give(x.cast(dtype).name, wanted)
    rgba = tensor(name, np.uint8, ["height", "width", 4])
    return graph.model([rgba], [tensor(wanted, dtype, None)], OPSET).SerializeToString()


def _after(task: ImageClassifier, top_k: int | None) -> bytes:
    out = task.session.get_outputs()[0]
    if len(out.shape) < 2 or out.shape[2:] != [1] * (len(out.shape) - 2):
        raise Unfoldable(f'the output "{out.name}" is {out.shape}, and scores are [1, N]')
    graph = GraphBuilder()
    name = graph.new_name(out.name)
    dtype = from_ort_type(out.type).numpy
    scores = applied(Value(graph, name, dtype).reshape(-1), task.function_to_apply)
    values, classes = best(scores, top_k)
    return model_of(named(classes, task.labels), values, [tensor(name, dtype, out.shape)])


def _limits(how: object) -> dict[str, float]:
    ratio = float(ROWS_A_COLUMN)
    if isinstance(how, ImageInput) and how.fit == "center_crop":
        ratio = min(ratio, MAX_PIXELS / (how.edge or max(how.size)) ** 2)
    return {"pixels": _MOST_PIXELS, "ratio": ratio}
