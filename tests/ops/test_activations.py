import numpy as np
import pytest
from scipy import special

from onnxlet.errors import InvalidInput

from .oracle import assert_same, ours

EDGES = np.array([-np.inf, -1000, -3, -1, -0.2, -0.0, 0, 0.2, 1, 3, 1000, np.inf, np.nan], np.float32)
PLAIN = [
    "Relu",
    "LeakyRelu",
    "ThresholdedRelu",
    "Elu",
    "Selu",
    "Celu",
    "Sigmoid",
    "HardSigmoid",
    "HardSwish",
    "Softplus",
    "Softsign",
    "Mish",
    "Gelu",
]


@pytest.mark.parametrize("op_type", [name for name in PLAIN if name not in ("Mish", "HardSwish")])
def test_activations_equal_native_ones_where_the_result_is_finite(op_type):
    finite = EDGES[np.isfinite(EDGES)]
    assert_same(op_type, finite)


@pytest.mark.parametrize("op_type", [*PLAIN, "Swish", "Shrink", "Hardmax", "Softmax", "LogSoftmax"])
def test_nan_stays_nan(op_type):
    (y,) = ours(op_type, np.array([[1, np.nan]], np.float32), opset=28)
    assert op_type == "Hardmax" or np.isnan(y[0, 1])


@pytest.mark.parametrize("op_type", PLAIN)
def test_half_precision_stays_half_precision(op_type):
    x = np.linspace(-8, 8, 33)
    (half,), (single,) = ours(op_type, x.astype(np.float16)), ours(op_type, x.astype(np.float32))
    assert half.dtype == np.float16
    np.testing.assert_allclose(half.astype(np.float32), single, rtol=4e-3, atol=4e-3)


def test_sigmoid_neither_overflows_nor_loses_small_results():
    x = np.array([-80, 0, 80], np.float32)
    np.testing.assert_allclose(ours("Sigmoid", x)[0], special.expit(x.astype(np.float64)), rtol=1e-6)


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_softmax_flattens_until_opset_12(op_type, opset):
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    for axis in (0, 1, 2, -1):
        assert_same(op_type, x, opset=opset, axis=axis)


def test_softmax_of_huge_numbers():
    (y,) = ours("Softmax", np.array([1e30, 1e30, -1e30], np.float32))
    assert y.tolist() == [0.5, 0.5, 0]


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [11, 13])
def test_softmax_of_zero_size(op_type, opset):
    assert ours(op_type, np.zeros((2, 0), np.float32), opset=opset)[0].shape == (2, 0)


def test_gelu_is_exact_or_the_tanh_formula():
    x = np.linspace(-6, 6, 101)
    np.testing.assert_allclose(ours("Gelu", x)[0], x * special.ndtr(x), atol=1e-15)
    assert_same("Gelu", x.astype(np.float32), approximate="tanh")


def test_swiglu_does_not_broadcast():
    with pytest.raises(InvalidInput, match="does not broadcast"):
        ours("SwiGLU", np.zeros((2, 1), np.float32), np.zeros((2, 2), np.float32), opset=28)


def test_prelu_of_integers_stays_integer():
    (y,) = ours("PRelu", np.array([-4, 4], np.int32), np.array([3], np.int32))
    assert y.dtype == np.int32
    assert y.tolist() == [-12, 4]
