"""PyTorch: modules with example inputs, and exported programs (.pt2).

The first axis of the inputs becomes a batch of any size where the module allows it. `torch.onnx`'s exporter of captured
programs comes first; where it fails, the one that traces; where both do, the same with every size fixed. Whichever it
is, its outputs have to equal the module's on the example, on random data and on other sizes, or it does not count.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onnx

from onnxlet.errors import BuildError

from .exported import LEAST_DB, MAX_OPSET, Export, library, library_roots, verify
from .torch_inputs import Axes, Inputs, batch_axes, feeds, others_like, resized
from .torch_ways import quiet, stripped, ways

__all__ = ["Torch", "export", "open_file", "takes", "takes_file"]

OPSET = 18  # what torch.onnx is written for; it converts to others
HALF_DB = 40.0  # float16 has 11 bits: 66 dB a step, less after a few layers
_REMEDY = (
    "rewrite the operation that it names (a branch on values: torch.where), try another opset=, or say which axes "
    "vary: Torch(module, inputs, dynamic={input: {axis: name}})"
)


@dataclass(frozen=True, slots=True)
class Torch:
    """A module and how to export it, for ``model()`` to return where ``(module, inputs)`` does not say enough.

    Args:
        module: a torch.nn.Module or an ExportedProgram; put into eval mode during the export, and back.
        inputs: what the module is called with: a tensor, a tuple of its arguments, or a dict by parameter name.
            None: of an exported program, which brings its own.
        dynamic: True: the first axis of every input, if it can be; False: no axis; or input name -> axis -> symbol,
            such as ``{"ids": {0: "batch", 1: "length"}}``, which must then succeed. An exported program has its own.
        input_names, output_names: of the tensors, in the order of `inputs` and of what the module returns. Without
            them: the names of its parameters, the keys of a dict, or "output".
        opset: of ONNX, at most 21.
    """

    module: Any
    inputs: Any = None
    dynamic: bool | Mapping[str, Mapping[int, str]] = True
    input_names: Sequence[str] = ()
    output_names: Sequence[str] = ()
    opset: int = OPSET


def takes(thing: Any) -> bool:
    """Whether it is a module, a pair of a module and inputs, a `Torch`, or an exported program."""
    first = thing[0] if isinstance(thing, tuple) and len(thing) == 2 else thing
    return isinstance(thing, Torch) or "torch" in library_roots(first)


def takes_file(path: Path) -> bool:
    """Whether it is named as PyTorch's files are."""
    return path.suffix in (".pt2", ".pt", ".pth") and path.is_file()


def open_file(path: Path) -> Any:
    """The program in a .pt2 file. Raises: BuildError: it is another kind of file."""
    torch = library("torch", "torch")
    if path.suffix != ".pt2":
        raise BuildError(
            f"{path}: holds weights, or a pickle that runs code when it is opened; write a model.py whose model() "
            "builds the module, loads it and returns (module, example inputs), or save a .pt2 with torch.export.save"
        )
    try:
        with quiet():  # torch logs a traceback before it raises
            return torch.export.load(path)
    except Exception as error:  # of zip, pickle, JSON or the program's version
        raise BuildError(
            f"{path}: is no exported program ({_reason(error)}); write it with torch.export.save"
        ) from error


def export(thing: Any, name: str) -> Export:
    """See `sources.export`."""
    torch = library("torch", "torch")
    library("onnxscript", "torch")
    wanted = _wanted(thing, name)
    refusals: list[str] = []
    with _evaluating(wanted.module), torch.no_grad():
        inputs = _inputs(wanted, name)
        least_db = _least_db(inputs, name)
        axes = _axes(wanted, inputs, refusals)
        choices = [axes, {}] if wanted.dynamic is True and axes else [axes]  # axes that were named vary, or it fails
        for way in ways(wanted.module, inputs, choices, wanted.opset):
            try:
                with quiet() as warned:
                    proto, limits = way.run()
                    data = stripped(proto, name)
                if limits and wanted.dynamic is True and way.axes:
                    raise BuildError(limits[0])
                # A trace freezes branches and sizes that it warns of: then a few inputs prove little.
                verified, left_out = _verified(data, inputs, way.axes, 16 if warned else 1, least_db, name)
            except Exception as error:  # an exporter fails with whatever its code, or the module's, raises
                refusals.append(f"{way.what} did not work ({_reason(error).removeprefix(f'{name}: ')})")
                continue
            notes = (f"exported with {way.what}", *refusals, *limits, *left_out, *warned)
            return Export(data, verified, notes, (feeds(inputs.names, inputs.tensors),))
    said = refusals if isinstance(wanted.dynamic, Mapping) else refusals[-2:]  # fixed sizes failed for the same reasons
    raise BuildError(f"{name}: PyTorch cannot export it: {'; '.join(said)}; {_REMEDY}")


