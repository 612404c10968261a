"""Functions of one value, over their whole range, against numpy's double functions."""

import math
from math import erf

import numpy as np
import pytest

from onnxlet.providers.kernels.elementwise import UNARY

from .operators import call

ERF = np.vectorize(erf)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = {
    "Relu": lambda x: np.where(np.isnan(x), x, np.maximum(x, 0)),
    "Sigmoid": sigmoid,
    "Tanh": np.tanh,
    "Gelu": lambda x: 0.5 * x * (1 + ERF(x / math.sqrt(2))),
    "GeluTanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "Silu": lambda x: x * sigmoid(x),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "HardSigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "Exp": np.exp,
    "Erf": ERF,
    "Sqrt": np.sqrt,
    "Abs": np.abs,
    "Neg": np.negative,
    "Reciprocal": lambda x: 1 / x,
}
# The errors that activations.h states: units in the last place of a normal result, or absolute.
ULP = {"Relu": 0, "Exp": 2, "Sqrt": 1, "Abs": 0, "Neg": 0, "Reciprocal": 1}
ABSOLUTE = {"Sigmoid": 2e-7, "Tanh": 2e-7, "Erf": 6e-7, "HardSigmoid": 2e-7}
RELATIVE_TO_X = {
    "Gelu": 4e-7,
    "GeluTanh": 4e-7,
    "Silu": 4e-7,
    "HardSwish": 2e-7,
}  # errors grow with x, as x itself does


def apply(kind, x):
    y = np.full_like(x, np.nan)
    call("unary_f32", [x, y], [x.size, UNARY.index(kind)])
    return y


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", UNARY)
def test_a_function_is_as_exact_as_it_says(kind, rng):
    x = np.concatenate([rng.standard_normal(50_000) * 5, np.linspace(-110, 110, 100_001), [0.0, -0.0]]).astype(
        np.float32
    )
    got, right = apply(kind, x).astype(np.float64), FUNCTIONS[kind](x.astype(np.float64))
    plain = np.isfinite(right) & (np.abs(right) < 3.4e38)
    error = np.abs(got - right)[plain]
    if kind in ULP:
        normal = np.abs(right[plain]) > 1.2e-38
        unit = np.spacing(np.abs(right[plain]).astype(np.float32)).astype(np.float64)
        assert np.all(error[normal] <= ULP[kind] * unit[normal])
        assert np.all(error[~normal] <= 1.2e-38)  # what float32 holds as less than normal may be 0
    elif kind in ABSOLUTE:
        assert error.max() <= ABSOLUTE[kind]
    else:
        assert np.all(error <= RELATIVE_TO_X[kind] * np.maximum(np.abs(x[plain]), 1))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", UNARY)
def test_what_is_no_number_and_what_has_no_end(kind):
    x = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38], np.float32)
    with np.errstate(all="ignore"):
        right = FUNCTIONS[kind](x.astype(np.float64)).astype(np.float32)
    if kind in ("Gelu", "GeluTanh", "Silu", "HardSwish"):
        right[2] = np.nan  # -inf times 0; numpy's own formula says so too
    np.testing.assert_array_equal(apply(kind, x), right)


@pytest.mark.parametrize("n", range(41))
def test_every_length_and_not_one_more(n, rng):
    x = rng.standard_normal(n).astype(np.float32)
    room = np.full(n + 8, 7, np.float32)
    call("unary_f32", [x, room], [n, UNARY.index("Neg")])
    np.testing.assert_array_equal(room, [*-x, *[7] * 8])
