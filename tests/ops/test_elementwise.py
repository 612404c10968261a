import numpy as np
import pytest

from .oracle import assert_same, ours

INT_MIN = np.iinfo(np.int32).min


def test_integer_division_rounds_toward_zero():
    a = np.array([7, -7, 7, -7, 0, INT_MIN + 1], np.int32)
    b = np.array([2, 2, -2, -2, 3, 2], np.int32)
    assert_same("Div", a, b)
    assert ours("Div", a, b)[0].tolist() == [3, -3, -3, 3, 0, -(2**30) + 1]


def test_unsigned_division_keeps_large_numbers_exact():
    (y,) = ours("Div", np.array([2**64 - 1], np.uint64), np.array([3], np.uint64))
    assert y.dtype == np.uint64
    assert y.tolist() == [(2**64 - 1) // 3]


@pytest.mark.parametrize("fmod", [0, 1])
def test_mod_takes_the_sign_of_divisor_or_dividend(fmod):
    a = np.array([5, -5, 5, -5, 6], np.int64)
    b = np.array([3, 3, -3, -3, 3], np.int64)
    assert_same("Mod", a, b, fmod=fmod)


def test_mod_of_floats_follows_the_special_cases_of_opset_28():
    x = np.array([-0.0, 0.0, np.inf, 1, -5, 5, np.nan])
    y = np.array([3.0, -3.0, 2.0, 0.0, np.inf, np.inf, 2.0])
    (z,) = ours("Mod", x, y, opset=28)
    np.testing.assert_array_equal(z, [0.0, -0.0, np.nan, np.nan, np.inf, 5, np.nan])
    assert not np.signbit(z[0])
    assert np.signbit(z[1])


def test_integer_powers_are_exact_and_negative_exponents_round_toward_zero():
    (y,) = ours("Pow", np.array([3, -1, -1, 2, 1], np.int64), np.array([39, -3, -2, -1, -7], np.int64))
    assert y.tolist() == [3**39, -1, 1, 0, 1]


def test_power_keeps_the_dtype_of_the_base():
    x = np.array([1.5, 4.0], np.float32)
    for exponent in (np.array([2, 3], np.int64), np.array([0.5, 2.0], np.float32), np.array([2.0, 0.5], np.float64)):
        assert_same("Pow", x, exponent)


def test_shifts_by_the_width_or_more_move_every_bit_out():
    x = np.array([-8, -8, 8, 8], np.int8)
    y = np.array([1, 8, 8, -1], np.int8)
    assert ours("BitShift", x, y, opset=28, direction="RIGHT")[0].tolist() == [-4, -1, 0, 0]
    assert ours("BitShift", x, y, opset=28, direction="LEFT")[0].tolist() == [-16, 0, 0, 0]


@pytest.mark.parametrize("op_type", ["Max", "Min", "Sum", "Mean"])
def test_variadic_operators_broadcast_and_keep_nan(op_type):
    xs = [np.array([[1.0], [np.nan]], np.float32), np.array([3.0, -np.inf], np.float32), np.array(2.0, np.float32)]
    assert_same(op_type, *xs)


def test_clip_keeps_nan_and_lets_max_win():
    x = np.array([-5, np.nan, 5, np.inf], np.float32)
    np.testing.assert_array_equal(ours("Clip", x, np.float32(-1), np.float32(1))[0], np.float32([-1, np.nan, 1, 1]))
    np.testing.assert_array_equal(ours("Clip", x, None, np.float32(1))[0], np.float32([-5, np.nan, 1, 1]))
    np.testing.assert_array_equal(ours("Clip", x, np.float32(2), np.float32(1))[0], np.float32([1, np.nan, 1, 1]))


def test_clip_with_attributes_until_opset_10():
    x = np.array([-5, 0.5, 5], np.float16)
    (y,) = ours("Clip", x, opset=6, min=-1.0)
    assert y.dtype == np.float16
    assert y.tolist() == [-1, 0.5, 5]


@pytest.mark.parametrize("op_type", ["Add", "Sub", "Mul", "Div", "Pow", "Max", "Equal", "Less"])
def test_zero_size_tensors_broadcast(op_type):
    (y,) = ours(op_type, np.zeros((2, 0), np.float32), np.ones((1,), np.float32))
    assert y.shape == (2, 0)


def test_strings_compare():
    a, b = np.array(["x", "yy"], object), np.array(["x", "y"], object)
    assert ours("Equal", a, b)[0].tolist() == [True, False]


def test_half_precision_sums_do_not_lose_small_terms():
    terms = [np.full(1, 2048, np.float16)] + [np.ones(1, np.float16)] * 8
    assert ours("Sum", *terms)[0].tolist() == [2056]
