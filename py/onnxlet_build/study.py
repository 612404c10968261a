"""All that the build does with one model between its source and the site: check, optimize, quantize, prove, choose.

What was found is kept in the user's cache, by the content of everything it depends on: a build that changed nothing
about a model measures nothing again.
"""

import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path

import cattrs
from rich.table import Table

from onnxlet.errors import BuildError

from . import paths
from .accuracy import Accuracy, Budget
from .browser import version_of
from .check import check
from .choose import Choice, choose
from .convert import Prepared, prepare, read_model
from .fetch import sha256
from .formats import weight_format
from .given_samples import given_samples
from .inspect_app import Inspected, score
from .optimize import optimize
from .parity import prove
from .progress import Reporter
from .quantize import quantize
from .runtime import Runtime
from .samples import Samples
from .variants import ORIGINAL, Candidate, Study

__all__ = ["Evidence", "Settings", "study", "study_file", "table"]

KEPT_STUDIES = 40  # in the cache; the oldest go
RUNTIME_PINS = ("pyodide", "carrier", "ort", "comlink")  # what a proof runs on; the editor is none of it
MOST_REFERENCES = 3  # samples that a visitor's browser can verify itself by


@dataclass(frozen=True, slots=True)
class Settings:
    """What the person asked for.

    Args:
        wanted: names of recipes; none for the original only.
        calibration: a folder of samples, instead of the app's own.
        chromium: proves the variants; None where there is none, or none is wanted.
        smallest: choose by size alone, among those that are right.
    """

    wanted: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)
    calibration: Path | None = None
    chromium: Path | None = None
    smallest: bool = False

    def choose(self, found: Study) -> Choice:
        """What each device class loads of a study's variants."""
        return choose(found.candidates, found.proofs, self.budget, smallest=self.smallest)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the build knows of a model beside its file.

    Args:
        app, source, verified, notes: as in `Study`.
        calibration, evaluation: samples, and a few words on where they came from.
        model_py: has the person's metric; None where there is none.
        inspected: the app, which may bring operators that the model needs.
    """

    app: str = ""
    source: str = ""
    verified: str = ""
    notes: tuple[str, ...] = ()
    calibration: Samples = field(default_factory=Samples)
    calibration_from: str = ""
    evaluation: Samples = field(default_factory=Samples)
    evaluation_from: str = ""
    model_py: Path | None = None
    inspected: Inspected | None = None

    @property
    def app_file(self) -> Path | None:
        """The app's main file."""
        return self.inspected.files[f"{self.inspected.module}.py"] if self.inspected else None

    @classmethod
    def of(cls, app: Inspected, path: str, settings: Settings, folder: Path) -> "Evidence":
        """What an app and its model.py say of a model.

        Args:
            path: of the model, as the app opens it.
            folder: a new one, for samples.
        Raises: BuildError: the folder of samples that was asked for does not fit the model.
        """
        examples = app.samples.get(path, Samples())
        given = {"calibration": app.calibration.get(path), "evaluation": app.evaluation.get(path)}
        sets = {name: (samples, f"model.py's {name}()") for name, samples in given.items() if samples}
        if settings.calibration:
            taken = given_samples(settings.calibration, app.models[path], folder, app)
            sets["calibration"] = (taken, settings.calibration.name)
        rest = (examples, "the app's examples") if examples else next(iter(sets.values()), (examples, ""))
        calibration, evaluation = (sets.get(name, rest) for name in ("calibration", "evaluation"))
        made = app.made.get(path)
        return cls(
            app=app.title,
            source=made.source if made else f"the file {path}, as it came",
            verified=made.verified if made else "",
            notes=made.notes if made else (),
            calibration=calibration[0],
            calibration_from=calibration[1],
            evaluation=evaluation[0],
            evaluation_from=evaluation[1],
            model_py=app.model_py if app.has_metric else None,
            inspected=app,
        )


def study(
    path: Path,
    evidence: Evidence,
    settings: Settings,
    folder: Path,
    report: Reporter,
    executor: Executor,
    runtime: Runtime | None = None,
    *,
    refresh: bool = False,
) -> Study:
    """Find out which variants of a model are right, and which one each visitor should load.

    Args:
        folder: a new one, for files that must live as long as the result.
        runtime: of the page; needed where a browser proves.
        refresh: measure again what the cache knows.
    Raises: BuildError: the page cannot take the model, or samples do not fit it. A variant that fails is refused.
    """
    prepared = prepare(path)
    kept = paths.cache("studies", _key(prepared, evidence, settings, runtime), "study.json")
    if kept.is_file() and not refresh:
        kept.parent.touch()
        report.note(f"{path.name}: measured before; --refresh measures again")
        found = _recall(kept)
    else:
        folder.mkdir(parents=True)
        found = _Work(path, prepared, evidence, settings, folder, report, executor, runtime).study()
        _keep(found, kept)
    if found.proofs:
        chosen = settings.choose(found)
        found = replace(found, choice=chosen.by_class, reasons=chosen.reasons)
    return replace(found, name=path.name, app=evidence.app, source=evidence.source, verified=evidence.verified)


