import numpy as np
import pytest
from scipy import special

from onnxlet.errors import InvalidInput
from onnxlet.ops.functions import erf

from .oracle import assert_same, ours


def test_erf_is_right_to_the_last_digits():
    x = np.concatenate([np.linspace(-7, 7, 20001), np.logspace(-300, 0, 500), [0.46875, 4.0, -4.0]])
    np.testing.assert_allclose(erf(x), special.erf(x), rtol=1e-15, atol=1e-15)


def test_erf_in_single_precision_is_right_to_one_unit_in_the_last_place():
    x = np.concatenate([np.linspace(-5, 5, 100001), np.logspace(-30, 0, 500)]).astype(np.float32)
    expected = special.erf(x.astype(np.float64))
    np.testing.assert_allclose(erf(x), expected, rtol=2.4e-7, atol=0)
    half = x.astype(np.float16)
    np.testing.assert_array_equal(erf(half), special.erf(half.astype(np.float64)).astype(np.float16))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_erf_of_special_values(dtype):
    np.testing.assert_array_equal(erf(np.array([np.nan, np.inf, -np.inf], dtype)), [np.nan, 1, -1])
    assert np.signbit(erf(np.array(-0.0, dtype)))


@pytest.mark.parametrize(
    "op_type",
    [
        "Abs",
        "Neg",
        "Sign",
        "Ceil",
        "Floor",
        "Round",
        "Reciprocal",
        "Sqrt",
        "Exp",
        "Log",
        "Sin",
        "Cos",
        "Tan",
        "Asin",
        "Acos",
        "Atan",
        "Sinh",
        "Cosh",
        "Tanh",
        "Asinh",
        "Acosh",
        "Atanh",
        "Erf",
        "IsNaN",
        "IsInf",
    ],
)
def test_functions_equal_native_ones_with_nan_and_infinities(op_type):
    x = np.array([-2.5, -1, -0.5, -0.0, 0, 0.3, 0.5, 1, 1.5, 2.5, np.nan, np.inf, -np.inf], np.float32)
    assert_same(op_type, x)


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("exclusive", [0, 1])
def test_running_sums_equal_native_ones(reverse, exclusive):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for axis in (0, 1, -1):
        assert_same("CumSum", x, np.array(axis, np.int64), reverse=reverse, exclusive=exclusive)


def test_running_products_exclude_from_either_end():
    x, axis = np.array([1, 2, 3], np.int64), np.array(0)
    assert ours("CumProd", x, axis, opset=26, exclusive=1)[0].tolist() == [1, 1, 2]
    assert ours("CumProd", x, axis, opset=26, exclusive=1, reverse=1)[0].tolist() == [6, 3, 1]


def test_running_sums_of_nothing():
    assert ours("CumSum", np.zeros((0, 2), np.float32), np.array(0), exclusive=1)[0].shape == (0, 2)


def test_an_axis_out_of_range_is_named():
    with pytest.raises(InvalidInput, match=r"axis is 2, expected a value in \[-2, 2\) for a tensor of rank 2"):
        ours("CumSum", np.zeros((2, 2)), np.array(2))
