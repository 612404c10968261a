"""TensorFlow.js's operators, one small converter each; those over pictures are in `tfjs_layers`."""

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxlet.errors import BuildError

from .tfjs_layers import LAYERS
from .tfjs_values import FIRST_AXIS, TO_FIRST, TO_LAST, Converter, TfNode, Value, dtype_of

__all__ = ["CONVERTERS"]

Convert = Callable[[Converter, TfNode], Value | list[Value]]
_INT32, _INT64, _INT_MAX = 6, 7, 2**31 - 1


def _const(c: Converter, node: TfNode) -> Value:
    if node.name not in c.weights:
        raise BuildError("has no weights in the manifest; get the model again")
    return Value(constant=c.weights[node.name])


def _same(c: Converter, node: TfNode) -> Value:
    return c.value(node.inputs[0])


def _nothing(c: Converter, node: TfNode) -> list[Value]:
    return []


def _elementwise(op_type: str, **attributes: Any) -> Convert:
    """Any number of inputs, broadcast."""

    def convert(c: Converter, node: TfNode) -> Value:
        names, is_first = c.together(node.inputs)
        return c.result(c.op(node, op_type, names, **attributes), is_first)

    return convert


def _twice(op_type: str) -> Convert:
    """x op x."""

    def convert(c: Converter, node: TfNode) -> Value:
        (name,), is_first = c.together(node.inputs)
        return c.result(c.op(node, op_type, [name, name]), is_first)

    return convert


def _relu6(c: Converter, node: TfNode) -> Value:
    (name,), is_first = c.together(node.inputs)
    return c.result(c.op(node, "Clip", [name, np.float32(0), np.float32(6)]), is_first)


def _leaky_relu(c: Converter, node: TfNode) -> Value:
    (name,), is_first = c.together(node.inputs)
    return c.result(c.op(node, "LeakyRelu", [name], alpha=node.number("alpha", 0.2)), is_first)


def _rsqrt(c: Converter, node: TfNode) -> Value:
    (name,), is_first = c.together(node.inputs)
    return c.result(c.op(node, "Reciprocal", [c.graph.op("Sqrt", [name])]), is_first)


def _squared_difference(c: Converter, node: TfNode) -> Value:
    names, is_first = c.together(node.inputs)
    gap = c.graph.op("Sub", names)
    return c.result(c.op(node, "Mul", [gap, gap]), is_first)


def _not_equal(c: Converter, node: TfNode) -> Value:
    names, is_first = c.together(node.inputs)
    return c.result(c.op(node, "Not", [c.graph.op("Equal", names)]), is_first)


def _floor_div(c: Converter, node: TfNode) -> Value:
    names, is_first = c.together(node.inputs)
    if dtype_of(node.type("T")).kind == "f":
        return c.result(c.op(node, "Floor", [c.graph.op("Div", names)]), is_first)
    rest = c.graph.op("Mod", names)  # has the divisor's sign, so what is left divides evenly
    return c.result(c.op(node, "Div", [c.graph.op("Sub", [names[0], rest]), names[1]]), is_first)


def _floor_mod(c: Converter, node: TfNode) -> Value:
    names, is_first = c.together(node.inputs)
    if dtype_of(node.type("T")).kind != "f":
        return c.result(c.op(node, "Mod", names), is_first)
    whole = c.graph.op("Mul", [c.graph.op("Floor", [c.graph.op("Div", names)]), names[1]])
    return c.result(c.op(node, "Sub", [names[0], whole]), is_first)


def _cast(c: Converter, node: TfNode) -> Value:
    (name,), is_first = c.together(node.inputs)
    kinds = {"f": 1, "i": _INT32, "b": 9, "u": 2}
    dtype = dtype_of(node.type("DstT"))
    to = 10 if dtype == np.float16 else kinds[dtype.kind]
    constant = c.value(node.inputs[0]).constant
    if constant is not None:
        return Value(constant=constant.astype(dtype))
    return c.result(c.op(node, "Cast", [name], to=to), is_first)


def _softmax(op_type: str) -> Convert:
    def convert(c: Converter, node: TfNode) -> Value:
        (name,), is_first = c.together(node.inputs)
        return c.result(c.op(node, op_type, [name], axis=1 if is_first else -1), is_first)

    return convert


