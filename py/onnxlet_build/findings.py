"""What a person should know of a model before it goes to a page; each rule is a function that gives findings."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from onnxlet.dtypes import Array, DataType, Narrow
from onnxlet.model import Model, Tensor, TensorType
from onnxlet.providers import faults
from onnxlet.source import Signature
from onnxlet.tensors import to_array

from .footprint import Footprint
from .models import RUNTIME_DOMAINS, nodes, quantized, shape_values
from .places import Place

__all__ = ["LEVELS", "Finding", "Subject", "find"]

LEVELS = ("error", "warning", "note")
CLOUDFLARE_LIMIT_BYTES = 24 * 2**20  # Cloudflare Pages takes files up to 25 MiB
WASM_BYTES = 4 * 2**30  # the address space of a WebAssembly memory; browsers on phones give far less
MUCH_BYTES = 2**30
_RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
_FLOATS = {DataType.FLOAT, DataType.FLOAT16, DataType.DOUBLE}
_SMALLEST_QUANTIZED_BYTES = 100_000  # below, scales and extra nodes eat up what 8 bits save
_MANY_SHAPE_NODES = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to know. ``level``: error (the page cannot run it), warning, note."""

    level: str
    text: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A model, and what is known of it."""

    model: Model
    proto: onnx.ModelProto
    signature: Signature
    types: Mapping[str, TensorType]
    places: tuple[Place, ...]
    footprint: Footprint

    def place(self, backend: str) -> Place:
        """One backend's."""
        return next(place for place in self.places if place.backend == backend)


def find(subject: Subject) -> list[Finding]:
    """Everything, the worst first."""
    found = [finding for rule in _RULES for finding in rule(subject)]
    return sorted(found, key=lambda finding: LEVELS.index(finding.level))


def _validity(subject: Subject) -> Iterator[Finding]:
    try:
        onnx.checker.check_model(subject.proto)
    except Exception as error:  # ValidationError, which is no public class
        yield Finding("warning", f"onnx.checker: {_first_line(error)}", "export it again with a newer exporter")
    try:
        onnx.shape_inference.infer_shapes(subject.proto, strict_mode=True, data_prop=True)
    except Exception as error:  # InferenceError, which is no public class
        yield Finding(
            "warning", f"shape inference: {_first_line(error)}", "compare declared shapes with what nodes give"
        )
    opset = subject.model.opset_imports.get("", 0)
    if 0 < opset < 7:
        yield Finding("warning", f"opset {opset}: ONNX Runtime promises nothing below 7", "export it with opset 21")


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _custom_operators(subject: Subject) -> Iterator[Finding]:
    local = {(f.domain, f.name) for f in subject.model.functions}
    foreign = {
        (node.domain, node.op_type)
        for node in nodes(subject.model)
        if node.domain not in RUNTIME_DOMAINS and (node.domain, node.op_type) not in local
    }
    for domain, name in sorted(foreign):
        yield Finding(
            "warning",
            f"{domain}::{name} is a custom operator, unknown to ONNX Runtime Web",
            f'write it in Python in the app: @onnxlet.op("{name}", domain="{domain}")',
        )
    for name in subject.place("wasm").nowhere:
        yield Finding(
            "error",
            f"{name} runs nowhere: neither ONNX Runtime Web nor the operators in Python have it",
            f'export without it, or write it in the app with @onnxlet.op("{name.split("::")[-1]}")',
        )


def _placement(subject: Subject) -> Iterator[Finding]:
    gpu, wasm = subject.place("webgpu"), subject.place("wasm")
    if gpu.cpu and not gpu.refused:
        count = sum(gpu.cpu.values())
        yield Finding(
            "note",
            f"without a kernel on WebGPU, so that tensors go to the CPU and back: {count} of {gpu.total} nodes, "
            f"{_listed(gpu.cpu)}",
            "WebAssembly runs all of them; on WebGPU, DequantizeLinear reads 8-bit weights and Cast does not"
            if quantized(subject.model)
            else "let the build optimize it; WebAssembly runs all of them",
        )
    in_python = {name: count for name, count in wasm.python.items() if name.rpartition("::")[0] in RUNTIME_DOMAINS}
    if in_python:
        yield Finding(
            "note",
            f"in Python, which is slower: {_listed(in_python)}",
            "nothing, where they are few; else export other operators in their place",
        )
    for provider in faults.PROVIDERS:
        for reason in sorted(set(faults.known(subject.model, provider).values())):
            where = "WebGPU" if provider.startswith("WebGpu") else "WebAssembly"
            yield Finding("note", f"kept from {where}: {reason}", "nothing: it runs in Python there, and is right")


def _listed(counts: Mapping[str, int], most: int = 5) -> str:
    shown = [f"{name} {count}" for name, count in list(counts.items())[:most]]
    return ", ".join(shown) + (f", and {len(counts) - most} more kinds" if len(counts) > most else "")


