import numpy as np
import pytest
from scipy import signal

from onnxlet.dtypes import DataType, Narrow
from onnxlet.errors import InvalidInput
from onnxlet.ops import find

from .oracle import assert_same, ours

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("length", [None, 6, 16])
@pytest.mark.parametrize("parts", [1, 2])
def test_transforms_equal_numpys(opset, length, parts):
    x = RNG.normal(size=(2, 10, 3, parts))
    z = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    n = None if length is None else np.array(length)
    axis = {"axis": 1} if opset == 17 else {}
    place = () if opset == 17 else (np.array(1),)
    for inverse, transform in ((0, np.fft.fft), (1, np.fft.ifft)):
        (y,) = ours("DFT", x, n, *place, opset=opset, inverse=inverse, **axis)
        np.testing.assert_allclose(y[..., 0] + 1j * y[..., 1], transform(z, length, axis=1), atol=1e-12)


def test_a_onesided_transform_there_and_back():
    x = RNG.normal(size=(2, 9, 1)).astype(np.float32)
    (spectrum,) = ours("DFT", x, None, np.array(1), opset=20, onesided=1)
    assert spectrum.shape == (2, 5, 2)
    assert spectrum.dtype == np.float32
    (back,) = ours("DFT", spectrum, np.array(9), np.array(1), opset=20, onesided=1, inverse=1)
    np.testing.assert_allclose(back, x, atol=1e-5)


def test_the_axis_of_parts_cannot_be_transformed():
    with pytest.raises(InvalidInput, match="choose a signal axis"):
        ours("DFT", np.zeros((1, 4, 2)), None, np.array(-1), opset=20)


def test_sliding_transforms_equal_the_native_ones():
    x = RNG.normal(size=(2, 64, 1)).astype(np.float32)
    window = RNG.random(16).astype(np.float32)
    for onesided in (0, 1):
        assert_same("STFT", x, np.array(5), window, np.array(16), onesided=onesided, opset=17, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize(
    ("op_type", "name"),
    [("HannWindow", "hann"), ("HammingWindow", ("general_hamming", 25 / 46)), ("BlackmanWindow", "blackman")],
)
def test_windows_equal_scipys(op_type, name, periodic):
    for size in (2, 5, 10):
        (y,) = ours(op_type, np.array(size), periodic=periodic, output_datatype=DataType.DOUBLE)
        np.testing.assert_allclose(y, signal.get_window(name, size, fftbins=bool(periodic)), atol=1e-12)


def test_a_window_of_a_type_that_numpy_lacks_is_narrow():
    window = find("", "HannWindow", 17).function(np.array(4), output_datatype=DataType.BFLOAT16)
    assert isinstance(window, Narrow)
    assert window.values.tolist() == [0, 0.5, 1, 0.5]


def test_mel_bands_equal_the_native_ones():
    inputs = (np.array(8), np.array(64), np.array(8192), np.array(0, np.float32), np.array(4096, np.float32))
    assert_same("MelWeightMatrix", *inputs, opset=17)
