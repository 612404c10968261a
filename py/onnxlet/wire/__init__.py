"""Values as JSON and byte buffers: how they cross between the page and Python.

The form is described in docs/architecture.md, "Wire form of values". The build sends every example through the same
code, so what the page shows can be compared with what the build saw.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from .. import growing
from ..errors import InvalidInput
from ..form import Function
from .inputs import Buffers, Wire, decode, encode_input
from .outputs import encode

if TYPE_CHECKING:
    from ..app import App

__all__ = ["Shown", "call", "decode", "decode_inputs", "encode", "encode_input", "encode_inputs", "encode_outputs"]


Shown = tuple[list[Wire], list[bytes]]  # displays and their buffers


async def call(
    app: App,
    name: str,
    inputs: Sequence[Wire | None],
    buffers: Buffers,
    grown: Callable[[Shown], Awaitable[None]] | None = None,
) -> Shown:
    """Run an app function on values in wire form.

    Args:
        name: the function's.
        inputs: one a parameter, in order; None or left out at the end where nothing was given.
        buffers: what the inputs' ``buffer`` indices mean.
        grown: awaited with each value that a generator yields, the last one too. What it raises closes the generator.
    Returns: what is shown in the end.
    Raises: InvalidInput: a value does not fit its parameter, or a result its annotation; and what the function raises.
    """
    function = app.function(name)
    result = await app.begin(name, decode_inputs(function, inputs, buffers))
    if not growing.grows(result):
        return encode_outputs(function, result)
    shown = None
    async with aclosing(growing.each(result)) as values:
        async for value in values:
            shown = encode_outputs(function, value)
            if grown:
                await grown(shown)
    if shown is None:
        raise InvalidInput(growing.nothing_came(name))
    return shown


def decode_inputs(function: Function, inputs: Sequence[Wire | None], buffers: Buffers) -> dict[str, Any]:
    """Python values by parameter; parameters without a value are left to the function's default."""
    if len(inputs) > len(function.inputs):
        raise InvalidInput(f"{function.name}: expected at most {len(function.inputs)} inputs, got {len(inputs)}")
    padded = [*inputs, *[None] * (len(function.inputs) - len(inputs))]
    values = {}
    for param, wire in zip(function.inputs, padded, strict=True):
        if wire is not None or param.required:
            values[param.name] = decode(param, wire, buffers)
        elif param.default is inspect.Parameter.empty:
            values[param.name] = None
    return values


def encode_outputs(function: Function, result: Any) -> Shown:
    """Displays of what a function returned."""
    outputs = function.outputs
    if not outputs and result is None:
        return [], []
    several = len(outputs) > 1 or (len(outputs) == 1 and outputs[0].kind == "auto" and isinstance(result, tuple))
    results = list(result) if several and isinstance(result, (tuple, list)) else [result]
    if len(outputs) == 1 and several:
        outputs = outputs * len(results)
    if len(results) != len(outputs):
        raise InvalidInput(f"{function.name}: returned {len(results)} values, its annotation promises {len(outputs)}")
    buffers: list[bytes] = []
    return [encode(value, output, buffers) for value, output in zip(results, outputs, strict=True)], buffers


def encode_inputs(function: Function, values: Mapping[str, Any]) -> tuple[list[Wire | None], list[bytes]]:
    """Wire form of native inputs, as the page would send them; None where no value is given."""
    buffers: list[bytes] = []
    wires = [
        None if values.get(param.name) is None else encode_input(param, values[param.name], buffers)
        for param in function.inputs
    ]
    return wires, buffers
