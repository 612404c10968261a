import json
from pathlib import Path

import numpy as np
import pytest

import onnxlet
from onnxlet.dtypes import DataType as T
from onnxlet.model import Node
from tests.core.models import DTYPES, identity, model

DATA = Path(__file__).parents[1] / "data"
BASE = np.arange(12, dtype=np.float32).reshape(3, 4)
READ_ONLY = BASE.copy()
READ_ONLY.flags.writeable = False
UNALIGNED = np.frombuffer(b"\0" + BASE.tobytes(), dtype=np.float32, count=12, offset=1).reshape(3, 4)

SAME = {
    "plain": BASE,
    "transposed": BASE.T,
    "reversed": BASE[::-1, ::-1],
    "strided": np.arange(48, dtype=np.float32).reshape(6, 8)[::2, ::2],
    "fortran": np.asfortranarray(BASE),
    "big_endian": BASE.astype(">f4"),
    "big_endian_strided": BASE.astype(">f4")[:, ::-2],
    "broadcast": np.broadcast_to(np.float32(2), (3, 4)),
    "read_only": READ_ONLY,
    "unaligned": UNALIGNED,
    "float64": BASE.astype(np.float64),
    "float16": BASE.astype(np.float16),
    "int32": BASE.astype(np.int32),
    "int64": BASE.astype(np.int64),
    "uint8": BASE.astype(np.uint8),
    "bool": BASE > 5,
    "object": BASE.astype(object),
    "list": BASE.tolist(),
    "list of fractions": [[0.1, 0.2]],
    "memoryview": memoryview(BASE),
    "nothing masked": np.ma.masked_array(BASE, np.zeros((3, 4), bool)),
    "empty": np.zeros((0, 4), np.float32),
    "one": np.ones((1, 1), np.float32),
    "matrix": np.matrix(BASE),
    "nan": BASE * np.nan,
}


@pytest.fixture(scope="module")
def add1() -> onnxlet.InferenceSession:
    return onnxlet.InferenceSession(DATA / "P_add1.onnx")


@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "NumpyExecutionProvider"])
@pytest.mark.parametrize("kind", SAME)
def test_every_layout_and_container_of_the_same_numbers_gives_the_same_answer(kind: str, provider: str) -> None:
    session = onnxlet.InferenceSession(DATA / "P_add1.onnx", providers=[provider])
    value = SAME[kind]
    want = np.asarray(value, dtype=np.float32)
    y, total = session.run(None, {"x": value})
    np.testing.assert_array_equal(y, want + 1)
    np.testing.assert_allclose(total, want.sum(), rtol=1e-6)
    assert y.dtype == np.float32
    assert y.flags.writeable


BAD = {
    "3-D": (BASE[None], r"expected float32 \[a, b\], got float32 \[1, 3, 4\] \(rank 3, not 2\); .*x\[0\]"),
    "1-D": (BASE[0], r"expected float32 \[a, b\], got float32 \[4\] \(rank 1, not 2\); add an axis, such as x\[None\]"),
    "strings": (np.array([["a", "b"]]), r"expected float32 \[a, b\], got string \[1, 2\]"),
    "ragged": ([[1, 2], [3]], r"expected float32 \[a, b\], got a list that is no array"),
    "none": (None, r"expected float32 \[a, b\], got None"),
    "complex": (BASE * 1j, r"expected float32 \[a, b\], got complex64 \[3, 4\]"),
    "date": (np.array([["2026-01-01"]], "M8[D]"), r"expected float32 \[a, b\], got datetime64\[D\] \[1, 1\]"),
    "masked": (np.ma.masked_array(BASE, BASE > 9), r"masked array with 2 masked of 12; .*\.filled\(0\)"),
    "objects": (np.array([[object()]]), r"expected float32 \[a, b\], got object \[1, 1\]"),
    "too precise": (
        np.array([[0.1]]),
        r"float32 cannot hold exactly, such as 0\.1 at \[0, 0\]; .*astype\(\"float32\"\)",
    ),
    "too large": (np.array([[2**24 + 1]]), r"such as 16777217 at \[0, 0\]"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_does_not_fit_is_refused_with_what_was_expected_and_what_came(
    kind: str, add1: onnxlet.InferenceSession
) -> None:
    value, message = BAD[kind]
    with pytest.raises(onnxlet.InvalidInput, match=message) as caught:
        add1.run(None, {"x": value})
    assert str(caught.value).startswith('input "x": ')


@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "NumpyExecutionProvider"])
def test_a_session_looks_at_every_feed_however_many_it_has_seen(provider: str) -> None:
    session = onnxlet.InferenceSession(DATA / "P_add1.onnx", providers=[provider])
    for value in (*SAME.values(), *SAME.values()):
        want = np.asarray(value, dtype=np.float32)
        np.testing.assert_array_equal(session.run(["y"], {"x": value})[0], want + 1)
        np.testing.assert_allclose(session.run(["s"], {"x": value})[0], want.sum(), rtol=1e-6)
    for value, message in BAD.values():
        with pytest.raises(onnxlet.InvalidInput, match=message):
            session.run(None, {"x": value})


