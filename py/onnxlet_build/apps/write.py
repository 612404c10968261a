"""From a model's path to a folder with an app: the file, the model, and what lies beside them."""

import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path

from onnxlet.errors import BuildError

from .. import sources
from ..paths import write_whole
from ..progress import Reporter
from ..sources.transformers import Transformers
from ..sources.transformers_tasks import TASKS as EXPORTED
from ..sources.yolo import labelled
from .draft import Draft
from .options import Wanted
from .recognize import recognize_task
from .registry import TASKS, check_options
from .subject import Subject

__all__ = ["keep", "name_of", "open_subject", "refuse_changed", "write_app"]

_RECORD = ".written"  # beside the app: the hash of what was written, by which a person's changes are known


def write_app(path: Path, folder: Path, report: Reporter, wanted: Wanted | None = None) -> Path:
    """Export a model and write an app file that runs it, with examples.

    Args:
        path: what `sources.open_file` takes: a model's file or folder, or a Hugging Face id.
        folder: where the app, the model and what goes along are written; made where it is missing.
        wanted: what the person says of the model.
    Returns: the app file.
    Raises: BuildError: the model cannot be exported, the options do not suit it, or a person has changed the app that
        was written before.
    """
    subject = open_subject(path, wanted or Wanted(), report)
    found = recognize_task(subject)
    for text in (subject.made.verified, *subject.made.notes):
        report.note(f"{subject.model}: {text}")
    report.note(f"{subject.model}: {'taken' if found.guessed else 'known'} for {found.task}: {found.reason}")
    check_options(found.task, subject.wanted)
    draft = TASKS[found.task].write(subject)
    for text in draft.notes:
        report.note(f"{subject.model}: {text}")
    return _write(subject, draft, folder)


def open_subject(path: Path, wanted: Wanted, report: Reporter) -> Subject:
    """Export a model, and gather what is said of it.

    Raises: BuildError: it cannot be exported, or --task names no task.
    """
    if wanted.task and wanted.task not in TASKS:
        raise BuildError(f"--task {wanted.task}: is not known; expected {', '.join(TASKS)}")
    name = f"{name_of(path)}.onnx"
    with report.step(f"Exporting {path}"):
        thing = sources.open_file(path)
        # Another head than its architecture's; zero-shot goes with whichever the model has, entailment or vectors.
        if isinstance(thing, Transformers) and wanted.task in EXPORTED and wanted.task != "zero-shot-classification":
            thing = replace(thing, task=wanted.task)
        made = labelled(sources.export(thing, name))
    return Subject(path, made, name, wanted)


def name_of(path: Path) -> str:
    """What a model at this path is called: its folder's name where its own says nothing."""
    own = path.name if path.is_dir() or not path.exists() else path.stem
    if own.startswith("model") and path.is_file() and path.resolve().parent.name == "onnx":
        own = path.resolve().parent.parent.name
    return re.sub(r"[^\w.-]+", "-", own or path.resolve().name).strip("-.") or "model"


def _write(subject: Subject, draft: Draft, folder: Path) -> Path:
    text = draft.text(subject.title).encode()
    record = hashlib.sha256(text).hexdigest().encode()
    content = {**draft.files, subject.model: subject.made.data, "app.py": text, _RECORD: record}
    _refuse_changed(folder / "app.py", text)
    for file, data in content.items():
        target = folder / file
        if not target.is_file() or target.read_bytes() != data:
            write_whole(target, data)
    return folder / "app.py"


def refuse_changed(app: Path, folder: Path) -> None:
    """See that `keep` may put a written app into a folder.

    Raises: BuildError: the app that was kept there is no longer what was written.
    """
    _refuse_changed(folder / app.parent.name / app.name, app.read_bytes())


def keep(app: Path, folder: Path) -> Path:
    """Move a written app with all that lies beside it into a folder of its own in `folder`. Returns: the app file."""
    target = folder / app.parent.name
    for file in sorted(app.parent.iterdir(), key=lambda file: file.name == app.name):
        if file.is_file():
            target.mkdir(parents=True, exist_ok=True)
            os.replace(file, target / file.name)
    return target / app.name


def _refuse_changed(app: Path, text: bytes) -> None:
    """Never overwrite what a person wrote; what was written here before, by other options, goes."""
    if not app.is_file() or app.read_bytes() == text:
        return
    record = app.with_name(_RECORD)
    if not record.is_file() or record.read_text() != hashlib.sha256(app.read_bytes()).hexdigest():
        raise BuildError(
            f"{app}: is there already, and not what would be written; build it instead of the model, or move it away"
        )
