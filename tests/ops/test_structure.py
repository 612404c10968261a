"""Operators that move, pick, cut and make tensors, against native onnxruntime or by hand."""

import numpy as np
import pytest

from onnxlet.dtypes import DataType, Narrow
from onnxlet.errors import InvalidInput, InvalidModel

from .graphs import bfloat16, data_type, run_op
from .native import assert_equals_native

RNG = np.random.default_rng(11)
X = RNG.normal(size=(3, 4, 5)).astype(np.float32)


def same(op_type, *inputs, **options):
    return assert_equals_native(op_type, *inputs, domain="", **options)


def ints(*values) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [
        (0, 2, 1),
        (-3, -1, 1),
        (4, 0, -1),
        (-1, -99, -2),
        (2**62, -(2**62), -1),
        (-(2**62), 2**62, 3),
        (3, 1, 1),
        (9, 9, -1),
    ],
)
def test_slice_cuts_its_bounds_as_the_spec_says(start, end, step):
    same("Slice", X, ints(start), ints(end), ints(2), ints(step))


def test_slice_of_an_empty_axis_is_empty():
    assert run_op("Slice", np.zeros((0, 2)), ints(-1), ints(-9), ints(0), ints(-1)).shape == (0, 2)
    with pytest.raises(InvalidInput, match="steps holds 0"):
        run_op("Slice", X, ints(0), ints(1), ints(0), ints(0))


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad_adds_and_cuts(mode):
    same("Pad", X, ints(1, 0, 2, 0, 1, 1), mode=mode)
    if mode == "constant":
        same("Pad", X, ints(-1, 2, 0, 1), np.float32(7), ints(0, -1), mode=mode)
        assert run_op("Pad", np.array(["a"], object), ints(1, 0)).tolist() == ["", "a"]


def test_reshape_copies_infers_and_keeps_zeros():
    assert run_op("Reshape", X, ints(0, -1)).shape == (3, 20)
    assert run_op("Reshape", np.zeros((0, 3)), ints(3, 0), allowzero=1).shape == (3, 0)
    for shape in ([7, -1], [-1, -1], [3, 4, 5, 2], [0, 0, 0, 0]):
        with pytest.raises(InvalidInput, match=r"cannot reshape|copies a size"):
            run_op("Reshape", X, ints(*shape))


def test_axes_that_do_not_fit_are_named():
    with pytest.raises(InvalidInput, match=r"cannot squeeze axis 1 of \[3, 4, 5\]: its size is 4, not 1"):
        run_op("Squeeze", X, ints(1))
    with pytest.raises(InvalidInput, match="name an axis twice"):
        run_op("Unsqueeze", X, ints(0, -5))
    with pytest.raises(InvalidInput, match=r"input 1 is \[3, 4, 5\], expected \[3, 4\] except along axis 0"):
        run_op("Concat", X[..., 0], X, axis=0)


def test_split_in_all_its_forms():
    same("Split", X, ints(1, 3), axis=1, outputs=2)
    same("Split", X, axis=2, num_outputs=2, outputs=2)  # 3 and 2
    assert [y.shape[1] for y in run_op("Split", X, axis=1, split=[1, 3], opset=11, outputs=2)] == [1, 3]
    with pytest.raises(InvalidInput, match="into 2 equal parts"):
        run_op("Split", X, axis=2, opset=13, outputs=2)
    with pytest.raises(InvalidInput, match=r"split is \[9\], expected sizes that sum to 4"):
        run_op("Split", X, ints(9), axis=1)


def test_gathering_and_scattering():
    places = RNG.integers(-4, 4, (3, 2, 5))
    same("Gather", X, ints(-1, 0, 2), axis=1)
    same("GatherElements", X, places, axis=1)
    same("GatherND", X, RNG.integers(0, 3, (3, 2, 1)), batch_dims=1)
    updates = RNG.normal(size=places.shape).astype(np.float32)
    for reduction in ("add", "mul", "max", "min"):
        same("ScatterElements", X, places, updates, axis=1, reduction=reduction)
        pairs = ints([0, 1], [0, 1], [2, 3])
        same("ScatterND", X, pairs, RNG.normal(size=(3, 5)).astype(np.float32), reduction=reduction)
    with pytest.raises(InvalidInput, match=r"indices holds 4, expected values in \[-4, 4\)"):
        run_op("Gather", X, ints(4), axis=1)


@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_takes_the_first_of_equals(largest):
    tied = RNG.integers(0, 3, (4, 9)).astype(np.float32)
    same("TopK", tied, ints(5), largest=largest, outputs=2)
    same("TopK", tied, ints(2), largest=largest, axis=0, outputs=2)
    with pytest.raises(InvalidInput, match="k is 10, expected 0 to 9"):
        run_op("TopK", tied, ints(10), outputs=2)


@pytest.mark.parametrize("in_order", [0, 1])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique_with_its_places_and_counts(axis, in_order):
    x = RNG.integers(0, 2, (6, 3)).astype(np.float32)
    same("Unique", x, outputs=4, sorted=in_order, **({} if axis is None else {"axis": axis}))


