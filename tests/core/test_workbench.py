"""An app edited and imported again: the new one takes over whole, or the old one stays as it was."""

import os
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import onnxlet
from onnxlet import ops, source
from onnxlet import session as onnxlet_session
from onnxlet.ops import registry
from onnxlet.workbench import Workbench

APP = """
import onnxlet
from helping import FACTOR

session = onnxlet.InferenceSession("twice.onnx")

def scale(x: float) -> float:
    return float(session.run(None, {"x": [x]})[0][0]) * FACTOR

app = onnxlet.App(scale)
"""


def twice() -> bytes:
    nodes = [helper.make_node("Add", ["x", "x"], ["y"])]
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"])] for n in "xy"]
    graph = helper.make_graph(nodes, "twice", *ends)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workbench]:
    (tmp_path / "edited_app.py").write_text(APP)
    (tmp_path / "helping.py").write_text("FACTOR = 10\n")
    monkeypatch.setattr(onnxlet_session, "sessions", weakref.WeakValueDictionary())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = {"id": "m1", "inputs": [{"name": "x", "type": "tensor(float)", "shape": ["n"]}]}
    entry["outputs"] = [{"name": "y", "type": "tensor(float)", "shape": ["n"]}]
    reads: list[str] = []

    def read(model_id: str) -> bytes:
        reads.append(model_id)
        return twice()

    async def fetch(model_id: str) -> bytes:
        return read(model_id)

    source.use_recorded(source.RecordedModels(tmp_path, {"twice.onnx": entry}, read, fetch))
    bench = Workbench(tmp_path, "edited_app")
    bench.reads = reads  # type: ignore[attr-defined]
    before = registry.use({})
    yield bench
    registry.use(before)
    source.use_recorded(None)
    for name in ("edited_app", "helping"):
        sys.modules.pop(name, None)


def test_an_edited_app_answers_anew_and_without_edits_as_before(bench: Workbench) -> None:
    app = bench.start()
    assert app(1.5) == 30
    assert bench.run({"edited_app.py": APP.replace("* FACTOR", "+ FACTOR")})(1.5) == 13
    assert bench.run({"helping.py": "FACTOR = 7\n"})(1.5) == 21, "app.py is the original again"
    assert bench.run({})(1.5) == 30
    assert (bench.root / "helping.py").read_text() == "FACTOR = 10\n"


def test_two_edits_of_one_size_in_one_second_do_not_share_their_bytecode(bench: Workbench) -> None:
    bench.start()
    for factor in (11, 12, 13, 14):
        assert bench.run({"helping.py": f"FACTOR = {factor}\n"})(1.0) == 2 * factor
        os.utime(bench.root / "helping.py", (1e9, 1e9))


def test_a_signature_that_changed_gives_another_form(bench: Workbench) -> None:
    bench.start()
    edited = APP.replace("x: float)", "x: float, again: bool = False)")
    (function,) = bench.run({"edited_app.py": edited}).schema()["functions"]
    assert [field["kind"] for field in function["inputs"]] == ["number", "toggle"]


def test_the_model_stays_loaded_and_the_old_session_goes(bench: Workbench) -> None:
    bench.start()
    old = bench.namespace["session"]
    loaded = old.executable
    assert loaded.placement()["whole"]
    bench.run({"helping.py": "FACTOR = 2\n"})
    new = bench.namespace["session"]
    assert new is not old
    assert new.executable is loaded
    assert old.executable is None
    assert [s for s in onnxlet_session.sessions.values() if s.source.page_id == "m1"] == [new]
    assert bench.reads == ["m1"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("return float", "return float(", SyntaxError),
        ("app = onnxlet.App(scale)", "app = 1 / 0", ZeroDivisionError),
        ("app = onnxlet.App(scale)", "", onnxlet.InvalidInput),
        ("app = onnxlet.App(scale)", "raise SystemExit", SystemExit),
        ("app =", "onnxlet.op('Lost', domain='bench')(lambda x: x)\nboom()\napp =", NameError),
    ],
)
def test_what_cannot_be_imported_changes_nothing(bench: Workbench, old: str, new: str, error: type) -> None:
    app = bench.start()
    session = bench.namespace["session"]
    loaded = session.executable
    before = set(onnxlet_session.sessions)
    with pytest.raises(error):
        bench.run({"edited_app.py": APP.replace(old, new), "helping.py": "FACTOR = 3\n"})
    assert app(1.5) == 30
    assert bench.namespace["session"] is session
    assert session.executable is loaded
    assert set(onnxlet_session.sessions) == before
    assert (bench.root / "edited_app.py").read_text() == APP
    assert ("bench", "Lost") not in {key for key, versions in registry.registered().items() if versions}
    assert bench.run({"helping.py": "FACTOR = 3\n"})(1.5) == 9


def test_the_traceback_of_an_edited_file_shows_its_own_lines(bench: Workbench) -> None:
    bench.start()
    app = bench.run({"edited_app.py": APP.replace("return float", "unheard_of()\n    return float")})
    with pytest.raises(NameError) as caught:
        app(1.0)
    last = caught.traceback[-1]
    assert str(last.statement).strip() == "unheard_of()"


@pytest.mark.parametrize("path", ["../outside.py", "nowhere.py"])
def test_only_files_of_the_app_can_be_edited(bench: Workbench, path: str) -> None:
    (bench.root.parent / "outside.py").write_text("")
    bench.start()
    with pytest.raises(onnxlet.InvalidInput, match="expected a file of the app"):
        bench.run({path: "x = 1"})


def test_an_operator_that_the_edited_version_no_longer_has_is_gone(bench: Workbench) -> None:
    bench.start()
    bench.run({"edited_app.py": f"import onnxlet\nonnxlet.op('Lost', domain='bench')(lambda x: x)\n{APP}"})
    assert ("bench", "Lost") in registry.registered()
    bench.run({})
    assert ("bench", "Lost") not in registry.registered()


def test_an_operator_that_the_app_replaced_is_the_old_one_again_after_a_failure(bench: Workbench) -> None:
    bench.start()
    ops.load_all()
    builtin = registry.find("", "Relu", 17).function
    with pytest.raises(ZeroDivisionError):
        bench.run({"edited_app.py": "import onnxlet\nonnxlet.op('Relu', since=14)(lambda x: x)\n1 / 0"})
    assert registry.find("", "Relu", 17).function is builtin
    assert np.array_equal(registry.find("", "Relu", 17).function(np.array([-1.0])), [0.0])
