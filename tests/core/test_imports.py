"""What a page imports before its app, and that names which come later are the same names."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import onnxlet

CORE = Path(onnxlet.__file__).parent
# Each of these takes a page time before the form answers, or memory of its snapshot, and most visits need none of it.
LATER = {
    "accuracy", "check_graph", "comparison", "execute", "external_data", "file_kinds", "files", "inside", "model",
    "model_signature", "node_table", "node_trace", "partition", "proto_model", "proto_values", "protobuf", "tasks",
    "tensors", "tokenizer", "value_summary", "verification", "wire_format",
}  # fmt: skip
# What the standard library has that Pyodide and numpy have not imported by then; `_string` and the like are built in.
SLOW = {"csv", "email", "importlib.metadata", "mmap", "tempfile", "typing_extensions", "unittest", "wave", "zipfile"}


def imported(code: str) -> set[str]:
    """The modules that there are after some code in a fresh interpreter."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    command = [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{program}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout))


def test_the_page_imports_little_before_the_app() -> None:
    before = imported("import numpy")
    here = imported("import numpy, onnxlet.host")
    ours = {name.removeprefix("onnxlet.") for name in here if name.startswith("onnxlet.")}
    assert not {name for name in ours if name.partition(".")[0] in LATER}
    assert {name for name in ours if name.startswith(("ops.", "tokens.", "providers."))} == {
        "ops.registry",
        "providers.base",
        "providers.ort_web",
        "tokens.engines",
    }
    assert not SLOW & (here - before)


def test_an_app_that_starts_imports_what_it_uses(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        """
from onnxlet import App, Image, InferenceSession, Labels
from onnxlet.tasks import ImageClassifier

classifier = ImageClassifier(InferenceSession("m.onnx"), labels=["a", "b"])

def classify(photo: Image) -> Labels:
    return classifier(photo)

app = App(classify)
"""
    )
    x, y = (
        {"name": name, "type": "tensor(float)", "shape": shape} for name, shape in (("x", [1, 3, 8, 8]), ("y", [1, 2]))
    )
    models = {"m.onnx": {"id": "m", "inputs": [x], "outputs": [y], "provider": "CPUExecutionProvider"}}
    here = imported(
        f"""
import asyncio, json
import numpy, onnxlet.host
class Bridge:
    waits, backend, models, gpuFault, gpuHalf = "async", "wasm", {json.dumps(models)!r}, "no adapter", False
    def create(self, spec): return 1
    def release(self, session): pass
config = {{"root": {str(tmp_path)!r}, "module": "app", "object": "app"}}
said = asyncio.run(onnxlet.host.start(Bridge(), json.dumps(config)))
assert said is None, said
"""
    )
    ours = {name.removeprefix("onnxlet.") for name in here if name.startswith("onnxlet.")}
    assert not (ours & LATER) - {"tasks"}
    assert {name for name in ours if name.startswith("tasks.")} == {
        f"tasks.{name}"
        for name in ("declared", "image_classification", "image_input", "ink_input", "metadata", "scores", "steps")
    }
    assert not SLOW & here


@pytest.mark.parametrize("package", ["onnxlet", "onnxlet.tasks"])
def test_names_that_come_later_are_those_that_type_checkers_see(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__file__
    (checked,) = [one for one in ast.parse(Path(module.__file__).read_text()).body if isinstance(one, ast.If)]
    seen = {
        alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert sorted(seen) == sorted(module.__all__)
    for name, source in seen.items():
        assert getattr(module, name) is getattr(importlib.import_module(f"{package}.{source}"), name)
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        module.nothing  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec(f"from {package} import nothing")


def test_every_module_can_be_the_first_one() -> None:
    names = [
        ".".join(path.relative_to(CORE.parent).with_suffix("").parts).removesuffix(".__init__")
        for path in CORE.rglob("*.py")
    ]
    program = f"""
import importlib, sys
import numpy
for name in {names!r}:
    for module in [one for one in sys.modules if one.partition(".")[0] == "onnxlet"]:
        del sys.modules[module]
    importlib.import_module(name)
"""
    imported(program)
