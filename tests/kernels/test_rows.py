"""What works along the last axis, and reductions."""

import numpy as np
import pytest

from onnxlet.providers.kernels.reductions import KINDS

from .operators import bits, call

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 31, 40, 1000]


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("log", [False, True])
def test_softmax(n, log, rng):
    x = (rng.standard_normal((5, n)) * 30).astype(np.float32)
    y = np.full_like(x, np.nan)
    call("softmax_f32", [x, y], [5, n, log])
    shifted = x.astype(np.float64) - x.max(1, keepdims=True)
    right = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    np.testing.assert_allclose(y, right if log else np.exp(right), rtol=1e-5, atol=1e-7 if not log else 2e-5)


def test_softmax_of_what_is_no_number():
    x = np.array([[1, np.nan, 2], [np.inf, 0, 0], [-np.inf, 0, 0]], np.float32)
    y = np.empty_like(x)
    call("softmax_f32", [x, y], [3, 3, 0])
    assert np.isnan(y[:2]).any(axis=1).all()
    np.testing.assert_allclose(y[2], [0, 0.5, 0.5], rtol=1e-6)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("centred", [True, False])
def test_normalizations(n, centred, rng):
    x = (rng.standard_normal((3, n)) + 100).astype(np.float32)
    scale, bias = rng.standard_normal((2, n)).astype(np.float32)
    y = np.full_like(x, np.nan)
    call("layer_norm_f32", [x, scale, bias, y], [3, n, centred, bits(1e-5)])
    wide = x.astype(np.float64)
    wide -= wide.mean(1, keepdims=True) if centred else 0
    right = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * scale + bias
    np.testing.assert_allclose(y, right, rtol=2e-4, atol=2e-4)
    call("layer_norm_f32", [x, scale, None, y], [3, n, centred, bits(1e-5)])
    np.testing.assert_allclose(y, right - bias, rtol=2e-4, atol=2e-4)


REDUCE = {
    "Sum": np.sum,
    "Mean": np.mean,
    "Max": np.max,
    "Min": np.min,
    "Prod": np.prod,
    "SumSquare": lambda x, axis: (x * x).sum(axis),
    "L1": lambda x, axis: np.abs(x).sum(axis),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inner", [1, 2, 4, 7])
def test_reductions(kind, inner, rng):
    for n in LENGTHS[:-1]:
        x = rng.standard_normal((3, n, inner)).astype(np.float32)
        y = np.full((3, inner), np.nan, np.float32)
        call("reduce_f32", [x, y], [KINDS.index(kind), 3, n, inner])
        np.testing.assert_allclose(y, REDUCE[kind](x.astype(np.float64), axis=1), rtol=2e-5, atol=2e-6)
