"""The tasks of a model.py, in the child process: make its models, write its samples, compute its metric."""

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError, InvalidInput
from onnxlet.feeds import FeedCheck, describe
from onnxlet.model import Model
from onnxlet.source import ModelSource, NodeArg

from . import paths, sources
from .models import nodes
from .samples import Samples
from .sources.onnx import OnnxFile, external_files
from .user_code import Reads, imported_files, load, watch_sessions

__all__ = ["checked_feeds", "make_models", "score", "write_samples"]

Answer = dict[str, Any]
MAX_SAMPLES = 512
MAX_BYTES = 2 << 30  # on disk, of one model's set
_MISSING_VALUES = {"IsNaN"}  # operators by which a model says that it expects NaN


def make_models(path: Path, app: Path, scratch: Path) -> Answer:
    """Call ``model()`` and export what it returns; nothing is written outside `scratch`.

    A model without a name gets the name of the first model that the app opens.

    Returns: "files": by name, where each lies now, None where it is in place already; "models": what is to be said of
        each model, and its samples; "depends": the files that all this was made from; "offers": which of calibration,
        evaluation and metric there are.
    """
    reads = Reads()
    with reads.watching():
        module = load(path)
        if not callable(getattr(module, "model", None)):
            raise BuildError(
                f"{path}: has no function model(); it must return the model, or a dict of file name -> one"
            )
        made = module.model()
    depends = reads.paths | imported_files()
    if not isinstance(made, Mapping):
        if isinstance(made, str | os.PathLike) and Path(made).suffix == ".onnx":
            made = {Path(made).name: made}
        else:
            made = {_first_opened(app): made}
            depends.add(str(app))
    for name in made:
        if not isinstance(name, str) or not (path.parent / name).resolve().is_relative_to(path.parent.resolve()):
            raise BuildError(f"{path}: model() names {name!r}, outside its folder; use a plain file name")
    staged = scratch / "made"
    files = {name: _stage(path, name, value, staged) for name, value in made.items() if _is_file(name, value)}
    models: dict[str, Answer] = {}
    for name, value in made.items():
        if _is_model(name, value):
            models[name] = _export(path, name, value, staged, files)
            samples = Samples.write(scratch / "made-samples" / str(len(models)), models[name].pop("samples"))
            models[name]["samples"] = [str(sample) for sample in samples.paths]
    offers = [what for what in ("calibration", "evaluation", "metric") if getattr(module, what, None) is not None]
    return {"files": files, "models": models, "depends": sorted(depends), "offers": offers}


def _is_model(name: str, value: Any) -> bool:
    return name.endswith(".onnx") or not isinstance(value, bytes | bytearray | str | os.PathLike)


def _is_file(name: str, value: Any) -> bool:
    """Whether a value can be written as it stands: all sidecars, and models that are files already."""
    if not _is_model(name, value):
        return True
    if isinstance(value, str | os.PathLike):
        return os.fspath(value).endswith(".onnx") and Path(value).is_file()
    return isinstance(value, bytes | bytearray)


def _stage(path: Path, name: str, value: Any, staged: Path) -> str | None:
    """Put a file where all that is made waits; None where it lies beside the app already."""
    if isinstance(value, str | os.PathLike):
        source = (path.parent / value).resolve()
        if source == (path.parent / name).resolve():
            return None
        if not source.is_file():
            raise BuildError(f"{path}: model() gives {value!s} for {name!r}, which is not there; check the path")
        value = source.read_bytes()
    paths.write_whole(staged / name, bytes(value))
    return str(staged / name)


def _export(path: Path, name: str, value: Any, staged: Path, files: dict[str, str | None]) -> Answer:
    """Export one model and stage it, with the files that go along."""
    what = Path(value).name if isinstance(value, str | os.PathLike) else sources.kind(value)
    if isinstance(value, bytes | bytearray | str | os.PathLike) and files.get(name):
        outside = external_files((staged / name).read_bytes())
        if outside and set(outside) <= set(files):  # the files came apart, as from_pypi gives them
            value = OnnxFile(staged / name)
    export = sources.export(value, name)
    if name not in files or files[name]:  # what is in place already stays as it is
        paths.write_whole(staged / name, export.data)
        files[name] = str(staged / name)
    for side, content in export.files.items():
        beside = (Path(name).parent / side).as_posix()
        if beside not in files:
            paths.write_whole(staged / beside, content)
            files[beside] = str(staged / beside)
        elif files[beside] and (staged / beside).read_bytes() != content:
            raise BuildError(f"{path}: {name} brings {side}, which model() or another model gives with another content")
    return {
        "source": f"{what}, made by {path.parent.name}/{path.name}",
        "verified": export.verified,
        "notes": list(export.notes),
        "samples": export.samples,
    }


def _first_opened(app: Path) -> str:
    """Path, relative to the app, of the first model that it opens when it is imported, be it there or not."""
    import onnxruntime

    import onnxlet

    opened: list[str] = []
    for session in (onnxlet.InferenceSession, onnxruntime.InferenceSession):
        watch_sessions(session, opened.append)
    failure = ""
    try:
        load(app)
    except Exception as error:
        failure = f", and it fails before ({type(error).__name__}: {error})"
    if opened:
        return Path(os.path.relpath(opened[0], app.parent)).as_posix()
    raise BuildError(
        f"{app.parent / 'model.py'}: model() gave a model without a file name, and {app.name} opens none when it is "
        f"imported{failure}; return a dict of file name -> model"
    )


