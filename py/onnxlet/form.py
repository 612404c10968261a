"""Read a function's signature into a form: what is asked for, and what is shown.

The schema that results is described in docs/architecture.md, "Form schema".
"""

from __future__ import annotations

import enum
import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Union

import numpy as np

from . import growing
from .errors import InvalidInput
from .records import dataclass, field
from .values import (
    Audio,
    Boxes,
    Choice,
    Drawing,
    Field,
    File,
    Image,
    Json,
    Labels,
    Mask,
    Number,
    Spans,
    Table,
    Tensor,
    Text,
)
from .values.fields import OPTIONS

__all__ = ["Function", "Output", "Param", "read_function"]

_EMPTY = inspect.Parameter.empty

_INPUT_KINDS: dict[Any, str] = {
    Drawing: "drawing",
    Image: "image",
    str: "text",
    Text: "text",
    int: "number",
    float: "number",
    Number: "number",
    bool: "toggle",
    Choice: "choice",
    bytes: "file",
    File: "file",
    Audio: "audio",
    Table: "table",
    Tensor: "tensor",
    np.ndarray: "tensor",
}
_OUTPUT_KINDS: dict[Any, str] = {
    Labels: "labels",
    Image: "image",
    Drawing: "image",
    Boxes: "boxes",
    Mask: "mask",
    Spans: "spans",
    str: "text",
    Text: "text",
    Table: "table",
    Audio: "audio",
    Json: "json",
    Tensor: "tensor",
    np.ndarray: "tensor",
}
KNOWN = (
    "Image, Drawing, Text, Number, Choice, File, Audio, Table, Tensor, str, int, float, bool, bytes, Literal[...], "
    "an Enum, numpy.ndarray, list and dict (written as JSON), each of them Optional, and Annotated[..., options]"
)
_DRAWING = {"width": 280, "height": 280, "stroke": 20, "ink": 255, "paper": 0}


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of an app function.

    Args:
        kind: as the table in docs/architecture.md names it.
        type: the Python class of the value that the function gets.
        optional: None is a value of it.
        default: what the function gets when nothing is given; `inspect.Parameter.empty` if it must be given.
        members: of a choice, the value behind each text.
    """

    name: str
    label: str
    kind: str
    type: Any
    optional: bool
    default: Any
    options: Mapping[str, Any]
    members: Mapping[str, Any] = field(default_factory=dict)
    keyword_only: bool = False

    @property
    def required(self) -> bool:
        return self.default is _EMPTY and not self.optional

    def schema(self) -> dict[str, Any]:
        """The parameter in the form schema, as JSON values."""
        return {
            "name": self.name,
            "label": self.label,
            "kind": self.kind,
            "required": self.required,
            "default": self._default(),
            "options": dict(self.options),
        }

    def _default(self) -> Any:
        """The default where the form can show it, else None."""
        if self.default is _EMPTY or self.default is None:
            return None
        if self.kind == "choice":
            return next((text for text, value in self.members.items() if value == self.default), None)
        if self.kind == "number" and isinstance(self.default, int) and abs(self.default) > 2**53:
            return str(self.default)
        return (
            self.default if self.kind in ("text", "number", "toggle") and self.type in (str, int, float, bool) else None
        )


@dataclass(frozen=True, slots=True)
class Output:
    """One thing that a function shows. Kind "auto" (no annotation) means that each value's own type decides."""

    label: str
    kind: str

    def schema(self) -> dict[str, Any]:
        return {"label": self.label, "kind": self.kind, "options": {}}


@dataclass(frozen=True, slots=True)
class Function:
    """An app function, its form and its outputs."""

    name: str
    title: str
    doc: str
    call: Callable[..., Any]
    inputs: tuple[Param, ...]
    outputs: tuple[Output, ...]

    @property
    def is_async(self) -> bool:
        return growing.is_async(self.call)

    def schema(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "title": self.title,
            "doc": self.doc,
            "async": self.is_async,
            "inputs": [param.schema() for param in self.inputs],
            "outputs": [output.schema() for output in self.outputs],
        }


def read_function(call: Callable[..., Any]) -> Function:
    """Read a function's parameters, annotations, defaults and docstring.

    Raises: InvalidInput: a parameter without annotation or with an unknown one, options that its kind does not have.
    """
    if not callable(call):
        raise InvalidInput(f"App: expected functions, got {type(call).__name__}")
    name = getattr(call, "__name__", type(call).__name__)
    try:
        hints = typing.get_type_hints(call if hasattr(call, "__code__") else type(call).__call__, include_extras=True)
    except (AttributeError, NameError, SyntaxError, TypeError) as error:
        raise InvalidInput(f"{name}: {error}; an annotation cannot be read; known are {KNOWN}") from error
    params = [_param(name, p, hints.get(p.name, _EMPTY)) for p in inspect.signature(call).parameters.values()]
    return Function(
        name=name,
        title=_words(name),
        doc=inspect.getdoc(call) or "",
        call=call,
        inputs=tuple(params),
        outputs=_outputs(growing.element(hints.get("return", _EMPTY), call)),
    )


