"""What the build learns of an app by running it, and what it says when the app fails."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from onnxlet.errors import BuildError
from onnxlet_build.inspect_app import Inspected, inspect_app
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime

from .conftest import DATA, WriteApp

Inspect = Callable[[Path], Inspected]


@pytest.fixture
def inspect(tmp_path: Path, report: Reporter, runtime: Runtime) -> Inspect:
    """Inspect an app with its buffers in a temporary folder."""
    return lambda app: inspect_app(app, tmp_path / "scratch", report, runtime)


def failure(inspect: Inspect, app: Path) -> str:
    with pytest.raises(BuildError) as caught:
        inspect(app)
    return str(caught.value)


def test_an_apps_form_models_files_and_examples_are_recorded(inspect: Inspect, write_app: WriteApp) -> None:
    app = inspect(write_app())
    assert (app.name, app.module, app.object, app.title, app.description) == ("demo", "app", "app", "Add", "Adds one.")
    assert list(app.models) == ["add1.onnx"]
    assert list(app.files) == ["app.py"]
    assert app.functions[0]["inputs"][0]["kind"] == "number"
    (example,) = app.examples
    assert example["inputs"][0] | {"kind": "number", "value": 2.0} == example["inputs"][0]
    assert example["outputs"][0]["text"] == "3.0"
    assert app.requirements == []


def test_second_modules_and_data_files_of_any_name_travel_along(inspect: Inspect, write_app: WriteApp) -> None:
    """Case P04: a package, and paths with ', ☃, %, Cyrillic and a byte order mark."""
    app = inspect(
        write_app(
            """
            import json, pathlib
            from helper_mod import double
            from пакет.інше import NAME
            from onnxlet import App, Json
            HERE = pathlib.Path(__file__).parent
            ROWS = (HERE / "data" / "O'Brien ☃ 100%.csv").read_text(encoding="utf-8").splitlines()

            def run(n: int = 4) -> Json:
                config = json.loads((HERE / "data" / "cfg.json").read_text(encoding="utf-8-sig"))
                return {"double": double(n), "name": NAME, "rows": len(ROWS), "k": config["k"]}

            app = App(run, examples=[4], files=["later"])
            """,
            model=False,
            **{
                "helper_mod.py": "def double(x):\n    return 2 * x\n",
                "пакет/__init__.py": "",
                "пакет/інше.py": "NAME = 'Ω'\n",
                "data/O'Brien ☃ 100%.csv": "a,b\n1,2\n3,4\n",
                "data/cfg.json": b'\xef\xbb\xbf{"k": 7}',
                "later/a.txt": "named in files",
                "unused.txt": "never read",
            },
        )
    )
    assert set(app.files) == {
        *("app.py", "helper_mod.py", "пакет/__init__.py", "пакет/інше.py"),
        *("data/O'Brien ☃ 100%.csv", "data/cfg.json", "later/a.txt"),
    }
    assert json.loads(app.examples[0]["outputs"][0]["text"]) == {"double": 8, "name": "Ω", "rows": 3, "k": 7}


def test_a_model_opened_through_onnxruntime_itself_is_recorded(inspect: Inspect, write_app: WriteApp) -> None:
    app = inspect(
        write_app(
            """
            import onnxruntime
            from onnxlet import App
            session = onnxruntime.InferenceSession("add1.onnx", providers=["CPUExecutionProvider"])
            def names() -> str:
                return session.get_inputs()[0].name
            app = App(names)
            """
        )
    )
    assert list(app.models) == ["add1.onnx"]


def test_an_examples_files_are_its_buffers_and_pictures_bring_pillow(inspect: Inspect, write_app: WriteApp) -> None:
    app = inspect(
        write_app(
            """
            from onnxlet import App, Image
            def flip(picture: Image) -> Image:
                return picture.flip()
            app = App(flip, examples=["in.png"])
            """,
            model=False,
            **{"in.png": (DATA / "I02_alpha.png").read_bytes()},
        )
    )
    assert list(app.files) == ["app.py"]
    assert app.examples[0]["buffers"][0].read_bytes() == (DATA / "I02_alpha.png").read_bytes()
    output = app.examples[0]["outputs"][0]
    pixels = np.fromfile(app.examples[0]["output_buffers"][0], np.uint8)
    assert pixels.size == 4 * output["width"] * output["height"]
    assert app.package_names() == {"pillow"}


