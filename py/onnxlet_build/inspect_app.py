"""What an app is and what it needs, learned by running it natively in a process of its own."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from onnxlet.errors import BuildError

from .child import run_child
from .folding import Direct
from .imports import check_imports, required_imports
from .model_py import MadeModel, is_own, make_models, read_samples, score, scores
from .packages import resolve, script_requirements
from .progress import Reporter
from .runtime import Runtime
from .samples import Samples

__all__ = ["Inspected", "inspect_app", "score", "scores"]

Requirements = list[tuple[str, str]]  # (requirement, who asks)


@dataclass(slots=True)
class Inspected:
    """An app, run once.

    Args:
        files: path in the app's folder -> file, models not among them.
        models: path relative to the app's folder, as the app opens it -> file.
        tokenizers: whether it makes a Tokenizer.
        examples: as in site.json, but buffers are files.
        direct: of functions that are tasks, whether they answer before Python is there.
        samples: what the examples feed each model, else the feeds that its source came with; by path, as in `models`.
        calibration, evaluation: what model.py gives, by path.
        made: what is to be said of the models that model.py made, by path.
        model_py: it, where there is one; has_metric: whether `score` can be computed.
    """

    name: str
    module: str
    object: str
    title: str
    description: str
    live: bool
    cards: list[dict[str, str]]
    files: dict[str, Path]
    models: dict[str, Path]
    functions: list[dict[str, Any]]
    examples: list[dict[str, Any]]
    direct: dict[str, Direct] = field(default_factory=dict)
    tokenizers: bool = False
    requirements: Requirements = field(default_factory=list)
    samples: dict[str, Samples] = field(default_factory=dict)
    calibration: dict[str, Samples] = field(default_factory=dict)
    evaluation: dict[str, Samples] = field(default_factory=dict)
    made: dict[str, MadeModel] = field(default_factory=dict)
    model_py: Path | None = None
    has_metric: bool = False

    def package_names(self) -> set[str]:
        """Canonical names of the packages that it asks for itself."""
        return {canonicalize_name(Requirement(text).name) for text, _ in self.requirements}


def inspect_app(path: Path, scratch: Path, report: Reporter, runtime: Runtime) -> Inspected:
    """Run an app file with its examples.

    Args:
        path: the app file, or the folder of an app.py.
        scratch: a new folder for the examples' buffers and all samples, which must live as long as the result.
    Raises: BuildError: it is no app, fails, or needs what the page cannot have.
    """
    path = _app_file(path)
    source = _read(path)
    requirements: Requirements = [(text, path.name) for text in script_requirements(source, str(path))]
    required_imports(source, path)  # a syntax error is said before anything is downloaded
    packages = resolve(requirements, runtime, report)
    check_imports([path], path.parent, packages, runtime.lock["packages"])
    scratch.mkdir()
    model_py = path.parent / "model.py"
    made = make_models(model_py, path, scratch, report)
    with report.step(f"Running {path.parent.name}/{path.name} and its examples"):
        answer = run_child("inspect", path, scratch)
    own = read_samples(model_py, made, scratch, report)
    files = _files_of(path, answer, report)
    check_imports([f for f in files.values() if f.suffix == ".py"], path.parent, packages, runtime.lock["packages"])
    if answer["pillow"] or any(i["kind"] == "image" for f in answer["functions"] for i in f["inputs"]):
        requirements.append(("pillow", "onnxlet, which decodes pictures with it"))
    for example in answer["examples"]:
        example["buffers"] = [Path(p) for p in example["buffers"]]
        example["output_buffers"] = [Path(p) for p in example["output_buffers"]]
    for name, said in answer["direct"].items():
        if said.get("waits"):
            report.note(f"{path.name}: {name} waits for Python: {said['waits']}")
    models = {Path(os.path.relpath(m, path.parent)).as_posix(): Path(m) for m in answer["models"]}
    fed = {name: Samples([Path(p) for p in answer["samples"].get(str(file), ())]) for name, file in models.items()}
    brought = {name: one.samples for name, one in made.models.items()}
    return Inspected(
        name=_name(path),
        module=path.stem,
        object=answer["object"],
        title=answer["title"],
        description=answer["description"],
        live=answer["live"],
        cards=answer["cards"],
        files=files,
        models=models,
        functions=answer["functions"],
        examples=answer["examples"],
        direct={name: Direct.read(said) for name, said in answer["direct"].items()},
        tokenizers=answer["tokenizers"],
        requirements=requirements,
        samples={name: feeds or brought.get(name, feeds) for name, feeds in fed.items()},
        calibration=own["calibration"],
        evaluation=own["evaluation"],
        made=made.models,
        model_py=model_py if model_py.is_file() else None,
        has_metric={"metric", "evaluation"} <= made.offers,
    )


def _app_file(path: Path) -> Path:
    if path.suffix == ".onnx" and path.is_file():
        raise BuildError(f"{path}: is a model; write an app file that opens it, or look at it with `build.py check`")
    if path.is_dir():
        path = path / "app.py"
    if not path.is_file():
        raise BuildError(f"{path}: is not there; give the path of an app file or a model")
    if path.suffix != ".py":
        raise BuildError(f"{path}: is not a Python file; give the path of an app file (.py)")
    return path.resolve()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BuildError(f"{path}: is not UTF-8 (byte {error.start}); save it as UTF-8") from error


def _name(path: Path) -> str:
    """The folder's name for an app.py or main.py, else the file's; plain enough for a URL."""
    name = path.parent.name if path.stem in ("app", "main", "__main__") else path.stem
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "app"


def _files_of(path: Path, answer: dict[str, Any], report: Reporter) -> dict[str, Path]:
    """The app's files among all that was read. Warns of data that lies elsewhere and would be missing in the page."""
    folder = path.parent
    models = {str(Path(m).resolve()) for m in answer["models"]} | set(answer["external"])
    files = {path.name: path}
    for name in answer["reads"]:
        file = Path(name).resolve()
        if not file.is_file() or str(file) in models or "__pycache__" in file.parts:
            continue
        if file.is_relative_to(folder):
            if ".venv" not in file.parts and "site-packages" not in file.parts:
                files[file.relative_to(folder).as_posix()] = file
        elif is_own(str(file)) and is_own(name):
            report.warn(f"{path.name} reads {file}, outside its folder: the page will not have it; copy it to {folder}")
    return files
