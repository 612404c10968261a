"""Constants as arrays, judged by `onnx.numpy_helper` and ml_dtypes."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlet import protobuf, tensors
from onnxlet.dtypes import DataType, Narrow
from onnxlet.errors import InvalidInput, InvalidModel
from onnxlet.model import SparseTensor, Tensor
from onnxlet.ops import narrow
from onnxlet.proto_values import read_tensor, write_tensor
from onnxlet.wire_format import Message

ML_DTYPES = {
    DataType.BFLOAT16: ml_dtypes.bfloat16,
    DataType.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    DataType.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    DataType.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    DataType.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    DataType.FLOAT8E8M0: ml_dtypes.float8_e8m0fnu,
    DataType.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
    DataType.INT4: ml_dtypes.int4,
    DataType.UINT4: ml_dtypes.uint4,
    DataType.INT2: ml_dtypes.int2,
    DataType.UINT2: ml_dtypes.uint2,
}
NUMERIC = [t for t in DataType if t not in (DataType.UNDEFINED, DataType.STRING)]


def read(proto: TensorProto) -> Tensor:
    data = memoryview(proto.SerializeToString())
    return read_tensor(Message(data, 0, len(data), "tensor"))


def proto_of(tensor: Tensor) -> TensorProto:
    return TensorProto.FromString(b"".join(write_tensor(tensor).parts))


def plain(value) -> np.ndarray:
    return value.values if isinstance(value, Narrow) else value


def random_values(kind: DataType, count: int) -> np.ndarray:
    """Values of the type, in the dtype that onnx uses for it."""
    rng = np.random.default_rng(count)
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(kind))
    if kind == DataType.BOOL:
        return rng.integers(0, 2, count).astype(bool)
    if kind.is_narrow:
        codes = rng.integers(0, 2 ** min(kind.bits, 16), count).astype(f"u{dtype.itemsize}")
        return codes.view(dtype) if kind.bits >= 8 else small_values(kind, codes).astype(dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, count, dtype, endpoint=True)
    values = rng.standard_normal(count)
    return (values + 1j * rng.standard_normal(count) if dtype.kind == "c" else values).astype(dtype)


def small_values(kind: DataType, codes: np.ndarray) -> np.ndarray:
    """What 2- and 4-bit codes mean."""
    if kind == DataType.FLOAT4E2M1:
        return np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)[codes]
    if kind.numpy.kind == "u":
        return codes.astype(np.uint8)
    half = 2 ** (kind.bits - 1)
    return ((codes.astype(np.int8) + half) % (2 * half) - half).astype(np.int8)


@pytest.mark.parametrize("raw", [True, False], ids=["raw_data", "typed field"])
@pytest.mark.parametrize("kind", NUMERIC, ids=lambda t: t.name)
@pytest.mark.parametrize("dims", [(), (0, 3), (1,), (3,), (5,), (2, 3, 5)])
def test_elements_are_those_that_onnx_reads(kind, dims, raw):
    values = random_values(kind, int(np.prod(dims))).reshape(dims)
    proto = numpy_helper.from_array(values, "t") if raw else helper.make_tensor("t", kind, dims, values.reshape(-1))
    expected = numpy_helper.to_array(proto)
    tensor = read(proto)
    array = tensors.to_array(tensor)
    assert array.shape == dims
    assert plain(array).dtype == kind.numpy
    np.testing.assert_array_equal(plain(array), expected.astype(kind.numpy))

    again = proto_of(tensors.from_array("t", array))
    assert (again.data_type, tuple(again.dims), again.name) == (kind, dims, "t")
    assert numpy_helper.to_array(again).tobytes() == expected.tobytes()


@pytest.mark.parametrize("kind", ML_DTYPES, ids=lambda t: t.name)
def test_every_code_of_a_narrow_type_has_ml_dtypes_value(kind):
    codes = np.arange(2**kind.bits, dtype=np.uint16 if kind.bits == 16 else np.uint8)
    values = narrow.decode(codes, kind)
    expected = codes.view(ML_DTYPES[kind]).astype(np.float32) if kind.bits >= 8 else small_values(kind, codes)
    np.testing.assert_array_equal(values, expected)
    same = ~np.isnan(values.astype(np.float32))  # the sign of NaN is not kept
    np.testing.assert_array_equal(np.signbit(values)[same], np.signbit(expected)[same])
    np.testing.assert_array_equal(narrow.encode(values, kind)[same], codes[same])


@pytest.mark.parametrize("kind", [t for t in narrow.FLOATS if t != DataType.FLOAT8E8M0], ids=lambda t: t.name)
def test_rounding_is_ml_dtypes_rounding(kind):
    """Every code point, every middle between two, and the float32 beside each, to nearest, ties to even."""
    codes = np.arange(2**kind.bits, dtype=np.uint16 if kind.bits == 16 else np.uint8)
    points = narrow.decode(codes, kind)
    points = np.unique(points[np.isfinite(points)]).astype(np.float32)
    middles = ((points[1:].astype(np.float64) + points[:-1]) / 2).astype(np.float32)
    x = np.concatenate([points, middles, np.float32([np.nan, 0.0, -0.0])])
    x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))])
    greatest = points[-1]
    x = x[~(np.abs(x) > greatest)]  # beyond, ONNX saturates and ml_dtypes does not
    if kind == DataType.FLOAT4E2M1:
        x = x[~np.isnan(x)]
    expected = x.astype(ML_DTYPES[kind]).astype(np.float32)
    rounded = narrow.round_to(x, kind)
    np.testing.assert_array_equal(rounded, expected)
    np.testing.assert_array_equal(np.signbit(rounded)[x == x], np.signbit(expected)[x == x])


MAX = {
    DataType.FLOAT8E4M3FN: 448.0,
    DataType.FLOAT8E4M3FNUZ: 240.0,
    DataType.FLOAT8E5M2: 57344.0,
    DataType.FLOAT8E5M2FNUZ: 57344.0,
}


@pytest.mark.parametrize("kind", MAX, ids=lambda t: t.name)
def test_what_is_too_large_for_float8_follows_the_tables_of_cast(kind):
    x = np.array([np.inf, -np.inf, MAX[kind] * 1.5, -MAX[kind] * 1.5, MAX[kind], np.nan, -0.0], np.float32)
    top = MAX[kind]
    minus_zero = np.float32(0.0 if "FNUZ" in kind.name else -0.0)
    saturated = np.array([top, -top, top, -top, top, np.nan, minus_zero], np.float32)
    np.testing.assert_array_equal(narrow.round_to(x, kind), saturated)
    over = np.inf if kind == DataType.FLOAT8E5M2 else np.nan
    np.testing.assert_array_equal(
        narrow.round_to(x, kind, saturate=False),
        np.array([over, -over, over, -over, top, np.nan, minus_zero], np.float32),
    )
    assert np.signbit(narrow.round_to(x, kind)[-1]) == np.signbit(minus_zero)


def test_powers_of_two_round_as_cast_says():
    x = np.array([1.0, 1.25, 1.5, 1.75, 3.0, 0.0, np.inf, np.nan, 2.0**-149], np.float32)
    e8m0 = DataType.FLOAT8E8M0
    up = [1, 2, 2, 2, 4, 2.0**-127, 2.0**127, np.nan, 2.0**-127]
    np.testing.assert_array_equal(narrow.round_to(x, e8m0), np.array(up, np.float32))
    down = [1, 1, 1, 1, 2, 2.0**-127, 2.0**127, np.nan, 2.0**-127]
    np.testing.assert_array_equal(narrow.round_to(x, e8m0, round_mode="down"), np.array(down, np.float32))
    nearest = [1, 1, 2, 2, 4, np.nan, np.nan, np.nan, np.nan]
    rounded = narrow.round_to(x, e8m0, saturate=False, round_mode="nearest")
    np.testing.assert_array_equal(rounded, np.array(nearest, np.float32))


@pytest.mark.parametrize("kind", ML_DTYPES, ids=lambda t: t.name)
def test_bits_and_packed_bytes_are_inverse(kind):
    values = tensors.to_array(read(numpy_helper.from_array(random_values(kind, 21).reshape(3, 7), "t")))
    assert isinstance(values, Narrow)
    bits = tensors.from_bits(kind, tensors.to_bits(values))
    packed = tensors.from_packed(kind, tensors.to_packed(values), values.shape)
    for again in (bits, packed):
        assert again.data_type == kind
        np.testing.assert_array_equal(again.values, values.values)
    assert len(tensors.to_packed(values)) == -(-21 * kind.bits // 8)


def test_values_that_do_not_fit_a_narrow_integer_are_refused():
    with pytest.raises(InvalidInput, match="INT4: values from 8 to 8, expected -8 to 7"):
        tensors.from_bits(DataType.INT4, np.array([8], np.int8))
    with pytest.raises(InvalidInput, match="FLOAT4E2M1: bits up to 0x10, expected 4 bits"):
        tensors.from_bits(DataType.FLOAT4E2M1, np.array([16], np.uint8))


def test_strings_come_as_objects():
    tensor = read(helper.make_tensor("t", TensorProto.STRING, [1, 2], ["é".encode(), b""]))
    array = tensors.to_array(tensor)
    assert (array.dtype, array.tolist()) == (np.dtype(object), [["é", ""]])
    assert proto_of(tensors.from_array("t", np.array(["é", b"\xff"], object))).string_data == ["é".encode(), b"\xff"]
    with pytest.raises(InvalidModel, match='tensor "t": string 0 is not UTF-8'):
        tensors.to_array(read(helper.make_tensor("t", TensorProto.STRING, [1], [b"\xff"])))


def test_arrays_of_any_layout_become_tensors():
    base = np.arange(12, dtype=np.float32).reshape(3, 4)
    for array in (base.T, base[::2, ::-1], base.astype(">f4"), np.broadcast_to(np.float32(3), (2, 2))):
        np.testing.assert_array_equal(numpy_helper.to_array(proto_of(tensors.from_array("t", array))), array)
    with pytest.raises(InvalidInput, match="datetime64"):
        tensors.from_array("t", np.zeros(1, "datetime64[s]"))


def test_aligned_weights_are_not_copied_and_cannot_be_written():
    weights = np.arange(64, dtype=np.float32)
    data = weights.tobytes()
    array = tensors.to_array(Tensor("w", DataType.FLOAT, (8, 8), memoryview(data)))
    assert np.shares_memory(array, np.frombuffer(data, np.uint8))
    assert not array.flags.writeable
    assert np.shares_memory(np.asarray(tensors.from_array("w", weights).data), weights)


def test_weights_that_lie_askew_in_the_file_are_aligned_once():
    weights = np.arange(64, dtype=np.float32)
    for shift in range(1, 4):
        data = memoryview(bytes(shift) + weights.tobytes())[shift:]
        array = tensors.to_array(Tensor("w", DataType.FLOAT, (64,), data))
        assert array.flags.aligned
        np.testing.assert_array_equal(array, weights)


@pytest.mark.parametrize("rank_2", [False, True])
@pytest.mark.parametrize(
    "kind", [DataType.FLOAT, DataType.INT4, DataType.STRING, DataType.COMPLEX64], ids=lambda t: t.name
)
def test_sparse_tensors_are_written_out(kind, rank_2):
    if kind == DataType.STRING:
        values, zero = np.array(["a", "b"], object), ""
    else:
        values, zero = np.array([3, 5]).astype(kind.numpy), 0
    indices = np.array([[0, 2], [1, 1]]) if rank_2 else np.array([2, 4])
    value = Narrow(kind, values) if kind.is_narrow else values
    sparse = SparseTensor(tensors.from_array("s", value), tensors.from_array("i", indices), (2, 3))
    dense = tensors.to_dense(sparse)
    assert plain(dense).tolist() == [[zero, zero, values[0]], [zero, values[1], zero]]
    assert isinstance(dense, Narrow) == kind.is_narrow


def test_weights_in_a_file_are_what_the_session_gets(tmp_path):
    weights = np.random.default_rng(0).standard_normal((7, 5)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 7])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(weights, "w")],
    )
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx", save_as_external_data=True, size_threshold=0)
    assert (tmp_path / "m.onnx").stat().st_size < 400
    model = protobuf.read(tmp_path / "m.onnx")
    np.testing.assert_array_equal(tensors.to_array(model.graph.initializers[0]), weights)
