"""Trees as steps of scikit-learn pipelines: ours, in place of skl2onnx's converters.

LightGBM and XGBoost have none there. Those of histogram gradient boosting round thresholds to the nearest float32.
"""

from importlib import import_module
from typing import Any

import onnx

from . import boosting, hist_trees
from .graph import GraphBuilder
from .trees import Forest

__all__ = ["PREFIX", "register"]

PREFIX = "onnxlet_"
_STEPS = {
    "sklearn.ensemble": ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    "lightgbm": ("LGBMClassifier", "LGBMRegressor", "LGBMRanker"),
    "xgboost": ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor", "XGBRanker"),
}


def register(module: str) -> None:
    """Teach skl2onnx the steps of a library that has been imported; a second time changes nothing."""
    from skl2onnx import update_registered_converter
    from skl2onnx.common import shape_calculator as shapes

    for name in _STEPS[module]:
        options, outputs = None, shapes.calculate_linear_regressor_output_shapes
        if name.endswith("Classifier"):
            outputs = shapes.calculate_linear_classifier_output_shapes
            options = {key: [True, False] for key in ("zipmap", "nocl", "raw_scores", "output_class_labels")}
        step = getattr(import_module(module), name)
        update_registered_converter(step, f"Onnxlet{name}", outputs, _convert, options=options)


def _forest(step: Any) -> Forest:
    name = type(step).__name__
    return hist_trees.forest(step, name) if name.startswith("Hist") else boosting.read(step, name).forest


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Append the trees of one step to skl2onnx's container."""
    forest, graph = _forest(operator.raw_operator), GraphBuilder()
    given = operator.inputs[0].type.to_onnx_type().tensor_type.elem_type
    double = given == onnx.TensorProto.DOUBLE and not forest.single
    rows = "X" if double else graph.op("Cast", ["X"], to=onnx.TensorProto.FLOAT)
    made = forest.write(graph, rows, double=double)
    names = {"X": operator.inputs[0].full_name, "": ""}
    for value, array in graph.constants.items():
        names[value] = scope.get_unique_variable_name(value)
        container.initializers.append(onnx.numpy_helper.from_array(array, names[value]))
    for node in graph.nodes:
        names.update({value: scope.get_unique_variable_name(value) for value in node.output})
        container.add_node(
            node.op_type,
            [names[value] for value in node.input],
            [names[value] for value in node.output],
            op_domain=node.domain,
            name=scope.get_unique_operator_name(PREFIX + node.name),
            **{a.name: onnx.helper.get_attribute_value(a) for a in node.attribute},
        )
    for value, output in zip(made, operator.outputs, strict=True):
        wanted = output.type.to_onnx_type().tensor_type.elem_type
        cast = scope.get_unique_operator_name("Cast")
        container.add_node("Cast", [names[value]], [output.full_name], name=cast, to=wanted)