def test_sizes_that_never_come_back_are_no_trouble(add1: onnxlet.InferenceSession) -> None:
    for size in range(300):
        y, total = add1.run(None, {"x": np.full((1, size), size, np.float32)})
        assert y.shape == (1, size)
        assert (y == size + 1).all()
        assert total == size * size


@pytest.mark.parametrize(("feeds", "message"), [
    ({}, r"Required inputs \(\['x'\]\) are missing .* the model takes 'x' \(float32 \[a, b\]\)"),
    ({"x": BASE, "z": BASE}, r"there is no input 'z'; the model takes 'x'"),
    ({"X": BASE}, r"missing from input feed \(\['X'\]\); there is no input 'X'"),
    ([BASE], r"expected a dict of input name to array, got list"),
])  # fmt: skip
def test_wrong_names_say_which_ones_the_model_takes(
    feeds: object, message: str, add1: onnxlet.InferenceSession
) -> None:
    with pytest.raises(onnxlet.InvalidInput, match=message):
        add1.run(None, feeds)  # type: ignore[arg-type]


def test_a_fixed_size_is_checked_by_axis() -> None:
    session = onnxlet.InferenceSession(identity(T.FLOAT, ["n", 784]))
    with pytest.raises(
        onnxlet.InvalidInput, match=r"expected float32 \[n, 784\], got float32 \[2, 783\] \(axis 1 is 783"
    ):
        session.run(None, {"x": np.zeros((2, 783), np.float32)})


def test_one_symbol_may_have_two_sizes_as_in_onnxruntime() -> None:
    import onnxruntime

    same = Node("Identity", ("x",), ("y",)), Node("Identity", ("w",), ("z",))
    data = model(same, {n: (T.FLOAT, ["n"]) for n in "xw"}, {n: (T.FLOAT, ["n"]) for n in "yz"})
    feeds = {"x": np.ones(2, np.float32), "w": np.ones(3, np.float32)}
    ours = onnxlet.InferenceSession(data).run(None, feeds)
    theirs = onnxruntime.InferenceSession(data).run(None, feeds)
    assert [a.shape for a in ours] == [a.shape for a in theirs] == [(2,), (3,)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (), (1,)])
@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "NumpyExecutionProvider"])
def test_every_dtype_and_rank_comes_out_as_it_went_in(dtype: str, shape: tuple[int, ...], provider: str) -> None:
    value = np.arange(np.prod(shape), dtype=np.int64).astype(dtype).reshape(shape)
    session = onnxlet.InferenceSession(identity(DTYPES[dtype], shape), providers=[provider])
    (out,) = session.run(None, {"x": value})
    assert (out.dtype, out.shape) == (value.dtype, shape)
    np.testing.assert_array_equal(out, value)


@pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.int64(3), np.array(3.0)])
def test_a_number_is_a_tensor_of_rank_0(value: object) -> None:
    (out,) = onnxlet.InferenceSession(identity(T.FLOAT, [])).run(None, {"x": value})
    assert (out.shape, float(out)) == ((), 3.0)


@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "NumpyExecutionProvider"])
@pytest.mark.parametrize("value", [
    np.array([["a", "é", ""]]), np.array([["a", "é", ""]], object), [["a", "é", ""]],
    np.array([[b"a", "é".encode(), b""]]), np.array([["x", "a", "é", ""]])[:, 1:],
])  # fmt: skip
def test_strings_come_in_any_container(value: object, provider: str) -> None:
    (out,) = onnxlet.InferenceSession(identity(T.STRING), providers=[provider]).run(None, {"x": value})
    assert out.dtype == object
    assert out.tolist() == [["a", "é", ""]]


def test_missing_strings_are_refused_with_a_remedy() -> None:
    session = onnxlet.InferenceSession(identity(T.STRING))
    with pytest.raises(onnxlet.InvalidInput, match=r"got None at \[0, 1\]; say what stands for missing"):
        session.run(None, {"x": np.array([["a", None]], object)})
    with pytest.raises(onnxlet.InvalidInput, match=r"got float32 \[1, 1\]; turn it into text: x\.astype\(str\)"):
        session.run(None, {"x": np.ones((1, 1), np.float32)})


