"""What the build's tests share: small apps written to a temporary folder."""

import signal
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from onnxlet_build import fetch, paths
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime

DATA = Path(__file__).parents[1] / "data"

ADD1 = '''
from onnxlet import App, InferenceSession
import numpy as np

session = InferenceSession("add1.onnx")


def add(x: float = 1.0) -> str:
    """Adds one."""
    shape = [2, 3]
    return str(float(session.run(None, {"x": np.full(shape, x, np.float32)})[0].flat[0]))


app = App(add, title="Add", examples=[2.0])
'''

WriteApp = Callable[..., Path]


def heed_ctrl_c() -> None:
    """For Popen's preexec_fn: shells start background jobs with Ctrl-C ignored, and so would their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def write_app(tmp_path: Path) -> WriteApp:
    """A function that writes an app file (by default one that adds 1) and other files, and returns the app's path."""

    def write(source: str = ADD1, name: str = "demo", model: bool = True, **files: str | bytes) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "app.py").write_text(textwrap.dedent(source), encoding="utf-8")
        if model:
            (folder / "add1.onnx").write_bytes((DATA / "P_add1.onnx").read_bytes())
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder / "app.py"

    return write


@pytest.fixture
def report() -> Reporter:
    """A reporter that says warnings only."""
    return Reporter(quiet=True)


@pytest.fixture
def runtime(report: Reporter) -> Runtime:
    """The pinned runtime, over the user's own cache."""
    return Runtime(report)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and no network."""
    monkeypatch.setattr(paths, "_cache", tmp_path / "cache")
    monkeypatch.setattr(fetch, "offline", True)
    return tmp_path / "cache"
