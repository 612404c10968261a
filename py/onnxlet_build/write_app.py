"""An app for a model that came alone: a few lines that run, for the person to copy and edit."""

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import onnxlet
from onnxlet import Image
from onnxlet.dtypes import Array, DataType, from_ort_type
from onnxlet.errors import BuildError, OnnxletError
from onnxlet.media.npy import write_npy
from onnxlet.source import ModelSource, NodeArg
from onnxlet.tasks import Recognized

from . import sources
from .convert import random_feeds
from .paths import write_whole
from .progress import Reporter
from .samples import Feeds
from .sources.yolo import LABELS, detector, labelled

__all__ = ["write_app"]

_LINE = 80
_SIZES = (64, 224, 16, 8, 1)  # tried for open dimensions of a made-up example
_TAKEN = {"App", "Annotated", "InferenceSession", "Json", "Tensor", "app", "np", "run", "session"}

_DETECT = '''\
"""{title}: find things in a picture."""

{imports}

HERE = Path(__file__).parent
session = InferenceSession(HERE / "{model}")
{setup}

def detect(image: Image, threshold: Annotated[float, Number(min=0, max=1, step=0.05)] = {threshold}) -> Boxes:
    """Which things are there? Boxes score more than the threshold."""
    return detector(image, threshold)


app = App(detect, title="{title}", examples=["example.png"])
'''

_RUN = '''\
"""{title}, run on tensors."""

from typing import Annotated

import numpy as np

from onnxlet import {names}

session = InferenceSession("{model}")


def run({parameters}) -> {returns}:
    """Run the model on .npy files."""
    feeds = {feeds}
    {results} = session.run({outputs}, feeds)
    return {values}


app = App(run, title="{title}"{examples})
'''


def write_app(path: Path, folder: Path, report: Reporter) -> Path:
    """Export a model and write an app file that runs it, with one example.

    Detectors get a picture and show boxes; every other model takes .npy files and shows tensors.

    Args:
        path: what `sources.open_file` takes: a model's file or folder, or a Hugging Face id.
        folder: where the app, the model and what goes along are written; made where it is missing.
    Returns: the app file.
    Raises: BuildError: the model cannot be exported, or the folder has another app file already.
    """
    stem = re.sub(r"[^\w.-]+", "-", path.name if path.is_dir() else path.stem).strip("-.") or "model"
    name = f"{stem}.onnx"
    with report.step(f"Exporting {path}"):
        made = labelled(sources.export(path, name))
    for text in (made.verified, *made.notes):
        report.note(f"{name}: {text}")
    found = detector(made)
    if found:
        report.note(f"{name}: its example is a drawing; put pictures of yours there, which variants are judged by")
    text, examples = _detect(made, found, stem, name) if found else _run(made, stem, name, report)
    app = folder / "app.py"
    if app.is_file() and app.read_text(encoding="utf-8") != text:
        raise BuildError(f"{app}: is there already, and not what would be written; build it, or give another folder")
    for file, content in {**made.files, **examples, name: made.data, "app.py": text.encode()}.items():
        target = folder / file
        if not target.is_file() or target.read_bytes() != content:
            write_whole(target, content)
    return app


def _detect(made: sources.Export, found: Recognized, title: str, model: str) -> tuple[str, Mapping[str, bytes]]:
    arguments, setup, imports = f'session, head="{found.head}"', "", ["from pathlib import Path"]
    tasks, threshold = "ObjectDetector", 0.25
    if LABELS in made.files:
        setup += f'labels = (HERE / "{LABELS}").read_text(encoding="utf-8").splitlines()\n'
        arguments += ", names=labels"
    if "preprocessor_config.json" in made.files:
        setup += 'config = json.loads((HERE / "preprocessor_config.json").read_text(encoding="utf-8"))\n'
        arguments += ", image=ImageInput.from_config(config)"
        imports, tasks, threshold = ["import json", *imports], "ImageInput, ObjectDetector", 0.5
    setup += f"detector = ObjectDetector({arguments})\n"
    imports += ["from typing import Annotated", "", "from onnxlet import App, Boxes, Image, InferenceSession, Number"]
    imports += [f"from onnxlet.tasks import {tasks}"]
    fill: dict[str, Any] = {"title": title, "model": model, "setup": setup, "threshold": threshold}
    return _DETECT.format(imports="\n".join(imports), **fill), {"example.png": _picture().to_png()}