def test_choosing():
    same("NonZero", np.where(X > 0, X, 0))
    assert run_op("NonZero", np.float32(3)).shape == (0, 1)
    same("Compress", X, np.array([True, False, True]), axis=2)
    same("Compress", X, np.array([False, True, True]))
    same("OneHot", ints(0, -1, 2, 7), np.int64(3), np.float32([-1, 5]), axis=0)
    same("Trilu", X, np.int64(-1), upper=0)
    same("ReverseSequence", X, ints(3, 1, 2, 3), batch_axis=1, time_axis=0)


def test_blocks():
    x = RNG.normal(size=(1, 8, 2, 3)).astype(np.float32)
    for mode in ("DCR", "CRD"):
        y = same("DepthToSpace", x, blocksize=2, mode=mode)[0]
        np.testing.assert_array_equal(run_op("SpaceToDepth", y, blocksize=2, mode=mode), x)
    columns = RNG.normal(size=(1, 3 * 4, 9)).astype(np.float32)
    same("Col2Im", columns, ints(4, 4), ints(2, 2))
    with pytest.raises(InvalidInput, match="x has 8 channels, expected a multiple of 9"):
        run_op("DepthToSpace", x, blocksize=3)


def test_numbers_become_text_and_back():
    x = np.array([0.1, 1e10, 1.5e-7, -3, np.inf, -np.inf, np.nan, 123456.789], np.float32)
    same("Cast", x, to=8)
    same("Cast", x.astype(np.float64) * 1.1, to=8)
    same("Cast", ints(-5, 2**60), to=8)
    same("Cast", np.array(["1e3", " -2.5", "inf", "NaN"], object), to=1)
    assert run_op("Cast", np.array([str(2**62 + 1)], object), to=7) == 2**62 + 1
    with pytest.raises(InvalidInput, match=r"element \[1\] is 'x', expected a number in text"):
        run_op("Cast", np.array(["1", "x"], object), to=7)


def test_cast_keeps_low_bits_of_integers_and_cuts_floats():
    same("Cast", ints(200, -1, 300), to=3)
    same("Cast", np.float32([-1.9, 2.9, -0.5]), to=6)
    same("Cast", np.float32([0, -0.0, np.nan, 2]), to=9)
    assert data_type(run_op("Cast", X, to=17)) == DataType.FLOAT8E4M3FN
    assert data_type(run_op("CastLike", X, bfloat16([1.0]))) == DataType.BFLOAT16
    with pytest.raises(InvalidInput, match="there is no element type 99"):
        run_op("Cast", X, to=99)


def test_bits_are_read_as_another_type():
    assert run_op("BitCast", np.float32([1.0]), to=6) == 0x3F800000
    assert run_op("BitCast", np.uint16([0x3F80]), to=16).values == 1.0
    assert run_op("BitCast", bfloat16([1.0]), to=4) == 0x3F80
    with pytest.raises(InvalidInput, match="FLOAT has 32 bits, INT64 64"):
        run_op("BitCast", X, to=7)


def test_constants_of_every_kind():
    assert run_op("Constant", value_ints=[1, 2]).tolist() == [1, 2]
    assert run_op("Constant", value_string="é").item() == "é"
    assert run_op("ConstantOfShape", ints(2, 0), value=np.array([3], np.int8)).shape == (2, 0)
    four_bits = run_op("ConstantOfShape", ints(2), value=Narrow(DataType.INT4, np.array([-8], np.int8)))
    assert four_bits.values.tolist() == [-8, -8]
    with pytest.raises(InvalidModel, match="no attribute that holds its value"):
        run_op("Constant")


def test_ranges_count_up_and_down():
    same("Range", np.float32(1), np.float32(2.05), np.float32(0.1))
    same("Range", ints(10).reshape(()), ints(-3).reshape(()), ints(-4).reshape(()))
    assert run_op("Range", np.int32(3), np.int32(3), np.int32(1)).size == 0
    with pytest.raises(InvalidInput, match="delta is 0"):
        run_op("Range", np.int32(3), np.int32(4), np.int32(0))


def test_random_numbers_repeat_with_a_seed_only_and_have_the_right_spread():
    draw = {"shape": [100, 100], "mean": 3.0, "scale": 2.0}
    a, b, c = (run_op("RandomNormal", **draw, **more) for more in ({"seed": 1.0}, {"seed": 1.0}, {}))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    assert abs(a.mean() - 3) < 0.1
    assert abs(a.std() - 2) < 0.1
    uniform = run_op("RandomUniformLike", c, low=-1.0, high=1.0, dtype=11)
    assert uniform.dtype == np.float64
    assert -1 <= uniform.min() < -0.9
    assert abs(run_op("Bernoulli", np.full((100, 100), 0.3, np.float32), seed=2.0).mean() - 0.3) < 0.03
    picks = run_op("Multinomial", np.log(np.float32([[0.2, 0.8]])), sample_size=10000, seed=3.0)
    assert picks.dtype == np.int32
    assert abs(picks.mean() - 0.8) < 0.03


