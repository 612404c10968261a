"""Fields: how a parameter is asked for, riding in ``Annotated``.

``Annotated[float, Number(min=0, max=1)]`` is a slider, ``Annotated[Drawing, Field(width=280)]`` a canvas of that size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import InvalidInput

__all__ = ["OPTIONS", "Choice", "Field", "Number", "Tensor", "Text"]

# What each kind of input can be told; "label" goes with all of them.
OPTIONS: dict[str, tuple[str, ...]] = {
    "image": ("sources", "frame_px"),
    "drawing": ("width", "height", "stroke", "ink", "paper"),
    "text": ("lines", "placeholder", "max_length", "format"),
    "number": ("min", "max", "step", "integer", "slider"),
    "toggle": (),
    "choice": ("choices",),
    "file": ("accept", "max_bytes"),
    "audio": ("sample_rate", "sources", "chunk_s"),
    "table": ("columns",),
    "tensor": ("dtype", "shape"),
}


class Field:
    """Options of a parameter.

    Args:
        label: what the form calls it; the parameter's name otherwise.
        options: as the kind takes them: Image ``sources`` ("upload", "camera"), ``frame_px`` (the longer side of a live
            camera's frames; 640); Drawing ``width``, ``height``,
            ``stroke`` (pixels), ``ink``, ``paper`` (grey levels); File ``accept`` (like HTML's), ``max_bytes``;
            Audio ``sample_rate`` (Hz; what comes is resampled to it), ``sources`` ("upload", "microphone"), ``chunk_s``
            (how much a live microphone hears before the function is called, seconds; 0.5);
            Table ``columns`` (names that must be there).
    """

    kind = ""  # any

    def __init__(self, *, label: str | None = None, **options: Any) -> None:
        self.label = label
        self.options = {name: value for name, value in options.items() if value is not None}

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({given})"


class Text(Field):
    """A text; the value is a str.

    Args:
        lines: height of the box; more than 1 lets the visitor break lines.
        placeholder: shown while it is empty.
        max_length: in characters.
    """

    kind = "text"

    def __init__(
        self,
        *,
        lines: int | None = None,
        placeholder: str | None = None,
        max_length: int | None = None,
        label: str | None = None,
    ) -> None:
        super().__init__(label=label, lines=lines, placeholder=placeholder, max_length=max_length)


class Number(Field):
    """A number; the value is a float, or an int where the annotation or ``integer`` says so.

    Args:
        min, max: bounds, both included.
        step: what the arrows add.
        slider: show a slider; needs both bounds. With both bounds and no word it is one.
    """

    kind = "number"

    def __init__(
        self,
        *,
        min: float | None = None,
        max: float | None = None,
        step: float | None = None,
        integer: bool | None = None,
        slider: bool | None = None,
        label: str | None = None,
    ) -> None:
        if min is not None and max is not None and not min <= max:
            raise InvalidInput(f"Number: expected min <= max, got min={min}, max={max}")
        if slider and (min is None or max is None):
            raise InvalidInput("Number: a slider needs min and max")
        if slider is None and min is not None and max is not None:
            slider = True
        super().__init__(label=label, min=min, max=max, step=step, integer=integer, slider=slider)


class Choice(Field):
    """One of several texts; the value is the str. ``Literal`` and ``Enum`` annotations need no Choice.

    Args:
        choices: at least one, all different.
    """

    kind = "choice"

    def __init__(self, *choices: str | Sequence[str], label: str | None = None) -> None:
        if len(choices) == 1 and not isinstance(choices[0], str):
            choices = tuple(choices[0])
        super().__init__(label=label, choices=[str(choice) for choice in choices])


class Tensor(Field):
    """An array from a .npy file; the value is a numpy.ndarray.

    Args:
        dtype: what numpy calls it; safe casts are made, others refused.
        shape: expected sizes, None where any goes.
    """

    kind = "tensor"

    def __init__(
        self, *, dtype: str | None = None, shape: Sequence[int | None] | None = None, label: str | None = None
    ) -> None:
        super().__init__(label=label, dtype=dtype, shape=None if shape is None else list(shape))
