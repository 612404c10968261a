"""Our resize against Pillow's, and without antialias against ONNX Runtime's Resize."""

import tracemalloc

import numpy as np
import pytest
from PIL import Image as Pillow

from onnxlet.errors import InvalidInput
from onnxlet.media.resize import resize

FILTERS = {
    "nearest": Pillow.Resampling.NEAREST,
    "bilinear": Pillow.Resampling.BILINEAR,
    "bicubic": Pillow.Resampling.BICUBIC,
    "lanczos": Pillow.Resampling.LANCZOS,
}
SIZES = [(1, 1), (1, 7), (2, 3), (13, 1), (28, 28), (63, 64), (100, 75), (331, 17), (3, 400)]


def noise(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def by_pillow(array: np.ndarray, width: int, height: int, method: str) -> np.ndarray:
    return np.asarray(Pillow.fromarray(array).resize((width, height), FILTERS[method]))


@pytest.mark.parametrize("method", FILTERS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("new", SIZES)
def test_levels_equal_pillows(method: str, size: tuple[int, int], new: tuple[int, int]) -> None:
    for array in (noise(size), noise((*size, 3))):
        np.testing.assert_array_equal(resize(array, *new, method), by_pillow(array, *new, method))


def test_a_thin_strip_is_shortened_in_pillows_order() -> None:
    array = noise((242, 2))
    np.testing.assert_array_equal(resize(array, 35, 69, "bicubic"), by_pillow(array, 35, 69, "bicubic"))


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "lanczos"])
def test_floats_equal_pillows(method: str) -> None:
    array = np.random.default_rng(0).normal(size=(57, 91)).astype(np.float32)
    for width, height in ((20, 33), (91, 10), (200, 120)):
        ours = resize(array, width, height, method)
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, by_pillow(array, width, height, method), atol=1e-6)


def test_doubles_keep_their_precision() -> None:
    array = np.random.default_rng(0).normal(size=(9, 11))
    ours = resize(array, 5, 4)
    assert ours.dtype == np.float64
    np.testing.assert_allclose(ours, resize(array.astype(np.float32), 5, 4), atol=1e-6)


def test_a_large_picture_equals_pillows_in_level_memory() -> None:
    array = noise((3000, 4000, 3))
    expected = by_pillow(array, 224, 224, "bilinear")
    tracemalloc.start()
    ours = resize(array, 224, 224)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(ours, expected)
    assert peak < array.nbytes / 2


@pytest.mark.parametrize(("method", "mode"), [("bilinear", "linear"), ("bicubic", "cubic")])
@pytest.mark.parametrize(("width", "height"), [(5, 7), (40, 12), (23, 90)])
def test_without_antialias_floats_equal_onnx_resize(method: str, mode: str, width: int, height: int) -> None:
    onnx = pytest.importorskip("onnx", reason="Pyodide has none")
    onnxruntime = pytest.importorskip("onnxruntime", reason="Pyodide has none")
    helper = onnx.helper
    array = np.random.default_rng(1).normal(size=(31, 23)).astype(np.float32)
    node = helper.make_node(
        "Resize", ["x", "", "", "sizes"], ["y"], mode=mode, cubic_coeff_a=-0.5, exclude_outside=int(mode == "cubic")
    )
    graph = helper.make_graph(
        [node],
        "resize",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 1, 31, 23])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
        [helper.make_tensor("sizes", onnx.TensorProto.INT64, [4], [1, 1, height, width])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": array[None, None]})
    np.testing.assert_allclose(
        resize(array, width, height, method, antialias=False), expected[0, 0], atol=5e-5
    )  # float32 there


def test_the_result_is_never_the_argument() -> None:
    array = noise((4, 5))
    for method in FILTERS:
        same = resize(array, 5, 4, method)
        assert not np.shares_memory(same, array)
        np.testing.assert_array_equal(same, array)


def test_strided_and_reversed_arrays_count_as_what_they_show() -> None:
    array = noise((40, 60, 3))[::-2, ::3]
    np.testing.assert_array_equal(resize(array, 9, 9), resize(array.copy(), 9, 9))


@pytest.mark.parametrize(
    ("array", "width", "method", "message"),
    [
        (np.zeros((2, 2), np.uint8), 0, "bilinear", "size of at least 1 x 1, got 0 x 2"),
        (np.zeros((2, 2), np.uint8), 2, "area", "method of nearest, bilinear, bicubic, lanczos, got 'area'"),
        (np.zeros((0, 2), np.uint8), 2, "bilinear", r"got uint8 \[0, 2\]"),
        (np.zeros((2, 2), np.int64), 2, "bilinear", r"got int64 \[2, 2\]"),
        (np.zeros((2, 2, 2, 2), np.uint8), 2, "bilinear", r"got uint8 \[2, 2, 2, 2\]"),
    ],
)
def test_a_wrong_argument_is_named(array: np.ndarray, width: int, method: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        resize(array, width, 2, method)
