"""TensorFlow.js's operators over pictures: convolution, pooling, resizing, padding. All of them work channels first."""

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxlet.errors import BuildError

from .tfjs_values import FIRST_AXIS, Converter, TfNode, Value, first_constant

__all__ = ["LAYERS"]


def _nhwc(node: TfNode) -> None:
    if node.text("data_format", "NHWC") != "NHWC":
        raise BuildError(f"has data_format {node.text('data_format')}, expected NHWC")


def _padding(node: TfNode, kernel: list[int], strides: list[int], dilations: list[int]) -> dict[str, Any]:
    kind = node.text("padding")
    if kind == "VALID":
        return {}
    if kind == "EXPLICIT":
        pads = node.wholes("explicit_paddings")
        return {"pads": [pads[2], pads[4], pads[3], pads[5]]}
    if strides != [1, 1]:  # depends on the picture's size
        return {"auto_pad": "SAME_UPPER"}
    total = [(size - 1) * dilation for size, dilation in zip(kernel, dilations, strict=True)]
    return {"pads": [*(t // 2 for t in total), *(t - t // 2 for t in total)]} if any(total) else {}


def _conv(c: Converter, node: TfNode) -> Value:
    _nhwc(node)
    weights = c.known(node.inputs[1], "filter")
    height, width, channels, multiple = weights.shape
    if "Depthwise" in node.op:  # H, W, C, M -> C * M filters over one channel each
        weights = weights.transpose(2, 3, 0, 1).reshape(channels * multiple, 1, height, width)
        groups = channels
    else:
        weights, groups = weights.transpose(3, 2, 0, 1), 1
    strides, dilations = node.wholes("strides")[1:3], node.wholes("dilations")[1:3] or [1, 1]
    fused = node.texts("fused_ops")
    inputs: list[Any] = [c.first(c.value(node.inputs[0])), np.ascontiguousarray(weights, np.float32)]
    if "BiasAdd" in fused:
        inputs.append(np.ravel(c.known(node.inputs[2], "bias")))
    made = c.op(
        node,
        "Conv",
        inputs,
        kernel_shape=[height, width],
        strides=strides,
        dilations=dilations,
        group=groups,
        **_padding(node, [height, width], strides, dilations),
    )
    for activation in fused:
        if activation != "BiasAdd":
            made = _activated(c, node, made, activation)
    return Value(first=made)


def _activated(c: Converter, node: TfNode, name: str, activation: str) -> str:
    match activation:
        case "Relu" | "Elu" | "Sigmoid" | "Tanh":
            return c.graph.op(activation, [name])
        case "Relu6":
            return c.graph.op("Clip", [name, np.float32(0), np.float32(6)])
        case "LeakyRelu":
            return c.graph.op("LeakyRelu", [name], alpha=node.number("leakyrelu_alpha", 0.2))
        case "Prelu":
            return c.graph.op("PRelu", [name, first_constant(c.known(node.inputs[-1], "slope"))])
    raise BuildError(f"has the fused activation {activation}, which is not converted")


def _conv_transpose(c: Converter, node: TfNode) -> Value:
    _nhwc(node)
    weights = c.known(node.inputs[1], "filter")  # H, W, out, in
    strides = node.wholes("strides")[1:3]
    if node.text("padding") == "EXPLICIT":
        raise BuildError("has explicit padding, expected SAME or VALID")
    # SAME gives input * stride; what the filter reaches beyond is cut off, the smaller half at the beginning.
    over = [size - stride for size, stride in zip(weights.shape[:2], strides, strict=True)]
    if node.text("padding") == "VALID":
        over = [0, 0]
    more = [max(o, 0) for o in over]
    name = c.op(
        node,
        "ConvTranspose",
        [c.first(c.value(node.inputs[2])), np.ascontiguousarray(weights.transpose(3, 2, 0, 1), np.float32)],
        kernel_shape=list(weights.shape[:2]),
        strides=strides,
        pads=[*(m // 2 for m in more), *(m - m // 2 for m in more)],
        output_padding=[max(-o, 0) for o in over],
    )
    return Value(first=name)


def _batch_norm(c: Converter, node: TfNode) -> Value:
    _nhwc(node)
    names = [c.first(c.value(node.inputs[0])), *(c.plain(c.value(reference)) for reference in node.inputs[1:5])]
    return Value(first=c.op(node, "BatchNormalization", names, epsilon=node.number("epsilon", 1e-4)))


def _pool(op_type: str, **attributes: Any) -> Callable[[Converter, TfNode], Value]:
    def convert(c: Converter, node: TfNode) -> Value:
        _nhwc(node)
        size, strides = node.wholes("ksize")[1:3], node.wholes("strides")[1:3]
        more = _padding(node, size, strides, [1, 1]) | attributes
        name = c.first(c.value(node.inputs[0]))
        return Value(first=c.op(node, op_type, [name], kernel_shape=size, strides=strides, **more))

    return convert


def _resize(mode: str) -> Callable[[Converter, TfNode], Value]:
    def convert(c: Converter, node: TfNode) -> Value:
        if node.flag("align_corners"):
            coordinates, nearest = "align_corners", "round_prefer_ceil"
        elif node.flag("half_pixel_centers"):
            coordinates, nearest = "half_pixel", "round_prefer_ceil"
        else:
            coordinates, nearest = "asymmetric", "floor"
        # All four sizes, not two with `axes`: ONNX Runtime 1.32 breaks those where it moves a transposition past them.
        name = c.first(c.value(node.inputs[0]))
        kept = c.graph.op("Shape", [name], start=0, end=2)
        sizes = c.graph.op("Concat", [kept, c.int64(node.inputs[1])], axis=0)
        attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": coordinates}
        if mode == "nearest":
            attributes["nearest_mode"] = nearest
        return Value(first=c.op(node, "Resize", [name, "", "", sizes], **attributes))

    return convert


def _pad(c: Converter, node: TfNode) -> Value:
    (name,), is_first = c.together(node.inputs[:1])
    pads = c.known(node.inputs[1], "paddings")
    if is_first:
        pads = pads[np.argsort(FIRST_AXIS)]
    amounts = np.concatenate([pads[:, 0], pads[:, 1]]).astype(np.int64)
    if node.op == "MirrorPad":
        mode = "reflect" if node.text("mode") == "REFLECT" else "symmetric"
        if mode == "symmetric":
            raise BuildError("has mode SYMMETRIC, expected REFLECT")
        return c.result(c.op(node, "Pad", [name, amounts], mode=mode), is_first)
    fill = c.known(node.inputs[2], "fill value").reshape(()) if node.op == "PadV2" else np.float32(0)
    return c.result(c.op(node, "Pad", [name, amounts, fill]), is_first)


def _depth_to_space(c: Converter, node: TfNode) -> Value:
    _nhwc(node)
    name = c.first(c.value(node.inputs[0]))
    return Value(first=c.op(node, "DepthToSpace", [name], blocksize=node.whole("block_size"), mode="DCR"))


LAYERS: dict[str, Callable[[Converter, TfNode], Value | list[Value]]] = {
    "AvgPool": _pool("AveragePool", count_include_pad=0),
    "Conv2D": _conv,
    "Conv2DBackpropInput": _conv_transpose,
    "DepthToSpace": _depth_to_space,
    "DepthwiseConv2dNative": _conv,
    "FusedBatchNorm": _batch_norm,
    "FusedBatchNormV2": _batch_norm,
    "FusedBatchNormV3": _batch_norm,
    "FusedDepthwiseConv2dNative": _conv,
    "MaxPool": _pool("MaxPool"),
    "MirrorPad": _pad,
    "Pad": _pad,
    "PadV2": _pad,
    "ResizeBilinear": _resize("linear"),
    "ResizeNearestNeighbor": _resize("nearest"),
    "_FusedConv2D": _conv,
}
