import numpy as np
import pytest
from scipy import special

from onnxlet.errors import InvalidInput

from .oracle import assert_same, ours

RNG = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def test_attention_equals_the_formula():
    q, k, v = normal(2, 4, 5, 8), normal(2, 4, 7, 8), normal(2, 4, 7, 3)
    expected = special.softmax(q @ k.swapaxes(2, 3) / np.sqrt(8), axis=-1) @ v
    np.testing.assert_allclose(ours("Attention", q, k, v, opset=23)[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("is_causal", [0, 1])
@pytest.mark.parametrize("softcap", [0.0, 2.0])
def test_attention_with_cache_mask_and_shared_heads_equals_the_native_one(is_causal, softcap):
    q, k, v = normal(2, 3, 4 * 8), normal(2, 3, 2 * 8), normal(2, 3, 2 * 6)
    past = normal(2, 2, 5, 8), normal(2, 2, 5, 6)
    options = {"q_num_heads": 4, "kv_num_heads": 2, "is_causal": is_causal, "softcap": softcap, "opset": 23}
    for mask in (None, normal(3, 8), RNG.random((2, 1, 3, 8)) > 0.3):
        assert_same("Attention", q, k, v, mask, *past, outputs=3, rtol=1e-4, atol=1e-5, **options)


def test_a_query_that_sees_nothing_gets_zeros():
    q = normal(1, 1, 2, 4)
    mask = np.array([[True, False], [False, False]])
    y, _, _, probabilities = ours("Attention", q, q, q, mask, opset=23, outputs=4, qk_matmul_output_mode=3)
    np.testing.assert_allclose(y[0, 0], [q[0, 0, 0], np.zeros(4)], atol=1e-6)
    assert probabilities[0, 0].tolist() == [[1, 0], [0, 0]]


def test_a_cache_outside_is_padded_and_causal_from_its_end():
    q, k = normal(2, 1, 2, 4), normal(2, 1, 6, 4)
    lengths = np.array([3, 6])
    (y,) = ours("Attention", q, k, k, None, None, None, lengths, opset=24, is_causal=1)
    for b, length in enumerate(lengths):
        for s in range(2):
            seen = k[b : b + 1, :, : length - 1 + s]
            (alone,) = ours("Attention", q[b : b + 1, :, s : s + 1], seen, seen, opset=24)
            np.testing.assert_allclose(y[b : b + 1, :, s : s + 1], alone, rtol=1e-4)


def test_windows_limit_how_far_a_query_sees():
    q = normal(1, 1, 6, 4)
    y = ours("Attention", q, q, q, opset=25, left_window_size=2, right_window_size=1)[0]
    (alone,) = ours("Attention", q[:, :, 3:4], q[:, :, 1:5], q[:, :, 1:5], opset=25)
    np.testing.assert_allclose(y[:, :, 3:4], alone, rtol=1e-4)


def test_nan_in_one_batch_stays_there():
    q = normal(2, 1, 3, 4)
    q[0, 0, 0, 0] = np.nan
    y = ours("Attention", q, q, q, opset=23)[0]
    assert np.isnan(y[0]).all()
    assert np.isfinite(y[1]).all()


def test_flex_attention_calls_its_subgraphs():
    q = normal(1, 2, 3, 4)
    kept = np.tril(np.ones((3, 3), bool))
    (y,) = ours(
        "FlexAttention", q, q, q, domain="ai.onnx.preview", opset=1,
        score_mod=lambda s: (np.where(kept, s, -np.inf).astype(s.dtype),), prob_mod=lambda p: (p * 2,),
    )  # fmt: skip
    np.testing.assert_allclose(y, 2 * ours("Attention", q, q, q, opset=23, is_causal=1)[0], rtol=1e-5)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("count", [0, 4])
def test_rotary_embedding_equals_the_native_one(interleaved, count):
    half = (count or 8) // 2
    cos, sin, places = normal(20, half), normal(20, half), RNG.integers(0, 20, (2, 3))
    options = {"interleaved": interleaved, "rotary_embedding_dim": count, "opset": 23}
    assert_same("RotaryEmbedding", normal(2, 4, 3, 8), cos, sin, places, num_heads=4, **options)
    assert_same("RotaryEmbedding", normal(2, 3, 4 * 8), cos, sin, places, num_heads=4, **options)


def test_heads_that_do_not_divide_are_named():
    with pytest.raises(InvalidInput, match=r"\(1, 2, 10\) does not divide into 4 heads"):
        ours("Attention", normal(1, 2, 10), normal(1, 2, 10), normal(1, 2, 10), opset=23, q_num_heads=4, kv_num_heads=2)


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_linear_attention_in_two_calls_equals_one(rule):
    q, k, v = normal(2, 6, 4 * 5), normal(2, 6, 2 * 5), normal(2, 6, 2 * 3)
    decay, beta = -np.abs(normal(2, 6, 2)), special.expit(normal(2, 6, 2))
    options = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": rule, "opset": 27, "outputs": 2}
    whole, last = ours("LinearAttention", q, k, v, None, decay, beta, **options)
    first, state = ours("LinearAttention", *(x[:, :4] for x in (q, k, v)), None, decay[:, :4], beta[:, :4], **options)
    second, end = ours("LinearAttention", *(x[:, 4:] for x in (q, k, v)), state, decay[:, 4:], beta[:, 4:], **options)
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(end, last, rtol=1e-4, atol=1e-5)


def test_linear_attention_without_gates_is_causal_attention_without_softmax():
    q, k, v = normal(1, 5, 4), normal(1, 5, 4), normal(1, 5, 3)
    (y, _) = ours("LinearAttention", q, k, v, opset=27, outputs=2, q_num_heads=1, kv_num_heads=1, update_rule="linear")
    np.testing.assert_allclose(y, np.tril(q @ k.swapaxes(1, 2) / 2) @ v, rtol=1e-4, atol=1e-5)
