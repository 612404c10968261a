"""Graphs on KernelExecutionProvider against the core's own operators."""

import itertools
import warnings

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from onnxlet import InferenceSession, SessionOptions, ops
from onnxlet.errors import InvalidModel, OnnxletError, Refused, UnsupportedOp
from onnxlet.execute import compile_model
from onnxlet.providers.kernels import KernelExecutable, KernelProvider
from onnxlet.providers.reference import ReferenceExecutable
from onnxlet.source import ModelSource
from tests.ops import generate_cases, node_cases
from tests.ops.exclusions import reason

KERNELS = ["KernelExecutionProvider"]


def model(text, weights=()):
    """A model of one graph in onnx's own notation, without its head."""
    parsed = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> g {text}')
    parsed.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in dict(weights).items())
    return parsed.SerializeToString()


def one_node(op, x, *weights, **attributes):
    names = [f"w{i}" for i in range(len(weights))]
    node = helper.make_node(op, ["x", *names], ["y"], **attributes)
    inputs = [helper.make_tensor_value_info("x", 1, x.shape)]
    outputs = [helper.make_tensor_value_info("y", 1, None)]
    constants = [numpy_helper.from_array(w, name) for w, name in zip(weights, names, strict=True)]
    graph = helper.make_graph([node], "g", inputs, outputs, constants)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)]).SerializeToString()


def both(data, feeds, fetches=None):
    """The answers of the kernels and of the core; the kernels take the whole graph."""
    source = ModelSource(data)
    fetches = fetches or [v.name for v in source.model().graph.outputs]
    executable = KernelProvider().load(source, SessionOptions())
    again = ReferenceExecutable(source.model()).run(fetches, feeds)
    for _ in range(2):  # the second run finds the program, and an arena that is not fresh
        for got, right in zip(executable.run(fetches, feeds), again, strict=True):
            assert got.dtype == right.dtype
            assert got.shape == right.shape
            np.testing.assert_allclose(got, right, rtol=1e-4, atol=2e-5)
    return executable


def program(executable):
    (plan,) = executable._plans.values()
    return plan.compiled


