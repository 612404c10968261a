"""Writes count.onnx: local contrast, the custom operator, and each region's area and brightness."""

from onnx import TensorProto, checker, helper


def model():
    """Inputs: grey f32 [1, 1, H, W] in 0..1, sign f32 [], contrast f32 [].

    Outputs: labels i64 [1, 1, H, W], area f32 [n + 1], brightness f32 [n + 1] (index 0 is the background).
    """
    node = helper.make_node
    same = "SAME_UPPER"
    nodes = [
        node("AveragePool", ["grey"], ["smooth"], "smooth", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("AveragePool", ["smooth"], ["coarse"], "coarse", kernel_shape=[8, 8], strides=[8, 8], auto_pad=same),
        node("AveragePool", ["coarse"], ["blurred"], "blurred", kernel_shape=[13, 13], pads=[6, 6, 6, 6]),
        node("Shape", ["smooth"], ["extent"], "extent"),
        node("Resize", ["blurred", "", "", "extent"], ["around"], "around", mode="linear"),
        node("Sub", ["smooth", "around"], ["difference"], "difference"),
        node("Mul", ["difference", "sign"], ["signed"], "signed"),
        node("Greater", ["signed", "contrast"], ["mask"], "mask"),
        node("Components", ["mask"], ["labels"], "components", domain="com.example", connectivity=8),
        node("Reshape", ["labels", "flat"], ["index"], "index"),
        node("Reshape", ["grey", "flat"], ["value"], "value"),
        node("ReduceMax", ["index"], ["most"], "most", keepdims=1),
        node("Add", ["most", "one"], ["size"], "size"),
        node("ConstantOfShape", ["size"], ["zeros"], "zeros"),
        node("Mul", ["value", "zero"], ["nothing"], "nothing"),
        node("Add", ["nothing", "unit"], ["ones"], "ones"),
        node("ScatterElements", ["zeros", "index", "ones"], ["area"], "area", axis=0, reduction="add"),
        node("ScatterElements", ["zeros", "index", "value"], ["total"], "total", axis=0, reduction="add"),
        node("Max", ["area", "unit"], ["divisor"], "divisor"),
        node("Div", ["total", "divisor"], ["brightness"], "brightness"),
    ]
    tensor = helper.make_tensor
    graph = helper.make_graph(
        nodes,
        "count",
        [
            helper.make_tensor_value_info("grey", TensorProto.FLOAT, [1, 1, "height", "width"]),
            helper.make_tensor_value_info("sign", TensorProto.FLOAT, []),
            helper.make_tensor_value_info("contrast", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("labels", TensorProto.INT64, [1, 1, "height", "width"]),
            helper.make_tensor_value_info("area", TensorProto.FLOAT, ["things"]),
            helper.make_tensor_value_info("brightness", TensorProto.FLOAT, ["things"]),
        ],
        [
            tensor("flat", TensorProto.INT64, [1], [-1]),
            tensor("one", TensorProto.INT64, [1], [1]),
            tensor("unit", TensorProto.FLOAT, [1], [1.0]),
            tensor("zero", TensorProto.FLOAT, [1], [0.0]),
        ],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.example", 1)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="onnxlet count example")
    checker.check_model(proto)
    return proto
