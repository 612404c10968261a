"""An app: functions whose signatures are forms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from . import growing
from .card import Cards, read_cards
from .errors import InvalidInput
from .form import Function, Param, read_function
from .media.npy import read_npy
from .media.source import Source, read
from .records import dataclass
from .source import caller_folder
from .values import Audio, Drawing, File, Image, Table

__all__ = ["App", "Example"]

Examples = Sequence[Any] | Mapping[str, Sequence[Any] | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Example:
    """Values that fill a function's form with one click, as the app file wrote them.

    Args:
        function: the function's name.
        label: what its button says.
        values: by parameter; paths where the parameter is a file of some kind.
    """

    function: str
    label: str
    values: Mapping[str, Any]


class App:
    """What a page offers.

    Args:
        functions: each with annotated parameters; docs/architecture.md has the table of annotations. ``async def`` too,
            and generators, whose every value takes the place of the one before. Their names must differ.
        title: of the page; the first function's name in words otherwise.
        description: below the title; the first function's docstring otherwise.
        examples: of the first function, or a mapping from function name. One is a single value (the first parameter's),
            a tuple or list (in order of parameters), or a dict (by parameter). For files: paths beside the app file.
            A mapping in place of a function's list gives each example a label of its own.
        files: paths of data files (or folders) that the app reads only while running, beside the app file.
        live: run again at every change of an input; cameras and microphones stay open, and the function is called with
            what they give as often as it answers. True, or the names of the functions that this goes for.
        card: what the page tells of the model, or of several.
    Raises: InvalidInput: a declaration that makes no form; it says what is known.
    """

    def __init__(
        self,
        *functions: Callable[..., Any],
        title: str = "",
        description: str = "",
        examples: Examples = (),
        files: Sequence[str] = (),
        live: bool | Sequence[str] = False,
        card: Cards = None,
    ) -> None:
        if not functions:
            raise InvalidInput("App: expected at least one function, got none")
        self.functions: dict[str, Function] = {}
        for call in functions:
            function = read_function(call)
            if function.name in self.functions:
                raise InvalidInput(f'App: two functions are named "{function.name}"; rename one')
            self.functions[function.name] = function
        first = next(iter(self.functions.values()))
        self.title = title or first.title
        self.description = description or (first.doc if len(self.functions) == 1 else "")
        self.files = tuple(str(file) for file in files)
        self.live = self._live(live)
        self.cards = read_cards(card)
        self.folder = _folder(first.call)
        self.examples = self._examples(examples)

    def function(self, name: str | None = None) -> Function:
        """A function by name, or the first one."""
        if name is None:
            return next(iter(self.functions.values()))
        if name not in self.functions:
            raise InvalidInput(f'App: no function "{name}"; it has {", ".join(self.functions)}')
        return self.functions[name]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the first function, as it is: an async one gives an awaitable, a generator function its generator."""
        return self.function().call(*args, **kwargs)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function of this name, as it is."""
        return self.function(name).call

    async def acall(self, name: str, values: Mapping[str, Any] | Sequence[Any]) -> Any:
        """Call a function, await it where it is async, and run a generator to its end.

        Args:
            values: by parameter name, or in order of parameters.
        Returns: what it returns; of a generator the last value.
        Raises: InvalidInput: a name that is no parameter, too many values, or a generator without any; and what the
            function raises.
        """
        return await growing.last(await self.begin(name, values), name)

    async def begin(self, name: str, values: Mapping[str, Any] | Sequence[Any]) -> Any:
        """The same, but a generator is given back before it begins: see `onnxlet.growing.each`."""
        function = self.function(name)
        given = _by_name(function, values)
        positional, keywords = [], {}
        skipped = False
        for param in function.inputs:
            if param.name not in given:
                skipped = True
            elif param.keyword_only or skipped:
                keywords[param.name] = given[param.name]
            else:
                positional.append(given[param.name])
        result = function.call(*positional, **keywords)
        return await result if inspect.isawaitable(result) else result

    def load(self, example: Example) -> dict[str, Any]:
        """The native values of an example, its files opened.

        Raises: InvalidInput: a file that is not there or cannot be read, a value that its parameter cannot have.
        """
        function = self.function(example.function)
        params = {param.name: param for param in function.inputs}
        return {name: _native(params[name], value, self.folder) for name, value in example.values.items()}

    def schema(self) -> dict[str, Any]:
        """Everything that the page's form needs, as JSON values."""
        return {
            "title": self.title,
            "description": self.description,
            "live": bool(self.live),
            "cards": [asdict(card) for card in self.cards],
            "functions": [{**f.schema(), "live": f.name in self.live} for f in self.functions.values()],
        }

    def _live(self, live: bool | Sequence[str]) -> tuple[str, ...]:
        if isinstance(live, bool):
            return tuple(self.functions) if live else ()
        names = (live,) if isinstance(live, str) else tuple(live)
        return tuple(self.function(name).name for name in names)

    def _examples(self, examples: Examples) -> tuple[Example, ...]:
        if isinstance(examples, (str, bytes)) or not isinstance(examples, (Sequence, Mapping)):
            raise InvalidInput(f"App: expected examples as a list, got {type(examples).__name__}")
        by_function = examples if isinstance(examples, Mapping) else {self.function().name: examples}
        found = []
        for name, some in by_function.items():
            function = self.function(name)
            labelled = some.items() if isinstance(some, Mapping) else [("", values) for values in some]
            for number, (label, values) in enumerate(labelled, 1):
                found.append(_example(function, values, number, str(label)))
        return tuple(found)

    def __repr__(self) -> str:
        return f"<App {self.title!r}: {', '.join(self.functions)}>"


def _folder(call: Callable[..., Any]) -> Path:
    """Where the app file lies: where its function was written, or for a function of a task's where the App was made."""
    code = getattr(inspect.unwrap(call), "__code__", None)
    path = Path(code.co_filename).resolve() if code else Path()
    if path.is_relative_to(Path(__file__).resolve().parent):
        return caller_folder()
    return path.parent if path.is_file() else Path.cwd()


def _by_name(function: Function, values: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    names = [param.name for param in function.inputs]
    if isinstance(values, Mapping):
        if unknown := [name for name in values if name not in names]:
            raise InvalidInput(f'{function.name}: no parameter "{unknown[0]}"; it has {", ".join(names) or "none"}')
        return dict(values)
    if len(values) > len(names):
        raise InvalidInput(f"{function.name}: expected at most {len(names)} values, got {len(values)}")
    return dict(zip(names, values, strict=False))


def _example(function: Function, values: Any, number: int, label: str) -> Example:
    try:
        given = _by_name(function, values if isinstance(values, (dict, tuple, list)) else [values])
    except InvalidInput as error:
        raise InvalidInput(f"example {number}: {error}") from None
    if missing := [param.name for param in function.inputs if param.required and param.name not in given]:
        raise InvalidInput(f'example {number} of {function.name}: no value for "{missing[0]}"')
    label = label or ", ".join(text for value in given.values() if (text := _label(value)))
    return Example(function.name, label or f"Example {number}", given)


def _label(value: Any) -> str:
    if isinstance(value, (str, Path)):
        text = Path(value).name if isinstance(value, Path) or _looks_like_path(value) else str(value)
        return text if len(text) <= 40 else text[:39] + "…"
    return str(value) if isinstance(value, (int, float)) else getattr(value, "name", "")


def _looks_like_path(text: str) -> bool:
    return "\n" not in text and len(text) < 256 and "/" in text and bool(Path(text).suffix)


def _native(param: Param, value: Any, folder: Path) -> Any:
    """A value as the function would get it from the form."""
    where = f'example value of "{param.name}"'
    if value is None:
        return None
    if param.kind == "choice":
        return param.members[value] if isinstance(value, str) and value in param.members else value
    if param.kind not in ("image", "drawing", "file", "audio", "table", "tensor"):
        return value
    try:
        return _open(param, value, folder)
    except OSError as error:
        raise InvalidInput(f"{where}: {error}; paths are relative to {folder}") from None


def _open(param: Param, value: Any, folder: Path) -> Any:
    if isinstance(value, (str, Path)):
        value = _find(Path(value), folder)
    elif not isinstance(value, (bytes, bytearray)):
        if isinstance(value, np.ndarray) and param.kind in ("image", "drawing"):
            return param.type.from_array(value)
        return value
    source: Source = value
    if param.kind == "tensor":
        return read_npy(*read(source))
    if param.type is bytes:
        return read(source)[0]
    cls: type[Image] | type[Drawing] | type[File] | type[Audio] | type[Table] = param.type
    return cls.open(source)


def _find(path: Path, folder: Path) -> Path:
    """As given in the working directory, else beside the app file: where models are looked for too."""
    return path if path.is_absolute() or path.exists() else folder / path
