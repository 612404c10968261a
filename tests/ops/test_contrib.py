"""com.microsoft's operators against native onnxruntime; those without a CPU kernel against what they stand for."""

import numpy as np
import pytest

from onnxlet.dtypes import DataType, Narrow
from onnxlet.errors import InvalidInput, UnsupportedOp

from .graphs import run_op
from .native import assert_equals_native as same

RNG = np.random.default_rng(5)
MS = "com.microsoft"


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def f32(value) -> np.ndarray:
    return np.asarray(value, np.float32)


def test_activations_with_a_bias():
    x, bias = normal(3, 5, 8), normal(8)
    same("Gelu", x)
    same("BiasGelu", x, bias)
    same("FastGelu", x)
    same("FastGelu", x, bias)
    same("QuickGelu", x, alpha=1.3)


def test_matrix_products_transposed_in_every_way():
    a, b = normal(2, 3, 4, 8), normal(2, 3, 8, 5)
    same("FusedMatMul", a, b, alpha=0.5)
    same("FusedMatMul", a, b.swapaxes(2, 3).copy(), transB=1)
    same("FusedMatMul", a.swapaxes(2, 3).copy(), b, transA=1, alpha=2.0)
    same("FusedMatMul", np.moveaxis(a, -2, 0).copy(), b, transBatchA=1)
    same("FusedMatMul", a, np.moveaxis(b, -2, 0).copy(), transBatchB=1)
    same("FusedMatMul", np.moveaxis(a.swapaxes(2, 3), -2, 0).copy(), b, transBatchA=1, transA=1)


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [
        ("Relu", []),
        ("Sigmoid", []),
        ("Tanh", []),
        ("LeakyRelu", [0.1]),
        ("Clip", [-0.5, 0.5]),
        ("HardSigmoid", [0.2, 0.4]),
    ],
)
def test_a_convolution_with_an_activation(activation, parameters):
    more = {"activation_params": parameters} if parameters else {}
    same("FusedConv", normal(2, 4, 9, 9), normal(6, 4, 3, 3), normal(6), activation=activation, pads=[1] * 4, **more)


def test_a_convolution_with_a_sum():
    x, w = normal(2, 4, 9, 9), normal(6, 4, 3, 3)
    same("FusedConv", x, w, None, normal(2, 6, 9, 9), activation="Relu", pads=[1] * 4)


def test_channels_last_is_channels_first_moved():
    x, w, b = normal(1, 4, 7, 7), normal(6, 2, 3, 3), normal(6)
    moved = run_op("NhwcConv", np.moveaxis(x, 1, -1), w, b, domain=MS, group=2, strides=[2, 2])
    np.testing.assert_array_equal(np.moveaxis(moved, -1, 1), run_op("Conv", x, w, b, group=2, strides=[2, 2]))
    same("NhwcMaxPool", RNG.integers(-99, 99, (1, 6, 6, 3)).astype(np.int8), kernel_shape=[2, 2], strides=[2, 2])


@pytest.mark.parametrize("activation", ["Relu", "LeakyRelu", "Elu", "Tanh", "Softplus", "ThresholdedRelu"])
def test_a_gemm_with_an_activation(activation):
    alpha = {"activation_alpha": 0.5} if activation in ("LeakyRelu", "Elu", "ThresholdedRelu") else {}
    same("FusedGemm", normal(4, 8), normal(8, 5), normal(5), activation=activation, alpha=0.5, **alpha)


def test_an_unknown_activation_is_named():
    with pytest.raises(UnsupportedOp, match='activation "Swoosh" is unknown; known:'):
        run_op("FusedGemm", normal(2, 2), normal(2, 2), domain=MS, activation="Swoosh")


