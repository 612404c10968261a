"""TensorFlow.js graph models (model.json and its weight shards), converted node by node; no TensorFlow is needed.

TensorFlow.js keeps pictures as NHWC, ONNX as NCHW. A value is held in the order in which it was made, and turned into
the other one only for a node that needs it (`tfjs_values`); most models end up with one transposition at each end.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from onnxlet.dtypes import Array
from onnxlet.errors import BuildError

from .exported import MAX_OPSET, Export, native_session, portable
from .graph import tensor
from .tfjs_ops import CONVERTERS
from .tfjs_values import Converter, TfNode, dtype_of

__all__ = ["GraphModel", "export", "open_file", "takes", "takes_file"]

_STORED = {"float32": "<f4", "int32": "<i4", "bool": "?", "float16": "<f2", "uint8": "u1", "uint16": "<u2"}
_DEFAULT_SIZE = 64  # of dimensions that the model leaves open, in the trial run


@dataclass(frozen=True, slots=True)
class GraphModel:
    """A graph model's two parts.

    Args:
        topology: what model.json says.
        weights: by node name.
    """

    path: Path
    topology: dict[str, Any]
    weights: dict[str, Array]


def takes(thing: Any) -> bool:
    """A `GraphModel`."""
    return isinstance(thing, GraphModel)


def takes_file(path: Path) -> bool:
    """A model.json of TensorFlow.js."""
    if not path.is_file() or path.suffix != ".json":
        return False
    with path.open("rb") as stream:
        head = stream.read(1 << 16)
    return b'"modelTopology"' in head or b'"weightsManifest"' in head


def open_file(path: Path) -> GraphModel:
    """Read model.json and its shards, which lie beside it.

    Raises: BuildError: a shard is missing or too short, or it is a layers model.
    """
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BuildError(f"{path}: is no JSON ({error}); get it again") from error
    if "node" not in said.get("modelTopology", {}):
        raise BuildError(
            f"{path}: is a layers model, expected a graph model; load it with Keras, "
            "or convert it with tensorflowjs_converter --output_format=tfjs_graph_model"
        )
    weights: dict[str, Array] = {}
    for group in said["weightsManifest"]:
        shards = [path.parent / name for name in group["paths"]]
        for shard in shards:
            if not shard.is_file():
                raise BuildError(f"{path}: its weights {shard.name} are missing; put them beside it")
        weights |= _read_weights(b"".join(shard.read_bytes() for shard in shards), group["weights"], path)
    return GraphModel(path, said, weights)


def _read_weights(data: bytes, entries: list[dict[str, Any]], path: Path) -> dict[str, Array]:
    weights, at = {}, 0
    for entry in entries:
        packing = entry.get("quantization")
        stored = packing["dtype"] if packing else entry["dtype"]
        if stored not in _STORED:
            raise BuildError(f"{path}: weight {entry['name']!r} is {stored}, expected one of {', '.join(_STORED)}")
        dtype, count = np.dtype(_STORED[stored]), int(np.prod(entry["shape"], dtype=np.int64))
        end = at + count * dtype.itemsize
        if end > len(data):
            raise BuildError(f"{path}: its weights have {len(data):,} bytes, expected {end:,} or more: get them again")
        values = np.frombuffer(data, dtype, count, at).reshape(entry["shape"])
        if packing and "scale" in packing:
            values = values.astype(np.float32) * np.float32(packing["scale"]) + np.float32(packing.get("min", 0))
        weights[entry["name"]] = values.astype(_STORED[entry["dtype"]])
        at = end
    return weights


def export(thing: GraphModel, name: str) -> Export:
    """Convert a graph model.

    Raises: BuildError: names the node and the operator that cannot be converted.
    """
    nodes = {entry["name"]: TfNode.read(entry) for entry in thing.topology["modelTopology"]["node"]}
    ends = _ends(thing.topology, nodes)
    converter = Converter(thing.weights)
    names = [converter.graph.new_name(output) for output in ends]  # before nodes of the same names take them
    inputs = []
    for node in _in_order(nodes, list(ends.values()), name):
        if node.op in ("Placeholder", "PlaceholderWithDefault"):
            inputs.append(_input(converter, node))
            continue
        convert = CONVERTERS.get(node.op)
        where = f'{name}: node "{node.name}" ({node.op})'
        if convert is None:
            raise BuildError(f"{where}: is not converted; convert the original model with tf2onnx instead")
        try:
            made = convert(converter, node)
        except BuildError as error:
            raise BuildError(f"{where}: {error}") from error
        converter.values[node.name] = made if isinstance(made, list) else [made]
    for output, reference in zip(names, ends.values(), strict=True):
        converter.graph.give(converter.plain(converter.value(reference)), output)
    outputs = [tensor(output, np.float32, None) for output in names]
    proto = _typed(converter.graph.model(inputs, outputs, MAX_OPSET), _said_shapes(thing.topology))
    data = portable(proto, name)
    samples = _trial(data, name)
    return Export(
        data,
        f"not compared with TensorFlow.js, which the build has no copy of; it runs, {len(proto.graph.node)} nodes for "
        f"{sum(node.op != 'Const' for node in nodes.values())} of TensorFlow's",
        samples=(samples,),
    )


def _ends(topology: dict[str, Any], nodes: dict[str, TfNode]) -> dict[str, str]:
    """Name of each output -> what gives it: the signature's, or whatever no node takes."""
    signature = topology.get("signature") or (topology.get("userDefinedMetadata") or {}).get("signature") or {}
    if signature.get("outputs"):
        return {_plain_name(key): said["name"] for key, said in signature["outputs"].items()}
    taken = {reference.lstrip("^").partition(":")[0] for node in nodes.values() for reference in node.inputs}
    return {name: name for name, node in nodes.items() if name not in taken and node.op not in ("Const", "NoOp")}


