"""Hugging Face transformers: a folder that `save_pretrained` wrote, a hub id, or a loaded model.

The task decides which head is loaded and which outputs are kept; it is found in the configuration's architecture.
PyTorch's exporter does the work (`torch.py`), with the batch and the length of texts free. Tokenizer, configuration and
labels go along as files, as the model's repository has them.
"""

import json
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import onnx

from onnxlet.errors import BuildError
from onnxlet.tasks.metadata import MAX_LENGTH, PROBLEM_TYPE, TASK

from .. import fetch
from ..samples import Feeds
from . import torch as torch_source
from .exported import Export, library, library_roots
from .transformers_inputs import any_size, padding_matters, pictures, sides, sounds, texts
from .transformers_tasks import ALIASES, LABELLED, SIDECARS, TASKS, task_of

__all__ = ["TASKS", "Transformers", "export", "open_file", "reaches_hub", "takes", "takes_file"]


_PROBE_S = 5  # a hub that can be reached answers within one
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True, slots=True)
class Transformers:
    """A model and what it is for, for ``model()`` to return.

    Args:
        model: a folder, a hub id such as "owner/name", or a loaded model.
        task: a name in `TASKS`; by default what the architecture is made for.
        processor: of a loaded model: its tokenizer or image processor. Folders and ids bring their own.
    """

    model: Any
    task: str = ""
    processor: Any = None


def takes(thing: Any) -> bool:
    """Whether it is a `Transformers`, a loaded model, or a pipeline."""
    return isinstance(thing, Transformers) or "transformers" in library_roots(thing)


def takes_file(path: Path) -> bool:
    """Whether it is a folder with a transformers configuration, or reads like a hub id and is no path."""
    if path.is_dir():
        return "model_type" in _json(path / "config.json")
    no_path = not path.exists() and not path.parent.exists() and path.suffix not in (".onnx", ".pt2", ".py")
    return no_path and _HUB_ID.fullmatch(str(path)) is not None


def open_file(path: Path) -> Transformers:
    """What `export` takes."""
    return Transformers(str(path))


def export(thing: Any, name: str) -> Export:
    """See `sources.export`."""
    library("torch", "torch")
    library("transformers", "transformers")
    wanted = _wanted(thing, name)
    with tempfile.TemporaryDirectory() as folder, _quiet():
        loaded = _loaded(wanted, name) if isinstance(wanted.model, str) else _given(wanted, Path(folder), name)
        made, example = _exported(loaded, name)
    notes = [f"is exported for {loaded.task}", *loaded.notes, *made.notes]
    verified = made.verified
    if "attention_mask" in example:
        if difference := padding_matters(made.data, example, name):
            notes.append(f"padding changes the model's own answers ({difference}); give it one text at a time")
        else:
            verified += "; texts in a padded batch answer as alone"
    # Messages of protocol buffers that follow each other are one: nothing of the weights is read again.
    data = made.data + _metadata(loaded).SerializeToString()
    return replace(made, data=data, verified=verified, notes=tuple(notes), files=loaded.files)


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: Any
    task: str
    tokenizer: Any
    files: dict[str, bytes]
    notes: tuple[str, ...] = ()


def _wanted(thing: Any, name: str) -> Transformers:
    if isinstance(thing, Transformers):
        wanted = replace(thing, model=str(thing.model)) if isinstance(thing.model, Path) else thing
    elif hasattr(thing, "model") and hasattr(thing, "task"):  # a pipeline
        wanted = Transformers(thing.model, thing.task, thing.tokenizer or getattr(thing, "image_processor", None))
    else:
        wanted = Transformers(thing)
    task = ALIASES.get(wanted.task, wanted.task)
    if task and task not in TASKS:
        raise BuildError(f'{name}: task "{task}" is not known; known are {", ".join(TASKS)}')
    return replace(wanted, task=task)