def test_what_the_examples_feed_each_model_is_kept_once(inspect: Inspect, write_app: WriteApp) -> None:
    """Of this package's sessions and onnxruntime's, waited for or not; but not what warms a model up."""
    app = inspect(
        write_app(
            """
            import numpy as np
            import onnxruntime
            from onnxlet import App, InferenceSession
            ours = InferenceSession("add1.onnx")
            theirs = onnxruntime.InferenceSession("again.onnx", providers=["CPUExecutionProvider"])
            ours.run(None, {"x": np.zeros((2, 3), np.float32)})
            async def run(n: float) -> float:
                x = np.full((2, 3), n, np.float32)
                one = (await ours.arun(None, {"x": x}))[0]
                two = ours.run(None, {"x": x + 10})[0]
                return float(theirs.run(None, {"x": one + two})[0].max())
            app = App(run, examples=[1.0, 2.0, 1.0])
            """,
            **{"again.onnx": (DATA / "P_add1.onnx").read_bytes()},
        )
    )
    fed = {name: [feeds["x"].flat[0] for feeds in samples] for name, samples in app.samples.items()}
    assert fed == {"add1.onnx": [1, 11, 2, 12], "again.onnx": [14, 16]}


def test_no_example_fills_the_samples_alone(inspect: Inspect, write_app: WriteApp) -> None:
    app = inspect(
        write_app(
            """
            import numpy as np
            from onnxlet import App, InferenceSession
            session = InferenceSession("add1.onnx")
            def run(n: int) -> str:
                for step in range(100):
                    session.run(None, {"x": np.full((2, 3), 1000 * n + step, np.float32)})
                return ""
            app = App(run, examples=[1, 2, 3])
            """
        )
    )
    first = [int(feeds["x"].flat[0]) // 1000 for feeds in app.samples["add1.onnx"]]
    assert {n: first.count(n) for n in first} == {1: 22, 2: 22, 3: 20}


def test_model_py_makes_models_once_and_again_when_it_changes(
    inspect: Inspect, write_app: WriteApp, tmp_path: Path
) -> None:
    make = f"""
import pathlib, shared
count = pathlib.Path("count.txt")
def model():
    count.write_text(count.read_text() + "x" if count.exists() else "x")
    return {{"add1.onnx": pathlib.Path({str(DATA / "P_add1.onnx")!r}), "labels.txt": shared.LABELS}}
"""
    app = write_app(model=False, **{"model.py": make, "shared.py": "LABELS = b'one'\n"})
    inspect(app)
    count = app.with_name("count.txt")
    assert count.read_text() == "x"
    (tmp_path / "scratch").rename(tmp_path / "first")
    inspect(app)
    assert count.read_text() == "x"
    (tmp_path / "scratch").rename(tmp_path / "second")
    app.with_name("shared.py").write_text("LABELS = b'two'\n")
    inspect(app)
    assert count.read_text() == "xx"
    assert app.with_name("labels.txt").read_bytes() == b"two"


@pytest.mark.parametrize("library", ["onnxlet", "onnxruntime"])
def test_a_model_without_a_name_gets_the_one_that_the_app_opens(
    inspect: Inspect, write_app: WriteApp, library: str
) -> None:
    app = inspect(
        write_app(
            f"""
            import {library}
            from onnxlet import App
            NAME = "".join(["la", "ter"])
            session = {library}.InferenceSession(f"{{NAME}}.onnx")
            def names() -> str:
                return session.get_inputs()[0].name
            app = App(names, examples=[()])
            """,
            model=False,
            **{"model.py": f"import onnx\ndef model():\n    return onnx.load({str(DATA / 'P_add1.onnx')!r})\n"},
        )
    )
    assert list(app.models) == ["later.onnx"]
    assert app.examples[0]["outputs"][0]["text"] == "x"
    assert not (app.models["later.onnx"].parent / "model.onnx").exists()


def test_a_model_without_a_name_that_no_app_opens_is_refused(inspect: Inspect, write_app: WriteApp) -> None:
    app = write_app("1 / 0\n", model=False, **{"model.py": "def model():\n    return b'x'\n"})
    text = failure(inspect, app)
    assert "without a file name" in text
    assert "ZeroDivisionError" in text
    assert "return a dict of file name -> model" in text


def test_an_error_in_the_app_is_a_sentence_and_the_apps_own_traceback(inspect: Inspect, write_app: WriteApp) -> None:
    text = failure(inspect, write_app("def broken():\n    return 1 / 0\n\nbroken()\n"))
    assert text.startswith("demo/app.py, line 2: fails when it runs (ZeroDivisionError: division by zero); fix it")
    assert 'app.py", line 2, in broken' in text
    assert "inspect_child" not in text
    assert "importlib" not in text


def test_an_example_that_fails_is_an_error_of_the_build(inspect: Inspect, write_app: WriteApp) -> None:
    text = failure(
        inspect,
        write_app("from onnxlet import App\ndef f(n: int) -> str:\n    return [][n]\napp = App(f, examples=[3])"),
    )
    assert "IndexError: list index out of range" in text


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", "a.png", 'example "a.png" of f: "n": expected a number, got str; correct App'),
        (
            "Image",
            "gone.png",
            r'example "gone.png" of f: example value of "n": .*paths are relative to .*; correct App',
        ),
    ],
)
def test_an_example_that_is_no_input_is_named_in_one_sentence(
    inspect: Inspect, write_app: WriteApp, kind: str, value: str, message: str
) -> None:
    source = (
        f"from onnxlet import App, Image\ndef f(n: {kind}) -> str:\n    return 'x'\napp = App(f, examples=[{value!r}])"
    )
    text = failure(inspect, write_app(source))
    assert re.match(f"demo/app.py: {message}", text)
    assert "\n" not in text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\n", r"expected one App\(...\) in a variable `app`, found none"),
        ("import numpy\nimport no_such_module_at_all\n", r'add "no_such_module_at_all" to `dependencies`'),
        ("def f(:\n", r"app.py: line 1: is not Python"),
        ("from onnxlet import InferenceSession\nInferenceSession('gone.onnx')\n", r"write a model.py with a function"),
        (
            "import os\nprint('last words', flush=True)\nos._exit(3)\n",
            r"ended early \(exit status 3\)[\s\S]*last words",
        ),
        ("import sys\nsys.exit('no more')\n", r"SystemExit: no more"),
    ],
)
def test_an_app_that_cannot_be_built_says_why(inspect: Inspect, write_app: WriteApp, source: str, message: str) -> None:
    app = write_app(source)
    with pytest.raises(BuildError, match=message):
        inspect(app)


