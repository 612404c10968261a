import numpy as np
import pytest
from scipy import special

from onnxlet.errors import InvalidInput

from .oracle import assert_same, ours

NAMES = ["Sum", "Mean", "Prod", "Max", "Min", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"]


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[0], [1, -1], [0, 1, 2]])
@pytest.mark.parametrize("name", NAMES)
def test_reductions_equal_native_ones_under_both_conventions(name, axes, keepdims):
    x = np.random.default_rng(1).uniform(0.5, 2, size=(3, 4, 5)).astype(np.float32)
    assert_same(f"Reduce{name}", x, np.array(axes), opset=18, keepdims=keepdims)
    assert_same(f"Reduce{name}", x, opset=12, axes=axes, keepdims=keepdims)


@pytest.mark.parametrize("name", NAMES)
def test_no_axes_means_all_or_with_noop_none(name):
    x = np.array([[1, 2], [3, 4]], np.float32)
    empty = np.array([], np.int64)
    assert ours(f"Reduce{name}", x, empty)[0].shape == (1, 1)
    assert ours(f"Reduce{name}", x, None, keepdims=0)[0].shape == ()
    (alone,) = ours(f"Reduce{name}", x, empty, noop_with_empty_axes=1)
    (by_hand,) = ours(f"Reduce{name}", x[..., None], np.array([2]), keepdims=0)
    np.testing.assert_allclose(alone, by_hand)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Sum", 0), ("Prod", 1), ("Max", -np.inf), ("Min", np.inf), ("L1", 0), ("L2", 0), ("SumSquare", 0),
        ("LogSum", -np.inf), ("LogSumExp", -np.inf), ("Mean", np.nan),
    ],
)  # fmt: skip
def test_reducing_nothing(name, expected):
    (y,) = ours(f"Reduce{name}", np.zeros((2, 0), np.float32), np.array([1]), keepdims=0)
    np.testing.assert_array_equal(y, np.full(2, expected, np.float32))


def test_integers_stay_exact():
    x = np.array([2**53 + 1, 2**53 + 2], np.int64)
    assert ours("ReduceSum", x, None, keepdims=0)[0] == 2**54 + 3
    assert ours("ReduceMax", x, None, keepdims=0)[0] == 2**53 + 2
    assert ours("ReduceMean", np.array([-7, 0], np.int32), None, keepdims=0)[0] == -3
    assert ours("ReduceMin", np.zeros((0,), np.uint8), None, keepdims=0)[0] == 255


def test_log_sum_exp_survives_what_exp_would_not():
    x = np.array([[1000.0, 1000.5], [-np.inf, -np.inf], [np.inf, 1], [np.nan, 1]], np.float32)
    (y,) = ours("ReduceLogSumExp", x, np.array([1]), keepdims=0)
    np.testing.assert_allclose(y, special.logsumexp(x.astype(np.float64), axis=1))


def test_a_half_precision_sum_is_kept_in_single_precision():
    x = np.ones(4096, np.float16)
    assert ours("ReduceSum", x, None, keepdims=0)[0] == 4096
    assert ours("ReduceL2", np.full(4, 300, np.float16), None, keepdims=0)[0] == 600  # 300 squared overflows a half


def test_maximum_and_minimum_keep_nan():
    x = np.array([1, np.nan, 3], np.float32)
    assert np.isnan(ours("ReduceMax", x, None)[0]).all()
    assert np.isnan(ours("ReduceMin", x, None)[0]).all()


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("select_last_index", [0, 1])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_places_of_extremes_equal_native_ones(op_type, select_last_index, keepdims):
    x = np.array([[2, 2, 1, 1], [5, 4, 5, 4]], np.float32)
    for axis in (0, 1, -1):
        assert_same(op_type, x, axis=axis, keepdims=keepdims, select_last_index=select_last_index)


def test_an_axis_named_twice_is_refused():
    with pytest.raises(InvalidInput, match=r"axes \(0, 0\) name an axis twice"):
        ours("ReduceSum", np.zeros((2, 2)), np.array([0, -2]))