def _wanted(thing: Any, name: str) -> Torch:
    torch = library("torch", "torch")
    wanted = thing if isinstance(thing, Torch) else Torch(*thing) if isinstance(thing, tuple) else Torch(thing)
    wanted = replace(wanted, module=getattr(wanted.module, "_orig_mod", wanted.module))  # inside torch.compile's
    program = isinstance(wanted.module, torch.export.ExportedProgram)
    if not program and not isinstance(wanted.module, torch.nn.Module):
        kind = type(wanted.module).__name__
        raise BuildError(f"{name}: is a torch {kind}, expected a torch.nn.Module or an ExportedProgram")
    if wanted.inputs is None and not (program and wanted.module.example_inputs):
        raise BuildError(
            f"{name}: has no example inputs; return (module, inputs) from model(), or Torch(module, inputs)"
        )
    if wanted.opset > MAX_OPSET:
        raise BuildError(f"{name}: opset {wanted.opset} is newer than every page reads; use at most {MAX_OPSET}")
    return wanted


def _inputs(wanted: Torch, name: str) -> Inputs:
    """The inputs under the names that the person wants."""
    torch = library("torch", "torch")
    module, given = wanted.module, wanted.inputs
    if isinstance(module, torch.export.ExportedProgram):
        args, kwargs = module.example_inputs if given is None else (given, {})
        given, module = args or kwargs, module.module()
    inputs = Inputs.of(module, given, name)
    for what, names, found in (
        ("input", wanted.input_names, inputs.names),
        ("output", wanted.output_names, inputs.output_names),
    ):
        if names and len(names) != len(found):
            raise BuildError(f"{name}: {what}_names has {len(names)} names, expected {len(found)}, as for {found}")
    inputs = replace(
        inputs,
        names=tuple(wanted.input_names) or inputs.names,
        output_names=tuple(wanted.output_names) or inputs.output_names,
    )
    if isinstance(wanted.dynamic, Mapping) and (unknown := set(wanted.dynamic) - set(inputs.names)):
        raise BuildError(f"{name}: dynamic= names {sorted(unknown)[0]!r}; its inputs are {', '.join(inputs.names)}")
    return inputs


def _axes(wanted: Torch, inputs: Inputs, refusals: list[str]) -> Axes:
    """The axes that shall vary; says why a batch cannot."""
    if wanted.dynamic is not True or not isinstance(wanted.module, library("torch", "torch").nn.Module):
        return dict(wanted.dynamic or {}) if isinstance(wanted.dynamic, Mapping) else {}
    axes = batch_axes(inputs)
    try:
        inputs.run(resized(inputs, axes, lambda _axis, size: size + 1))
    except Exception as error:  # whatever the module's code raises
        refusals.append(f"the module itself takes no other batch ({_reason(error)})")
        return {}
    return axes


def _verified(
    data: bytes, inputs: Inputs, axes: Axes, rounds: int, least_db: float, name: str
) -> tuple[str, list[str]]:
    """Compare with the module. Returns: the sentence, and what else to say."""
    torch = library("torch", "torch")
    declared = {
        value.name: {i: d.dim_param for i, d in enumerate(value.type.tensor_type.shape.dim) if d.dim_param}
        for value in onnx.load_model_from_string(data).graph.input
    }
    for key, by_axis in axes.items():
        if fixed := set(by_axis) - set(declared.get(key, by_axis)):
            raise BuildError(f'axis {min(fixed)} of input "{key}" became a constant')
    cases, expected, sizes = [], [], set()
    for tensors in others_like(inputs, declared, rounds):
        try:
            outputs = inputs.run(tensors)
        except Exception:  # the module itself does not take every size, such as one beyond its position table
            continue
        one = feeds(inputs.names, tensors)
        cases.append({key: one[key] for key in declared})
        expected.append([tensor.detach().cpu().numpy() for tensor in outputs])
        sizes.add(tuple(tuple(tensor.shape) for tensor in tensors))
    source = f"PyTorch {torch.__version__.partition('+')[0]}"
    said = verify(data, cases, expected, name=name, source=source, least_db=least_db, remedy="")
    left_out = [
        f'input "{key}" does not change any output and is left out' for key in inputs.names if key not in declared
    ]
    return said + (f", of {len(sizes)} sizes" if len(sizes) > 1 else ""), left_out


def _least_db(inputs: Inputs, name: str) -> float:
    """What rounding alone allows. Raises: BuildError: outputs that change from call to call, or are bfloat16."""
    torch = library("torch", "torch")
    first, second = inputs.run(inputs.tensors), inputs.run(inputs.tensors)
    if not all(torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(first, second, strict=True)):
        raise BuildError(f"{name}: gives other outputs for the same inputs in eval mode; take what is random out of it")
    kinds = {tensor.dtype for tensor in (*first, *inputs.tensors)}
    if torch.bfloat16 in kinds:
        raise BuildError(f"{name}: takes or gives bfloat16, which no browser runs; call .float() on the module")
    return HALF_DB if torch.float16 in kinds else LEAST_DB


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """Eval mode inside; afterwards each part is back in its own mode."""
    torch = library("torch", "torch")
    parts = list(module.modules()) if isinstance(module, torch.nn.Module) else []
    modes = [part.training for part in parts]
    if parts:
        module.eval()
    try:
        yield
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode


def _reason(error: BaseException) -> str:
    """The first words of what failed first: torch wraps it in advice about its own options."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[: 2 if lines[0].endswith(":") else 1]) if lines else ""
    return (text if isinstance(error, BuildError) else f"{type(error).__name__}: {text}")[:300]