def _param(function: str, parameter: inspect.Parameter, hint: Any) -> Param:
    where = f'{function}: parameter "{parameter.name}"'
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise InvalidInput(f"{where}: * and ** make no form; name each parameter")
    if hint is _EMPTY:
        raise InvalidInput(f"{where}: expected an annotation, got none; known are {KNOWN}")
    hint, optional, fields = _unwrap(hint)
    kind, value_type, options, members = _input_kind(where, hint)
    if value_type is str and any(one.kind == "choice" for one in fields):
        kind = "choice"
    label = None
    for one in fields:
        label = one.label or label
        if one.kind and one.kind != kind:
            raise InvalidInput(f"{where}: {type(one).__name__}(...) describes {one.kind}, and the annotation is {kind}")
        if unknown := sorted(set(one.options) - set(OPTIONS[kind])):
            raise InvalidInput(
                f"{where}: {kind} has no option {', '.join(unknown)}; it has {', '.join((*OPTIONS[kind], 'label'))}"
            )
        for name in ("frame_px", "chunk_s"):
            if name in one.options and not one.options[name] > 0:
                raise InvalidInput(f"{where}: expected {name} above 0, got {one.options[name]}")
        options.update(one.options)
    if kind == "number":
        value_type = int if options.get("integer") else value_type
        options["integer"] = value_type is int
    if kind == "choice":
        members = members or {choice: choice for choice in options.get("choices", ())}
        if not members or len(members) != len(options["choices"]):
            raise InvalidInput(f"{where}: expected choices, all different, got {options.get('choices', [])}")
    param = Param(
        name=parameter.name,
        label=label or _words(parameter.name),
        kind=kind,
        type=value_type,
        optional=optional,
        default=parameter.default,
        options=options,
        members=members,
        keyword_only=parameter.kind is parameter.KEYWORD_ONLY,
    )
    _check_default(where, param)
    return param


def _unwrap(hint: Any) -> tuple[Any, bool, list[Field]]:
    """Take Annotated and Optional off an annotation."""
    optional = False
    fields: list[Field] = []
    while True:
        if typing.get_origin(hint) is Annotated:
            hint, *extras = typing.get_args(hint)
            fields = [extra for extra in extras if isinstance(extra, Field)] + fields
        elif typing.get_origin(hint) in (Union, types.UnionType) and type(None) in typing.get_args(hint):
            optional = True
            rest = [arg for arg in typing.get_args(hint) if arg is not type(None)]
            hint = functools.reduce(operator.or_, rest)
        elif isinstance(hint, Field):
            fields.append(hint)
            hint = type(hint)
        else:
            return hint, optional, fields


def _input_kind(where: str, hint: Any) -> tuple[str, Any, dict[str, Any], dict[str, Any]]:
    """Kind, Python type of the value, options and choice members of a bare annotation."""
    origin = typing.get_origin(hint) or hint
    if origin is Literal:
        return _choice({str(value): value for value in typing.get_args(hint)}, len(typing.get_args(hint)), where)
    if isinstance(origin, type) and issubclass(origin, enum.Enum):
        texts = {str(m.value) if isinstance(m.value, str) else m.name: m for m in origin}
        return _choice(texts, len(origin), where)
    if origin in (list, tuple, dict):
        return "text", origin, {"format": "json", "lines": 4}, {}
    if isinstance(origin, type) and origin in _INPUT_KINDS:
        kind = _INPUT_KINDS[origin]
        value_type = {Text: str, Number: float, Choice: str, Tensor: np.ndarray}.get(origin, origin)
        return kind, value_type, dict(_DRAWING) if kind == "drawing" else {}, {}
    raise InvalidInput(f"{where}: unknown annotation {_name(hint)}; known are {KNOWN}")


def _choice(members: dict[str, Any], count: int, where: str) -> tuple[str, Any, dict[str, Any], dict[str, Any]]:
    if len(members) != count:
        raise InvalidInput(f"{where}: two choices have the same text; make them differ")
    return "choice", str, {"choices": list(members)}, members


def _check_default(where: str, param: Param) -> None:
    if param.default is _EMPTY or param.default is None:
        return
    if param.kind == "choice" and param.default not in param.members.values():
        raise InvalidInput(f"{where}: default {param.default!r} is none of {', '.join(param.members)}")
    low, high = param.options.get("min"), param.options.get("max")
    if param.kind == "number" and not (
        (low is None or low <= param.default) and (high is None or param.default <= high)
    ):
        raise InvalidInput(f"{where}: default {param.default!r} is outside {low} .. {high}")


def _outputs(hint: Any) -> tuple[Output, ...]:
    if hint is _EMPTY:
        return (Output("Result", "auto"),)
    bare, _, fields = _unwrap(hint)
    if bare is None or bare is type(None):
        return ()
    args = typing.get_args(bare)
    if typing.get_origin(bare) is tuple and args and args[-1] is not Ellipsis:
        return tuple(output for arg in args for output in _outputs(arg))
    origin = typing.get_origin(bare) or bare
    kind = "auto" if origin in (Any, Union, types.UnionType) else _OUTPUT_KINDS.get(origin, "json")
    label = next((one.label for one in fields if one.label), None)
    return (Output(label or {"json": "Result", "auto": "Result"}.get(kind, kind.capitalize()), kind),)


def _name(hint: Any) -> str:
    return hint.__qualname__ if isinstance(hint, type) else str(hint)


def _words(name: str) -> str:
    words = name.strip("_").replace("_", " ")
    return words[:1].upper() + words[1:]