def _open_dimensions(subject: Subject) -> Iterator[Finding]:
    shapes = shape_values(subject.model)
    computed = sum(bool(n.outputs) and shapes.issuperset(n.outputs) for n in subject.model.graph.nodes)
    args = subject.signature.inputs
    unnamed = [f"{arg.name}[{axis}]" for arg in args for axis, size in enumerate(arg.shape) if size is None]
    if len(unnamed) > 1:
        yield Finding(
            "note",
            f"{', '.join(unnamed)} are open and have no name: nothing says which of them are always equal",
            "name them when exporting (dynamic_shapes, dynamic_axes)",
        )
    named = list(dict.fromkeys(d for arg in args for d in arg.shape[1:] if isinstance(d, str)))
    if named and computed >= _MANY_SHAPE_NODES:
        yield Finding(
            "note",
            f"{', '.join(named)} open in the inputs, so that {computed} nodes compute shapes in every run",
            "where a size never changes, fix it: python -m onnxruntime.tools.make_dynamic_shape_fixed "
            f"--dim_param {named[0]} --dim_value SIZE",
        )


def _wide_types(subject: Subject) -> Iterator[Finding]:
    model = subject.model
    doubles = [t for t in model.graph.initializers if t.data_type == DataType.DOUBLE]
    inputs = [arg.name for arg in subject.signature.inputs if arg.type == "tensor(double)"]
    if doubles or inputs:
        size = sum(math.prod(t.dims) * 8 for t in doubles)
        what = [f"{_many(len(doubles), 'weight')} of {size:,} bytes"] * bool(doubles)
        what += [f"input {', '.join(map(repr, inputs))}"] * bool(inputs)
        yield Finding(
            "warning",
            f"float64 ({'; '.join(what)}): runs on WebAssembly only, at half the speed and twice the bytes",
            "export in float32: model.float() in PyTorch; FloatTensorType as skl2onnx's initial type",
        )
    wide = [arg.name for arg in subject.signature.inputs if arg.type == "tensor(int64)"]
    wide_nodes = sum(count for name, count in subject.place("webgpu").cpu.items() if "int64" in name)
    if wide and wide_nodes and not subject.place("webgpu").refused:
        yield Finding(
            "note",
            f"int64 input {', '.join(map(repr, wide))}: WebGPU computes int64 on the CPU ({_many(wide_nodes, 'node')})",
            "the build narrows what provably fits; int32 inputs need no crossing",
        )
    sizes = shape_values(model)
    for tensor in model.graph.initializers:
        if tensor.data_type == DataType.INT64 and tensor.name not in sizes and 0 not in tensor.dims:
            values = _array(tensor)
            if values.max() >= 2**31 or values.min() < -(2**31):
                yield Finding(
                    "warning",
                    f'initializer "{tensor.name}" has whole numbers beyond int32: WebGPU cuts indices to 32 bits',
                    "let it run on WebAssembly, or look up a smaller number first",
                )


def _weights(subject: Subject) -> Iterator[Finding]:
    bad: dict[str, list[str]] = {what: [] for what in _BAD_NUMBERS}
    for tensor in subject.model.graph.initializers:
        if tensor.data_type in _FLOATS and 0 not in tensor.dims:
            values = _array(tensor)
            for what, (_, test, _, _) in _BAD_NUMBERS.items():
                if test(values).any():
                    bad[what].append(tensor.name)
    for what, (level, _, text, remedy) in _BAD_NUMBERS.items():
        if names := bad[what]:
            yield Finding(level, f"{_named(names)}: {what}, {text}", remedy)


def _array(tensor: Tensor) -> Array:
    values = to_array(tensor)
    return values.values if isinstance(values, Narrow) else values


_SMALLEST, _LARGEST_HALF = float(np.finfo(np.float32).tiny), float(np.finfo(np.float16).max)
_BAD_NUMBERS: dict[str, tuple[str, Callable[[Array], Array], str, str]] = {
    "NaN": ("warning", np.isnan, "and so is everything that is computed from it", "train or export it again"),
    "infinity": ("note", np.isinf, "which float16 and int8 do not survive", "mask with -65504 instead"),
    "numbers below 1.2e-38": (
        "note",
        lambda x: (x != 0) & (np.abs(x) < _SMALLEST) & (x.dtype != np.float16),
        "which GPUs take for zero and some processors compute slowly",
        "set them to zero before exporting",
    ),
    "numbers beyond 65504": (
        "note",
        lambda x: np.isfinite(x) & (np.abs(x) > _LARGEST_HALF),
        "which float16 makes infinite",
        "keep float32, or clip them",
    ),
}


def _named(names: list[str]) -> str:
    shown = ", ".join(f'"{name}"' for name in names[:3])
    more = " ..." * (len(names) > 3)
    return f"initializer {shown}" if len(names) == 1 else f"{len(names)} initializers ({shown}{more})"


