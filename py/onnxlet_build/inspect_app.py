"""What an app is and what it needs, learned by running it natively in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from onnxlet.errors import BuildError

from . import fetch, paths
from .imports import check_imports, required_imports
from .packages import resolve, script_requirements
from .progress import Reporter
from .runtime import Runtime

__all__ = ["Inspected", "inspect_app"]

TIMEOUT_S = 900  # training a model may take minutes; an app that waits for input would wait for ever

Requirements = list[tuple[str, str]]  # (requirement, who asks)


@dataclass(slots=True)
class Inspected:
    """An app, run once.

    Args:
        files: path in the app's folder -> file, models not among them.
        models: path relative to the app's folder, as the app opens it -> file.
        examples: as in site.json, but buffers are files.
    """

    name: str
    module: str
    object: str
    title: str
    description: str
    live: bool
    files: dict[str, Path]
    models: dict[str, Path]
    functions: list[dict[str, Any]]
    examples: list[dict[str, Any]]
    requirements: Requirements = field(default_factory=list)

    def package_names(self) -> set[str]:
        """Canonical names of the packages that it asks for itself."""
        return {canonicalize_name(Requirement(text).name) for text, _ in self.requirements}


def inspect_app(path: Path, scratch: Path, report: Reporter, runtime: Runtime) -> Inspected:
    """Run an app file with its examples.

    Args:
        path: the app file, or the folder of an app.py.
        scratch: a new folder for the examples' buffers, which must live as long as the result.
    Raises: BuildError: it is no app, fails, or needs what the page cannot have.
    """
    path = _app_file(path)
    source = _read(path)
    requirements: Requirements = [(text, path.name) for text in script_requirements(source, str(path))]
    required_imports(source, path)  # a syntax error is said before anything is downloaded
    packages = resolve(requirements, runtime, report)
    check_imports([path], path.parent, packages, runtime.lock["packages"])
    scratch.mkdir()
    make_models(path.parent / "model.py", path, scratch, report)
    with report.step(f"Running {path.parent.name}/{path.name} and its examples"):
        answer = _run_child("inspect", path, scratch)
    files = _files_of(path, answer, report)
    check_imports([f for f in files.values() if f.suffix == ".py"], path.parent, packages, runtime.lock["packages"])
    if answer["pillow"] or any(i["kind"] == "image" for f in answer["functions"] for i in f["inputs"]):
        requirements.append(("pillow", "onnxlet, which decodes pictures with it"))
    for example in answer["examples"]:
        example["buffers"] = [Path(p) for p in example["buffers"]]
        example["output_buffers"] = [Path(p) for p in example["output_buffers"]]
    return Inspected(
        name=_name(path),
        module=path.stem,
        object=answer["object"],
        title=answer["title"],
        description=answer["description"],
        live=answer["live"],
        files=files,
        models={Path(os.path.relpath(m, path.parent)).as_posix(): Path(m) for m in answer["models"]},
        functions=answer["functions"],
        examples=answer["examples"],
        requirements=requirements,
    )


def make_models(path: Path, app: Path, scratch: Path, report: Reporter) -> None:
    """Let a model.py make the models of an app, unless they are there and it has not changed since.

    Raises: BuildError: it failed.
    """
    if not path.is_file():
        return
    stamp = paths.cache("made", fetch.sha256(str(path.resolve()).encode())[:32] + ".json")
    if stamp.is_file() and all(_has(Path(name), digest) for name, digest in json.loads(stamp.read_bytes()).items()):
        return
    started = time.monotonic()
    with report.step(f"Making the model: {path.parent.name}/{path.name}"):
        answer = _run_child("models", path, scratch, app=str(app))
    names = answer["files"]
    depends = [path, *(path.parent / name for name in names), *map(Path, answer["sources"])]
    digests = {str(file): fetch.sha256(file.read_bytes()) for file in depends}
    paths.write_whole(stamp, json.dumps(digests).encode())
    report.note(f"{path.parent.name}/{path.name} made {', '.join(names)} in {time.monotonic() - started:.1f} s")


def _has(path: Path, digest: str) -> bool:
    return path.is_file() and fetch.sha256(path.read_bytes()) == digest


def _app_file(path: Path) -> Path:
    if path.suffix == ".onnx":
        raise BuildError(f"{path}: is a model; write an app file that opens it, or look at it with `build.py check`")
    if path.is_dir():
        path = path / "app.py"
    if not path.is_file():
        raise BuildError(f"{path}: is not there; give the path of an app file")
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
    elsewhere = [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), str(paths.CORE.parent)]
    elsewhere += [str(paths.cache("x").parent), str(Path.home() / ".cache")]
    system = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/", "/lib", "/opt/")
    files = {path.name: path}
    for name in answer["reads"]:
        file = Path(name).resolve()
        if not file.is_file() or str(file) in models or "__pycache__" in file.parts:
            continue
        if file.is_relative_to(folder):
            if ".venv" not in file.parts and "site-packages" not in file.parts:
                files[file.relative_to(folder).as_posix()] = file
        elif not any(file.is_relative_to(e) for e in elsewhere) and not name.startswith(system):
            report.warn(f"{path.name} reads {file}, outside its folder: the page will not have it; copy it to {folder}")
    return files


def _run_child(task: str, path: Path, scratch: Path, **more: str) -> dict[str, Any]:
    """Run a task of `inspect_child.py`; its process and all that it starts end with it."""
    request, answer_file = scratch / f"{task}.request.json", scratch / f"{task}.answer.json"
    request.write_text(
        json.dumps(
            {
                "task": task,
                "path": str(path),
                "scratch": str(scratch),
                "answer": str(answer_file),
                "cache": str(paths.cache("x").parent),
                "offline": fetch.offline,
                **more,
            }
        )
    )
    command = [sys.executable, "-m", "onnxlet_build.inspect_child", str(request)]
    old = os.environ.get("PYTHONPATH")  # not a setting: the child must find this very package, wherever it starts
    python_path = os.pathsep.join([str(paths.CORE.parent), *([old] if old else [])])
    environment = {**os.environ, "PYTHONPATH": python_path, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    with _process_group(command, environment, path.parent) as process:
        try:
            printed, _ = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise BuildError(f"{path}: did not finish within {TIMEOUT_S} s; does it wait for input?") from None
    if not answer_file.is_file():
        how = f"signal {-process.returncode}" if process.returncode < 0 else f"exit status {process.returncode}"
        raise BuildError(f"{path}: its process ended early ({how}); what it printed:\n{_tail(printed)}")
    answer: dict[str, Any] = json.loads(answer_file.read_bytes())
    if "refusal" in answer:
        raise BuildError(answer["refusal"])
    if "error" in answer:
        raise BuildError(_sentence(path, answer["error"]))
    return answer


@contextmanager
def _process_group(command: list[str], environment: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _sentence(path: Path, error: dict[str, str]) -> str:
    what = f"{error['type']}: {error['message']}".strip(": ").splitlines()[0]
    remedy = "fix it, then build again"
    if error["type"] == "ModuleNotFoundError":
        remedy = f"install what it imports where the build runs: {sys.executable} -m pip install ..."
    elif error["type"] == "NoSuchFile":
        remedy = "put the model there, or write a model.py with a function model() that returns it"
    return f"{path.parent.name}/{path.name}: fails when it runs ({what}); {remedy}\n{error['traceback'].rstrip()}"


def _tail(text: str, lines: int = 20) -> str:
    return "\n".join(f"  | {line}" for line in text.splitlines()[-lines:]) or "  | nothing"
