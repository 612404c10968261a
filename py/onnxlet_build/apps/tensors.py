"""An app for any model: .npy files in, tensors out."""

import keyword
import re

import onnxlet
from onnxlet.dtypes import Array, DataType, from_ort_type
from onnxlet.errors import BuildError, OnnxletError
from onnxlet.media.npy import write_npy
from onnxlet.source import NodeArg

from ..convert import random_feeds
from ..samples import Feeds
from .draft import Draft, quoted
from .files import add_examples
from .subject import Subject

__all__ = ["tensors"]

_WIDTH = 80  # of lists: one entry a line reads better than a long line
_SIZES = (64, 224, 16, 8, 1)  # tried for open dimensions of a made-up example
_TAKEN = {"App", "Annotated", "HERE", "InferenceSession", "Json", "Path", "Tensor", "app", "np", "run", "session"}

_RUN = '''\
def run({parameters}) -> {returns}:
    """Run the model on .npy files."""
    feeds = {feeds}
    {results} = session.run({outputs}, feeds)
    return {values}
'''


def tensors(subject: Subject) -> Draft:
    """Inputs and outputs by the model's own signature."""
    signature = subject.signature
    inputs, outputs = _identifiers(signature.inputs), _identifiers(signature.outputs)
    kinds = [_output(arg) for arg in signature.outputs]
    function = _RUN.format(
        parameters=_lines("", [f"{inputs[a.name]}: {_input(a, inputs[a.name])}" for a in signature.inputs], "", 0),
        returns=kinds[0] if len(kinds) == 1 else _lines("tuple[", kinds, "]", 0),
        results=f"({', '.join(outputs.values())},)" if len(kinds) == 1 else ", ".join(outputs.values()),
        outputs=_lines("[", [quoted(name) for name in outputs], "]", 4),
        feeds=_lines("{", [f"{quoted(name)}: {word}" for name, word in inputs.items()], "}", 4),
        values=", ".join(outputs.values()),
    )
    draft = Draft(f"{subject.title}, run on tensors", function, "run")
    draft.use("typing", "Annotated")
    draft.use("numpy as np")
    draft.use("onnxlet", "Tensor", *(["Field", "Json"] if "Json" in str(kinds) else []))
    draft.open_session(subject.model)
    _examples(draft, subject, inputs)
    return draft


def _examples(draft: Draft, subject: Subject, inputs: dict[str, str]) -> None:
    """The person's files, a file an input; else what the source was exported with; else random numbers that run."""
    if subject.wanted.example:
        if len(subject.wanted.example) % len(inputs):
            raise BuildError(
                f"--example: got {len(subject.wanted.example)} files for {len(inputs)} inputs ({', '.join(inputs)}); "
                "give a .npy file for each, in this order"
            )
        add_examples(draft, subject.wanted.example)
        files = iter(draft.examples)
        draft.examples = list(zip(*[files] * len(inputs), strict=True))
        return
    sample = subject.made.samples[0] if subject.made.samples else _sample(subject.made.data)
    if sample is None:
        draft.notes.append("has no example, since random inputs of no guessed size run; give one by --example")
        return
    if not subject.made.samples:
        draft.notes.append("its example is random numbers; give real inputs by --example, which variants are judged by")
    draft.files |= {f"{word}.npy": _npy(sample[name]) for name, word in inputs.items()}
    draft.examples.append(tuple(f"{word}.npy" for word in inputs.values()))


def _lines(start: str, items: list[str], end: str, indent: int) -> str:
    one = f"{start}{', '.join(items)}{end}"
    if len(one) <= _WIDTH:
        return one
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
    options = [] if word == arg.name else [f"label={quoted(arg.name)}"]
    if from_ort_type(arg.type) != DataType.STRING:
        options.append(f'dtype="{from_ort_type(arg.type).numpy}"')
    options.append(f"shape={[size if isinstance(size, int) else None for size in arg.shape]}")
    return f"Annotated[np.ndarray, Tensor({', '.join(options)})]"


def _output(arg: NodeArg) -> str:
    kind = "np.ndarray, Tensor" if arg.type.startswith("tensor(") else "Json, Field"
    return f"Annotated[{kind}(label={quoted(arg.name)})]"