def _picture() -> Image:
    """A still life of a ball on a table, 320 x 240: something for the page to show before a visitor's own picture."""
    y, x = np.mgrid[0:240, 0:320].astype(np.float32)
    scene = np.stack([150 + 0.2 * y, 170 + 0.1 * y, 200 - 0.1 * y], axis=2)
    scene[170:] = np.stack([120 + 0.1 * x, 85 + 0.05 * x, 55 + 0 * x], axis=2)[170:]
    inside = (x - 150) ** 2 + (y - 140) ** 2 < 60**2
    light = np.clip(1.1 - np.hypot(x - 130, y - 115) / 110, 0.1, 1)[..., None]
    scene = np.where(inside[..., None], light * [230, 70, 50], scene)
    return Image(np.clip(scene, 0, 255).astype(np.uint8))


def _run(made: sources.Export, title: str, model: str, report: Reporter) -> tuple[str, Mapping[str, bytes]]:
    signature = ModelSource(made.data, name=model).signature()
    inputs = _identifiers(signature.inputs)
    sample = made.samples[0] if made.samples else _sample(made.data)
    if sample is None:
        report.note(f"{model}: no example, since random inputs of no guessed size run; give the app one of yours")
    elif not made.samples:
        report.note(f"{model}: its example is random numbers; put real inputs there, which variants are judged by")
    files = {f"{word}.npy": _npy(sample[name]) for name, word in inputs.items()} if sample else {}
    outputs = _identifiers(signature.outputs)
    kinds = [_output(arg) for arg in signature.outputs]
    names = ["App", "InferenceSession", *(["Field", "Json"] if "Json" in str(kinds) else []), "Tensor"]
    text = _RUN.format(
        title=title,
        names=", ".join(sorted(names)),
        model=model,
        parameters=_lines("", [f"{inputs[a.name]}: {_input(a, inputs[a.name])}" for a in signature.inputs], "", 0),
        returns=kinds[0] if len(kinds) == 1 else _lines("tuple[", kinds, "]", 0),
        results=f"({', '.join(outputs.values())},)" if len(kinds) == 1 else ", ".join(outputs.values()),
        outputs=_lines("[", [_quoted(name) for name in outputs], "]", 4),
        feeds=_lines("{", [f"{_quoted(name)}: {word}" for name, word in inputs.items()], "}", 4),
        values=", ".join(outputs.values()),
        examples=f", examples=[({', '.join(map(_quoted, files))}{',' * (len(files) == 1)})]" if files else "",
    )
    return text, files


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _lines(start: str, items: Sequence[str], end: str, indent: int) -> str:
    """Items on one line where they fit, else one a line."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= _LINE:
        return line
    margin = " " * indent
    return f"{start}\n" + "".join(f"{margin}    {item},\n" for item in items) + f"{margin}{end}"


def _sample(data: bytes) -> Feeds | None:
    """Random inputs that run, of one row where the first axis is open; None where no guessed size runs."""
    session = onnxlet.InferenceSession(data, providers=["CPUExecutionProvider", "NumpyExecutionProvider"])
    batched = [arg.name for arg in session.get_inputs() if len(arg.shape) > 1 and not isinstance(arg.shape[0], int)]
    for size in _SIZES:
        feeds = random_feeds(session, size)
        for tried in ({**feeds, **{name: feeds[name][:1] for name in batched}}, feeds):
            try:
                session.run(None, tried)
            except OnnxletError:
                continue
            return tried
    return None


def _npy(array: Array) -> bytes:
    return write_npy(array.astype(str) if array.dtype.kind == "O" else array)


def _identifiers(args: tuple[NodeArg, ...]) -> dict[str, str]:
    """A Python name for each input or output; none hides what the app file uses."""
    names: dict[str, str] = {}
    for arg in args:
        word = re.sub(r"\W+", "_", arg.name).strip("_") or "x"
        word = f"x_{word}" if word[0].isdigit() else word
        word = f"{word}_" if keyword.iskeyword(word) or word in _TAKEN else word
        number, plain = 2, word
        while word in names.values():
            word, number = f"{plain}_{number}", number + 1
        names[arg.name] = word
    return names


def _input(arg: NodeArg, word: str) -> str:
    if not arg.type.startswith("tensor("):
        raise BuildError(f'input "{arg.name}" is {arg.type}, which no form asks for; write an app file that makes it')
    options = [] if word == arg.name else [f"label={_quoted(arg.name)}"]
    if from_ort_type(arg.type) != DataType.STRING:
        options.append(f'dtype="{from_ort_type(arg.type).numpy}"')
    options.append(f"shape={[size if isinstance(size, int) else None for size in arg.shape]}")
    return f"Annotated[np.ndarray, Tensor({', '.join(options)})]"


def _output(arg: NodeArg) -> str:
    kind = "np.ndarray, Tensor" if arg.type.startswith("tensor(") else "Json, Field"
    return f"Annotated[{kind}(label={_quoted(arg.name)})]"