def floats(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def test_bias_and_relu_become_part_of_the_product(rng):
    weights = {"w": floats(rng, 6, 9), "b": floats(rng, 9), "v": floats(rng, 4, 9)}
    data = model(
        "(float[n, 6] x) => (float[n, 4] y) "
        "{ h = MatMul(x, w)  i = Add(b, h)  r = Relu(i)  y = Gemm<transB = 1>(r, v) }",
        weights,
    )
    executable = both(data, {"x": floats(rng, 3, 6)})
    assert [line.split("(")[0] for line in program(executable).listing] == ["gemm_f32", "gemm_f32"]


def test_what_somebody_else_reads_is_not_folded_away(rng):
    weights = {"w": floats(rng, 6, 9), "b": floats(rng, 9)}
    data = model(
        "(float[n, 6] x) => (float[n, 9] y, float[n, 9] h) "
        "{ h = MatMul(x, w)  i = Add(h, b)  r = Relu(i)  y = Mul(r, i) }",
        weights,
    )
    both(data, {"x": floats(rng, 3, 6)})


def test_memory_is_used_again(rng):
    steps = " ".join(f"v{i + 1} = Sigmoid(v{i}) u{i + 1} = Add(v{i + 1}, v{i})" for i in range(10))
    data = model(f"(float[64, 64] v0) => (float[64, 64] u10) {{ {steps} }}")
    executable = both(data, {"v0": floats(rng, 64, 64)})
    assert program(executable).arena_bytes <= 3 * 64 * 64 * 4


def test_views_and_outputs_that_are_the_same_memory(rng):
    data = model(
        "(float[2, 6] x) => (float[12] a, float[3, 4] b, float[2, 6] c, float[2, 6] d) "
        "{ r = Relu(x)  a = Reshape(r, flat)  b = Reshape(r, square)  c = Identity(x)  d = Neg(r) }",
        {"flat": np.array([-1]), "square": np.array([3, -1])},
    )
    both(data, {"x": floats(rng, 2, 6)})


def test_shapes_that_are_computed_from_shapes_are_known(rng):
    data = model(
        "(float[n, 4, 5] x) => (float[n, 20] y) { s = Shape(x)  n = Gather(s, zero)  o = Unsqueeze(n, first) "
        "t = Concat<axis = 0>(o, rest)  y = Reshape(x, t) }",
        {"zero": np.array(0), "first": np.array([0]), "rest": np.array([-1])},
    )
    executable = both(data, {"x": floats(rng, 3, 4, 5)})
    executable.run(["y"], {"x": floats(rng, 7, 4, 5)})
    assert len(executable._plans) == 2


def test_a_constant_output_and_an_empty_batch(rng):
    data = model("(float[n, 3] x) => (float[2] k, float[n, 3] y) { k = Neg(c)  y = Neg(x) }", {"c": floats(rng, 2)})
    both(data, {"x": floats(rng, 2, 3)})
    both(data, {"x": floats(rng, 0, 3)})


def conv_cases():
    rng = np.random.default_rng(1)
    sizes = itertools.product(
        [1, 2], [1, 3, 4, 7], [1, 5, 8, 12], [1, 5, 13], [4, 14], [1, 3], [1, 3], [1, 2], [1, 2], [0, 1]
    )
    for n, cin, cout, h, w, kh, kw, stride, dilation, pad in sizes:
        fits = h + 2 * pad > (kh - 1) * dilation and w + 2 * pad > (kw - 1) * dilation
        if fits and rng.random() < 0.04:
            yield (n, cin, h, w), (cout, cin, kh, kw), 1, stride, dilation, [pad, pad, pad, 0]
    for channels, h, w, kernel, stride, dilation, pad in itertools.product(
        [2, 4, 6], [1, 5, 14], [3, 7, 14], [1, 3, 5], [1, 2], [1, 2], [0, 1, 2]
    ):
        if min(h, w) + 2 * pad > (kernel - 1) * dilation and rng.random() < 0.25:
            yield (1, channels, h, w), (channels, 1, kernel, kernel), channels, stride, dilation, [pad] * 4
    yield (2, 8, 9, 11), (8, 4, 3, 3), 2, 1, 1, [1] * 4
    yield (1, 12, 9, 11), (24, 4, 3, 3), 3, 2, 1, [1] * 4


def test_convolutions(rng):
    for shape, weights, group, stride, dilation, pads in conv_cases():
        x, w, b = floats(rng, *shape), floats(rng, *weights), floats(rng, weights[0])
        attributes = {"group": group, "strides": [stride] * 2, "dilations": [dilation] * 2, "pads": pads}
        both(one_node("Conv", x, w, b, **attributes), {"x": x})


def test_a_convolution_along_a_line(rng):
    x = floats(rng, 2, 6, 33)
    both(one_node("Conv", x, floats(rng, 5, 6, 4), strides=[2], pads=[2, 1]), {"x": x})


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pooling(op, rng):
    x = floats(rng, 2, 6, 11, 13)
    for ceil, stride, include in itertools.product((0, 1), (1, 2, 3), (0, 1)):
        more = {"count_include_pad": include} if op == "AveragePool" else {}
        node = one_node(op, x, kernel_shape=[3, 2], strides=[stride] * 2, pads=[1] * 4, ceil_mode=ceil, **more)
        both(node, {"x": x})


def test_layouts_meet(rng):
    """Channels in groups where convolutions are, C order where somebody looks at them, also beside each other."""
    weights = {"w": floats(rng, 8, 3, 3, 3), "v": floats(rng, 8, 8, 1, 1), "axes": np.array([2, 3])}
    data = model(
        "(float[1, 3, 9, 9] x) => (float[1, 8, 9, 9] y, float[1, 9, 9, 8] t, float[1, 16, 9, 9] j, float[1, 8] m) "
        "{ c = Conv<pads = [1, 1, 1, 1]>(x, w)  t = Transpose<perm = [0, 2, 3, 1]>(c)  r = Relu(c)  d = Conv(r, v) "
        "y = Add(r, d)  j = Concat<axis = 1>(d, r)  m = ReduceMean<keepdims = 0>(y, axes) }",
        weights,
    )
    both(data, {"x": floats(rng, 1, 3, 9, 9)})


def test_products_of_what_is_computed(rng):
    data = model(
        "(float[2, 3, 5, 4] q, float[2, 3, 5, 4] k) => (float[2, 3, 5, 5] y) "
        "{ t = Transpose<perm = [0, 1, 3, 2]>(k)  s = MatMul(q, t)  y = Softmax(s) }"
    )
    both(data, {"q": floats(rng, 2, 3, 5, 4), "k": floats(rng, 2, 3, 5, 4)})


def test_a_session_runs_what_there_is_no_kernel_for_in_python(rng):
    data = model("(float[n, 6] x) => (float[n, 6] y) { a = Sigmoid(x)  b = Sinh(a)  y = Neg(b) }")
    x = floats(rng, 3, 6)
    session = InferenceSession(data, providers=KERNELS)
    right = InferenceSession(data, providers=["NumpyExecutionProvider"]).run(None, {"x": x})
    np.testing.assert_allclose(session.run(None, {"x": x})[0], right[0], rtol=1e-5)
    assert [part["provider"] for part in session.placement()["parts"]] == [
        "KernelExecutionProvider", "NumpyExecutionProvider", "KernelExecutionProvider",
    ]  # fmt: skip


def test_a_refusal_that_only_a_shape_teaches_moves_the_node(rng):
    data = model("(float[a, b, c] x) => (float[a, b, c] y) { s = Softmax<axis = 1>(x)  y = Neg(s) }")
    x = floats(rng, 2, 3, 4)
    session = InferenceSession(data, providers=KERNELS)
    right = InferenceSession(data, providers=["NumpyExecutionProvider"]).run(None, {"x": x})
    np.testing.assert_allclose(session.run(None, {"x": x})[0], right[0], rtol=1e-5)


def test_onnx_s_own_node_tests(request, tmp_path):
    """Every one that the kernels take is right; how many they take is written down, so that it does not shrink."""
    ops.load_all()
    cache = getattr(request.config, "cache", None)
    taken = 0
    for case in generate_cases.load(cache.mkdir("onnxlet") if cache else tmp_path):
        if reason(case.name):
            continue
        try:
            graph = compile_model(ModelSource(case.model).model())
        except (InvalidModel, UnsupportedOp):
            continue
        for feeds, outputs in case.data_sets:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results = KernelExecutable(graph).run(list(outputs), feeds)
            except Refused:
                break
            except OnnxletError as error:
                pytest.fail(f"{case.name}: {error}")
            for result, right in zip(results, outputs.values(), strict=True):
                try:
                    node_cases.compare(result, right, case.rtol, case.atol)
                except AssertionError as error:
                    pytest.fail(f"{case.name}: {error}")
        else:
            taken += 1
    assert taken >= 230
