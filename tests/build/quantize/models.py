"""Small models to quantize, and samples for them."""

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from onnxlet.dtypes import Array
from onnxlet_build.samples import Samples

__all__ = ["case", "cnn", "expected", "images", "mlp", "model", "op_types", "rows"]

CASES = Path(__file__).parents[2] / "data"
FLOAT = TensorProto.FLOAT


def model(
    nodes: Sequence[NodeProto],
    inputs: Mapping[str, Sequence[int | str]],
    outputs: Sequence[str],
    constants: Mapping[str, Array],
    opset: int = 17,
) -> bytes:
    """A model of float32 inputs and outputs."""
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs],
        [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8).SerializeToString()


def mlp(sizes: Sequence[int] = (784, 128, 64, 10), seed: int = 0) -> bytes:
    """Gemm with transB and Relu, as PyTorch exports it."""
    random = np.random.default_rng(seed)
    nodes, constants, value = [], {}, "x"
    for i, (k, n) in enumerate(itertools.pairwise(sizes)):
        constants[f"w{i}"] = random.normal(size=(n, k)) * np.sqrt(2 / k)
        constants[f"b{i}"] = random.normal(size=n) * 0.1
        last = i == len(sizes) - 2
        out = "y" if last else f"h{i}"
        nodes.append(helper.make_node("Gemm", [value, f"w{i}", f"b{i}"], [out], transB=1))
        if not last:
            nodes.append(helper.make_node("Relu", [out], [f"r{i}"]))
        value = f"r{i}"
    return model(nodes, {"x": ["batch", sizes[0]]}, ["y"], constants)


def cnn(seed: int = 0, spoiled: bool = False) -> bytes:
    """Two residual blocks with depthwise convolutions, Clip as ReLU6, and a classifier.

    Args:
        spoiled: let one depthwise convolution have channels of very unlike size, which 8 bits cannot hold.
    """
    random = np.random.default_rng(seed)
    constants: dict[str, Array] = {"zero": np.array(0.0), "six": np.array(6.0)}
    nodes: list[NodeProto] = []

    def conv(x: str, name: str, out: int, inner: int, size: int, group: int = 1, clip: bool = True) -> str:
        constants[f"{name}.w"] = random.normal(size=(out, inner, size, size)) * np.sqrt(2 / (inner * size * size))
        constants[f"{name}.b"] = random.normal(size=out) * 0.1
        pads = [size // 2] * 4
        inputs = [x, f"{name}.w", f"{name}.b"]
        nodes.append(helper.make_node("Conv", inputs, [f"{name}.y"], name=name, group=group, pads=pads))
        if clip:
            nodes.append(helper.make_node("Clip", [f"{name}.y", "zero", "six"], [f"{name}.c"], name=f"{name}.clip"))
        return f"{name}.c" if clip else f"{name}.y"

    value = conv("x", "stem", 32, 3, 3)
    for i in range(2):
        wide = conv(value, f"expand{i}", 96, 32, 1)
        deep = conv(wide, f"depth{i}", 96, 1, 3, group=96)
        narrow = conv(deep, f"project{i}", 32, 96, 1, clip=False)
        nodes.append(helper.make_node("Add", [value, narrow], [f"sum{i}"], name=f"add{i}"))
        value = f"sum{i}"
    if spoiled:
        weights = constants["expand1.w"]
        weights[::2] *= 200
        constants["expand1.b"][::2] = 0
        constants["depth1.w"][::2] /= 200
        constants["six"] = np.array(6000.0)
    nodes += [
        helper.make_node("GlobalAveragePool", [value], ["pool"], name="pool"),
        helper.make_node("Flatten", ["pool"], ["flat"], name="flat"),
        helper.make_node("Gemm", ["flat", "head.w", "head.b"], ["y"], name="head", transB=1),
    ]
    constants["head.w"] = random.normal(size=(10, 32))
    constants["head.b"] = random.normal(size=10)
    return model(nodes, {"x": ["batch", 3, 16, 16]}, ["y"], constants)


def rows(folder: Path, count: int, width: int = 784, seed: int = 1, batch: int = 4) -> Samples:
    """Samples for `mlp`."""
    random = np.random.default_rng(seed)
    return Samples.write(folder, ({"x": random.normal(size=(batch, width)).astype(np.float32)} for _ in range(count)))


def images(folder: Path, count: int, seed: int = 1, size: int = 16) -> Samples:
    """Samples for `cnn`: smooth fields, as pictures are."""
    random = np.random.default_rng(seed)

    def picture() -> Array:
        coarse = random.normal(size=(1, 3, size // 4, size // 4))
        return (np.kron(coarse, np.ones((4, 4))) + random.normal(size=(1, 3, size, size)) * 0.2).astype(np.float32)

    return Samples.write(folder, ({"x": picture()} for _ in range(count)))


def case(name: str) -> bytes:
    """A fault that somebody reported, as a file."""
    return (CASES / f"{name}.onnx").read_bytes()


def expected(name: str) -> tuple[dict[str, Array], dict[str, Array]]:
    """Its feeds and what is right."""
    run = json.loads((CASES / f"{name}.json").read_text())["runs"][0]
    return _arrays(run["inputs"]), _arrays(run["expected"])


def _arrays(values: Mapping[str, Any]) -> dict[str, Array]:
    return {
        name: np.array([int(x) if isinstance(x, str) and x.lstrip("-").isdigit() else float(x) for x in v["data"]])
        .astype(v["dtype"])
        .reshape(v["shape"])
        for name, v in values.items()
    }


def op_types(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path).graph.node]
