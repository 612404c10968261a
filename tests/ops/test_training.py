import numpy as np
import pytest
from scipy import special

from onnxlet.errors import InvalidInput

from .oracle import assert_same, ours

RNG = np.random.default_rng(12)
SCORES = RNG.normal(size=(3, 5, 2)).astype(np.float32)
LABELS = np.array([[0, 4], [2, 2], [1, 3]])
WEIGHTS = RNG.random(5).astype(np.float32)
PREVIEW = {"domain": "ai.onnx.preview.training", "opset": 1}


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_losses_equal_native_ones(reduction, weights):
    assert_same("NegativeLogLikelihoodLoss", SCORES, LABELS, weights, reduction=reduction, opset=13)
    assert_same("SoftmaxCrossEntropyLoss", SCORES, LABELS, weights, reduction=reduction, opset=13, outputs=2)


def test_ignored_labels_count_nowhere_even_out_of_range():
    labels = np.array([[0, -7], [2, -7], [1, 3]])
    (loss,) = ours("SoftmaxCrossEntropyLoss", SCORES, labels, ignore_index=-7)
    logs = special.log_softmax(SCORES, axis=1)
    expected = -np.mean([logs[0, 0, 0], logs[1, 2, 0], logs[2, 1, 0], logs[2, 3, 1]])
    np.testing.assert_allclose(loss, expected, rtol=1e-6)
    with pytest.raises(InvalidInput, match="target has classes -7 to 3, expected 0 to 4"):
        ours("SoftmaxCrossEntropyLoss", SCORES, labels)


@pytest.mark.parametrize("opset", [7, 10, 12, 22])
def test_inference_drops_nothing(opset):
    y, mask = ours("Dropout", SCORES, opset=opset, outputs=2)
    np.testing.assert_array_equal(y, SCORES)
    assert mask.dtype == (np.float32 if opset == 7 else np.bool_)
    assert mask.all()


def test_training_drops_a_share_and_scales_the_rest():
    x = np.ones(20000, np.float32)
    y, mask = ours("Dropout", x, np.float32(0.25), np.array(True), outputs=2, seed=3)
    np.testing.assert_array_equal(y, np.where(mask, np.float32(4 / 3), 0))
    assert 0.74 < mask.mean() < 0.76


@pytest.mark.parametrize(
    ("op_type", "states", "options"),
    [
        ("Adagrad", 1, {"norm_coefficient": 0.01}),
        ("Adam", 2, {"norm_coefficient": 0.01}),
        ("Momentum", 1, {"norm_coefficient": 0.01, "alpha": 0.9, "beta": 1.0, "mode": "nesterov"}),
        ("Momentum", 1, {"norm_coefficient": 0.0, "alpha": 0.9, "beta": 1.0, "mode": "standard"}),
    ],
)
def test_optimizers_find_the_minimum_of_two_parabolas_at_once(op_type, states, options):
    values = [np.array([5.0, -4.0]), np.array([[3.0]])]
    state = [np.zeros_like(v) for _ in range(states) for v in values]
    for step in range(500):
        gradients = [2 * (v - 1) for v in values]
        result = ours(
            op_type, np.array(0.03 if op_type == "Momentum" else 0.5), np.array(step), *values, *gradients, *state,
            outputs=2 + 2 * states, **options, **PREVIEW,
        )  # fmt: skip
        values, state = result[:2], result[2:]
    for v in values:
        np.testing.assert_allclose(v, 1, atol=0.02)