def test_strings():
    words = np.array(["Monday", "THE", "tuesday"], object)
    cleaned = run_op("StringNormalizer", words[None], case_change_action="UPPER", stopwords=["the"])
    assert cleaned.tolist() == [["MONDAY", "TUESDAY"]]
    assert run_op("StringNormalizer", words, stopwords=["the"], is_case_sensitive=1).tolist() == words.tolist()
    assert run_op("StringNormalizer", words, stopwords=["monday", "the", "tuesday"]).tolist() == [""]
    same("StringConcat", words[:, None], words[None])
    same("StringSplit", np.array(["a,b,,c", ",", "d"], object), delimiter=",", maxsplit=2, outputs=2)
    same("StringSplit", np.array([" a  b ", ""], object), outputs=2)
    same("RegexFullMatch", np.array(["ab@c.de", "x"], object), pattern=r"\w+@\w+\.[a-z]+")
    with pytest.raises(InvalidModel, match="is no regular expression that Python reads"):
        run_op("RegexFullMatch", words, pattern="(")


def test_sequences_and_optionals():
    a, b = X[0], X[1]
    made = run_op("SequenceConstruct", a, b)
    assert len(run_op("SequenceInsert", made, a, ints(-1)[0])) == 3
    np.testing.assert_array_equal(run_op("SequenceAt", made, np.int64(-1)), b)
    assert len(run_op("SequenceErase", made)) == 1
    assert run_op("SequenceLength", made) == 2
    assert run_op("ConcatFromSequence", made, axis=0, new_axis=1).shape == (2, 4, 5)
    assert [p.shape[0] for p in run_op("SplitToSequence", X, np.int64(2))] == [2, 1]
    assert run_op("SplitToSequence", X, axis=1, keepdims=0)[0].shape == (3, 5)
    assert not run_op("OptionalHasElement", None)
    with pytest.raises(InvalidInput, match=r"position is 2, expected a value in \[-2, 2\)"):
        run_op("SequenceAt", made, np.int64(2))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int16])
def test_quantizing_and_back(dtype):
    zero = dtype(5)
    x = (X * 40).astype(np.float32)
    codes = same("QuantizeLinear", x, np.float32(0.3), zero)[0]
    same("DequantizeLinear", codes, np.float32(0.3), zero)
    scales, zeros = np.float32([0.1, 0.2, 0.3, 0.4]), np.arange(4).astype(dtype)
    codes = same("QuantizeLinear", x, scales, zeros, axis=-2)[0]
    same("DequantizeLinear", codes, scales, zeros, axis=1)
    blocks = RNG.random((3, 2, 5)).astype(np.float32) + np.float32(0.1)
    codes = same("QuantizeLinear", x, blocks, axis=1, block_size=2, output_dtype=int(data_type(codes)))[0]
    same("DequantizeLinear", codes, blocks, axis=1, block_size=2)


def test_quantizing_ties_to_even_saturates_and_survives_nan():
    codes = run_op("QuantizeLinear", np.float32([0.5, 1.5, 2.5, 1e9, -1e9, np.inf, np.nan]), np.float32(1), np.uint8(0))
    assert codes.tolist() == [0, 2, 2, 255, 0, 255, 0]
    with pytest.raises(InvalidInput, match=r"scale has shape \[3\], expected one value or \[4\] \(axis 1\)"):
        run_op("QuantizeLinear", X, np.float32([1, 2, 3]))
    with pytest.raises(InvalidInput, match=r"scale has shape \[3, 4, 5\], expected \[3, 2, 5\] \(blocks of 2\)"):
        run_op("QuantizeLinear", X, np.abs(X), axis=1, block_size=2)


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes"),
    [
        ("ConstantOfShape", [np.array([1 << 20, 1 << 20])], {}),
        ("Range", [np.array(0), np.array(1 << 50), np.array(1)], {}),
        ("Expand", [np.zeros(1, np.float32), np.array([1 << 20, 1 << 20])], {}),
        ("Tile", [np.zeros((2, 2), np.float32), np.array([1 << 20, 1 << 20])], {}),
        ("Pad", [np.zeros((2, 2), np.float32), np.array([1 << 20, 1 << 20, 0, 0])], {}),
        ("OneHot", [np.zeros(4), np.array(1 << 40), np.zeros(2)], {}),
        ("Resize", [np.zeros((2, 2), np.float32), None, np.array([1e6, 1e6], np.float32)], {"mode": "nearest"}),
        ("RandomUniform", [], {"shape": [1 << 20, 1 << 20]}),
    ],
)
def test_a_result_larger_than_memory_is_a_sentence_before_it_is_made(op_type, inputs, attributes):
    with pytest.raises(InvalidInput, match=r"GiB, more than the \d+ GiB that one value may take here"):
        run_op(op_type, *inputs, **attributes)
