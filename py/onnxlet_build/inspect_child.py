"""What runs in the app's own process: import the app, run its examples, write down what it used.

Started by `child.py` as ``python -m onnxlet_build.inspect_child REQUEST``, REQUEST being a JSON file that says what to
do and where to write the answer. What the app prints goes to the pipes that the parent reads.
"""

import asyncio
import json
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from onnxlet.app import Example
from onnxlet.errors import BuildError, InvalidInput, OnnxletError
from onnxlet.tokens.definition import Definition
from onnxlet.tokens.portable import refuse_unknown
from onnxlet_build import fetch, paths
from onnxlet_build.folding import fold_app
from onnxlet_build.sources.onnx import external_files
from onnxlet_build.user_code import FeedRecorder, Reads, imported_files, load, watch_sessions

__all__: list[str] = []

Answer = dict[str, Any]

_FROM_FILES = ("image", "drawing", "file", "audio", "table", "tensor")


def inspect(path: Path, scratch: Path) -> Answer:
    """Import an app file, run its examples, and say what it is and what it used."""
    import onnxruntime

    import onnxlet.source
    import onnxlet.tokenizer

    opened: dict[str, None] = {}  # models, in order
    onnxlet.source.watchers.append(lambda source: opened.setdefault(str(source.path)) if source.path else None)
    watch_sessions(onnxruntime.InferenceSession, opened.setdefault)
    tokenizers: list[str] = []
    onnxlet.tokenizer.watchers.append(lambda definition: tokenizers.append(_known_to_the_page(definition)))
    recorder = FeedRecorder(scratch / "feeds")
    recorder.watch()

    reads = Reads()
    with reads.watching():
        module = load(path)
    name, app = _find_app(module, path)
    examples = []
    for number, example in enumerate(app.examples):
        with recorder.example(len(app.examples)):
            examples.append(_run(app, example, number, reads, scratch))
    by_function: dict[str, list[Any]] = {}
    for one in examples:
        buffers = [Path(file).read_bytes() for file in one["buffers"]]
        by_function.setdefault(one["function"], []).append((one["inputs"], buffers))
    direct = fold_app(app, by_function, scratch)
    declared = [str(file) for named in app.files for file in _expand(path, named)]
    schema = app.schema()
    return {
        "object": name,
        "title": app.title,
        "description": app.description,
        "live": schema["live"],
        "cards": schema["cards"],
        "functions": schema["functions"],
        "examples": examples,
        "direct": direct,
        "models": list(opened),
        "tokenizers": bool(tokenizers),
        "samples": recorder.samples,
        "external": sorted(e for model in opened for e in _external_files(Path(model))),
        "reads": sorted(reads.paths | imported_files() | set(declared)),
        "pillow": "PIL" in sys.modules,
    }


def _known_to_the_page(definition: Definition) -> str:
    """The file of a tokenizer, whose every part has an equal in the page."""
    try:
        refuse_unknown(definition)
    except InvalidInput as error:
        raise BuildError(f"{error}; use a tokenizer without it, or leave Tokenizer out of the app file") from error
    return definition.name


def _find_app(module: ModuleType, path: Path) -> tuple[str, Any]:
    from onnxlet.app import App

    apps = {name: value for name, value in vars(module).items() if isinstance(value, App)}
    if "app" in apps:
        return "app", apps["app"]
    if len({id(value) for value in apps.values()}) != 1:
        found = f"{len(apps)}: {', '.join(apps)}" if apps else "none"
        raise BuildError(
            f"{path}: expected one App(...) in a variable `app`, found {found}; write `app = App(function)`"
        )
    return next(iter(apps.items()))


def _expand(path: Path, named: str) -> list[Path]:
    target = path.parent / named
    files = [f for f in sorted(target.rglob("*")) if f.is_file()] if target.is_dir() else [target]
    if not all(f.is_file() for f in files):
        raise BuildError(f"{path}: App(files=...) names {named!r}, which is not in {path.parent}; put it there")
    return [f.resolve() for f in files]


def _run(app: Any, example: Any, number: int, reads: Reads, scratch: Path) -> Answer:
    """Run one example in wire form, as the page will, and keep both ends."""
    from onnxlet import wire

    function = app.function(example.function)
    # An example's own files are not the app's data: they travel as its buffers.
    try:
        inputs, buffers = wire.encode_inputs(function, app.load(example))
    except InvalidInput as error:
        raise BuildError(f'example "{example.label}" of {function.name}: {error}; correct App(examples=...)') from error
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


def feed(path: Path, scratch: Path, model: str, files: list[str]) -> Answer:
    """Give files to the app's first function, one each, and record what it feeds a model.

    Raises: BuildError: the function takes no file, or cannot take one of these.
    """
    recorder = FeedRecorder(scratch / "feeds", most=len(files))
    recorder.watch()
    _, app = _find_app(load(path), path)
    function = app.function()
    taker = next((param.name for param in function.inputs if param.kind in _FROM_FILES), None)
    if taker is None:
        raise BuildError(f"{path}: {function.name} takes no file; give its model's inputs as .npz files")
    for file in files:
        with recorder.example(len(files)):
            try:
                asyncio.run(app.acall(function.name, app.load(Example(function.name, file, {taker: Path(file)}))))
            except OnnxletError as error:
                raise BuildError(f"{file}: {function.name} does not take it ({error})") from error
    return {"samples": recorder.samples.get(model, [])}


def _external_files(model: Path) -> set[str]:
    """Where a model's weights lie beside its file: they travel inside it."""
    return {str((model.parent / name).resolve()) for name in external_files(model.read_bytes())}


def _answer(request: dict[str, Any]) -> Answer:
    from onnxlet_build import model_child

    path, scratch = Path(request["path"]), Path(request["scratch"])
    match request["task"]:
        case "models":
            return model_child.make_models(path, Path(request["app"]), scratch)
        case "samples":
            return model_child.write_samples(path, request["names"], scratch)
        case "score":
            return model_child.score(path, request["name"], request["models"])
        case "feed":
            return feed(path, scratch, request["model"], request["files"])
    return inspect(path, scratch)


def _main(request_path: str) -> None:
    request = json.loads(Path(request_path).read_bytes())
    paths.use_cache(Path(request["cache"]))
    fetch.offline = request["offline"]
    path = Path(request["path"])
    try:
        answer = _answer(request)
    except BuildError as error:  # its message says all, no traceback needed
        text = str(error)
        answer = {"refusal": text if text.startswith(str(path.parent)) else f"{path.parent.name}/{path.name}: {text}"}
    except BaseException as error:  # SystemExit too: nothing of the app may end this process without a word
        answer = {"error": _described(error, path)}
    paths.write_whole(Path(request["answer"]), json.dumps(answer).encode())


def _described(error: BaseException, path: Path) -> dict[str, Any]:
    """An error, its line in the person's file, and the traceback from there on; whole where it is not in that file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [i for i, frame in enumerate(frames) if Path(frame.filename) == path]
    limit = own[0] - len(frames) if own else None
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__, limit=limit))
    line = frames[own[-1]].lineno if own else None
    return {"type": type(error).__name__, "message": str(error), "traceback": text, "line": line}


if __name__ == "__main__":
    _main(sys.argv[1])
