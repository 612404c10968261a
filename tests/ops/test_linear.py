import numpy as np
import pytest

from onnxlet.errors import InvalidInput
from onnxlet.ops import support

from .oracle import assert_same, ours

RNG = np.random.default_rng(2)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((2, 1, 3, 4), (5, 4, 2)), ((0, 4), (4, 2))],
)
def test_matrix_products_equal_native_ones(a, b):
    assert_same("MatMul", normal(*a), normal(*b), atol=1e-5)


def test_a_product_over_nothing_is_zero():
    assert ours("MatMul", normal(2, 0), normal(0, 3))[0].tolist() == [[0] * 3] * 2


def test_integer_products_are_exact():
    a = np.array([[2**40 + 1, 1]], np.int64)
    assert ours("MatMul", a, np.array([[3], [5]], np.int64))[0].tolist() == [[3 * (2**40 + 1) + 5]]


def test_half_precision_products_are_summed_in_single_precision():
    a = np.ones((1, 4096), np.float16)
    assert ours("MatMul", a, a.T)[0].tolist() == [[4096]]


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(InvalidInput, match=r"cannot multiply shapes \(2, 3\) and \(4, 5\)"):
        ours("MatMul", normal(2, 3), normal(4, 5))


@pytest.mark.parametrize("transA", [0, 1])
@pytest.mark.parametrize("transB", [0, 1])
def test_gemm_equals_the_native_one(transA, transB):
    a, b = normal(*((4, 3) if transA else (3, 4))), normal(*((5, 4) if transB else (4, 5)))
    options = {"transA": transA, "transB": transB, "alpha": 0.5, "beta": -2.0, "atol": 1e-5}
    for c in (None, normal(5), normal(3, 1), normal(3, 5), normal(1)):
        assert_same("Gemm", a, b, c, **options)


@pytest.mark.parametrize(
    "equation", ["bij,bjk->bik", "...ij->...ji", "bij,bkj", "ii->i", "a,b,c->abc", "b i j , b j -> b i"]
)
def test_einsum_equals_the_native_one(equation):
    shapes = {
        "bij,bjk->bik": [(2, 3, 4), (2, 4, 5)],
        "...ij->...ji": [(2, 3, 4)],
        "bij,bkj": [(2, 3, 4), (2, 5, 4)],
        "ii->i": [(3, 3)],
        "a,b,c->abc": [(2,), (3,), (4,)],
        "b i j , b j -> b i": [(2, 3, 4), (2, 4)],
    }
    assert_same("Einsum", *(normal(*s) for s in shapes[equation]), equation=equation, atol=1e-5)


def test_determinants_of_batches_and_of_nothing():
    assert_same("Det", normal(2, 3, 4, 4))
    assert ours("Det", normal(2, 0, 0))[0].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3, 4), (4, 40)),
        ((3, 4), (4, 2)),
        ((2, 1, 3, 4), (5, 4, 20)),
        ((0, 4), (4, 20)),
        ((3, 0), (0, 20)),
        ((4,), (4, 20)),
    ],
)
def test_products_without_blas_are_the_same(monkeypatch, a, b):
    left, right = normal(*a), normal(*b)
    expected = np.matmul(left, right)
    monkeypatch.setattr(support, "HAS_BLAS", False)
    np.testing.assert_allclose(support.product(left, right), expected, rtol=1e-4, atol=1e-5)
    turned = np.ascontiguousarray(right.swapaxes(-1, 0)).swapaxes(-1, 0)
    np.testing.assert_allclose(support.product(left, turned), expected, rtol=1e-4, atol=1e-5)