def test_whole_numbers_of_any_dtype_feed_an_integer_input() -> None:
    case = json.loads((DATA / "T09_int_input.json").read_text())
    session = onnxlet.InferenceSession(DATA / "T09_int_input.onnx")
    (arg,) = session.get_inputs()
    for dtype in (None, np.int64, np.int32, np.uint8, np.float32, np.float64, object):
        rows = np.array(case["rows"], dtype) if dtype else case["rows"]
        result = session.run(None, {arg.name: rows})[0]
        np.testing.assert_array_equal(np.ravel(result), case["expected"]["data"])
    for rows in ([[2.5, 1, 6]], np.array([[2.5, 1, 6]])):
        with pytest.raises(
            onnxlet.InvalidInput, match=r"int64 cannot hold exactly, such as 2\.5 at \[0, 0\]; .*round\(\)"
        ):
            session.run(None, {arg.name: rows})


@pytest.mark.parametrize(("source", "target", "value"), [
    ("float64", "int64", 2.0**63), ("float64", "int32", 3e9), ("float64", "int64", np.nan), ("float64", "uint8", -1.0),
    ("int64", "int32", 2**31), ("int64", "uint64", -1), ("uint64", "int64", 2**63), ("uint64", "float32", 2**64 - 1),
    ("int64", "float64", 2**53 + 1), ("int64", "bool", 2), ("float64", "float16", 70000.0),
    ("float64", "float32", 1e300),
])  # fmt: skip
def test_values_that_would_change_are_never_converted(source: str, target: str, value: float) -> None:
    session = onnxlet.InferenceSession(identity(DTYPES[target], [1]))
    with pytest.raises(onnxlet.InvalidInput, match="cannot hold exactly"):
        session.run(None, {"x": np.array([value], source)})


@pytest.mark.parametrize(("source", "target", "value"), [
    ("float64", "float32", np.nan), ("float64", "float32", -np.inf), ("float64", "int64", -(2.0**63)),
    ("int64", "uint64", 2**62), ("uint64", "float32", 2**63), ("int64", "bool", 1), ("bool", "float16", True),
])  # fmt: skip
def test_values_at_the_edge_that_stay_the_same_are_converted(source: str, target: str, value: float) -> None:
    session = onnxlet.InferenceSession(identity(DTYPES[target], [1]))
    (out,) = session.run(None, {"x": np.array([value], source)})
    assert out.dtype == target
    np.testing.assert_array_equal(out.astype(source), np.array([value], source))


@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "NumpyExecutionProvider"])
@pytest.mark.parametrize(("elem_type", "bits"), [
    (T.BFLOAT16, np.array([[0x3F80, 0xC040, 0x7F80]], np.uint16)),
    (T.FLOAT8E4M3FN, np.array([[0x38, 0xB8, 0x7E]], np.uint8)),
    (T.INT4, np.array([[-8, 7, 3]], np.int8)),
    (T.UINT4, np.array([[0, 15, 3]], np.uint8)),
])  # fmt: skip
def test_types_that_numpy_lacks_travel_as_their_bits(elem_type: T, bits: np.ndarray, provider: str) -> None:
    session = onnxlet.InferenceSession(identity(elem_type), providers=[provider])
    (out,) = session.run(None, {"x": bits})
    assert out.dtype == bits.dtype
    np.testing.assert_array_equal(out, bits)
    name = session.get_inputs()[0].type.removeprefix("tensor(").removesuffix(")")
    with pytest.raises(onnxlet.InvalidInput, match=f"numpy has no {name}: pass its bits as {bits.dtype.name}"):
        session.run(None, {"x": np.ones((1, 3), np.float32)})


def test_an_array_of_ml_dtypes_is_taken_for_what_it_is() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    session = onnxlet.InferenceSession(identity(T.BFLOAT16))
    (out,) = session.run(None, {"x": np.array([[1, -3]], ml_dtypes.bfloat16)})
    assert out.tolist() == [[0x3F80, 0xC040]]


def test_feeds_are_left_as_they_were() -> None:
    value = BASE.copy()
    session = onnxlet.InferenceSession(DATA / "P_add1.onnx")
    y, _ = session.run(None, {"x": value})
    y[...] = -1
    np.testing.assert_array_equal(value, BASE)
