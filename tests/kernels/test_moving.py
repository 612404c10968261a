"""What moves elements, picks them, or changes their type."""

import itertools

import numpy as np
import pytest

from onnxlet.providers.kernels.shapes import CAST

from .operators import call


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.int64])
def test_transposing_by_steps(dtype, rng):
    for order in itertools.permutations(range(4)):
        x = rng.integers(0, 100, (2, 3, 1, 5)).astype(dtype)
        y = np.empty([x.shape[axis] for axis in order], dtype)
        x_steps = [x.strides[axis] // x.itemsize for axis in order]
        y_steps = [step // y.itemsize for step in y.strides]
        dims = [n for dim in zip(y.shape, x_steps, y_steps, strict=True) for n in dim]
        call("move", [x, y], [x.itemsize, 4, 0, 0, *dims])
        np.testing.assert_array_equal(y, x.transpose(order))


def test_starts_and_repeats(rng):
    x, y = rng.standard_normal(10).astype(np.float32), np.zeros((3, 4), np.float32)
    call("move", [x, y], [4, 2, 5, 1, 3, 0, 4, 2, 2, 1])
    right = np.zeros((3, 4), np.float32)
    right[:, 1:3] = x[[5, 7]]
    np.testing.assert_array_equal(y, right)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_gathering(kind, rng):
    x = rng.standard_normal((2, 5, 3)).astype(np.float32)
    indices = np.array([0, 4, -1, -5, 2, 5, -6], kind)
    y = np.full((2, 7, 3), np.nan, np.float32)
    call("gather", [x, indices, y], [12, 2, 5, 7, kind == np.int64])
    np.testing.assert_array_equal(y[:, :5], x[:, indices[:5]])
    assert not y[:, 5:].any()  # outside


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_casts(rng):
    for source, target in itertools.product(CAST, CAST):
        x = (rng.standard_normal(41) * 50).astype(source)
        if source == np.float32 and target in (np.uint8,):
            x = np.abs(x)
        y = np.empty(41, target)
        call("cast", [x, y], [41, CAST.index(source), CAST.index(target)])
        np.testing.assert_array_equal(y, x.astype(target), err_msg=f"{source} to {target}")


@pytest.mark.parametrize("value", [np.uint8(7), np.int16(-3), np.float32(0.5), np.int64(-9)])
def test_filling(value):
    y = np.empty(13, value.dtype)
    call("fill", [value.reshape(1), y], [13, y.itemsize])
    assert (y == value).all()


@pytest.mark.parametrize("channels", range(1, 13))
def test_channels_in_groups_and_back(channels, rng):
    for pixels in (1, 2, 3, 4, 5, 11):
        x = rng.standard_normal((2, channels, pixels)).astype(np.float32)
        groups = -(-channels // 4)
        blocked = np.full((2, groups, pixels, 4), np.nan, np.float32)
        call("block_f32", [x, blocked], [2, channels, pixels])
        padded = np.zeros((2, groups * 4, pixels), np.float32)
        padded[:, :channels] = x
        np.testing.assert_array_equal(blocked, padded.reshape(2, groups, 4, pixels).transpose(0, 1, 3, 2))
        back = np.full_like(x, np.nan)
        call("unblock_f32", [blocked, back], [2, channels, pixels])
        np.testing.assert_array_equal(back, x)
