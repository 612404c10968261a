import itertools

import numpy as np
import pytest
from scipy import ndimage, signal

from onnxlet.errors import InvalidInput
from onnxlet.ops import conv

from .oracle import assert_same, ours

RNG = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("group", [1, 2, 4])
def test_convolutions_of_every_rank_and_grouping_equal_native_ones(rank, group):
    x, b = normal(2, 4, *(7, 8, 9)[:rank]), normal(8)
    w = normal(8, 4 // group, *(3, 2, 2)[:rank])
    for strides, dilations in itertools.product(([1] * rank, [2, 3, 1][:rank]), ([1] * rank, [2, 1, 3][:rank])):
        pads = [1, 0, 2][:rank] + [0, 2, 1][:rank]
        assert_same("Conv", x, w, b, group=group, strides=strides, dilations=dilations, pads=pads, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_automatic_padding_equals_the_native_one(auto_pad):
    for stride in (1, 2, 3):
        assert_same("Conv", normal(1, 2, 9, 10), normal(3, 2, 3, 4), auto_pad=auto_pad, strides=[stride] * 2, atol=1e-4)


def test_a_convolution_is_a_correlation():
    x, w = normal(1, 1, 40), normal(1, 1, 5)
    np.testing.assert_allclose(ours("Conv", x, w)[0][0, 0], signal.correlate(x[0, 0], w[0, 0], "valid"), atol=1e-5)


def test_blocks_do_not_change_the_result(monkeypatch):
    x, w = normal(5, 3, 20, 11), normal(4, 3, 3, 3)
    whole = ours("Conv", x, w, strides=[2, 1])[0]
    monkeypatch.setattr(conv, "BLOCK_BYTES", 1000)  # a block is then one row of one sample
    np.testing.assert_allclose(ours("Conv", x, w, strides=[2, 1])[0], whole, rtol=1e-5, atol=1e-5)


def test_memory_stays_below_the_whole_im2col():
    import tracemalloc

    x, w = normal(1, 16, 256, 256), normal(16, 16, 5, 5)
    tracemalloc.start()
    ours("Conv", x, w)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < x.nbytes * 25 / 2


def test_zero_size_inputs_give_zero_size_results():
    assert ours("Conv", normal(0, 2, 5, 5), normal(3, 2, 3, 3))[0].shape == (0, 3, 3, 3)
    assert ours("ConvTranspose", normal(0, 2, 5), normal(2, 3, 3))[0].shape == (0, 3, 7)


def test_half_precision_convolutions_are_summed_in_single_precision():
    x, w = np.ones((1, 512, 3, 3), np.float16), np.ones((1, 512, 3, 3), np.float16)
    y = ours("Conv", x, w)[0]
    assert y.dtype == np.float16
    assert y.item() == 4608


def test_channels_that_do_not_fit_are_explained():
    with pytest.raises(InvalidInput, match=r"W has 3 input channels, expected 8 \(X channels / group\)"):
        ours("Conv", normal(1, 8, 5, 5), normal(4, 3, 3, 3))
    with pytest.raises(InvalidInput, match="a window of 7 does not fit into 5 elements"):
        ours("Conv", normal(1, 1, 5), normal(1, 1, 7))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("group", [1, 2])
def test_transposed_convolutions_equal_native_ones(rank, group):
    x, w, b = normal(2, 4, *(4, 5, 3)[:rank]), normal(4, 3, *(3, 2, 3)[:rank]), normal(3 * group)
    strides, pads = [2, 3, 2][:rank], [1, 0, 1][:rank] + [0, 1, 1][:rank]
    options = {"group": group, "strides": strides, "rtol": 1e-4, "atol": 1e-4}
    assert_same("ConvTranspose", x, w, b, pads=pads, output_padding=[1, 2, 0][:rank], **options)
    assert_same("ConvTranspose", x, w, b, dilations=[2, 1, 2][:rank], **options)
    for auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        assert_same("ConvTranspose", x, w, auto_pad=auto_pad, **{**options, "strides": [2] * rank})
    assert_same("ConvTranspose", x, w, output_shape=[9, 15, 7][:rank], **options)


def test_a_transposed_convolution_is_the_adjoint_of_a_convolution():
    x, w = normal(1, 3, 9, 8), normal(5, 3, 3, 3)
    y = ours("Conv", x, w, strides=[2, 1], pads=[1, 0, 1, 2])[0]
    z = normal(*y.shape)
    back = ours("ConvTranspose", z, w, strides=[2, 1], pads=[1, 0, 1, 2])[0]
    np.testing.assert_allclose((y * z).sum(), (x * back).sum(), rtol=1e-4)


def test_a_deformable_convolution_without_offsets_is_a_convolution():
    x, w = normal(2, 4, 6, 7), normal(6, 2, 3, 3)
    offset = np.zeros((2, 2 * 9 * 2, 6, 7), np.float32)
    plain = ours("Conv", x, w, group=2, pads=[1] * 4)[0]
    np.testing.assert_allclose(
        ours("DeformConv", x, w, offset, group=2, offset_group=2, pads=[1] * 4)[0], plain, atol=1e-4
    )


def test_a_deformable_convolution_interpolates_linearly_and_sees_zeros_outside():
    x, w = normal(1, 1, 5, 6), np.ones((1, 1, 1, 1), np.float32)
    offset = RNG.uniform(-4, 4, size=(1, 2, 5, 6)).astype(np.float32)
    rows, columns = np.indices((5, 6)) + offset[0]
    expected = ndimage.map_coordinates(np.pad(x[0, 0], 8), [rows + 8, columns + 8], order=1)
    np.testing.assert_allclose(ours("DeformConv", x, w, offset)[0][0, 0], expected, atol=1e-5)
    half = np.full((1, 1, 5, 6), 0.5, np.float32)
    np.testing.assert_allclose(ours("DeformConv", x, w, offset, None, half)[0][0, 0], expected / 2, atol=1e-5)


def test_a_deformable_convolution_of_three_axes_moves_all_of_them():
    x, w = normal(1, 1, 3, 4, 5), np.ones((1, 1, 1, 1, 1), np.float32)
    offset = np.ones((1, 3, 3, 4, 5), np.float32)  # one element onward along every axis
    (y,) = ours("DeformConv", x, w, offset)
    np.testing.assert_allclose(y[..., :-1, :-1, :-1], x[..., 1:, 1:, 1:])


def test_a_causal_convolution_in_two_calls_equals_one():
    x, w, b = normal(2, 3, 9), normal(3, 1, 4), normal(3)
    whole, state = ours("CausalConvWithState", x, w, b, opset=27, outputs=2, activation="silu")
    first, middle = ours("CausalConvWithState", x[..., :2], w, b, opset=27, outputs=2, activation="silu")
    second, last = ours("CausalConvWithState", x[..., 2:], w, b, middle, opset=27, outputs=2, activation="silu")
    np.testing.assert_allclose(np.concatenate([first, second], axis=2), whole, atol=1e-6)
    np.testing.assert_array_equal(last, state)
    np.testing.assert_array_equal(state, x[..., -3:])
