"""A folder that has its ONNX model, with configuration and tokenizer, as Optimum and Transformers.js lay it out.

What the configuration says of it (task, classes) goes into the model's metadata, where tasks look for it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx

from onnxlet.errors import BuildError
from onnxlet.source import ModelSource
from onnxlet.tasks.metadata import MAX_LENGTH, PROBLEM_TYPE, TASK

from . import onnx as onnx_source
from .exported import Export, library
from .transformers_tasks import LABELLED, SIDECARS, task_of
from .yolo import LABELS, labelled

__all__ = ["OnnxFolder", "export", "open_file", "takes", "takes_file"]

_NAMES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_BESIDE = (*(name for name in SIDECARS if name != "config.json"), LABELS)
_FROM_PADDING = ("roberta", "xlm-roberta", "camembert", "mpnet")  # their positions begin after the padding's id


@dataclass(frozen=True, slots=True)
class OnnxFolder:
    """A model's file, and the folder that its configuration lies in."""

    file: Path
    folder: Path


def takes(thing: Any) -> bool:
    """Whether it is an `OnnxFolder`."""
    return isinstance(thing, OnnxFolder)


def takes_file(path: Path) -> bool:
    """Whether it is a folder with an .onnx file, or such a file with a configuration, a tokenizer or labels beside."""
    return bool(_models(path)) if path.is_dir() else _folder_of(path) is not None


def open_file(path: Path) -> OnnxFolder:
    """What `export` takes.

    Raises: BuildError: the folder has several models, none of which is the obvious one.
    """
    if not path.is_dir():
        path = path.resolve()
        return OnnxFolder(path, _folder_of(path) or path.parent)
    models = _models(path)
    if len(models) > 1:
        names = ", ".join(model.relative_to(path).as_posix() for model in models)
        raise BuildError(f"{path}: has {len(models)} models ({names}); give the path of one of them")
    return OnnxFolder(models[0], path)


def export(thing: OnnxFolder, name: str) -> Export:
    """See `sources.export`."""
    made = onnx_source.export(onnx_source.OnnxFile(thing.file), name)
    files = {side: found.read_bytes() for side in SIDECARS if (found := thing.folder / side).is_file()}
    converted = _convert_tokenizer(thing.folder, files)
    config = _config(thing.folder)
    told = _told(config, files)
    if TASK in told and (names := _names(config, told[TASK])):
        told["names"] = repr(dict(enumerate(names)))
        files[LABELS] = "".join(f"{one}\n" for one in names).encode()
    elif (labels := thing.folder / LABELS).is_file():
        files[LABELS] = labels.read_bytes()
    there = ModelSource(made.data, name=name).signature().metadata.custom_metadata_map
    proto = onnx.ModelProto()
    onnx.helper.set_model_props(proto, {key: value for key, value in told.items() if key not in there})
    where = thing.file.relative_to(thing.folder).as_posix()
    notes = (f"is {where} of {thing.folder.name}; nothing was exported", *converted, *made.notes)
    # Messages of protocol buffers that follow each other are one.
    data = made.data + proto.SerializeToString()
    return labelled(replace(made, data=data, notes=notes, files={**made.files, **files}))


def _convert_tokenizer(folder: Path, files: dict[str, bytes]) -> tuple[str, ...]:
    """Make a tokenizer.json of what only Python's tokenizers read: SentencePiece, or vocab.json and merges.txt.

    Returns: what to say of it.
    """
    if "tokenizer.json" in files or "vocab.txt" in files or not ("vocab.json" in files or any(folder.glob("*.model"))):
        return ()
    try:
        made = library("transformers", "transformers").AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        files["tokenizer.json"] = made.backend_tokenizer.to_str().encode()
    except Exception as error:  # transformers is not there, or lacks a package, or does not know the files
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        return (f"has a tokenizer that pages cannot read, and no tokenizer.json can be made of it ({reason})",)
    return ("its tokenizer was turned into a tokenizer.json",)


def _models(folder: Path) -> list[Path]:
    """The model of a folder; all there are where none has a usual name."""
    if usual := next((folder / name for name in _NAMES if (folder / name).is_file()), None):
        return [usual]
    return sorted(folder.glob("*.onnx")) or sorted(folder.glob("onnx/*.onnx"))


def _folder_of(file: Path) -> Path | None:
    """Where what goes with an .onnx file lies: beside it, or above a folder of the name onnx.

    None where there is none, or where the folder has other models too, and nobody knows whose it is.
    """
    if file.suffix != ".onnx" or not file.is_file():
        return None
    parent = file.resolve().parent
    if not file.name.startswith("model") and len(list(parent.glob("*.onnx"))) > 1:
        return None
    places = [parent, parent.parent] if parent.name == "onnx" else [parent]
    return next((place for place in places if _config(place) or any((place / one).is_file() for one in _BESIDE)), None)


def _config(folder: Path) -> Mapping[str, Any]:
    """config.json; {} where there is none, or another library's."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return config if isinstance(config, dict) and "model_type" in config else {}


def _told(config: Mapping[str, Any], files: Mapping[str, bytes]) -> dict[str, str]:
    """What the configuration says, under the keys of `onnxlet.tasks.metadata`."""
    told = {}
    if task := task_of(str((config.get("architectures") or [""])[0]), (config.get("id2label") or {}).values()):
        told[TASK] = task
    if task in ("text-classification", "audio-classification") and config.get("problem_type"):
        told[PROBLEM_TYPE] = str(config["problem_type"])
    if positions := config.get("max_position_embeddings"):
        start = (config.get("pad_token_id") or 0) + 1 if config["model_type"] in _FROM_PADDING else 0
        limit = json.loads(files.get("tokenizer_config.json", b"{}")).get("model_max_length") or positions
        told[MAX_LENGTH] = str(int(min(positions - start, limit)))
    return told


def _names(config: Mapping[str, Any], task: str) -> list[str]:
    """The classes by index."""
    if task not in LABELLED or not config.get("id2label"):
        return []
    names = {int(number): " ".join(str(label).split()) for number, label in config["id2label"].items()}
    return [names.get(number, str(number)) for number in range(max(names) + 1)]