def write_samples(path: Path, names: list[str], scratch: Path, limit: int = MAX_SAMPLES) -> Answer:
    """Write what ``calibration()`` and ``evaluation()`` give, at most `limit` samples and 2 GB a model.

    Args:
        names: of the models that model.py makes, which lie beside it.
    Returns: for both, by model: the samples' files; and "notes", on what was cut.
    Raises: BuildError: a sample does not fit its model, or is no number.
    """
    module = load(path)
    answer: Answer = {"calibration": {}, "evaluation": {}, "notes": []}
    for what in ("calibration", "evaluation"):
        where = f"{path}: {what}()"
        for number, (name, items) in enumerate(_by_model(_given(module, what, path), names, where).items()):
            checked = _bounded(checked_feeds(items, path.parent / name, where), limit, where, answer["notes"])
            written = Samples.write(scratch / what / str(number), checked)
            if not written:
                raise BuildError(f"{where} gives no sample for {name}; give some, or remove the function")
            answer[what][name] = [str(sample) for sample in written.paths]
    return answer


def score(path: Path, name: str, models: list[str], limit: int = MAX_SAMPLES) -> Answer:
    """The mean of ``metric(outputs, target)`` over ``evaluation()``, for variants of a model.

    Args:
        name: the model's; models: the variants' files.
    Returns: "scores", in the order of `models`.
    """
    from .sources.exported import native_session

    module = load(path)
    metric = getattr(module, "metric", None)
    metric = metric.get(name) if isinstance(metric, Mapping) else metric
    given = _given(module, "evaluation", path)
    items = given.get(name) if isinstance(given, Mapping) else given
    if not callable(metric) or items is None:
        raise BuildError(f"{path}: a metric of {name} needs metric(outputs, target) and evaluation(); write both")
    sessions = [native_session(Path(model).read_bytes(), name) for model in models]
    totals, count = [0.0] * len(models), 0
    for feeds, target in itertools.islice(checked_feeds(items, path.parent / name, f"{path}: evaluation()"), limit):
        count += 1
        for index, session in enumerate(sessions):
            answer = metric(session.run(None, feeds), target)
            try:
                value = float(answer)
            except (TypeError, ValueError):
                raise BuildError(f"{path}: metric() gives {answer!r}, expected a number") from None
            if not np.isfinite(value):
                raise BuildError(f"{path}: metric() gives {value} for sample {count - 1}, expected a finite number")
            totals[index] += value
    if not count:
        raise BuildError(f"{path}: evaluation() gives no sample for {name}; give some")
    return {"scores": [total / count for total in totals]}


def _given(module: ModuleType, what: str, path: Path) -> Any:
    """What a function of model.py gives: an iterable of samples, or a dict of them by model; {} without one."""
    function: Callable[[], Any] | None = getattr(module, what, None)
    if function is None:
        return {}
    if not callable(function):
        raise BuildError(f"{path}: {what} is a {type(function).__name__}, expected a function that gives samples")
    given = function()
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise BuildError(f"{path}: {what}() gives a {type(given).__name__}, expected an iterable of feeds")
    return given


def _by_model(given: Any, names: list[str], where: str) -> Mapping[str, Iterable[Any]]:
    """Samples by model, each of `names`."""
    if not isinstance(given, Mapping):
        if len(names) == 1:
            return {names[0]: given}
        raise BuildError(f"{where} does not say for which model; return a dict of {' and '.join(names)} -> samples")
    if unknown := [key for key in given if key not in names]:
        raise BuildError(
            f"{where} gives a dict with {unknown[0]!r}, expected names of its models ({', '.join(names)}); of one "
            "model, give a list of feeds"
        )
    return given


def checked_feeds(
    items: Iterable[Any], model: Path, where: str, names: Sequence[str] | None = None
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Feeds in the model's own types, and the target, None where there is none.

    Args:
        names: what errors call each item; by default "sample" and its number.
    """
    source = ModelSource(model)
    signature = source.signature()
    check = FeedCheck(signature.inputs, signature.overridable, model.name)
    takes_nan = _takes_nan(source.model())
    for number, item in enumerate(items):
        feeds, target = item if isinstance(item, tuple) and len(item) == 2 else (item, None)
        name = names[number] if names else f"sample {number}"
        try:
            fed = check(feeds)
        except InvalidInput as error:
            raise BuildError(f"{where}: {name} does not fit {model.name}: {error}") from error
        if not takes_nan:
            _refuse_nan(fed, signature.inputs, f"{where}: {name}")
        yield fed, target


def _takes_nan(model: Model) -> bool:
    """Whether NaN may mean a missing value: to trees and imputers."""
    return any(node.domain == "ai.onnx.ml" or node.op_type in _MISSING_VALUES for node in nodes(model))


def _refuse_nan(feeds: Mapping[str, Any], inputs: Iterable[NodeArg], where: str) -> None:
    args = {arg.name: arg for arg in inputs}
    for name, value in feeds.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
            continue
        wrong = ~np.isfinite(value)
        if wrong.any():
            at = [int(i) for i in np.argwhere(wrong)[0]]
            expected = describe(args[name]) if name in args else "numbers"
            raise BuildError(
                f'{where}: input "{name}": expected finite {expected}, got {value[tuple(at)]} at {at}; '
                "fill it, or leave the sample out"
            )


def _bounded(
    items: Iterator[tuple[dict[str, Array], Any]], limit: int, where: str, notes: list[str]
) -> Iterator[dict[str, Array]]:
    """The feeds, until they are so many or take 2 GB; says what was cut."""
    total = 0
    for number, (feeds, _) in enumerate(items):
        total += sum(np.asarray(value).nbytes for value in feeds.values())
        if number == limit or total > MAX_BYTES:
            notes.append(f"{where}: the first {number} samples are used, which is enough or takes {MAX_BYTES >> 30} GB")
            return
        yield feeds