def _reduce(op_type: str) -> Convert:
    def convert(c: Converter, node: TfNode) -> Value:
        axes, keep = c.known_ints(node.inputs[1], "axes"), node.flag("keep_dims")
        (name,), is_first = c.together(node.inputs[:1])
        if is_first and not keep and sorted(axis % 4 for axis in axes) != [1, 2]:
            name, is_first = c.plain(c.value(node.inputs[0])), False
        if is_first:
            axes = [FIRST_AXIS[axis] for axis in axes]
        made = c.op(node, op_type, [name, np.array(axes, np.int64)], keepdims=int(keep))
        return c.result(made, is_first and keep)  # without H and W, what is left lies the same way in both orders

    return convert


def _arg_max(c: Converter, node: TfNode) -> Value:
    (axis,) = c.known_ints(node.inputs[1], "axis")
    best = c.graph.op("ArgMax", [c.plain(c.value(node.inputs[0]))], axis=axis, keepdims=0)
    return c.made(c.op(node, "Cast", [best], to=_INT32))


def _concat(c: Converter, node: TfNode) -> Value:
    (axis,) = c.known_ints(node.inputs[-1], "axis")
    names, is_first = c.together(node.inputs[:-1])
    if is_first and any(c.value(r).constant is not None for r in node.inputs[:-1]):
        names, is_first = [c.plain(c.value(r)) for r in node.inputs[:-1]], False
    return c.result(c.op(node, "Concat", names, axis=FIRST_AXIS[axis] if is_first else axis), is_first)


def _split(c: Converter, node: TfNode) -> list[Value]:
    if node.op == "Split":
        reference, axis, sizes = node.inputs[1], c.known_ints(node.inputs[0], "axis")[0], None
        count = node.whole("num_split")
    else:
        reference, axis = node.inputs[0], c.known_ints(node.inputs[2], "axis")[0]
        sizes = c.known_ints(node.inputs[1], "sizes")
        count = len(sizes)
        if -1 in sizes:
            raise BuildError("has a size of -1, expected all sizes")
    (name,), is_first = c.together([reference])
    inputs = [name] if sizes is None else [name, np.array(sizes, np.int64)]
    more: dict[str, Any] = {"num_outputs": count} if sizes is None else {}
    made = c.graph.ops("Split", inputs, count, name=node.name, axis=FIRST_AXIS[axis] if is_first else axis, **more)
    return [c.result(one, is_first) for one in made]


def _pack(c: Converter, node: TfNode) -> Value:
    axis = node.whole("axis")
    values = [c.value(reference) for reference in node.inputs]
    if all(value.constant is not None for value in values):
        return Value(constant=np.stack([value.constant for value in values if value.constant is not None], axis))
    raised = [c.graph.op("Unsqueeze", [c.plain(value), np.array([axis], np.int64)]) for value in values]
    return c.made(c.op(node, "Concat", raised, axis=axis))


def _unpack(c: Converter, node: TfNode) -> list[Value]:
    axis, count = node.whole("axis"), node.whole("num")
    name = c.plain(c.value(node.inputs[0]))
    parts = c.graph.ops("Split", [name, np.ones(count, np.int64)], count, name=node.name, axis=axis)
    return [c.made(c.graph.op("Squeeze", [part, np.array([axis], np.int64)])) for part in parts]


def _reshape(c: Converter, node: TfNode) -> Value:
    value = c.value(node.inputs[0])
    if value.constant is not None and c.value(node.inputs[1]).constant is not None:
        return Value(constant=value.constant.reshape(c.known_ints(node.inputs[1], "shape")))
    return c.made(c.op(node, "Reshape", [c.plain(value), c.int64(node.inputs[1])], allowzero=1))


def _expand_dims(c: Converter, node: TfNode) -> Value:
    axes = np.array(c.known_ints(node.inputs[1], "axis"), np.int64)
    return c.made(c.op(node, "Unsqueeze", [c.plain(c.value(node.inputs[0])), axes]))


def _squeeze(c: Converter, node: TfNode) -> Value:
    axes = node.wholes("squeeze_dims")
    more = [np.array(axes, np.int64)] if axes else []
    return c.made(c.op(node, "Squeeze", [c.plain(c.value(node.inputs[0])), *more]))


def _transpose(c: Converter, node: TfNode) -> Value:
    value, perm = c.value(node.inputs[0]), tuple(c.known_ints(node.inputs[1], "permutation"))
    if value.constant is not None:
        return Value(constant=value.constant.transpose(perm))
    if perm == TO_LAST and not value.first:  # what comes out is NHWC, and its other order is there already
        return Value(first=c.plain(value))
    if perm == TO_FIRST and value.first:
        return c.made(value.first)
    return c.made(c.op(node, "Transpose", [c.plain(value)], perm=perm))