def _plain_name(reference: str) -> str:
    """The name of an output for what TensorFlow calls "name:0"."""
    return reference.removesuffix(":0").replace(":", "_")


def _in_order(nodes: dict[str, TfNode], ends: list[str], name: str) -> list[TfNode]:
    """The nodes that the outputs need, each after its inputs."""
    order: list[TfNode] = []
    state: dict[str, bool] = {}  # False while a node's inputs are under way
    todo = [reference.partition(":")[0] for reference in reversed(ends)]
    while todo:
        current = todo[-1]
        if current not in nodes:
            raise BuildError(f'{name}: node "{current}" is not in model.json; get it again')
        if state.get(current):
            todo.pop()
            continue
        missing = [n for n in (r.partition(":")[0] for r in nodes[current].inputs) if not state.get(n)]
        if any(n in state for n in missing):
            raise BuildError(f'{name}: node "{current}" is part of a loop; models with control flow are not converted')
        if missing:
            state[current] = False
            todo += missing
        else:
            state[current] = True
            order.append(nodes[current])
            todo.pop()
    return order


def _input(converter: Converter, node: TfNode) -> onnx.ValueInfoProto:
    name = converter.graph.new_name(node.name)
    converter.values[node.name] = [converter.made(name)]
    shape = node.shape("shape")
    sizes = None
    if shape is not None:
        sizes = [size if size >= 0 else "batch" if axis == 0 else f"{name}_{axis}" for axis, size in enumerate(shape)]
    return tensor(name, dtype_of(node.type("dtype")), sizes)


def _said_shapes(topology: dict[str, Any]) -> dict[str, list[int]]:
    """Shapes of the outputs that the signature gives; -1 for what is open."""
    outputs = (topology.get("signature") or {}).get("outputs") or {}
    return {
        _plain_name(key): [int(size.get("size", 0)) for size in said["tensorShape"].get("dim", ())]
        for key, said in outputs.items()
        if "tensorShape" in said
    }


def _typed(proto: onnx.ModelProto, said: dict[str, list[int]]) -> onnx.ModelProto:
    """The model with the types of its outputs as ONNX infers them, and their shapes as the signature says."""
    for output in proto.graph.output:
        output.type.tensor_type.ClearField("elem_type")
    inferred = onnx.shape_inference.infer_shapes(proto)
    for output, found in zip(proto.graph.output, inferred.graph.output, strict=True):
        output.CopyFrom(found)
        sizes = output.type.tensor_type.shape.dim
        known = said.get(output.name, [])
        for axis, size in enumerate(sizes):
            if not size.HasField("dim_value") and len(known) == len(sizes) and known[axis] >= 0:
                size.dim_value = known[axis]
            elif size.dim_param.startswith("unk__"):
                size.dim_param = "batch" if axis == 0 else f"{output.name}_{axis}"
    return proto


def _trial(data: bytes, name: str) -> dict[str, Array]:
    """Run the model once on random values. Returns: them. Raises: BuildError: it fails, or answers NaN."""
    session = native_session(data, name)
    rng = np.random.default_rng(0)
    feeds = {}
    for arg in session.get_inputs():
        shape = [
            size if isinstance(size, int) else 1 if axis == 0 else _DEFAULT_SIZE for axis, size in enumerate(arg.shape)
        ]
        numbers = rng.random(shape, np.float32) if arg.type == "tensor(float)" else np.ones(shape)  # 0 may divide
        feeds[arg.name] = numbers.astype({"tensor(float)": np.float32, "tensor(int32)": np.int32}.get(arg.type, bool))
    try:
        answers = session.run(None, feeds)
    except Exception as error:  # onnxruntime's own exceptions derive from Exception only
        raise BuildError(f"{name}: its export fails ({str(error).splitlines()[0]}); report this model") from error
    for output, answer in zip(session.get_outputs(), answers, strict=True):
        if answer.dtype.kind == "f" and not np.isfinite(answer).all():
            raise BuildError(f'{name}: output "{output.name}" of its export is not finite on values between 0 and 1')
    return feeds
