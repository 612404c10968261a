"""model.py beside an app: the models that it makes, its samples, and its metric.

It runs in a child process (`model_child.py`), and again only when it or something that it read has changed. What it
makes is put beside the app once all of it is there.
"""

import json
import os
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnxlet

from . import fetch, paths
from .child import run_child
from .progress import Reporter
from .samples import Samples

__all__ = ["Made", "MadeModel", "is_own", "make_models", "read_samples", "score", "scores"]

_LARGE_BYTES = 256 << 20  # of files from here on size and date are compared, not the content


@dataclass(frozen=True, slots=True)
class MadeModel:
    """What is to be said of a model.

    Args:
        source: what it was made from, and by what.
        verified: a sentence: how its outputs were compared with the source library's.
        notes: sentences.
        samples: the feeds that the source came with; often random.
    """

    source: str
    verified: str
    notes: tuple[str, ...] = ()
    samples: Samples = field(default_factory=Samples)


@dataclass(frozen=True, slots=True)
class Made:
    """What a model.py made, or had made before.

    Args:
        models: by file name.
        offers: which of "calibration", "evaluation" and "metric" it has.
    """

    models: dict[str, MadeModel] = field(default_factory=dict)
    offers: frozenset[str] = frozenset()


def make_models(path: Path, app: Path, scratch: Path, report: Reporter) -> Made:
    """Let a model.py make the models of an app, unless they are there and nothing has changed since.

    Raises: BuildError: it failed, or a model does not answer as its source does. Then nothing was written.
    """
    if not path.is_file():
        return Made()
    key = fetch.sha256(str(path.resolve()).encode())[:32]
    stamp = paths.cache("made", f"{key}.json")
    if known := _stamped(stamp):
        return _made(known)
    started = time.monotonic()
    with report.step(f"Making the model: {path.parent.name}/{path.name}"):
        answer = run_child("models", path, scratch, app=str(app))
    for name, staged in answer["files"].items():
        if staged:
            paths.write_whole(path.parent / name, Path(staged).read_bytes())
    kept = paths.cache("made", key, "x").parent
    shutil.rmtree(kept, ignore_errors=True)
    for number, model in enumerate(answer["models"].values()):
        model["samples"] = [_keep(Path(sample), kept / str(number)) for sample in model["samples"]]
    depends = {str(path), *(str(path.parent / name) for name in answer["files"]), *filter(is_own, answer["depends"])}
    digests = {name: _digest(Path(name)) for name in sorted(depends) if Path(name).is_file()}
    known = {
        "version": onnxlet.__version__,
        "digests": digests,
        "models": answer["models"],
        "offers": answer["offers"],
    }
    paths.write_whole(stamp, json.dumps(known).encode())
    names = ", ".join(sorted(answer["files"]))
    report.note(f"{path.parent.name}/{path.name} made {names} in {time.monotonic() - started:.1f} s")
    made = _made(known)
    for name, one in made.models.items():
        for sentence in (one.verified, *one.notes):
            report.note(f"{name}: {sentence}")
    if "metric" in made.offers and "evaluation" not in made.offers:
        report.warn(f"{path}: has metric() but no evaluation() to compute it over; the metric is not used")
    return made


def read_samples(path: Path, made: Made, scratch: Path, report: Reporter) -> dict[str, dict[str, Samples]]:
    """Let ``calibration()`` and ``evaluation()`` write their samples, where there are any.

    Returns: for both, by model.
    Raises: BuildError: a sample does not fit its model.
    """
    if not made.offers & {"calibration", "evaluation"}:
        return {"calibration": {}, "evaluation": {}}
    with report.step(f"Collecting samples: {path.parent.name}/{path.name}"):
        answer = run_child("samples", path, scratch, names=list(made.models))
    for note in answer.pop("notes"):
        report.note(note)
    return {what: {name: _samples(files) for name, files in by_model.items()} for what, by_model in answer.items()}


def scores(model_py: Path, name: str, variants: Sequence[Path]) -> list[float]:
    """The mean of ``metric(outputs, target)`` over ``evaluation()``, on native ONNX Runtime, of each variant.

    Args:
        name: the model's, as model.py has it.
    Raises: BuildError: the metric or a variant failed.
    """
    with tempfile.TemporaryDirectory(prefix="onnxlet-") as folder:
        files = [str(variant.resolve()) for variant in variants]
        answer = run_child("score", model_py, Path(folder), name=name, models=files)
    return [float(value) for value in answer["scores"]]


def score(model_py: Path, name: str, model_path: Path) -> float:
    """`scores` of one variant."""
    return scores(model_py, name, [model_path])[0]


def is_own(file: str) -> bool:
    """Whether a file is a person's: neither Python's, nor a package's, nor the system's, nor in a cache."""
    path = Path(file)
    if file.startswith(("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib", "/opt/")) or "__pycache__" in path.parts:
        return False
    elsewhere = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), str(paths.CORE.parent)]
    elsewhere += [str(paths.cache("x").parent), str(Path.home() / ".cache")]
    elsewhere += [os.path.realpath(sys.prefix)]  # .venv may be a link
    return not any(path.is_relative_to(folder) for folder in elsewhere)


def _stamped(stamp: Path) -> dict[str, Any]:
    """What is known of an earlier run, {} unless all that it used and made is as it was."""
    try:
        known: dict[str, Any] = json.loads(stamp.read_bytes())
        digests = known["digests"]
        kept: Iterable[str] = [sample for model in known["models"].values() for sample in model["samples"]]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    if known.get("version") != onnxlet.__version__ or not all(Path(sample).is_file() for sample in kept):
        return {}
    same = all(Path(name).is_file() and _digest(Path(name)) == digest for name, digest in digests.items())
    return known if same else {}


def _made(known: dict[str, Any]) -> Made:
    models = {
        name: MadeModel(one["source"], one["verified"], tuple(one["notes"]), _samples(one["samples"]))
        for name, one in known["models"].items()
    }
    return Made(models, frozenset(known["offers"]))


def _samples(files: Sequence[str]) -> Samples:
    return Samples([Path(file) for file in files])


def _keep(sample: Path, folder: Path) -> str:
    paths.write_whole(folder / sample.name, sample.read_bytes())
    return str(folder / sample.name)


def _digest(path: Path) -> str:
    status = path.stat()
    if status.st_size > _LARGE_BYTES:
        return f"{status.st_size} bytes of {status.st_mtime_ns}"
    return fetch.sha256(path.read_bytes())
