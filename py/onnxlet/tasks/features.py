"""Features: the columns of a table that a model reads, and the form that asks for them.

`onnxlet_build.features.describe` finds them in training data; `read_features` reads what it wrote.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any

from ..errors import InvalidInput
from ..records import dataclass
from ..source import caller_folder
from ..values import Choice, Number

__all__ = ["Feature", "feature_form", "parameter_names", "read_features"]


@dataclass(frozen=True, slots=True)
class Feature:
    """A column: a number with a range, or one of several choices.

    Args:
        name: of the column, as the training data had it.
        low, high: the range that the form offers; a table's cells may lie outside.
        default: what the form shows first; the middle of the range, or the first choice, where it is None.
        step: of the slider; None leaves it to the page.
        integer: whether only whole numbers make sense.
        choices: the texts to choose from, in place of a range. A model whose input is numeric gets their position.
    Raises: InvalidInput: no name, a range that is none, a default outside, fewer than two choices or two the same.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    default: float | str | None = None
    step: float | None = None
    integer: bool = False
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", tuple(map(str, self.choices)))
        where = f'Feature "{self.name}"'
        if not self.name:
            raise InvalidInput("Feature: expected a name, got none; give the column's")
        if self.choices and len(set(self.choices)) < max(2, len(self.choices)):
            raise InvalidInput(f"{where}: expected two or more choices, all different, got {list(self.choices)}")
        if not self.choices and not self.low <= self.high:
            raise InvalidInput(f"{where}: expected low <= high, got low={self.low}, high={self.high}")
        if self.default is None:
            middle = (self.low + self.high) / 2
            object.__setattr__(
                self, "default", self.choices[0] if self.choices else round(middle) if self.integer else middle
            )
        elif self.choices and self.default not in self.choices:
            raise InvalidInput(f"{where}: default {self.default!r} is none of {', '.join(self.choices)}")
        elif not self.choices and not (
            isinstance(self.default, (int, float)) and self.low <= self.default <= self.high
        ):
            raise InvalidInput(f"{where}: default {self.default!r} is outside {self.low} .. {self.high}")

    @property
    def label(self) -> str:
        """What the form calls it."""
        words = " ".join(self.name.replace("_", " ").split()) or self.name
        return words[:1].upper() + words[1:]

    def annotation(self) -> Any:
        """What a parameter of an app function is annotated with to be asked for it."""
        if self.choices:
            return Annotated[str, Choice(*self.choices, label=self.label)]
        kind = int if self.integer else float
        step = self.step if self.step is not None else 1 if self.integer else None
        return Annotated[kind, Number(min=self.low, max=self.high, step=step, label=self.label)]

    def to_dict(self) -> dict[str, Any]:
        """What `read_features` reads: only what differs from a feature's defaults, and the range."""
        plain = {field.name: field.default for field in fields(self)}
        kept = ("name", "default") if self.choices else ("name", "low", "high", "default")
        return {name: value for name, value in asdict(self).items() if name in kept or value != plain[name]}


def read_features(source: str | Path | bytes | Sequence[Mapping[str, Any]]) -> list[Feature]:
    """Features from a JSON file (in the working directory, else beside the calling file), its bytes, or its list.

    Raises: InvalidInput: no such list, a key that features do not have; OSError: no such file.
    """
    if isinstance(source, (str, Path)):
        path = Path(source)
        source = (path if path.is_absolute() or path.exists() else caller_folder() / path).read_bytes()
    try:
        entries = json.loads(source) if isinstance(source, bytes) else source
        return [Feature(**entry) for entry in entries]
    except (TypeError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        keys = ", ".join(field.name for field in fields(Feature))
        raise InvalidInput(f"read_features: expected a JSON list of objects with {keys}; {error}") from None


def parameter_names(features: Sequence[Feature]) -> dict[str, str]:
    """By feature name, the name of the parameter that stands for it: letters, digits and underscores, all different."""
    names: dict[str, str] = {}
    for feature in features:
        base = re.sub(r"\W+", "_", feature.name).strip("_") or "feature"
        base = f"_{base}" if base[0].isdigit() or base in ("self", "return") else base
        name, number = base, 1
        while name in names.values():
            number += 1
            name = f"{base}_{number}"
        names[feature.name] = name
    return names


def feature_form(
    features: Sequence[Feature], *, shown: Sequence[str] | None = None
) -> Callable[[Callable[[dict[str, Any]], Any]], Callable[..., Any]]:
    """Turn a function of one row into an app function whose form asks for each feature.

    The function gets a dict by feature name; its name, docstring and return annotation stay. The parameters are the
    features' names with underscores, all with a default.

    Args:
        shown: names of the features that the form asks for, in this order; the others keep their defaults. None: all.
    Raises: InvalidInput: a name that no feature has, or that two have.
    """
    by_name: dict[str, Feature] = {}
    for feature in features:
        if by_name.setdefault(feature.name, feature) is not feature:
            raise InvalidInput(f'features: two are named "{feature.name}"; rename one')
    asked = list(by_name) if shown is None else list(shown)
    if unknown := [name for name in asked if name not in by_name]:
        raise InvalidInput(f'feature_form: no feature "{unknown[0]}"; there are {", ".join(by_name)}')
    names = parameter_names([by_name[name] for name in asked])
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [
        inspect.Parameter(names[name], kind, default=by_name[name].default, annotation=by_name[name].annotation())
        for name in asked
    ]
    defaults = {feature.name: feature.default for feature in features}

    def formed(function: Callable[[dict[str, Any]], Any]) -> Callable[..., Any]:
        returned = inspect.signature(function, eval_str=True).return_annotation
        signature = inspect.Signature(parameters, return_annotation=returned)

        def row(*args: Any, **kwargs: Any) -> dict[str, Any]:
            given = signature.bind(*args, **kwargs).arguments
            return defaults | {name: given[names[name]] for name in asked if names[name] in given}

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def call(*args: Any, **kwargs: Any) -> Any:
                return await function(row(*args, **kwargs))
        else:

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                return function(row(*args, **kwargs))

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in parameters}
        if returned is not inspect.Signature.empty:
            call.__annotations__["return"] = returned
        return call

    return formed
