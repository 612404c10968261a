"""An app file in parts, and the whole of it as a person would have written it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Draft", "brackets", "call", "quoted"]

_LINE = 120


@dataclass(slots=True)
class Draft:
    """What a task writes.

    Args:
        about: what the app does, the file's first line, without a full stop.
        function: source of the function that visitors call; "" where a task makes it.
        name: its name, or what a task gives: "*predictor.functions()".
        setup: lines before it, such as the session and the task.
        imports: names by module; () where the module itself is imported.
        examples: values of the function's parameters: file names and texts; a tuple for several parameters.
        named_examples: source of the examples instead, where there are several functions.
        files: what lies beside the app, by name, without the model.
        notes: sentences that the person should read: what was assumed.
    """

    about: str
    function: str
    name: str
    setup: list[str] = field(default_factory=list)
    imports: dict[str, tuple[str, ...]] = field(default_factory=dict)
    examples: list[Any] = field(default_factory=list)
    named_examples: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def use(self, module: str, *names: str) -> None:
        """Import a module, or names of one."""
        self.imports[module] = tuple(sorted({*self.imports.get(module, ()), *names}, key=_as_sorted))

    def open_session(self, model: str, variable: str = "session") -> None:
        """Lines that open a model beside the app."""
        self.use("pathlib", "Path")
        self.use("onnxlet", "InferenceSession")
        if not self.setup:
            self.setup.append("HERE = Path(__file__).parent")
        self.setup.append(f"{variable} = InferenceSession(HERE / {quoted(model)})")

    def text(self, title: str) -> str:
        """The app file."""
        self.use("onnxlet", "App")
        arguments = [self.name, f"title={quoted(title)}"]
        if self.examples:
            arguments.append(brackets("examples=[", [_written(one, 8) for one in self.examples], "]", 4, after=1))
        if self.named_examples:
            arguments.append(f"examples={self.named_examples}")
        last = call("app = App", arguments)
        about = self.about.replace("\\", "\\\\").replace('"""', "'''")
        head = f'"""{about}{"" if about.endswith("?") else "."}"""'
        setup = "\n".join(self.setup)
        function = f"\n\n{self.function.strip()}\n\n" if self.function else ""
        return f"{head}\n\n{self._imports()}\n\n{setup}\n{function}\n{last}\n"

    def _imports(self) -> str:
        """In groups: the standard library, others, ours."""
        groups: tuple[list[str], list[str], list[str]] = ([], [], [])
        for module, names in sorted(self.imports.items(), key=lambda item: (bool(item[1]), item[0])):
            root = module.partition(".")[0].partition(" ")[0]
            group = groups[0 if root in sys.stdlib_module_names else 2 if root == "onnxlet" else 1]
            group.append(brackets(f"from {module} import ", names, "", 0) if names else f"import {module}")
        return "\n\n".join("\n".join(group) for group in groups if group)


def _as_sorted(name: str) -> tuple[int, str]:
    """As import sorters have it: constants, classes, functions."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def _written(value: Any, indent: int) -> str:
    """A value as Python source, its first line behind `indent` spaces and a comma behind its last."""
    if isinstance(value, tuple) and len(value) > 1:
        return brackets("(", [_written(one, indent + 4) for one in value], ")", indent, after=1)
    if isinstance(value, tuple):
        return f"({_written(value[0], indent)},)"
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """A text as Python source, in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def call(function: str, arguments: Sequence[str], indent: int = 0) -> str:
    """A call, on one line where it fits."""
    return brackets(f"{function}(", arguments, ")", indent)


def brackets(start: str, items: Sequence[str], end: str, indent: int, *, line: int = _LINE, after: int = 0) -> str:
    """Items between brackets: on one line where they fit, else on one more, else one a line.

    Args:
        indent: of the line that `start` is on.
        after: how many characters follow `end` on its line.
    """
    margin = " " * indent
    one = f"{start}{', '.join(items)}{end}"
    if indent + len(one) + after <= line and "\n" not in one:
        return one
    if not end:  # an import list gets brackets only where it needs them
        start, end = f"{start}(", ")"
    return f"{start}\n" + "".join(f"{margin}    {item},\n" for item in items) + f"{margin}{end}"
