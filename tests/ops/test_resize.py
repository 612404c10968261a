import itertools

import numpy as np
import pytest
from PIL import Image

from onnxlet.errors import InvalidInput

from .oracle import assert_same, ours

RNG = np.random.default_rng(9)
X = RNG.random((1, 2, 13, 17)).astype(np.float32)
TRANSFORMS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"]
TARGETS = [{"sizes": [1, 2, 7, 29]}, {"scales": [1, 1, 0.37, 2.3]}, {"scales": [1, 1, 1.5, 0.8]}]


def target(sizes: list[int] | None = None, scales: list[float] | None = None) -> tuple[np.ndarray | None, ...]:
    """Resize's inputs roi, scales and sizes."""
    return (None, np.array(scales, np.float32)) if scales else (None, None, np.array(sizes))


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("transform", [*TRANSFORMS, "half_pixel_symmetric"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_interpolation_equals_the_native_one(mode, transform, to):
    options = {"mode": mode, "coordinate_transformation_mode": transform, "opset": 19, "rtol": 1e-4, "atol": 1e-4}
    for antialias, exclude_outside in itertools.product((0, 1), (0, 1) if mode == "cubic" else (0,)):
        assert_same("Resize", X, *target(**to), antialias=antialias, exclude_outside=exclude_outside, **options)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_nearest_element_is_the_native_one(transform, to):
    for rule in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
        assert_same("Resize", X, *target(**to), coordinate_transformation_mode=transform, nearest_mode=rule, opset=19)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_older_versions_equal_native_ones(mode):
    x = RNG.random((1, 1, 4, 10)).astype(np.float32)
    for scale in (0.3, 0.6, 1.7, 2.0):
        assert_same("Resize", x, np.array([1, 1, 1, scale], np.float32), opset=10, mode=mode)
        assert_same("Resize", x, np.array([], np.float32), np.array([1, 1, 1, scale], np.float32), opset=11, mode=mode)
    assert_same("Upsample", x, np.array([1, 1, 2, 3], np.float32), opset=9, mode=mode)
    assert_same("Upsample", x, opset=7, mode=mode, scales=[1.0, 1.0, 2.0, 3.0])


def test_a_crop_takes_a_value_from_outside():
    roi = np.array([0, 0, -0.2, 0.1, 1, 1, 1.3, 0.8], np.float32)
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0, "opset": 19}
    for mode in ("nearest", "linear"):
        assert_same("Resize", X, roi, None, np.array([1, 2, 9, 8]), mode=mode, atol=1e-5, **options)


@pytest.mark.parametrize(
    ("policy", "shape"), [("stretch", (1, 2, 7, 8)), ("not_larger", (1, 2, 6, 8)), ("not_smaller", (1, 2, 7, 9))]
)
def test_the_aspect_ratio_is_kept(policy, shape):
    (y,) = ours("Resize", X, None, None, np.array([8, 7]), axes=[3, 2], keep_aspect_ratio_policy=policy)
    assert y.shape == shape


def test_antialiasing_equals_pillows():
    picture = RNG.random((40, 50)).astype(np.float32)
    (y,) = ours("Resize", picture, None, None, np.array([9, 13]), mode="linear", antialias=1, exclude_outside=1)
    expected = np.asarray(Image.fromarray(picture).resize((13, 9), Image.Resampling.BILINEAR))
    np.testing.assert_allclose(y, expected, atol=1e-5)


def test_any_dtype_can_be_copied_and_integers_cut():
    words = np.array([["a", "b"]], object)
    (y,) = ours("Resize", words, None, np.array([1, 2], np.float32))
    assert y.tolist() == [["a", "a", "b", "b"]]
    numbers = np.array([[0, 255]], np.uint8)
    (cubic,) = ours("Resize", numbers, None, np.array([1, 4], np.float32), mode="cubic")
    assert cubic.dtype == np.uint8
    assert (cubic.min(), cubic.max()) == (0, 255)  # an overshoot wraps nowhere


def test_zero_sizes_and_mistakes():
    assert ours("Resize", X[:0], None, None, np.array([0, 2, 3, 3]))[0].shape == (0, 2, 3, 3)
    with pytest.raises(InvalidInput, match="expected 4 scales or sizes, got 2"):
        ours("Resize", X, None, np.array([1, 2], np.float32))
