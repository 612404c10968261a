"""What runs in the app's own process: import the app, run its examples, write down what it used.

Started by `inspect_app.py` as ``python -m onnxlet_build.inspect_child REQUEST``, REQUEST being a JSON file that says
what to do and where to write the answer. What the app prints goes to the pipes that the parent reads.
"""

import asyncio
import contextlib
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from onnxlet_build import fetch, paths

__all__: list[str] = []

Answer = dict[str, Any]


class _Reads:
    """Files that were opened for reading, by an audit hook; hooks cannot be removed, so it can be switched off."""

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.on = False
        sys.addaudithook(self._hook)

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event != "open" or not self.on or not isinstance(args[0], str | bytes | os.PathLike):
            return
        _, mode, flags = args
        writes = any(c in mode for c in "wax+") if isinstance(mode, str) else flags & (os.O_WRONLY | os.O_RDWR)
        if not writes:
            self.paths.add(os.path.abspath(os.fsdecode(args[0])))

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        self.on = True
        try:
            yield
        finally:
            self.on = False


def load(path: Path) -> ModuleType:
    """Run a file as the module of its name, with its folder as working directory and first on sys.path."""
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise _Refusal(f"{path}: is not a Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def make_models(path: Path, app: Path) -> Answer:
    """Call ``model()`` of a model.py and write what it returns beside it.

    A model without a name gets the name of the first model that the app opens.

    Returns: names of the files, and the app's sources that they depend on.
    """
    import onnx

    module = load(path)
    if not callable(getattr(module, "model", None)):
        raise _Refusal(f"{path}: has no function model(); it must return the model, or a dict of file name -> content")
    made = module.model()
    sources = _modules() & {str(f) for f in path.parent.rglob("*.py")}
    if not isinstance(made, dict):
        name = Path(made).name if isinstance(made, str | os.PathLike) else _first_opened(app)
        made = {name: made}
    for name, content in made.items():
        target = path.parent / name
        if not target.resolve().is_relative_to(path.parent.resolve()):
            raise _Refusal(f"{path}: model() names {name!r}, outside its folder; use a plain file name")
        if isinstance(content, onnx.ModelProto):
            content = content.SerializeToString()
        elif isinstance(content, str | os.PathLike):
            source = (path.parent / content).resolve()
            if source == target.resolve():
                continue
            content = source.read_bytes()
        if not isinstance(content, bytes | bytearray):
            kind = type(content).__name__
            raise _Refusal(f"{path}: model() gave a {kind} for {name!r}, expected bytes, a path or an onnx.ModelProto")
        paths.write_whole(target, bytes(content))
    return {"files": sorted(made), "sources": sorted(sources)}


def _first_opened(app: Path) -> str:
    """Path, relative to the app, of the first model that it opens when it is imported, be it there or not."""
    import onnxruntime

    import onnxlet

    opened: list[str] = []
    for session in (onnxlet.InferenceSession, onnxruntime.InferenceSession):
        _watch(session, opened.append)
    failure = ""
    try:
        load(app)
    except Exception as error:
        failure = f", and it fails before ({type(error).__name__}: {error})"
    if opened:
        return Path(os.path.relpath(opened[0], app.parent)).as_posix()
    raise _Refusal(
        f"{app.parent / 'model.py'}: model() gave a model without a file name, and {app.name} opens none when it is "
        f"imported{failure}; return a dict of file name -> model"
    )


def _watch(session: type, note: Callable[[str], object]) -> None:
    """Note the paths that a class of sessions is made with, before it looks whether they are there."""
    construct = session.__init__  # type: ignore[misc]

    def watched(self: Any, path_or_bytes: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(path_or_bytes, str | os.PathLike):
            note(os.path.abspath(path_or_bytes))
        construct(self, path_or_bytes, *args, **kwargs)

    session.__init__ = watched  # type: ignore[misc]


def inspect(path: Path, scratch: Path) -> Answer:
    """Import an app file, run its examples, and say what it is and what it used."""
    import onnxruntime

    import onnxlet.source

    opened: dict[str, None] = {}  # models, in order
    onnxlet.source.watchers.append(lambda source: opened.setdefault(str(source.path)) if source.path else None)
    _watch(onnxruntime.InferenceSession, opened.setdefault)

    reads = _Reads()
    with reads.watching():
        module = load(path)
    name, app = _find_app(module, path)
    examples = [_run(app, example, number, reads, scratch) for number, example in enumerate(app.examples)]
    declared = [str(file) for named in app.files for file in _expand(path, named)]
    schema = app.schema()
    return {
        "object": name,
        "title": app.title,
        "description": app.description,
        "live": schema.get("live", False),
        "functions": schema["functions"],
        "examples": examples,
        "models": list(opened),
        "external": sorted(e for model in opened for e in _external_files(Path(model))),
        "reads": sorted(reads.paths | _modules() | set(declared)),
        "pillow": "PIL" in sys.modules,
    }


def _modules() -> set[str]:
    """Files of all modules that were imported."""
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    return {str(Path(file).resolve()) for file in files if file}


def _find_app(module: ModuleType, path: Path) -> tuple[str, Any]:
    from onnxlet.app import App

    apps = {name: value for name, value in vars(module).items() if isinstance(value, App)}
    if "app" in apps:
        return "app", apps["app"]
    if len({id(value) for value in apps.values()}) != 1:
        found = f"{len(apps)}: {', '.join(apps)}" if apps else "none"
        raise _Refusal(f"{path}: expected one App(...) in a variable `app`, found {found}; write `app = App(function)`")
    return next(iter(apps.items()))


def _expand(path: Path, named: str) -> list[Path]:
    target = path.parent / named
    files = [f for f in sorted(target.rglob("*")) if f.is_file()] if target.is_dir() else [target]
    if not all(f.is_file() for f in files):
        raise _Refusal(f"{path}: App(files=...) names {named!r}, which is not in {path.parent}; put it there")
    return [f.resolve() for f in files]


def _run(app: Any, example: Any, number: int, reads: _Reads, scratch: Path) -> Answer:
    """Run one example in wire form, as the page will, and keep both ends."""
    from onnxlet import wire

    function = app.function(example.function)
    # An example's own files are not the app's data: they travel as its buffers.
    inputs, buffers = wire.encode_inputs(function, app.load(example))
    with reads.watching():
        outputs, output_buffers = asyncio.run(wire.call(app, function.name, inputs, buffers))

    def keep(what: str, contents: list[bytes]) -> list[str]:
        files = [scratch / f"example{number}.{what}{i}" for i in range(len(contents))]
        for file, content in zip(files, contents, strict=True):
            file.write_bytes(content)
        return [str(file) for file in files]

    return {
        "function": example.function,
        "label": example.label,
        "inputs": inputs,
        "buffers": keep("in", buffers),
        "outputs": outputs,
        "output_buffers": keep("out", output_buffers),
    }


def _external_files(model: Path) -> set[str]:
    """Where a model's weights lie beside its file: they travel inside it."""
    import onnx

    if b"location" not in model.read_bytes():
        return set()
    proto = onnx.load_model(str(model), load_external_data=False)
    tensors = onnx.external_data_helper._get_all_tensors(proto)
    used = [t for t in tensors if onnx.external_data_helper.uses_external_data(t)]
    return {
        str((model.parent / entry.value).resolve())
        for t in used
        for entry in t.external_data
        if entry.key == "location"
    }


class _Refusal(Exception):
    """The app breaks a rule of ours: the message says all, no traceback needed."""


def _main(request_path: str) -> None:
    request = json.loads(Path(request_path).read_bytes())
    paths.use_cache(Path(request["cache"]))
    fetch.offline = request["offline"]
    path = Path(request["path"])
    try:
        if request["task"] == "models":
            answer = make_models(path, Path(request["app"]))
        else:
            answer = inspect(path, Path(request["scratch"]))
    except _Refusal as error:
        answer = {"refusal": str(error)}
    except BaseException as error:  # SystemExit too: nothing of the app may end this process without a word
        answer = {"error": {"type": type(error).__name__, "message": str(error), "traceback": _traceback(error, path)}}
    paths.write_whole(Path(request["answer"]), json.dumps(answer).encode())


def _traceback(error: BaseException, path: Path) -> str:
    """The traceback from the app's own file on; whole where that file is not in it (a syntax error)."""
    frames = traceback.extract_tb(error.__traceback__)
    first = next((i for i, frame in enumerate(frames) if Path(frame.filename) == path), None)
    limit = None if first is None else first - len(frames)
    return "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=limit))


if __name__ == "__main__":
    _main(sys.argv[1])