def _tidiness(subject: Subject) -> Iterator[Finding]:
    graph = subject.model.graph
    read = {name for node in nodes(subject.model) for name in node.inputs} | {v.name for v in graph.outputs}
    unused = [t for t in graph.initializers if t.name not in read]
    if unused:
        size = sum(math.prod(t.dims) * t.data_type.bits // 8 for t in unused)
        yield Finding("note", f"{_named([t.name for t in unused])} unused ({size:,} bytes)", "the build removes them")
    first: set[tuple[DataType, tuple[int, ...], bytes]] = set()
    copies: list[Tensor] = []
    for tensor in graph.initializers:
        if tensor.data_type != DataType.STRING and math.prod(tensor.dims) > 1:
            key = (tensor.data_type, tuple(tensor.dims), _array(tensor).tobytes())
            copies += [tensor] * (key in first)
            first.add(key)
    if copies:
        size = sum(math.prod(t.dims) * t.data_type.bits // 8 for t in copies)
        named = _named([t.name for t in copies])
        yield Finding("note", f"{named} copies of others ({size:,} bytes)", "the build merges them")
    nameless = sum(not node.name for node in nodes(subject.model))
    if nameless:
        yield Finding(
            "note",
            f"{_many(nameless, 'node')} without a name, which messages can only number",
            "name them when exporting",
        )
    overridable = {t.name for t in graph.initializers} & {v.name for v in graph.inputs}
    if overridable:
        yield Finding(
            "note",
            f"{_named(sorted(overridable))} also inputs, with a default: ONNX Runtime Web does not let a caller give "
            "them, and nothing can be computed from them ahead of time",
            "keep initializers out of the inputs when exporting (keep_initializers_as_inputs=False)",
        )


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _repeatability(subject: Subject) -> Iterator[Finding]:
    random = sorted({node.op_type for node in nodes(subject.model)} & _RANDOM)
    if random:
        text = f"{', '.join(random)}: answers differ from run to run"
        yield Finding("note", text, "give the random numbers as an input, so that answers can be compared")
    constants = {t.name: t for t in subject.model.graph.initializers}
    for node in nodes(subject.model):
        trains = node.op_type == "BatchNormalization" and _flag(node.attributes.get("training_mode"))
        if node.op_type == "Dropout" and len(node.inputs) > 2 and node.inputs[2] in constants:
            trains = bool(to_array(constants[node.inputs[2]]))
        if trains:
            text = f'{node.op_type} "{node.name}" is in training mode'
            yield Finding("warning", text, "call model.eval() and export it again")


def _flag(attribute: object) -> bool:
    return bool(getattr(attribute, "value", 0))


def _outputs(subject: Subject) -> Iterator[Finding]:
    for arg in subject.signature.outputs:
        if arg.type and not arg.type.startswith("tensor("):
            zipmap = "zipmap=False" if re.search(r"seq\(map", arg.type) else "tensors as outputs"
            yield Finding(
                "warning",
                f'output "{arg.name}" is {arg.type}: ONNX Runtime Web gives only tensors, so its nodes run in Python',
                f"export it with {zipmap}",
            )


def _size(subject: Subject) -> Iterator[Finding]:
    size = subject.footprint.file
    if size > CLOUDFLARE_LIMIT_BYTES:
        yield Finding(
            "note",
            f"{size:,} bytes: some hosts limit a file to 25 MiB",
            "build with --host cloudflare, which cuts it into parts",
        )
    need = subject.footprint.memory + size
    if need > WASM_BYTES:
        yield Finding("error", f"needs about {need:,} bytes: WebAssembly has 4 GiB", "quantize it, or cut it in two")
    elif need > MUCH_BYTES:
        yield Finding("warning", f"needs about {need:,} bytes: phones give a page less", "quantize it to 8 or 4 bits")


def _quantization(subject: Subject) -> Iterator[Finding]:
    if how := quantized(subject.model):
        yield Finding("note", f"quantized already ({how})", "the build leaves it as it is")
        return
    weights = subject.footprint.weights
    kinds = {node.op_type for node in nodes(subject.model)}
    multiplies = sorted(kinds & {"MatMul", "Gemm", "Attention", "LSTM", "GRU", "MultiHeadAttention"})
    if any(node.domain == "ai.onnx.ml" for node in nodes(subject.model)) or weights < _SMALLEST_QUANTIZED_BYTES:
        return
    if "Conv" in kinds:
        text = "convolutions: static int8 (U8S8 per channel) ran 3.9 times as fast in WebAssembly"
        remedy = "--variants int8-static, with samples to calibrate on; int8-weights for WebGPU"
    elif multiplies:
        text = "matrix products: dynamic int8 ran 9 times as fast in WebAssembly in batches, and no faster one by one"
        remedy = "--variants int8-dynamic, which needs no samples; int4-weights for WebGPU or for size"
    else:
        return
    yield Finding("note", f"{weights:,} bytes of float weights; {text}", remedy)


_RULES: tuple[Callable[[Subject], Iterable[Finding]], ...] = (
    _validity,
    _custom_operators,
    _size,
    _wide_types,
    _weights,
    _repeatability,
    _outputs,
    _placement,
    _open_dimensions,
    _quantization,
    _tidiness,
)