def test_two_apps_in_one_file_are_refused_unless_one_is_called_app(inspect: Inspect, write_app: WriteApp) -> None:
    source = "from onnxlet import App\ndef f() -> str:\n    return ''\none = App(f)\ntwo = App(f)\n"
    assert "found 2: one, two" in failure(inspect, write_app(source))


def test_model_py_may_not_write_outside_its_folder(inspect: Inspect, write_app: WriteApp, tmp_path: Path) -> None:
    app = write_app(**{"model.py": "def model():\n    return {'../evil.onnx': b'x'}\n"})
    assert "outside its folder" in failure(inspect, app)
    assert not (tmp_path / "evil.onnx").exists()


def test_data_outside_the_apps_folder_is_warned_about(
    inspect: Inspect, write_app: WriteApp, report: Reporter, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.txt").write_text("data")
    inspect(
        write_app(
            "from pathlib import Path\nfrom onnxlet import App\n"
            "TEXT = (Path(__file__).parents[1] / 'elsewhere.txt').read_text()\n"
            "def f() -> str:\n    return TEXT\napp = App(f)\n"
        )
    )
    assert any("elsewhere.txt, outside its folder" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("name", "message"), [("m.onnx", "is a model"), ("gone.py", "not there"), ("x.txt", "not a P")]
)
def test_what_is_no_app_file_is_refused(inspect: Inspect, tmp_path: Path, name: str, message: str) -> None:
    if not name.startswith("gone"):
        (tmp_path / name).write_text("x")
    assert message in failure(inspect, tmp_path / name)


TOKENS = """
    from onnxlet import App, Json, Tokenizer
    tokenizer = Tokenizer("tokenizer.json")

    def ids(text: str) -> Json:
        return tokenizer.encode(text).ids

    app = App(ids, examples=["hello"])
"""


def test_a_tokenizers_files_travel_along_and_its_library(inspect: Inspect, write_app: WriteApp) -> None:
    spec = (DATA / "K02_bytebpe.json").read_bytes()
    app = inspect(write_app(TOKENS, model=False, **{"tokenizer.json": spec, "tokenizer_config.json": b"{}"}))
    assert app.tokenizers
    assert sorted(app.files) == ["app.py", "tokenizer.json", "tokenizer_config.json"]
    assert json.loads(app.examples[0]["outputs"][0]["text"]) == [259]


def test_an_app_without_a_tokenizer_needs_no_library(inspect: Inspect, write_app: WriteApp) -> None:
    assert not inspect(write_app()).tokenizers


def test_a_tokenizer_that_the_page_could_not_follow_is_refused(inspect: Inspect, write_app: WriteApp) -> None:
    spec = json.loads((DATA / "K02_bytebpe.json").read_text())
    spec["normalizer"] = {"type": "Nmt"}
    app = write_app(TOKENS, model=False, **{"tokenizer.json": json.dumps(spec)})
    assert 'tokenizer.json: normalizer "Nmt" has no equal in the page; use a tokenizer without' in failure(inspect, app)
