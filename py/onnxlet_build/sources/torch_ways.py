"""The ways from a PyTorch module to ONNX, in the order in which they are tried."""

import io
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import Any

import onnx

from .exported import library, portable
from .torch_inputs import Axes, Inputs, resized

__all__ = ["Way", "quiet", "stripped", "ways"]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to export.

    Args:
        what: in words, such as "batch of any size, traced".
        axes: that shall vary.
        run: gives the model, and sentences on what the axes are limited to.
    """

    what: str
    axes: Axes
    run: Callable[[], tuple[onnx.ModelProto, list[str]]]


def ways(module: Any, inputs: Inputs, choices: Sequence[Axes], opset: int) -> Iterator[Way]:
    """What to try.

    Args:
        module: an ExportedProgram, or the module inside `inputs`.
        choices: axes that may vary, the best choice first; of no use to a program.
    """
    torch = library("torch", "torch")
    names: dict[str, Any] = {
        "input_names": list(inputs.names),
        "output_names": list(inputs.output_names),
        "opset_version": opset,
        "verbose": False,
    }

    def captured(called: Any, tensors: Sequence[Any] = (), axes: Axes | None = None) -> Any:
        shapes = (tuple(dict(axes.get(n, {})) or None for n in inputs.names),) if axes else None
        program = torch.onnx.export(called, tuple(tensors), dynamo=True, dynamic_shapes=shapes, **names)
        return program.model_proto, _limits(program.exported_program, inputs.names)

    def traced(axes: Axes) -> Any:
        stream = io.BytesIO()
        dynamic = {n: dict(a) for n, a in axes.items()}
        tensors = tuple(tensor.clone() for tensor in inputs.tensors)
        torch.onnx.export(inputs.call, tensors, stream, dynamo=False, dynamic_axes=dynamic, **names)
        return onnx.load_model_from_string(stream.getvalue()), []

    if isinstance(module, torch.export.ExportedProgram):
        yield Way("the axes of the exported program", {}, partial(captured, module))
        return
    for some in choices:
        symbols = dict.fromkeys(symbol for by_axis in some.values() for symbol in by_axis.values())
        what = f"{' and '.join(symbols)} of any size" if symbols else "every size fixed"
        # A size of 1 would be taken for a constant, so the example is repeated.
        tensors = resized(inputs, some, lambda _axis, size: max(size, 2))
        yield Way(what, some, partial(captured, inputs.call, tensors, some))
        yield Way(f"{what}, traced", some, partial(traced, some))


def _limits(program: Any, names: Sequence[str]) -> list[str]:
    """What the capture found that an axis must keep to, such as the side of a branch that the example took."""
    ranges = {str(symbol): found for symbol, found in program.range_constraints.items()}
    ours = dict(zip(program.graph_signature.user_inputs, names, strict=False))
    said = {}
    for node in program.graph.nodes:
        for axis, size in enumerate(getattr(node.meta.get("val"), "shape", ()) if node.op == "placeholder" else ()):
            found = ranges.get(str(size))
            if found is not None and (bool(found.upper < 2**31) or bool(found.lower > 2)):
                name = ours.get(node.name, node.name)
                said[str(size)] = f'axis {axis} of input "{name}" must lie within {found.lower} and {found.upper}'
    return list(said.values())


def stripped(proto: onnx.ModelProto, name: str) -> bytes:
    """Without the exporter's notes on every node: stack traces, with source lines and paths of this machine."""
    for graph in (proto.graph, *proto.functions):
        _strip(graph)
    return portable(proto, name)


def _strip(graph: onnx.GraphProto | onnx.FunctionProto) -> None:
    for value in graph.value_info:
        value.ClearField("metadata_props")
    for node in graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                _strip(inner)


@contextmanager
def quiet() -> Iterator[list[str]]:
    """Gather the tracer's warnings; drop the others, and what torch prints and logs on the way."""
    torch = library("torch", "torch")
    warned: list[str] = []
    level = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                yield warned
            found = [str(w.message).splitlines()[0] for w in caught if issubclass(w.category, torch.jit.TracerWarning)]
            warned += dict.fromkeys(f"the trace warned: {text}" for text in found)
    finally:
        logging.disable(level)
