"""What skl2onnx makes of an estimator, mended: its trees' decisions, its locale, and float64 where that is wanted."""

import copy
import sys
from typing import Any

import onnx
from onnx import helper

from onnxlet.errors import BuildError

from . import tree_steps
from .columns import Columns
from .exported import MAX_OPSET, portable
from .graph import ML_OPSET

__all__ = ["converted"]


def converted(estimator: Any, columns: Columns, name: str, *, double: bool) -> bytes:
    """Run skl2onnx and put right what it leaves wrong.

    Args:
        double: compute in float64; inputs and outputs are float32 all the same.
    Raises: BuildError: a step has no converter, or its converter fails.
    """
    import skl2onnx

    for module in {"sklearn.ensemble", "lightgbm", "xgboost"} & sys.modules.keys():
        tree_steps.register(module)
    if getattr(estimator, "flatten_transform", False):  # shapes VotingClassifier.transform only, but is refused
        estimator = copy.copy(estimator)
        estimator.flatten_transform = False
    options = {id(estimator): {"zipmap": False}}
    arguments = {
        "initial_types": columns.initial_types(double=double),
        "target_opset": {"": MAX_OPSET, "ai.onnx.ml": ML_OPSET},
        "name": "onnxlet",
    }
    try:
        try:
            proto = skl2onnx.convert_sklearn(estimator, options=options, **arguments)
        except NameError:  # what is no classifier has no such option
            proto = skl2onnx.convert_sklearn(estimator, **arguments)
    except Exception as error:  # skl2onnx raises whatever its converters run into
        said = " ".join(str(error).split())[:300]
        raise BuildError(
            f"{name}: skl2onnx does not convert this {type(estimator).__name__} ({type(error).__name__}: {said}); "
            "let model() return (estimator, some rows) if types are at fault, else leave that step to the app file"
        ) from error
    _mend(proto, double=double)
    return portable(_float_outside(proto) if double else proto, name)


def _mend(proto: onnx.ModelProto, *, double: bool) -> None:
    """Put right what skl2onnx 1.20 leaves wrong."""
    nodes = []
    for node in proto.graph.node:
        if node.op_type == "StringNormalizer":  # en_US.UTF-8, its default, is missing on many machines
            others = [attribute for attribute in node.attribute if attribute.name != "locale"]
            del node.attribute[:]
            node.attribute.extend([*others, helper.make_attribute("locale", "C.UTF-8")])
        if double and node.op_type.startswith("TreeEnsemble") and not node.name.startswith(tree_steps.PREFIX):
            # scikit-learn's trees round rows to float32, and these thresholds are made for that.
            types = [("single", onnx.TensorProto.FLOAT)]
            if any(attribute.name == "nodes_values_as_tensor" for attribute in node.attribute):
                types.append(("rounded", onnx.TensorProto.DOUBLE))
            for suffix, to in types:
                cast = f"{node.name}_{suffix}"
                nodes.append(helper.make_node("Cast", [node.input[0]], [cast], name=cast, to=to))
                node.input[0] = cast
        nodes.append(copy.deepcopy(node))
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)


def _float_outside(proto: onnx.ModelProto) -> onnx.ModelProto:
    """A model in float64 whose inputs and outputs are float32."""
    graph = proto.graph
    before = [_cast(value, to_double=True) for value in graph.input if _is_double(value)]
    after = [_cast(value, to_double=False) for value in graph.output if _is_double(value)]
    inside = {node.input[0]: node.output[0] for node in before} | {node.output[0]: node.input[0] for node in after}
    for node in graph.node:
        node.input[:] = [inside.get(name, name) for name in node.input]
        node.output[:] = [inside.get(name, name) for name in node.output]
    for value in (*graph.input, *graph.output):
        if _is_double(value):
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    nodes = [*before, *graph.node, *after]
    del graph.node[:]
    graph.node.extend(nodes)
    return proto


def _is_double(value: onnx.ValueInfoProto) -> bool:
    return bool(value.type.tensor_type.elem_type == onnx.TensorProto.DOUBLE)


def _cast(value: onnx.ValueInfoProto, *, to_double: bool) -> onnx.NodeProto:
    outer, inner = value.name, f"{value.name}_double"
    to = onnx.TensorProto.DOUBLE if to_double else onnx.TensorProto.FLOAT
    ends = ([outer], [inner]) if to_double else ([inner], [outer])
    return helper.make_node("Cast", *ends, name=f"{inner}_cast", to=to)