def _loaded(wanted: Transformers, name: str) -> _Loaded:
    """Load from a folder, or from the hub by way of its cache."""
    transformers = library("transformers", "transformers")
    where = wanted.model
    local = {} if Path(where).is_dir() or (not fetch.offline and reaches_hub()) else {"local_files_only": True}
    try:
        config = transformers.AutoConfig.from_pretrained(where, **local)
        task = wanted.task or _task_of(config, name)
        auto = getattr(transformers, TASKS[task].auto)
        model, info = auto.from_pretrained(
            # Attention in plain products is what optimizers fuse and every backend runs.
            where,
            config=config,
            attn_implementation="eager",
            output_loading_info=True,
            **local,
        )
        files = _files(where, local)
    except BuildError:
        raise
    except Exception as error:  # OSError, and whatever a configuration, a pickle or a missing package raises
        raise BuildError(_sentence(where, error)) from error
    missing = [key for key in sorted(info["missing_keys"]) if "pooler" not in key or task != "feature-extraction"]
    if missing:
        raise BuildError(
            f"{where}: has no weights for {missing[0]} ({len(missing)} missing), which {task} needs; "
            f"its architecture is {_architecture(config) or 'not said'}: give another task, or train it"
        )
    tokenizer, notes = _tokenizer(where, files, local) if model.main_input_name == "input_ids" else (None, ())
    return _Loaded(model.float(), task, tokenizer, {**files, **_labels(config, task)}, notes)


def _given(wanted: Transformers, folder: Path, name: str) -> _Loaded:
    """A model in memory, which may have a tokenizer or an image processor with it."""
    model = wanted.model
    if not hasattr(model, "config") or not hasattr(model, "main_input_name"):
        raise BuildError(f"{name}: is a transformers {type(model).__name__}, expected a model, a folder or a hub id")
    task = wanted.task or _task_of(model.config, name)
    model.config.save_pretrained(folder)
    if wanted.processor is not None:
        wanted.processor.save_pretrained(folder)
    tokenizer = wanted.processor if hasattr(wanted.processor, "model_input_names") else None
    text = model.main_input_name == "input_ids"
    return _Loaded(model, task, tokenizer if text else None, {**_files(str(folder), {}), **_labels(model.config, task)})


def _task_of(config: Any, name: str) -> str:
    architecture = _architecture(config)
    if task := task_of(architecture, config.id2label.values()):
        return task
    found = f"architecture {architecture}" if architecture else "a configuration without an architecture"
    raise BuildError(
        f"{name}: has {found}; say what it is for, such as Transformers(model, task=...): {', '.join(TASKS)}"
    )


def _architecture(config: Any) -> str:
    return str((config.architectures or [""])[0])


def _names(config: Any, task: str) -> list[str]:
    """The classes by index, a line each; empty where the task has none."""
    if task not in LABELLED or not config.id2label:
        return []
    names = {int(number): " ".join(str(label).split()) for number, label in config.id2label.items()}
    return [names.get(number, str(number)) for number in range(max(names) + 1)]


def _labels(config: Any, task: str) -> dict[str, bytes]:
    """labels.txt, a line a class."""
    return {"labels.txt": "".join(f"{name}\n" for name in names).encode()} if (names := _names(config, task)) else {}


def _metadata(loaded: _Loaded) -> Any:
    """A model that has nothing but metadata, as `onnxlet.tasks.metadata` describes it."""
    config, told = loaded.model.config, {TASK: loaded.task}
    if names := _names(config, loaded.task):
        told["names"] = str(dict(enumerate(names)))
    if loaded.task in ("text-classification", "audio-classification") and config.problem_type:
        told[PROBLEM_TYPE] = config.problem_type
    if positions := _positions(loaded.model):
        told[MAX_LENGTH] = str(min(positions, getattr(loaded.tokenizer, "model_max_length", positions)))
    proto = onnx.ModelProto()
    onnx.helper.set_model_props(proto, told)
    return proto


