import itertools

import numpy as np
import pytest

from onnxlet.errors import InvalidInput

from .oracle import assert_same, ours

RNG = np.random.default_rng(4)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


CASES = list(itertools.product([[2, 3], [3, 3]], [[1, 1], [2, 3]], [[0, 0, 0, 0], [1, 1, 0, 1]], [0, 1]))


@pytest.mark.parametrize(("kernel", "strides", "pads", "ceil_mode"), CASES)
def test_pools_equal_native_ones(kernel, strides, pads, ceil_mode):
    x = normal(2, 3, 8, 9)
    options = {"kernel_shape": kernel, "strides": strides, "pads": pads, "ceil_mode": ceil_mode, "opset": 22}
    for storage_order in (0, 1):
        assert_same("MaxPool", x, outputs=2, storage_order=storage_order, dilations=[1, 2], **options)
    assert_same("MaxPool", x, **options)
    assert_same("LpPool", x, p=3, **options)
    for count_include_pad in (0, 1):
        assert_same("AveragePool", x, count_include_pad=count_include_pad, **options)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_automatic_padding_equals_the_native_one(auto_pad):
    for op_type in ("MaxPool", "AveragePool"):
        assert_same(op_type, normal(1, 2, 7, 8), auto_pad=auto_pad, kernel_shape=[3, 2], strides=[2, 3])


@pytest.mark.parametrize("rank", [1, 3])
def test_pools_of_other_ranks_equal_native_ones(rank):
    x = normal(1, 2, *(6, 7, 5)[:rank])
    for op_type in ("MaxPool", "AveragePool", "LpPool"):
        assert_same(op_type, x, kernel_shape=[3, 2, 2][:rank], strides=[2, 1, 2][:rank], opset=22)


def test_ceil_mode_makes_no_window_in_the_padding():
    x = np.array([[[1, 2, 4, 5]]], np.float32)
    options = {"kernel_shape": [3], "strides": [2], "pads": [0, 1], "ceil_mode": 1}
    assert ours("MaxPool", x, **options)[0].tolist() == [[[4, 5]]]
    np.testing.assert_allclose(ours("AveragePool", x, **options)[0], [[[7 / 3, 4.5]]])


def test_what_ceil_mode_adds_does_not_count_in_a_mean():
    x = np.ones((1, 1, 4), np.float32)
    y = ours("AveragePool", x, kernel_shape=[3], strides=[2], ceil_mode=1, count_include_pad=1)[0]
    assert y.tolist() == [[[1, 1]]]


def test_the_first_of_equal_maxima_wins_and_nan_before_all():
    x = np.array([[[3, 3, np.nan, 3, -np.inf, -np.inf]]], np.float32)
    y, places = ours("MaxPool", x, kernel_shape=[2], strides=[2], outputs=2)
    np.testing.assert_array_equal(y, [[[3, np.nan, -np.inf]]])
    assert places.tolist() == [[[0, 2, 4]]]


def test_eight_bit_maxima_are_never_the_padding():
    x = np.full((1, 1, 2, 2), -100, np.int8)
    assert_same("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def test_half_precision_means_are_summed_in_single_precision():
    x = np.full((1, 1, 64, 64), 100, np.float16)
    assert ours("AveragePool", x, kernel_shape=[64, 64])[0].item() == 100
    assert ours("GlobalAveragePool", x)[0].item() == 100


@pytest.mark.parametrize("op_type", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_global_pools_equal_native_ones(op_type):
    assert_same(op_type, normal(2, 3, 4, 5))


def test_unpooling_undoes_pooling():
    x = np.abs(normal(1, 2, 6, 6)) + 1
    y, places = ours("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], outputs=2)
    (back,) = ours("MaxUnpool", y, places, kernel_shape=[2, 2], strides=[2, 2])
    np.testing.assert_array_equal(back, np.where(np.isin(x, y), x, 0))
    assert_same("MaxUnpool", y, places, kernel_shape=[2, 2], strides=[2, 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel_shape": [2]}, r"kernel_shape is \(2,\), expected 2 positive numbers"),
        ({"kernel_shape": [2, 0]}, r"kernel_shape is \(2, 0\), expected 2 positive numbers"),
        ({"kernel_shape": [2, 2], "strides": [1, 0]}, r"strides is \(1, 0\), expected 2 positive numbers"),
        ({"kernel_shape": [2, 2], "pads": [1, 1]}, r"pads is \(1, 1\), expected 4 numbers from 0 up"),
        ({"kernel_shape": [2, 2], "pads": [0, 0, -1, 0]}, "expected 4 numbers from 0 up"),
        ({"kernel_shape": [2, 2], "auto_pad": "SAME"}, 'auto_pad is "SAME"'),
    ],
)
def test_attributes_that_do_not_fit_are_named(options, message):
    with pytest.raises(InvalidInput, match=message):
        ours("MaxPool", np.zeros((1, 1, 4, 4), np.float32), **options)
