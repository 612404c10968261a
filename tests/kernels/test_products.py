"""Products of matrices against numpy, over all small sizes and some large ones."""

import math

import numpy as np
import pytest

from onnxlet.providers.kernels.linear import pack, packed_size

from .operators import bits, call

SIZES = [*range(1, 10), 13, 16, 31, 32, 33, 40]


def gemm(a, b, bias=None, low=-math.inf, high=math.inf):
    m, k = a.shape[-2:]
    n = b.shape[-1]
    batch = max(a.shape[0] if a.ndim == 3 else 1, b.shape[0] if b.ndim == 3 else 1)
    c = np.full((batch, m, n), np.nan, np.float32)
    params = [m, n, k, batch, a.ndim == 3, b.ndim == 3, bits(low), bits(high)]
    call("gemm_f32", [a, pack(b), bias, c], params)
    return c if a.ndim == 3 or b.ndim == 3 else c[0]


def near(result, a, b, bias=0.0):
    """As exact as sums of that many products are in float32."""
    right = np.matmul(a.astype(np.float64), b.astype(np.float64)) + bias
    bound = np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64)) + np.abs(bias)
    assert np.all(np.abs(result - right) <= 1e-6 * bound + 1e-30)


@pytest.mark.parametrize("m", SIZES)
def test_every_size(m, rng):
    for n in SIZES:
        for k in (0, 1, 2, 3, 4, 5, 8, 17, 40):
            a = rng.standard_normal((m, k), np.float32)
            b = rng.standard_normal((k, n), np.float32)
            bias = rng.standard_normal(n).astype(np.float32)
            near(gemm(a, b), a, b)
            near(gemm(a, b, bias), a, b, bias)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1000, 1280), (5, 777, 513), (64, 320, 384)])
def test_large_ones(m, n, k, rng):
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    near(gemm(a, b), a, b)


def test_batches_on_either_side(rng):
    a, b = rng.standard_normal((3, 5, 7), np.float32), rng.standard_normal((3, 7, 9), np.float32)
    near(gemm(a, b), a, b)
    near(gemm(a[0], b), a[0], b)
    near(gemm(a, b[0]), a, b[0])


def test_limits_and_what_is_no_number():
    a = np.array([[1, 2], [np.nan, 0], [np.inf, 0]], np.float32)
    b = np.array([[1, -1], [1, -1]], np.float32)
    c = gemm(a, b, low=0, high=2.5)
    assert c[0].tolist() == [2.5, 0]
    assert np.isnan(c[1]).all()
    assert c[2].tolist() == [2.5, 0]


def test_packing_at_run_time_is_packing_at_load(rng):
    for transposed in (False, True):
        b = rng.standard_normal((2, 5, 11), np.float32)
        packed = np.full((2, packed_size(5, 11)), np.nan, np.float32)
        given = np.ascontiguousarray(b.swapaxes(1, 2)) if transposed else b
        call("pack_b_f32", [given, packed], [5, 11, transposed, 2])
        np.testing.assert_array_equal(packed, pack(b).reshape(2, -1))