def _strided_slice(c: Converter, node: TfNode) -> Value:
    begin, end, steps = (c.known_ints(node.inputs[i], what) for i, what in ((1, "begin"), (2, "end"), (3, "strides")))
    if node.whole("ellipsis_mask"):
        raise BuildError("has an ellipsis, expected one slice an axis")
    name = c.plain(c.value(node.inputs[0]))
    slices: list[tuple[int, int, int]] = []  # of the input's axes
    dropped: list[int] = []
    added: list[int] = []
    for index, (start, stop, step) in enumerate(zip(begin, end, steps, strict=True)):
        has = {mask: node.whole(f"{mask}_mask") >> index & 1 for mask in ("begin", "end", "shrink_axis", "new_axis")}
        if has["new_axis"]:
            added.append(len(slices) - len(dropped) + len(added))
            continue
        if has["shrink_axis"]:
            dropped.append(len(slices))
            slices.append((start, start + 1 if start != -1 else _INT_MAX, 1))
            continue
        first, last = (0, _INT_MAX) if step > 0 else (_INT_MAX, -_INT_MAX)
        slices.append((first if has["begin"] else start, last if has["end"] else stop, step))
    if any(one != (0, _INT_MAX, 1) for one in slices):
        begins, ends, step_sizes = np.array(slices, np.int64).T
        name = c.op(node, "Slice", [name, begins, ends, np.arange(len(slices)), step_sizes])
    if dropped:
        name = c.graph.op("Squeeze", [name, np.array(dropped, np.int64)])
    return c.made(c.graph.op("Unsqueeze", [name, np.array(added, np.int64)]) if added else name)


def _slice(c: Converter, node: TfNode) -> Value:
    begin, size = c.known_ints(node.inputs[1], "begin"), c.known_ints(node.inputs[2], "size")
    end = [_INT_MAX if length == -1 else start + length for start, length in zip(begin, size, strict=True)]
    wanted = [np.array(one, np.int64) for one in (begin, end)]
    return c.made(c.op(node, "Slice", [c.plain(c.value(node.inputs[0])), *wanted]))


def _gather(c: Converter, node: TfNode) -> Value:
    if node.whole("batch_dims"):
        raise BuildError(f"has batch_dims {node.whole('batch_dims')}, expected 0")
    axis = c.known_ints(node.inputs[2], "axis")[0] if len(node.inputs) > 2 else 0
    return c.made(c.op(node, "Gather", [c.plain(c.value(r)) for r in node.inputs[:2]], axis=axis))


def _gather_nd(c: Converter, node: TfNode) -> Value:
    indices = c.graph.op("Cast", [c.plain(c.value(node.inputs[1]))], to=_INT64)
    return c.made(c.op(node, "GatherND", [c.plain(c.value(node.inputs[0])), indices]))


def _top_k(c: Converter, node: TfNode) -> list[Value]:
    count = np.array(c.known_ints(node.inputs[1], "k"), np.int64)
    name = c.plain(c.value(node.inputs[0]))
    values, indices = c.graph.ops("TopK", [name, count], 2, name=node.name, axis=-1)
    return [c.made(values), c.made(c.graph.op("Cast", [indices], to=_INT32))]


def _sparse_to_dense(c: Converter, node: TfNode) -> Value:
    indices, shape, values, default = (c.known(reference, "content") for reference in node.inputs)
    dense = np.full(tuple(np.ravel(shape)), default, values.dtype)
    dense[tuple(np.reshape(indices, (-1, dense.ndim)).T)] = values
    return Value(constant=dense)


def _int32_of(op_type: str) -> Convert:
    """Shape and Size, which TensorFlow gives as int32."""

    def convert(c: Converter, node: TfNode) -> Value:
        made = c.graph.op(op_type, [c.plain(c.value(node.inputs[0]))])
        return c.made(c.op(node, "Cast", [made], to=_INT32))

    return convert


def _expand(value: int, shape: int) -> Convert:
    """One input repeated to the shape that another says."""

    def convert(c: Converter, node: TfNode) -> Value:
        return c.made(c.op(node, "Expand", [c.plain(c.value(node.inputs[value])), c.int64(node.inputs[shape])]))

    return convert


def _zeros_like(c: Converter, node: TfNode) -> Value:
    shape = c.graph.op("Shape", [c.plain(c.value(node.inputs[0]))])
    return c.made(c.op(node, "Expand", [np.zeros((), dtype_of(node.type("T"))), shape]))


def _tile(c: Converter, node: TfNode) -> Value:
    return c.made(c.op(node, "Tile", [c.plain(c.value(node.inputs[0])), c.int64(node.inputs[1])]))


