"""Detectors in .onnx files: known by their inputs, outputs and metadata, and passed on with the names of their classes.

The model itself stays as it is; `onnxlet.tasks` has what goes before and after it.
"""

from dataclasses import replace
from typing import Any

import onnx

from onnxlet.errors import OnnxletError
from onnxlet.source import ModelSource
from onnxlet.tasks import Recognized, recognize

from . import onnx as onnx_source
from .exported import Export

__all__ = ["COCO", "LABELS", "detector", "export", "labelled", "takes"]

LABELS = "labels.txt"

# The 80 classes of COCO 2017 in the order of nearly every detector that is trained on them.
# Source: Lin et al. 2014, arXiv:1405.0312, and its annotations.
COCO = tuple(
    """person,bicycle,car,motorcycle,airplane,bus,train,truck,boat,traffic light,fire hydrant,stop sign,parking meter,
bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,backpack,umbrella,handbag,tie,suitcase,frisbee,skis,
snowboard,sports ball,kite,baseball bat,baseball glove,skateboard,surfboard,tennis racket,bottle,wine glass,cup,fork,
knife,spoon,bowl,banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake,chair,couch,potted plant,bed,
dining table,toilet,tv,laptop,mouse,remote,keyboard,cell phone,microwave,oven,toaster,sink,refrigerator,book,clock,vase,
scissors,teddy bear,hair drier,toothbrush""".replace("\n", "").split(",")
)


def takes(thing: Any) -> bool:
    """Whether it is what `sources.onnx` takes, and a detector."""
    if not onnx_source.takes(thing):
        return False
    source = thing.path if isinstance(thing, onnx_source.OnnxFile) else thing
    try:
        data = source.SerializeToString() if isinstance(source, onnx.ModelProto) else source
        return _recognized(ModelSource(data)) is not None
    except (OnnxletError, OSError, ValueError):  # `sources.onnx` says what is wrong with it
        return False


def export(thing: Any, name: str) -> Export:
    """See `sources.export`."""
    return labelled(onnx_source.export(thing, name))


def labelled(made: Export) -> Export:
    """A detector's export with a labels.txt, a line a class, and what to say about it; others as they are."""
    found = detector(made)
    if found is None or LABELS in made.files:
        return made
    names = found.names or (COCO if found.classes == len(COCO) else [str(i) for i in range(found.classes)])
    notes = [f"is a detector with a {found.head} head for {len(names) or 'an unknown number of'} classes"]
    if not found.names:
        guess = "those of COCO, which has as many" if names == COCO else "numbers"
        notes.append(f"does not name its classes: {LABELS} has {guess}; put the right ones there, one a line")
    files = {LABELS: "".join(f"{' '.join(label.split())}\n" for label in names).encode()} if names else {}
    return replace(made, notes=(*made.notes, *notes), files={**made.files, **files})


def detector(made: Export) -> Recognized | None:
    """What kind of detector an export is; None where it is none."""
    names = made.files.get(LABELS, b"").decode().splitlines()
    return _recognized(ModelSource(made.data), names)


def _recognized(source: ModelSource, names: list[str] | None = None) -> Recognized | None:
    signature = source.signature()
    return recognize(signature.inputs, signature.outputs, signature.metadata.custom_metadata_map, names or ())