@pytest.mark.parametrize("K", [32, 50])
@pytest.mark.parametrize(
    ("bits", "block_size", "zero_points"),
    [(bits, size, zeros) for bits, size in ((2, 32), (4, 16), (4, 32)) for zeros in ("none", "packed", "float")]
    + [(8, 32, "none"), (8, 32, "packed")],  # onnxruntime's CPU kernel refuses float zero points with 8 bits
)
def test_weights_in_blocks(bits, block_size, K, zero_points):
    N, blocks = 7, -(-K // block_size)
    codes = RNG.integers(0, 256, (N, blocks, block_size * bits // 8)).astype(np.uint8)
    zeros = {
        "none": None,
        "packed": RNG.integers(0, 256, N * -(-blocks * bits // 8)).astype(np.uint8),
        "float": f32(RNG.random(N * blocks) * 4),
    }[zero_points]
    same(
        "MatMulNBits", normal(2, 3, K), codes, f32(RNG.random(N * blocks) + 0.1), zeros, K=K, N=N, bits=bits,
        block_size=block_size, accuracy_level=1, constants=(1, 2, 3), rtol=1e-3, atol=1e-3,
    )  # fmt: skip


def test_weights_in_blocks_with_shuffled_rows_and_a_bias():
    groups = RNG.permutation(np.repeat([0, 1], 32)).astype(np.int32)
    codes = RNG.integers(0, 256, (5, 2, 16)).astype(np.uint8)
    same(
        "MatMulNBits", normal(3, 64), codes, f32(RNG.random(10)), None, groups, normal(5), K=64, N=5, bits=4,
        block_size=32, constants=(1, 2, 4), rtol=1e-3, atol=1e-3,
    )  # fmt: skip


@pytest.mark.parametrize("quant_type", [0, 1])
def test_weights_in_bitsandbytes_formats(quant_type):
    codes = RNG.integers(0, 256, 4 * 32 // 2).astype(np.uint8)
    more = {"K": 32, "N": 4, "block_size": 16, "quant_type": quant_type, "constants": (1, 2)}
    same("MatMulBnb4", normal(3, 32), codes, f32(RNG.random(8)), rtol=1e-3, **more)


@pytest.mark.parametrize("with_zero_points", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_a_table_in_blocks(bits, with_zero_points):
    table = RNG.integers(0, 256, (10, 64 * bits // 8)).astype(np.uint8)
    zeros = RNG.integers(0, 256, (10, 2 * bits // 8)).astype(np.uint8) if with_zero_points else None
    same(
        "GatherBlockQuantized", table, np.array([[1, 9], [0, 3]]), f32(RNG.random((10, 2))), zeros, bits=bits,
        block_size=32, gather_axis=0, quantize_axis=1, constants=(0, 2, 3),
    )  # fmt: skip


def test_a_table_of_four_bit_integers_has_no_default_zero_point():
    table = Narrow(DataType.INT4, RNG.integers(-8, 8, (3, 32)).astype(np.int8))
    y = run_op("GatherBlockQuantized", table, np.array([2]), f32([[1], [2], [3]]), domain=MS, block_size=32)
    np.testing.assert_array_equal(y, table.values[2:].astype(np.float32) * 3)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
class TestQuantized:
    """Results may differ by one step where onnxruntime rounds in other places."""

    def codes(self, dtype, *shape):
        low = np.iinfo(dtype).min
        return RNG.integers(low, low + 256, shape).astype(dtype)

    def test_sums_and_products(self, dtype):
        a, b = self.codes(dtype, 3, 5), self.codes(dtype, 3, 5)
        for op_type in ("QLinearAdd", "QLinearMul"):
            same(op_type, a, f32(0.02), dtype(3), b, f32(0.03), dtype(7), f32(0.04), dtype(9), steps=1)

    def test_activations(self, dtype):
        x = self.codes(dtype, 3, 5)
        low = dtype(np.iinfo(dtype).min)
        same("QLinearSigmoid", x, f32(0.02), dtype(3), f32(1 / 256), low, steps=1, constants=(1, 2, 3, 4))
        more = {"steps": 1, "constants": (1, 2, 3, 4)}
        same("QLinearLeakyRelu", x, f32(0.02), dtype(3), f32(0.02), dtype(5), alpha=0.2, **more)

    def test_softmax_counts_axes_as_its_opset_does(self, dtype):
        x, low = self.codes(dtype, 3, 5, 4), dtype(np.iinfo(dtype).min)
        for since in (11, 13):
            scales = f32(0.02), dtype(3), f32(1 / 256), low
            y = run_op("QLinearSoftmax", x, *scales, domain=MS, axis=1, opset_=since)
            right = run_op("Softmax", (x.astype(np.float32) - 3) * np.float32(0.02), axis=1, opset=since)
            np.testing.assert_allclose((y.astype(np.float32) - low) / 256, right, atol=1 / 256)

    @pytest.mark.parametrize("channels_last", [0, 1])
    def test_pools_and_convolutions_in_both_layouts(self, dtype, channels_last):
        x = self.codes(dtype, 1, 6, 6, 4) if channels_last else self.codes(dtype, 1, 4, 6, 6)
        pool = f32(0.02), dtype(3), f32(0.02), dtype(5)
        same("QLinearAveragePool", x, *pool, kernel_shape=[3, 3], pads=[1] * 4, channels_last=channels_last, steps=1)
        same("QLinearGlobalAveragePool", x, *pool, channels_last=channels_last, steps=1)
        # Weights within 7 bits: on processors without VNNI, onnxruntime's sums of uint8 x int8 saturate at 16 bits.
        weights = RNG.integers(-63, 64, (6, 4, 3, 3)).astype(np.int8), f32(RNG.random(6) * 0.01), np.zeros(6, np.int8)
        bias = RNG.integers(-500, 500, 6).astype(np.int32)
        same(
            "QLinearConv", x, f32(0.02), dtype(3), *weights, f32(0.05), dtype(5), bias, channels_last=channels_last,
            pads=[1] * 4, steps=1, constants=(3, 4, 5, 8),
        )  # fmt: skip

    def test_joining_and_choosing(self, dtype):
        a, b = self.codes(dtype, 2, 2), self.codes(dtype, 2, 2)
        parts = a, f32(0.02), dtype(1), b, f32(0.1), dtype(2)
        same("QLinearConcat", f32(0.05), dtype(4), *parts, axis=1, steps=1, constants=(0, 1, 3, 4, 6, 7))
        chosen = np.array([[True, False], [False, True]])
        same("QLinearWhere", chosen, *parts, f32(0.05), dtype(3), steps=1, constants=(2, 3, 5, 6, 7, 8))

    def test_matrix_products(self, dtype):
        a, b = self.codes(dtype, 3, 5), RNG.integers(-63, 64, (5, 4)).astype(np.int8)
        c, scale = RNG.integers(-500, 500, 4).astype(np.int32), f32(RNG.random(4))
        same(
            "QGemm", a, f32(0.02), dtype(3), b, f32(0.03), np.int8(2), c, f32(0.3), dtype(5), alpha=0.5, steps=1,
            constants=(3,),
        )  # fmt: skip
        more = {"transB": 1, "constants": (3,)}
        same("QGemm", a, f32(0.02), dtype(3), b.T.copy(), scale, np.zeros(4, np.int8), c, **more)
        zeros = dtype(3), np.zeros(4, np.int8)
        same("MatMulIntegerToFloat", a, b, f32(0.02), scale, *zeros, normal(4), constants=(1,))
        same("MatMulInteger", np.stack([a, a]), b, dtype(3), np.array([1, 2, 3, 4], np.int8), domain="")
        scales = f32(0.02), dtype(3), b, scale / 100, np.zeros(4, np.int8), f32(0.05), dtype(5)
        same("QLinearMatMul", a, *scales, domain="", steps=1, constants=(3, 4, 5))

    def test_integer_convolution(self, dtype):
        x, w = RNG.integers(0, 256, (1, 4, 6, 6)).astype(np.uint8), self.codes(dtype, 6, 2, 3, 3) // dtype(2)
        same("ConvInteger", x, w, np.uint8(3), dtype(1), domain="", group=2, pads=[1] * 4, strides=[2, 2])


def test_products_that_quantize_on_the_way():
    b = RNG.integers(-63, 64, (5, 4)).astype(np.int8), f32(RNG.random(4)), np.zeros(4, np.int8)
    same("DynamicQuantizeMatMul", normal(3, 5), *b, normal(4), constants=(1, 2, 3))
    same("DynamicQuantizeLinear", normal(3, 5), domain="", outputs=3)
    same("DynamicQuantizeLinear", np.zeros((3, 5), np.float32), domain="", outputs=3)
    wide = RNG.integers(-900, 900, (3, 5)).astype(np.int16), RNG.integers(-900, 900, (5, 4)).astype(np.int16)
    same("MatMulInteger16", *wide)


def test_a_recurrent_layer_that_quantizes_on_the_way():
    hidden, zero = 6, np.array([0], np.int8)
    w, r = (RNG.integers(-63, 64, (1, n, 4 * hidden)).astype(np.int8) for n in (4, hidden))
    same(
        "DynamicQuantizeLSTM", normal(5, 2, 4), w, r, normal(1, 8 * hidden) / 10, None, None, None, None,
        f32([0.01]), zero, f32([0.01]), zero, outputs=3, hidden_size=hidden, rtol=5e-3, atol=2e-3,
        constants=(1, 2, 8, 9, 10, 11),
    )  # fmt: skip


def test_normalizations_of_sums():
    x, skip, gamma, beta, bias = normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8), normal(8)
    for more in ((), (bias,)):
        same("SkipLayerNormalization", x, skip, gamma, beta, *more, outputs=["y", "", "", "sum"])
        same("SkipSimplifiedLayerNormalization", x, skip, gamma, *more, outputs=["y", "", "", "sum"])
    same("SkipLayerNormalization", x, skip[:1].copy(), gamma, beta)
    same("SimplifiedLayerNormalization", x, gamma, domain="")


def test_embeddings():
    ids, gamma, beta = RNG.integers(0, 9, (2, 5)).astype(np.int32), normal(8), normal(8)
    segments, mask = (ids > 4).astype(np.int32), (ids > 0).astype(np.int32)
    tables = normal(9, 8), normal(7, 8)
    same("EmbedLayerNormalization", ids, segments, *tables, normal(2, 8), gamma, beta, mask, outputs=3)
    places = np.array([[1, 2, 3, 4, 5]], np.int32)
    same("EmbedLayerNormalization", ids, None, *tables, None, gamma, beta, None, places, outputs=2)


@pytest.mark.parametrize("unidirectional", [0, 1])
@pytest.mark.parametrize("past", [0, 3])
@pytest.mark.parametrize("mask", ["none", "keys", "length", "span", "square"])
def test_self_attention(mask, past, unidirectional):
    B, S, H, D = 2, 4, 2, 4
    T = past + S
    masks = {
        "none": None,
        "keys": np.array([[1] * T, [1] * (T - 1) + [0]], np.int32),
        "length": np.array([T, T - 1], np.int32),
        "span": np.array([T, T - 1, 0, 1], np.int32),
        "square": RNG.integers(0, 2, (B, S, T)).astype(np.int32),
    }
    same(
        "Attention", normal(B, S, H * D), normal(H * D, 3 * H * D) / 2, normal(3 * H * D), masks[mask],
        normal(2, B, H, past, D) if past else None, outputs=2, num_heads=H, unidirectional=unidirectional, rtol=1e-3,
    )  # fmt: skip


def test_multi_head_attention():
    B, S, T, H, D = 2, 4, 5, 2, 6
    q, k, v = normal(B, S, H * D), normal(B, T, H * D), normal(B, T, H * D)
    more = {"num_heads": H, "rtol": 1e-3}
    same("MultiHeadAttention", q, k, v, **more)
    same("MultiHeadAttention", q, k, v, normal(3 * H * D), **more)
    same("MultiHeadAttention", q, k, v, None, np.array([5, 3], np.int32), **more)
    same("MultiHeadAttention", q, k, v, None, np.array([[1, 1, 1, 1, 0], [1, 0, 1, 1, 1]], np.int32), **more)
    same("MultiHeadAttention", q, k, v, None, None, normal(1, H, S, T), scale=0.2, **more)
    pasts = normal(B, H, 3, D), normal(B, H, 3, D)
    same("MultiHeadAttention", q, k[:, :S].copy(), v[:, :S].copy(), None, None, None, *pasts, outputs=3, **more)
    same("MultiHeadAttention", q, k[:, :S].copy(), v[:, :S].copy(), unidirectional=1, **more)
    same("MultiHeadAttention", q, normal(B, H, T, D), normal(B, H, T, D), **more)


def test_packed_queries_keys_and_values_are_the_separate_ones():
    packed = normal(2, 4, 3, 3, 5)
    q, k, v = (packed[:, :, :, i].reshape(2, 4, -1) for i in range(3))
    together = run_op("MultiHeadAttention", packed, domain=MS, num_heads=3)
    np.testing.assert_array_equal(together, run_op("MultiHeadAttention", q, k, v, domain=MS, num_heads=3))


@pytest.mark.parametrize("rotary", ["none", "halves", "interleaved"])
@pytest.mark.parametrize("window", [-1, 2])
@pytest.mark.parametrize(("softcap", "smooth"), [(0.0, 0), (3.0, 0), (0.0, 1)])
@pytest.mark.parametrize("prompt", [True, False])
def test_grouped_attention(prompt, softcap, smooth, window, rotary):
    B, H, G, D, M = 2, 4, 2, 16, 12
    S, past = (5, 0) if prompt else (1, 7)
    total = S + past
    parts = normal(B, S, H * D), normal(B, S, G * D), normal(B, S, G * D)
    cache = normal(B, G, past, D), normal(B, G, past, D)
    lengths = np.array([total - 1, total - (1 if prompt else 3)], np.int32), np.int32(total)
    tables = (normal(M, D // 2), normal(M, D // 2)) if rotary != "none" else ()
    options = {
        "num_heads": H, "kv_num_heads": G, "do_rotary": int(rotary != "none"), "local_window_size": window,
        "rotary_interleaved": int(rotary == "interleaved"), "softcap": softcap, "smooth_softmax": smooth,
    }  # fmt: skip
    more = {"outputs": 3, "rtol": 1e-3, "atol": 1e-4}
    same("GroupQueryAttention", *parts, *cache, *lengths, *tables, **options, **more)
    packed = np.concatenate(parts, axis=-1)
    same("GroupQueryAttention", packed, None, None, *cache, *lengths, *tables, **options, **more)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(interleaved):
    four, two = (normal(12, 4), normal(12, 4)), (normal(12, 2), normal(12, 2))
    places = RNG.integers(0, 12, (2, 4))
    same("RotaryEmbedding", normal(2, 4, 16), np.array([3]), *four, interleaved=interleaved)
    same("RotaryEmbedding", normal(2, 2, 4, 8), places, *four, interleaved=interleaved)
    partial = {"num_heads": 2, "rotary_embedding_dim": 4, "interleaved": interleaved}
    same("RotaryEmbedding", normal(2, 4, 16), places, *two, **partial)
    with pytest.raises(InvalidInput, match="positions holds 12, expected values in"):
        run_op("RotaryEmbedding", normal(1, 1, 8), np.array([12]), *four, domain=MS)


def test_other_helpers():
    x = normal(2, 3, 3)
    same("Inverse", x, rtol=1e-3)
    same("ExpandDims", x, np.int32(1))
    same("CDist", normal(4, 8), normal(3, 8), metric="euclidean")
    assert run_op("IsAllFinite", x, domain=MS)
    assert not run_op("IsAllFinite", x, np.float32([np.nan]), domain=MS)
    gate, up = normal(2, 4), normal(2, 4)
    expected = gate / (1 + np.exp(-gate)) * up
    np.testing.assert_allclose(run_op("SwiGLU", gate, up, domain=MS), expected, rtol=1e-5)
    np.testing.assert_allclose(run_op("SwiGLU", np.hstack([gate, up]), domain=MS), expected, rtol=1e-5)


def test_quantized_embeddings():
    ids = RNG.integers(0, 9, (2, 5)).astype(np.int32)
    tables = [RNG.integers(0, 256, shape).astype(np.uint8) for shape in ((9, 8), (7, 8), (2, 8), (8,), (8,))]
    scales = [f32(0.01 * (i + 1)) for i in range(5)]
    zeros = [np.uint8(120 + i) for i in range(5)]
    inputs = [ids, (ids > 4).astype(np.int32), *tables, (ids > 0).astype(np.int32), *scales, *zeros]
    same("QEmbedLayerNormalization", *inputs, outputs=2, epsilon=1e-5, constants=range(8, 18))


def test_quantized_self_attention():
    B, S, H, D = 2, 4, 2, 4
    x = RNG.integers(0, 256, (B, S, H * D)).astype(np.uint8)
    w = RNG.integers(-63, 64, (H * D, 3 * H * D)).astype(np.int8)
    mask = np.array([4, 3], np.int32)
    scales = f32(0.02), f32(0.01), mask, np.uint8(128), np.int8(0)
    same("QAttention", x, w, normal(3 * H * D), *scales, num_heads=H, constants=(1, 4, 7), rtol=1e-3)


def test_operators_that_became_standard():
    x = normal(3, 4)
    same("Trilu", x, np.int64(1), upper=0)
    same("Unique", f32([2, 1, 2, 3]), outputs=3)
    same("Range", np.int64(2), np.int64(7))
    same("Pad", x, np.array([1, 0, 0, 2], np.int64), np.float32(3))
    same("GatherND", x, np.array([[0, 1], [2, 3]]))
    same("GridSample", normal(1, 2, 4, 4), RNG.uniform(-1.2, 1.2, (1, 3, 5, 2)).astype(np.float32), mode="bilinear")