def _range(c: Converter, node: TfNode) -> Value:
    ends = [c.value(reference) for reference in node.inputs]
    names = [c.graph.constant(v.constant.reshape(())) if v.constant is not None else c.plain(v) for v in ends]
    return c.made(c.op(node, "Range", names))


def _matmul(c: Converter, node: TfNode) -> Value:
    names = [c.plain(c.value(reference)) for reference in node.inputs]
    fused = node.texts("fused_ops")
    bias = names[2:3] if "BiasAdd" in fused else []
    flags = {"transA": int(node.flag("transpose_a")), "transB": int(node.flag("transpose_b"))}
    made = c.op(node, "Gemm", [*names[:2], *bias], **flags)
    for activation in fused[1:]:
        if activation not in ("Relu", "Elu", "Sigmoid", "Tanh"):
            raise BuildError(f"has the fused activation {activation}, expected Relu, Elu, Sigmoid or Tanh")
        made = c.graph.op(activation, [made])
    return c.made(made)


def _batch_matmul(c: Converter, node: TfNode) -> Value:
    names, letters = [], []
    for reference, flag, plain, turned in zip(node.inputs, ("adj_x", "adj_y"), ("ij", "jk"), ("ji", "kj"), strict=True):
        value = c.value(reference)
        if node.flag(flag) and value.constant is not None:
            names.append(c.graph.constant(np.swapaxes(value.constant, -1, -2)))
            letters.append(plain)
        else:
            names.append(c.plain(value))
            letters.append(turned if node.flag(flag) else plain)
    if letters == ["ij", "jk"]:
        return c.made(c.op(node, "MatMul", names))
    return c.made(c.op(node, "Einsum", names, equation=f"...{letters[0]},...{letters[1]}->...ik"))


# fmt: off
_SAME_NAME = (
    "Abs", "Add", "Ceil", "Cos", "Elu", "Equal", "Erf", "Exp", "Floor", "Greater", "Less", "Log", "Mul", "Neg", "Pow",
    "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sin", "Softplus", "Sqrt", "Sub", "Tan", "Tanh",
)
# fmt: on
_RENAMED = {
    "AddV2": "Add",
    "AddN": "Sum",
    "BiasAdd": "Add",
    "GreaterEqual": "GreaterOrEqual",
    "LessEqual": "LessOrEqual",
    "LogicalAnd": "And",
    "LogicalNot": "Not",
    "LogicalOr": "Or",
    "Maximum": "Max",
    "Minimum": "Min",
    "Prelu": "PRelu",
    "RealDiv": "Div",
    "Div": "Div",
    "Select": "Where",
    "SelectV2": "Where",
}
_REDUCTIONS = {"Mean": "Mean", "Max": "Max", "Min": "Min", "Sum": "Sum", "Prod": "Prod"}

CONVERTERS: dict[str, Convert] = {
    **{name: _elementwise(name) for name in _SAME_NAME},
    **{name: _elementwise(op_type) for name, op_type in _RENAMED.items()},
    **{name: _reduce(f"Reduce{kind}") for name, kind in _REDUCTIONS.items()},
    **LAYERS,
    "ArgMax": _arg_max,
    "BatchMatMul": _batch_matmul,
    "BatchMatMulV2": _batch_matmul,
    "BroadcastTo": _expand(value=0, shape=1),
    "Cast": _cast,
    "ConcatV2": _concat,
    "Const": _const,
    "ExpandDims": _expand_dims,
    "Fill": _expand(value=1, shape=0),
    "FloorDiv": _floor_div,
    "FloorMod": _floor_mod,
    "GatherNd": _gather_nd,
    "GatherV2": _gather,
    "Identity": _same,
    "LeakyRelu": _leaky_relu,
    "LogSoftmax": _softmax("LogSoftmax"),
    "MatMul": _matmul,
    "NoOp": _nothing,
    "NotEqual": _not_equal,
    "Pack": _pack,
    "Range": _range,
    "Relu6": _relu6,
    "Reshape": _reshape,
    "Rsqrt": _rsqrt,
    "Shape": _int32_of("Shape"),
    "Size": _int32_of("Size"),
    "Slice": _slice,
    "Softmax": _softmax("Softmax"),
    "SparseToDense": _sparse_to_dense,
    "Split": _split,
    "SplitV": _split,
    "Square": _twice("Mul"),
    "SquaredDifference": _squared_difference,
    "Squeeze": _squeeze,
    "StopGradient": _same,
    "StridedSlice": _strided_slice,
    "Tile": _tile,
    "TopKV2": _top_k,
    "Transpose": _transpose,
    "Unpack": _unpack,
    "ZerosLike": _zeros_like,
    "_FusedMatMul": _matmul,
}