def study_file(path: Path, settings: Settings, folder: Path, report: Reporter, executor: Executor) -> Study:
    """Study a model that has no app.

    Raises: BuildError: as `study`, or no samples were given.
    """
    read_model(path)  # what is wrong with it comes before what is wrong with its samples
    if settings.calibration is None:
        raise BuildError(f"{path}: nothing to measure it on; give --calibration DIR with samples as .npz or .npy")
    samples = given_samples(settings.calibration, path, folder.with_name(f"{folder.name}-samples"))
    where = settings.calibration.name
    evidence = Evidence(calibration=samples, calibration_from=where, evaluation=samples, evaluation_from=where)
    return study(path, evidence, settings, folder, report, executor)


class _Work:
    """One study; each method is a stage."""

    def __init__(
        self,
        path: Path,
        prepared: Prepared,
        evidence: Evidence,
        settings: Settings,
        folder: Path,
        report: Reporter,
        executor: Executor,
        runtime: Runtime | None,
    ) -> None:
        self._path = path
        self._prepared = prepared
        self._evidence = evidence
        self._settings = settings
        self._folder = folder
        self._report = report
        self._executor = executor
        self._runtime = runtime
        self._seconds: dict[str, float] = {}
        self._original = folder / "original.onnx"
        self._original.write_bytes(prepared.data)

    def study(self) -> Study:
        evidence, settings = self._evidence, self._settings
        with self._stage("check"):
            checked = check(self._path)
        found = Study(
            name=self._path.name,
            notes=(*evidence.notes, *self._prepared.changes),
            findings=tuple(checked.findings),
            candidates=(replace(self._candidate(ORIGINAL, self._original), accuracy=self._of_original()),),
            budget=str(settings.budget),
            calibration_samples=len(evidence.calibration),
            calibration_from=evidence.calibration_from,
            evaluation_samples=len(evidence.evaluation),
            evaluation_from=evidence.evaluation_from,
        )
        if not evidence.evaluation:
            note = "no sample to measure on: the model ships as it is; give the app an example"
            return replace(found, notes=(*found.notes, note), seconds=self._seconds)
        if settings.wanted:
            found = self._add_variants(found)
        if settings.chromium:
            found = self._prove(found)
        return replace(found, seconds=self._seconds)

    def _add_variants(self, found: Study) -> Study:
        evidence, settings = self._evidence, self._settings
        with self._stage("optimize"):
            optimized = optimize(
                self._prepared.data, evidence.evaluation, self._folder / "optimize", self._report, evidence.app_file
            )
        candidates = list(found.candidates)
        if any(step.kept for step in optimized.steps):
            file = self._folder / "optimized.onnx"
            file.write_bytes(optimized.data)
            kept = tuple(f"{step.name}: {step.reason}" for step in optimized.steps if step.kept)
            candidates.append(self._candidate("optimized", file, kept))
        with self._stage("quantize"):
            candidates += quantize(
                optimized.data,
                evidence.calibration,
                evidence.evaluation,
                settings.budget,
                self._folder / "quantize",
                self._executor,
                self._report,
                wanted=settings.wanted,
                score=self._score,
                original=self._original,
            )
        return replace(found, steps=optimized.steps, candidates=tuple(candidates))

    def _prove(self, found: Study) -> Study:
        evidence, folder = self._evidence, self._folder / "prove"
        assert self._settings.chromium, "somebody proves"
        assert self._runtime, "what is proven is the page's runtime"
        with self._stage("prove"):
            proofs = prove(
                [candidate for candidate in found.candidates if not candidate.refused],
                self._original,
                evidence.evaluation,
                folder,
                self._report,
                self._runtime,
                chromium=self._settings.chromium,
                app=evidence.inspected,
            )
        outputs = sorted((folder / "expected").glob("*.npz"))
        references = tuple(zip(evidence.evaluation.paths, outputs, strict=False))[:MOST_REFERENCES]
        return replace(found, proofs=tuple(proofs), references=references)

    @property
    def _score(self) -> Callable[[Path], float] | None:
        model_py, name = self._evidence.model_py, self._path.name
        return (lambda variant: score(model_py, name, variant)) if model_py else None

    def _of_original(self) -> Accuracy:
        metric = self._score(self._original) if self._score and self._settings.wanted else None
        return Accuracy(len(self._evidence.evaluation), 0.0, math.inf, 1.0, metric=metric)

    def _candidate(self, name: str, file: Path, steps: tuple[str, ...] = ()) -> Candidate:
        size = file.stat().st_size
        return Candidate(name, file, weight_format(self._prepared.model), size, steps)

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self._seconds[name] = round(time.monotonic() - started, 1)


