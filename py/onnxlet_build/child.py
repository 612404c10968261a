"""A person's code runs in a process of its own: what it prints, breaks or leaves running does not reach the build."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from onnxlet.errors import BuildError

from . import fetch, paths

__all__ = ["run_child"]

TIMEOUT_S = 900  # training a model may take minutes; an app that waits for input would wait for ever


def run_child(task: str, path: Path, scratch: Path, **more: object) -> dict[str, Any]:
    """Run a task of `inspect_child.py`; its process and all that it starts end with it.

    Args:
        task: "models", "samples", "score", "feed" or "inspect".
        path: the app file or the model.py.
        scratch: a folder that lives as long as the answer.
        more: what the task needs besides, as JSON.
    Raises: BuildError: the person's code failed, or its process ended early.
    """
    request, answer_file = scratch / f"{task}.request.json", scratch / f"{task}.answer.json"
    answer_file.unlink(missing_ok=True)
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
    # A process that is killed half-way cannot remove its temporary files itself. Sockets need a short path.
    with (
        tempfile.TemporaryDirectory(prefix="onnxlet-", ignore_cleanup_errors=True) as temporary,
        _process_group(command, {**environment, "TMPDIR": temporary}, path.parent) as process,
    ):
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
    where = f", line {error['line']}" if error.get("line") else ""
    remedy = "fix it, then build again"
    if error["type"] == "ModuleNotFoundError":
        remedy = f"install what it imports where the build runs: {sys.executable} -m pip install ..."
    elif error["type"] == "NoSuchFile":
        remedy = "put the model there, or write a model.py with a function model() that returns it"
    elif "No space left" in what:
        remedy = "free some space on the disk, then build again"
    return (
        f"{path.parent.name}/{path.name}{where}: fails when it runs ({what}); {remedy}\n{error['traceback'].rstrip()}"
    )


def _tail(text: str, lines: int = 20) -> str:
    return "\n".join(f"  | {line}" for line in text.splitlines()[-lines:]) or "  | nothing"
