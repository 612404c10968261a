import numpy as np
import pytest

from onnxlet.errors import InvalidInput

from .oracle import assert_same, ours

RNG = np.random.default_rng(5)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


X = normal(2, 6, 4, 5) * 3 + 1
SCALE, BIAS, MEAN, VAR = normal(6), normal(6), normal(6), np.abs(normal(6)) + 0.1


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_batch_normalization_equals_the_native_one(opset):
    assert_same("BatchNormalization", X, SCALE, BIAS, MEAN, VAR, opset=opset, epsilon=1e-3, atol=1e-5)


def test_batch_normalization_of_every_element_until_opset_8():
    scale, bias, mean, var = (np.broadcast_to(v[:, None, None], X.shape[1:]) for v in (SCALE, BIAS, MEAN, VAR))
    (each,) = ours("BatchNormalization", X, scale, bias, mean, var, opset=7, spatial=0)
    np.testing.assert_allclose(each, ours("BatchNormalization", X, SCALE, BIAS, MEAN, VAR)[0], rtol=1e-4, atol=1e-5)


def test_training_uses_the_batch_and_moves_the_running_statistics():
    y, mean, var = ours("BatchNormalization", X, SCALE, BIAS, MEAN, VAR, outputs=3, training_mode=1, momentum=0.75)
    np.testing.assert_allclose(y.mean(axis=(0, 2, 3)), BIAS, atol=1e-5)
    np.testing.assert_allclose(y.std(axis=(0, 2, 3)), np.abs(SCALE), rtol=1e-4)
    np.testing.assert_allclose(mean, MEAN * 0.75 + X.mean(axis=(0, 2, 3)) * 0.25, rtol=1e-5)
    np.testing.assert_allclose(var, VAR * 0.75 + X.var(axis=(0, 2, 3)) * 0.25, rtol=1e-5)


def test_instance_layer_and_local_normalization_equal_native_ones():
    assert_same("InstanceNormalization", X, SCALE, BIAS, atol=1e-5)
    assert_same("LayerNormalization", X, normal(4, 5), normal(4, 5), axis=2, outputs=3, atol=1e-5)
    assert_same("LayerNormalization", X, normal(5), outputs=1, atol=1e-5)
    assert_same("LRN", X, size=3, alpha=0.1)
    assert_same("LRN", X, size=5, bias=2.0)
    assert_same("MeanVarianceNormalization", X, atol=1e-5)
    for p in (1, 2):
        assert_same("LpNormalization", X, p=p, axis=1)


def test_groups_interpolate_between_instances_and_layers():
    one, each = np.ones(6, np.float32), np.zeros(6, np.float32)
    np.testing.assert_allclose(
        ours("GroupNormalization", X, one, each, num_groups=6)[0],
        ours("InstanceNormalization", X, one, each)[0],
        atol=1e-5,
    )
    np.testing.assert_allclose(
        ours("GroupNormalization", X, one, each, num_groups=1)[0],
        ours("LayerNormalization", X, np.ones(X.shape[1:], np.float32), axis=1)[0],
        atol=1e-5,
    )
    assert_same("GroupNormalization", X, SCALE, BIAS, num_groups=3, opset=21, atol=1e-5)
    with pytest.raises(InvalidInput, match="6 channels do not divide into num_groups = 4"):
        ours("GroupNormalization", X, SCALE, BIAS, num_groups=4)


def test_group_scales_were_per_group_until_opset_20():
    scale, bias = normal(3), normal(3)
    (old,) = ours("GroupNormalization", X, scale, bias, num_groups=3, opset=18)
    (new,) = ours("GroupNormalization", X, scale.repeat(2), bias.repeat(2), num_groups=3, opset=21)
    np.testing.assert_allclose(old, new, atol=1e-6)


def test_root_mean_square_normalization_of_large_halves_is_finite():
    x = np.full((1, 8), 3000, np.float16)  # its square overflows a half
    (y,) = ours("RMSNormalization", x, np.ones(8, np.float16), opset=23)
    assert y.dtype == np.float16
    np.testing.assert_allclose(y.astype(np.float32), 1, rtol=1e-3)


def test_zeros_stay_zeros_and_constants_become_zeros():
    assert not ours("LpNormalization", np.zeros((2, 3), np.float32))[0].any()
    assert not ours("LayerNormalization", np.full((2, 3), 7, np.float32), np.ones(3, np.float32))[0].any()


def test_nan_spreads_within_its_group_only():
    x = normal(2, 4)
    x[0, 1] = np.nan
    (y,) = ours("LayerNormalization", x, np.ones(4, np.float32))
    assert np.isnan(y).all(axis=1).tolist() == [True, False]