# ---- the cache ---------------------------------------------------------------------------------------------------


def _key(prepared: Prepared, evidence: Evidence, settings: Settings, runtime: Runtime | None) -> str:
    """Everything that a study's result depends on, this program's own code included."""
    known = {
        "model": sha256(prepared.data),
        "calibration": evidence.calibration.digest(),
        "evaluation": evidence.evaluation.digest(),
        "people's code": [sha256(f.read_bytes()) for f in (evidence.app_file, evidence.model_py) if f],
        "wanted": settings.wanted,
        "budget": str(settings.budget),
        "browser": version_of(settings.chromium) if settings.chromium else "",
        "runtime": {name: runtime.pins[name] for name in RUNTIME_PINS} if runtime else {},
        "libraries": {name: version(name) for name in ("numpy", "onnx", "onnxruntime")},
        "code": _own_code(),
    }
    return sha256(json.dumps(known, sort_keys=True, default=str).encode())[:32]


def _own_code() -> str:
    digest = hashlib.sha256()
    for folder, kind in ((paths.CORE, "*.py"), (paths.CORE.parent / "onnxlet_build", "*.py"), (paths.WEB, "*.js")):
        for file in sorted(folder.rglob(kind)):
            digest.update(file.read_bytes())
    return digest.hexdigest()


def _keep(found: Study, kept: Path) -> None:
    """Store a study: its variants first, then what it says, so that one without the other is never seen."""
    with paths.scratch(kept.parent.parent) as scratch:

        def stored(file: Path, name: str) -> Path:
            shutil.copyfile(file, scratch / name)
            return Path(name)

        moved = _with_files(found, stored)
        (scratch / kept.name).write_text(json.dumps(_converter().unstructure(moved)), encoding="utf-8")
        shutil.rmtree(kept.parent, ignore_errors=True)
        scratch.rename(kept.parent)
    others = sorted(kept.parent.parent.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for old in others[KEPT_STUDIES:]:
        shutil.rmtree(old, ignore_errors=True)


def _recall(kept: Path) -> Study:
    found = _converter().structure(json.loads(kept.read_bytes()), Study)
    return _with_files(found, lambda file, _: kept.parent / file)


def _with_files(found: Study, move: Callable[[Path, str], Path]) -> Study:
    """The study with its files elsewhere; `move` is given each file and a name for it."""
    candidates = (replace(c, path=move(c.path, f"{c.name}.onnx") if c.path else None) for c in found.candidates)
    references = (
        (move(feeds, f"feeds{number}.npz"), move(outputs, f"outputs{number}.npz"))
        for number, (feeds, outputs) in enumerate(found.references)
    )
    return replace(found, candidates=tuple(candidates), references=tuple(references))


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter()
    converter.register_unstructure_hook(Path, str)
    converter.register_structure_hook(Path, lambda value, _: Path(value))
    converter.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)
    return converter


# ---- for people --------------------------------------------------------------------------------------------------


def table(found: Study) -> Table:
    """Every candidate in a line."""
    shown = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    shown.add_column("variant")
    for name in ("bytes", "smaller", "SNR dB", "same best class"):
        shown.add_column(name, justify="right")
    shown.add_column("")
    first = found.candidates[0].bytes
    for candidate in found.candidates:
        accuracy = candidate.accuracy
        kept = f"{len(candidate.float_nodes)} nodes in float" if candidate.float_nodes else ""
        decibels = "" if accuracy is None else "equal" if accuracy.snr_db == math.inf else f"{accuracy.snr_db:.1f}"
        top1 = "" if accuracy is None or accuracy.top1 is None else f"{accuracy.top1:.1%}"
        ratio = f"{first / candidate.bytes:.2f}x" if candidate.bytes else ""
        note = f"refused: {candidate.refused}" if candidate.refused else kept
        shown.add_row(candidate.name, f"{candidate.bytes:,}", ratio, decibels, top1, note.replace("[", "\\["))
    return shown
