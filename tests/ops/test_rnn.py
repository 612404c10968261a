import numpy as np
import pytest

from onnxlet.errors import InvalidInput

from .oracle import assert_same, native, ours

RNG = np.random.default_rng(6)
T, N, I, H = 5, 3, 4, 6  # noqa: E741
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
LENGTHS = np.array([5, 2, 1], np.int32)


def normal(*shape: int) -> np.ndarray:
    return (RNG.normal(size=shape) * 0.5).astype(np.float32)


def layer(op_type: str, directions: int = 1, lengths: np.ndarray | None = None) -> list[np.ndarray | None]:
    """Inputs in the spec's order."""
    gates = GATES[op_type] * H
    inputs = [
        normal(T, N, I),
        normal(directions, gates, I),
        normal(directions, gates, H),
        normal(directions, 2 * gates),
    ]
    inputs += [lengths, normal(directions, N, H)]
    if op_type == "LSTM":
        inputs += [normal(directions, N, H), normal(directions, 3 * H)]
    return inputs


@pytest.mark.parametrize("op_type", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_layers_equal_native_ones(op_type, direction, lengths):
    inputs = layer(op_type, 2 if direction == "bidirectional" else 1, lengths)
    outputs = 3 if op_type == "LSTM" else 2
    assert_same(op_type, *inputs, outputs=outputs, direction=direction, hidden_size=H, rtol=1e-4)


@pytest.mark.parametrize("linear_before_reset", [0, 1])
def test_the_reset_gate_of_a_gru_comes_before_or_after_the_product(linear_before_reset):
    for direction, directions in (("forward", 1), ("bidirectional", 2)):
        inputs = layer("GRU", directions)
        assert_same(
            "GRU", *inputs, outputs=2, hidden_size=H, direction=direction, linear_before_reset=linear_before_reset,
            rtol=1e-4,
        )  # fmt: skip


def test_an_lstm_couples_its_gates():
    assert_same("LSTM", *layer("LSTM"), outputs=3, hidden_size=H, input_forget=1, rtol=1e-4)


@pytest.mark.parametrize("op_type", GATES)
def test_inputs_of_activations_are_clipped(op_type):
    inputs = [value * 4 if value is not None else None for value in layer(op_type)]
    assert_same(op_type, *inputs, outputs=2, hidden_size=H, clip=0.7, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "alpha", "beta"),
    [("Relu", None, None), ("LeakyRelu", 0.2, None), ("ThresholdedRelu", 0.1, None), ("Elu", 0.7, None),
     ("Affine", 0.3, 0.1), ("ScaledTanh", 0.9, 0.8), ("HardSigmoid", 0.3, 0.4), ("Softsign", None, None),
     ("Softplus", None, None), ("Sigmoid", None, None)],
)  # fmt: skip
def test_every_activation_equals_the_native_one(name, alpha, beta):
    options = {"activations": [name], "hidden_size": H}
    if alpha is not None:
        options["activation_alpha"] = [alpha]
    if beta is not None:
        options["activation_beta"] = [beta]
    assert_same("RNN", *layer("RNN"), outputs=2, rtol=1e-4, **options)


def test_only_activations_with_parameters_take_from_the_list():
    options = {
        "activations": ["Sigmoid", "LeakyRelu", "Tanh", "HardSigmoid", "Elu", "ScaledTanh"],
        "activation_alpha": [0.3, 0.25, 0.6, 0.9],
        "activation_beta": [0.45, 0.8],
        "direction": "bidirectional",
    }
    assert_same("LSTM", *layer("LSTM", 2), outputs=3, hidden_size=H, rtol=1e-4, **options)


@pytest.mark.parametrize("op_type", GATES)
def test_batch_first_is_the_same_transposed(op_type):
    inputs = layer(op_type, 2, LENGTHS)
    turned = [v.swapaxes(0, 1) if v is not None and i in (0, 5, 6) else v for i, v in enumerate(inputs)]
    plain = ours(op_type, *inputs, outputs=2, direction="bidirectional")
    first = ours(op_type, *turned, outputs=2, direction="bidirectional", layout=1)
    np.testing.assert_array_equal(first[0], plain[0].transpose(2, 0, 1, 3))
    np.testing.assert_array_equal(first[1], plain[1].swapaxes(0, 1))


def test_half_precision_is_computed_in_single_precision():
    inputs = [v.astype(np.float16) for v in layer("GRU") if v is not None and v.dtype == np.float32]
    inputs.insert(4, None)
    half = ours("GRU", *inputs, outputs=2)
    single = native("GRU", *(None if v is None else v.astype(np.float32) for v in inputs), outputs=2, hidden_size=H)
    for mine, theirs in zip(half, single, strict=True):
        assert mine.dtype == np.float16
        np.testing.assert_allclose(mine.astype(np.float32), theirs, rtol=1e-3, atol=5e-4)


def test_a_sequence_of_no_steps_gives_the_initial_state():
    inputs = layer("LSTM")
    inputs[0] = inputs[0][:0]
    y, h, c = ours("LSTM", *inputs, outputs=3)
    assert y.shape == (0, 1, N, H)
    np.testing.assert_array_equal(h, inputs[5])
    np.testing.assert_array_equal(c, inputs[6])


def test_mistakes_are_named():
    inputs = layer("RNN")
    with pytest.raises(InvalidInput, match='direction is "back"'):
        ours("RNN", *inputs, direction="back")
    with pytest.raises(InvalidInput, match='activation "Cosh" is unknown'):
        ours("RNN", *inputs, activations=["Cosh"])
    with pytest.raises(InvalidInput, match=r"sequence_lens has values outside \[0, 5\]"):
        ours("RNN", *inputs[:4], np.array([6, 1, 1], np.int32))
