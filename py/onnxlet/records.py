"""`dataclass` as the standard library has it, for modules that a page imports while it starts.

The standard library compiles source text for each class, which takes a page 1.8 ms; here the methods are written
already and go by the fields' names. What comes out is a data class for `dataclasses.fields`, `replace`, `asdict` and
`is_dataclass`, for `copy.replace`, `pickle` and `match`. Only what this package uses is there: no order, no base
classes with fields, no `super()` in a class with slots, and of `field` only default, default_factory and compare.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, field
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
        """The decorator, with the standard library's arguments. A method that the class has itself stays."""

        def make(cls: type) -> type:
            names = tuple(cls.__annotations__)
            members = {name: member for name, member in vars(cls).items() if name not in ("__dict__", "__weakref__")}
            given = {name: members.pop(name) for name in names if name in members}
            fields = _Fields(cls.__annotations__, given)
            methods = {"__init__": _init(names, given, "__post_init__" in members), "__repr__": _repr(names)}
            if eq:
                methods |= _comparison([name for name in names if fields.compares(name)], frozen)
            if frozen:
                methods |= _FROZEN
            members = {"__match_args__": names, "__replace__": _replace, **methods, **members}
            members["__qualname__"] = cls.__qualname__
            members |= (
                {"__dataclass_fields__": fields, "__slots__": names} if slots else {"__dataclass_fields__": fields}
            )
            return type(cls)(cls.__name__, cls.__bases__, members)

        return make


class _Fields:
    """A class's `__dataclass_fields__`, made by the standard library when somebody asks."""

    def __init__(self, annotations: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self._annotations = annotations
        self._given = given
        self._made: dict[str, Field[Any]] = {}

    def __get__(self, instance: object, owner: type) -> dict[str, Field[Any]]:
        if not self._made:
            members = {"__annotations__": self._annotations, "__module__": owner.__module__, **self._given}
            twin: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type(owner.__name__, (), members))
            self._made = {field.name: field for field in dataclasses.fields(twin)}
        return self._made

    def compares(self, name: str) -> bool:
        default = self._given.get(name)
        return not isinstance(default, Field) or default.compare


def _init(names: tuple[str, ...], given: Mapping[str, Any], post: bool) -> Callable[..., None]:
    defaults = {}
    factories = {}
    for name, value in given.items():
        if not isinstance(value, Field):
            defaults[name] = value
        elif value.default_factory is not MISSING:
            factories[name] = value.default_factory
        elif value.default is not MISSING:
            defaults[name] = value.default
    needed = frozenset(names).difference(defaults, factories)
    known = frozenset(names)
    store = object.__setattr__

    def init(self: Any, /, *args: Any, **kwargs: Any) -> None:
        values = {**kwargs, **dict(zip(names, args, strict=False))}
        if len(values) < len(args) + len(kwargs) or not needed <= values.keys() <= known:
            _misfit(names, needed, args, kwargs)
        if len(values) < len(names):
            made = {name: make() for name, make in factories.items() if name not in values}
            values = {**defaults, **made, **values}
        for name, value in values.items():
            store(self, name, value)
        if post:
            self.__post_init__()

    return init


def _misfit(names: tuple[str, ...], needed: frozenset[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raises: TypeError: what is wrong with the arguments, in Python's words."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    defaults = {name: inspect.Parameter.empty if name in needed else None for name in names}
    parameters = [inspect.Parameter(name, kind, default=default) for name, default in defaults.items()]
    inspect.Signature(parameters).bind(*args, **kwargs)


def _repr(names: tuple[str, ...]) -> Callable[..., str]:
    @recursive_repr()
    def text(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return text


def _comparison(names: list[str], frozen: bool) -> dict[str, Any]:
    values = attrgetter(*names)

    def equal(self: Any, other: Any) -> Any:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self is other or values(self) == values(other)

    def hashed(self: Any) -> int:
        return hash(values(self))

    return {"__eq__": equal, "__hash__": hashed if frozen else None}


def _refuse_store(self: Any, name: str, value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduce(self: Any) -> tuple[type, tuple[Any, ...]]:
    return type(self), tuple(getattr(self, name) for name in self.__match_args__)


_FROZEN = {"__setattr__": _refuse_store, "__delattr__": _refuse_delete, "__reduce__": _reduce}


def _replace(self: Any, /, **changes: Any) -> Any:
    return dataclasses.replace(self, **changes)
