"""Python environments of their own for libraries that cannot live in the build's: made once, kept in the user's cache.

TensorFlow is the reason: it is 1.4 GB on disk, has its own opinion about protobuf, and few builds need it. What is
asked of such an environment is a script file of ours; it imports nothing of onnxlet.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from onnxlet.errors import BuildError

from . import fetch
from .paths import cache, scratch
from .progress import Reporter

__all__ = ["Environment", "run"]


@dataclass(frozen=True, slots=True)
class Environment:
    """What is installed, without dependencies: what was tested is what everybody gets.

    Args:
        name: of its folder.
        pins: requirements with exact versions, environment markers allowed.
        what: what it holds and how large the download is, for people.
    """

    name: str
    pins: tuple[str, ...]
    what: str

    @property
    def folder(self) -> Path:
        """Where it lies; the name changes with the pins and with the Python that the build runs on."""
        key = "\n".join([sys.version, platform.machine(), *self.pins]).encode()
        return cache("environments", f"{self.name}-{fetch.sha256(key)[:16]}")

    def python(self, report: Reporter | None = None) -> Path:
        """The environment's Python; the environment is made first where it is not there.

        Raises: BuildError: the network or the disk does not let it.
        """
        report = report or Reporter()
        python = _python(self.folder)
        if python.is_file():
            return python
        if fetch.offline:
            raise BuildError(f"{self.name}: its environment is not in the cache, and --offline forbids making it")
        with _alone(self.folder.with_name(f"{self.name}.lock"), self.name, report):
            if not python.is_file():
                self._make(report)
        return python

    def _make(self, report: Reporter) -> None:
        parent, prefix = self.folder.parent, f".{self.name}-"
        for leftover in parent.glob(f"{prefix}*"):  # of a build that was killed; nobody else makes one now
            shutil.rmtree(leftover, ignore_errors=True)
        with scratch(parent, prefix) as folder, report.step(f"making an environment with {self.what}, once"):
            # Only its Python is ever started, which finds its packages from where it lies: it can be renamed.
            _run([sys.executable, "-m", "venv", "--without-pip", str(folder / "made")], self.name)
            wanted = folder / "requirements.txt"
            wanted.write_text("\n".join(self.pins))
            pip = [sys.executable, "-m", "pip", "--python", str(_python(folder / "made")), "install"]
            pip += ["--quiet", "--disable-pip-version-check", "--no-input", "--retries=1", "--no-deps"]
            _run([*pip, "--no-compile", "--only-binary", ":all:", "-r", str(wanted)], self.name)
            os.replace(folder / "made", self.folder)


def run(environment: Environment, script: Path, arguments: Sequence[str], report: Reporter | None = None) -> None:
    """Run a script in an environment.

    Args:
        script: says what is wrong in the last line of stderr, and ends with another status than 0.
    Raises: BuildError: with that line.
    """
    done = subprocess.run(
        [environment.python(report), "-I", script, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise BuildError(lines[-1] if lines else f"{script.name} ended with {done.returncode} and without a word")


def _python(folder: Path) -> Path:
    return folder / "Scripts" / "python.exe" if os.name == "nt" else folder / "bin" / "python"


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if not done.returncode:
        return
    lines = [line.strip() for line in f"{done.stdout}\n{done.stderr}".splitlines() if line.strip()]
    if any("connection broken" in line for line in lines):
        raise fetch.Unreachable(f"{name}: its packages cannot be fetched; look at the network, and build again")
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR")]
    raise BuildError(f"{name}: its environment cannot be made: {(errors or lines or ['no reason was given'])[-1]}")


@contextmanager
def _alone(path: Path, name: str, report: Reporter) -> Iterator[None]:
    """Wait until no other build is here. The system gives the lock back when a process ends, however it ends."""
    with path.open("a+") as stream:
        if not _lock(stream.fileno(), wait=False):
            with report.step(f"another build is making the environment for {name}: waiting for it"):
                _lock(stream.fileno(), wait=True)
        yield


if sys.platform == "win32":
    import msvcrt
    import time

    def _lock(handle: int, *, wait: bool) -> bool:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
                time.sleep(0.5)
            else:
                return True
else:
    import fcntl

    def _lock(handle: int, *, wait: bool) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True