def _positions(model: Any) -> int | None:
    """How many tokens have a learned position; None where positions are relative or computed."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            # RoBERTa's begin after that of padding.
            return module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
    return None


def _files(where: str, local: Mapping[str, Any]) -> dict[str, bytes]:
    from transformers.utils.hub import cached_file

    found = {name: cached_file(where, name, _raise_exceptions_for_missing_entries=False, **local) for name in SIDECARS}
    return {name: Path(path).read_bytes() for name, path in found.items() if path}


def _tokenizer(where: str, files: dict[str, bytes], local: Mapping[str, Any]) -> tuple[Any, tuple[str, ...]]:
    """The tokenizer, with a tokenizer.json for the page where the repository has none; and what to say."""
    transformers = library("transformers", "transformers")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(where, **local)
    except Exception as error:  # none there, or one that needs a package
        return None, (f"has no tokenizer that can be loaded ({_first_line(error)}): pages cannot take texts",)
    # Where a folder has no tokenizer transformers makes one up, to which every word is unknown.
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        return None, ("has no tokenizer among its files: pages cannot take texts",)
    if "tokenizer.json" not in files and getattr(tokenizer, "backend_tokenizer", None) is not None:
        files["tokenizer.json"] = tokenizer.backend_tokenizer.to_str().encode()
    return tokenizer, ()


def _exported(loaded: _Loaded, name: str) -> tuple[Export, Feeds]:
    """Through PyTorch's exporter. Returns: the export, and the example that it was made with."""
    model, task = loaded.model, TASKS[loaded.task]
    if model.main_input_name == "input_ids":
        example = texts(model.config, loaded.tokenizer, pair=task.pair, mask=loaded.task == "fill-mask")
        return _export(loaded, example, {key: {0: "batch", 1: "sequence"} for key in example}, name), example
    if loaded.task == "audio-classification":
        example, axes = sounds(model)
        return _export(loaded, example, axes, name), example
    if model.main_input_name != "pixel_values":
        raise BuildError(f"{name}: takes {model.main_input_name}; only texts, pictures and sounds are known here")
    processor = json.loads(loaded.files.get("preprocessor_config.json", b"{}"))
    refusal = ""
    if loaded.task == "object-detection" and any_size(processor):
        example = pictures(model)
        axes = {"pixel_values": {0: "batch", 2: "height", 3: "width"}}
        axes |= {"pixel_mask": {0: "batch", 1: "height", 2: "width"}} if "pixel_mask" in example else {}
        try:
            return _export(loaded, example, axes, name), example
        except BuildError as error:
            refusal = f"takes pictures of one size only, since any size did not work ({error})"
    example = pictures(model, sides(model.config, processor), masked=loaded.task == "object-detection")
    made = _export(loaded, example, {key: {0: "batch"} for key in example}, name)
    return replace(made, notes=(*made.notes, *([refusal] if refusal else []))), example


def _export(loaded: _Loaded, example: Feeds, axes: Mapping[str, Mapping[int, str]], name: str) -> Export:
    torch = library("torch", "torch")
    outputs = TASKS[loaded.task].outputs

    class Task(torch.nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.model = loaded.model

        def forward(self, **inputs: Any) -> dict[str, Any]:
            answers = self.model(**inputs, return_dict=True)
            return {output: answers[output] for output in outputs}

    tensors = {key: torch.from_numpy(value) for key, value in example.items()}
    return torch_source.export(torch_source.Torch(Task(), tensors, dynamic=axes), name)


@contextmanager
def _quiet() -> Iterator[None]:
    """No remarks of transformers' own inside: what matters here is said in notes."""
    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()


@cache
def reaches_hub() -> bool:
    """Whether the hub answers; asked once, since its own library tries for half a minute."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=_PROBE_S)
    except Exception:  # of whichever HTTP library this version of it uses
        return False
    return True


def _sentence(where: str, error: Exception) -> str:
    if Path(where).is_dir():
        return f"{where}: transformers cannot load it: {_first_line(error)}"
    why = "--offline forbids fetching it" if fetch.offline else _first_line(error) if reaches_hub() else "no answer"
    return (
        f"{where}: is no folder here, and cannot be had from the Hugging Face hub ({why}); check the name and the "
        "network, or download it elsewhere and give its folder"
    )


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
