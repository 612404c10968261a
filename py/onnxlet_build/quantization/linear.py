"""MatMul and Gemm as one thing, which they are for the person: activations times a constant matrix, plus a bias."""

from dataclasses import dataclass

import numpy as np
from onnx import NodeProto

from onnxlet.dtypes import Array

from .graphs import Graph, attributes

__all__ = ["Linear", "embedding", "linear"]


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """y = x W + bias.

    Args:
        x: name of the activations [..., K].
        weight: float32 [K, N], Gemm's alpha and transB applied.
        bias: name of a value that broadcasts to y; "" without one.
        key: equal for layers that share their weight.
    """

    node: NodeProto
    x: str
    weight: Array
    bias: str
    key: tuple[object, ...]


def linear(graph: Graph, node: NodeProto) -> Linear | None:
    """The layer that a node is; None where it is none, or where its weight is no finite constant of rank 2."""
    if node.domain or node.op_type not in ("MatMul", "Gemm") or not graph.is_float(node.input[0]):
        return None
    weight = graph.weight(node.input[1], 2)
    if weight is None or graph.is_constant(node.input[0]):
        return None
    if node.op_type == "MatMul":
        return Linear(node, node.input[0], weight, "", (node.input[1],))
    given = attributes(node)
    alpha, beta, flip = given.get("alpha", 1.0), given.get("beta", 1.0), bool(given.get("transB", 0))
    bias = node.input[2] if len(node.input) > 2 else ""
    constant = graph.constant(bias) if bias else None
    if given.get("transA", 0) or (bias and beta != 1 and constant is None):
        return None
    if constant is not None and beta != 1:
        bias = graph.once((bias, beta), lambda: graph.add(f"{bias}/scaled", constant * np.float32(beta)))
    key = (node.input[1], alpha, flip)
    matrix = weight.T if flip else weight
    return Linear(node, node.input[0], matrix if alpha == 1 else matrix * np.float32(alpha), bias, key)


def embedding(graph: Graph, node: NodeProto) -> Array | None:
    """The table float32 [V, D] whose rows a Gather picks; None where the node does something else."""
    if node.domain or node.op_type != "Gather" or attributes(node).get("axis", 0) != 0:
        return None
    return graph.weight(node.input[0], 2)
