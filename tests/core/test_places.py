"""Several apps in one interpreter, as a page that embeds two of them has."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import onnxlet
from onnxlet import host, places, providers, session, source
from onnxlet.ops import registry
from onnxlet.tokens import engines

APP = """
from pathlib import Path
import onnxlet
import helper
import package.inner

@onnxlet.op("Mine", domain="test")
def Mine(x):
    return x * helper.FACTOR

session = onnxlet.InferenceSession(Path("model.onnx").read_bytes(), providers=["NumpyExecutionProvider"])

def facts(text: str) -> str:
    import late
    return f"{helper.FACTOR} {package.inner.NAME} {late.NAME} {Path('note.txt').read_text()} {text}"

app = onnxlet.App(facts)
"""
BRIDGE = SimpleNamespace(waits="jspi", backend="python", models="{}", reason="", gpuFault="none here", gpuHalf=False)


def write_app(root: Path, name: str, factor: int) -> None:
    files = {"app.py": APP, "helper.py": f"FACTOR = {factor}", "package/inner.py": f"NAME = 'inner {name}'"}
    files |= {"late.py": f"NAME = 'late {name}'", "note.txt": f"note {name}"}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    model = Path(__file__).parents[1] / "data" / "P_add1.onnx"
    (root / "model.onnx").write_bytes(model.read_bytes())


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test enters is left behind, and the interpreter is as it was."""
    monkeypatch.chdir(Path.cwd())
    monkeypatch.setattr(host, "_waiter", lambda: None)
    monkeypatch.setattr(engines, "make", engines.make)
    before = (list(sys.path), providers.use(None), list(session.observers), registry.use({}), source.use_recorded(None))
    modules = {name for name in sys.modules if name.startswith("onnxruntime")}
    others = session.sessions.copy()  # weak, as they were
    session.sessions.clear()
    yield
    places.leave()
    session.sessions.update(others)
    sys.path[:] = before[0]
    providers.use(before[1])
    session.observers[:] = before[2]
    registry.use(before[3])
    source.use_recorded(before[4])
    for name in [name for name in sys.modules if name.startswith("onnxruntime") and name not in modules]:
        del sys.modules[name]
    host._seats.clear()
    host._bridge = host._app = None


def start(root: Path) -> dict | None:
    fault = asyncio.run(host.start(BRIDGE, json.dumps({"root": str(root)})))
    return json.loads(fault)["error"] if fault else None


def facts(root: Path) -> str:
    host.enter(str(root))
    assert host._app is not None
    return host._app("now")


def test_two_apps_in_one_interpreter_keep_their_modules_files_operators_and_sessions(tmp_path: Path, alone: None):
    one, two = tmp_path / "one", tmp_path / "two"
    for number, root in enumerate((one, two), 1):
        write_app(root, root.name, number)
        assert start(root) is None
    numbers = {}
    for root in (one, two, one):
        factor = 1 + (root is two)
        assert facts(root) == f"{factor} inner {root.name} late {root.name} note {root.name} now"
        assert Path.cwd() == root
        assert [path for path in sys.path if path.startswith(str(tmp_path))] == [str(root)]
        assert onnxlet.ops.find("test", "Mine", 1).function(10) == 10 * factor
        (number,) = session.sessions
        assert numbers.setdefault(root, number) == number
    assert numbers[one] != numbers[two]


def test_an_app_that_fails_to_start_leaves_no_trace_in_the_other(tmp_path: Path, alone: None):
    one, two = tmp_path / "one", tmp_path / "two"
    write_app(one, "one", 1)
    write_app(two, "two", 2)
    (two / "helper.py").write_text("FACTOR = 1 / 0")
    assert start(one) is None
    assert (start(two) or {})["type"] == "ZeroDivisionError"
    assert facts(one) == "1 inner one late one note one now"
    host.leave(str(two))
    assert not two.exists()
    assert facts(one).startswith("1 inner one")


def test_an_app_that_left_holds_no_session_and_can_start_again(tmp_path: Path, alone: None):
    one, two = tmp_path / "one", tmp_path / "two"
    write_app(one, "one", 1)
    write_app(two, "two", 2)
    assert start(one) is None
    assert start(two) is None
    host.leave(str(two))
    assert not session.sessions
    assert places.current() is None
    assert facts(one).startswith("1 inner one")
    write_app(two, "again", 3)
    assert start(two) is None
    assert facts(two) == "3 inner again late again note again now"
