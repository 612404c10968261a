"""Signals: Fourier transforms, windows, the mel scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import Array, DataType, Narrow
from ..errors import InvalidInput
from .narrow import round_to
from .registry import op
from .support import axis_in_range, restore, scalar, wide

__all__: list[str] = []


def _complex(x: Array) -> Array:
    """[..., 1] or [..., 2] (real, imaginary) as complex [...]; of single precision for float32 and narrower."""
    if x.shape[-1] not in (1, 2):
        raise InvalidInput(f"the last axis has size {x.shape[-1]}, expected 1 (real) or 2 (real, imaginary)")
    x = wide(x)
    return x[..., 0] + 1j * x[..., 1] if x.shape[-1] == 2 else x[..., 0] + 0j


def _pairs(z: Array, like: Array) -> Array:
    """Complex [...] as [..., 2] in the dtype of `like`."""
    return restore(np.stack([z.real, z.imag], axis=-1), like)


@op("DFT", since=17)
def DFT_17(x: Array, dft_length: Array | None = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Array:
    """Discrete Fourier transform along one axis; axis is an attribute.

    Spec: https://onnx.ai/onnx/operators/onnx__DFT.html, opset 17 to 19.
    """
    return DFT(x, dft_length, np.array(axis), inverse=inverse, onesided=onesided)


@op("DFT", since=20)
def DFT(
    x: Array,
    dft_length: Array | None = None,
    axis: Array | None = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
) -> Array:
    """Discrete Fourier transform along one axis.

    Spec: https://onnx.ai/onnx/operators/onnx__DFT.html, opset 20+.

    Args:
        x: [..., 1] real or [..., 2] complex.
        dft_length: samples to transform; longer than the axis pads with zeros, shorter cuts.
        axis: any but the last; -2 when left out.
        onesided: forward, real x: only bins 0 to dft_length // 2. Inverse: x holds only those, the result is real.
    Returns: [..., 2], or [..., 1] for a onesided inverse.
    """
    at = axis_in_range(-2 if axis is None else axis, x.ndim)
    if at == x.ndim - 1:
        raise InvalidInput("axis is the last one, which holds the real and imaginary parts; choose a signal axis")
    length = None if dft_length is None else scalar(dft_length)
    z = _complex(x)
    if onesided and inverse:
        return restore(np.fft.irfft(z, length, axis=at)[..., None], x)
    if onesided:
        if x.shape[-1] != 1:
            raise InvalidInput("onesided needs a real input [..., 1]; a complex spectrum is not symmetric")
        return _pairs(np.fft.rfft(z.real, length, axis=at), x)
    return _pairs((np.fft.ifft if inverse else np.fft.fft)(z, length, axis=at), x)


@op("STFT", since=17)
def STFT(
    signal: Array,
    frame_step: Array,
    window: Array | None = None,
    frame_length: Array | None = None,
    *,
    onesided: int = 1,
) -> Array:
    """Fourier transforms of a window that slides over a signal.

    Spec: https://onnx.ai/onnx/operators/onnx__STFT.html, opset 17+.

    Args:
        signal: [B, L, 1] real or [B, L, 2] complex.
        frame_step: samples from one frame to the next.
        window: [frame_length]; ones when left out.
        frame_length: the window's length when left out, or the signal's.
    Returns: [B, (L - frame_length) // frame_step + 1, bins, 2].
    """
    z = _complex(signal)
    samples = z.shape[1] if window is None else window.shape[0]
    length = samples if frame_length is None else scalar(frame_length)
    if window is not None and window.shape[0] != length:
        raise InvalidInput(f"window has {window.shape[0]} samples, expected frame_length = {length}")
    if not 0 < length <= z.shape[1]:
        raise InvalidInput(f"frame_length is {length}, expected 1 to {z.shape[1]} (the signal's length)")
    frames = np.lib.stride_tricks.sliding_window_view(z, length, axis=1)[:, :: scalar(frame_step)]
    if window is not None:
        frames = frames * wide(window)
    if onesided and signal.shape[-1] == 1:
        return _pairs(np.fft.rfft(frames.real, axis=-1), signal)
    return _pairs(np.fft.fft(frames, axis=-1), signal)


def _of_type(values: Array, output_datatype: int) -> Any:
    """values in an ONNX type; fractions are cut off for integers."""
    data_type = DataType(output_datatype)
    converted = values.astype(data_type.numpy)
    return Narrow(data_type, round_to(converted, data_type)) if data_type.is_narrow else converted


def _cosine_window(size: Array, periodic: int, output_datatype: int, coefficients: tuple[float, ...]) -> Any:
    """The sum of coefficients times (-1)**k cos(2 pi k n / N), with N = size when periodic, else size - 1."""
    count = scalar(size)
    turns = np.arange(count) / max(count if periodic else count - 1, 1)
    terms = [(-1) ** k * c * np.cos(2 * np.pi * k * turns) for k, c in enumerate(coefficients)]
    return _of_type(np.sum(terms, axis=0), output_datatype)


@op("HannWindow", since=17)
def HannWindow(size: Array, *, output_datatype: int = 1, periodic: int = 1) -> Any:
    """Hann window [size]. Spec: https://onnx.ai/onnx/operators/onnx__HannWindow.html, opset 17+."""
    return _cosine_window(size, periodic, output_datatype, (0.5, 0.5))


@op("HammingWindow", since=17)
def HammingWindow(size: Array, *, output_datatype: int = 1, periodic: int = 1) -> Any:
    """Hamming window [size]. Spec: https://onnx.ai/onnx/operators/onnx__HammingWindow.html, opset 17+."""
    return _cosine_window(size, periodic, output_datatype, (25 / 46, 21 / 46))


@op("BlackmanWindow", since=17)
def BlackmanWindow(size: Array, *, output_datatype: int = 1, periodic: int = 1) -> Any:
    """Blackman window [size]. Spec: https://onnx.ai/onnx/operators/onnx__BlackmanWindow.html, opset 17+."""
    return _cosine_window(size, periodic, output_datatype, (0.42, 0.5, 0.08))


@op("MelWeightMatrix", since=17)
def MelWeightMatrix(
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
    *,
    output_datatype: int = 1,
) -> Any:
    """Triangles that gather the bins of a spectrum into bands of equal width on the mel scale.

    A triangle's corners are whole bins; one whose rising side is empty is 1 at its centre.
    Spec: https://onnx.ai/onnx/operators/onnx__MelWeightMatrix.html, opset 17+.

    Returns: [dft_length // 2 + 1, num_mel_bins].
    """
    bands, length = scalar(num_mel_bins), scalar(dft_length)
    edges = np.array([np.asarray(e, np.float64).reshape(()) for e in (lower_edge_hertz, upper_edge_hertz)])
    low, high = 2595 * np.log10(1 + edges / 700)
    mel = low + np.arange(bands + 2) * (high - low) / (bands + 2)
    corners = ((length + 1) * 700 * (10 ** (mel / 2595) - 1) // scalar(sample_rate)).astype(np.int64)
    left, centre, right = corners[:-2], corners[1:-1], corners[2:]
    bins = np.arange(length // 2 + 1)[:, None]
    rising = (bins - left) / np.maximum(centre - left, 1)
    falling = (right - bins) / np.maximum(right - centre, 1)
    weights = np.where((bins >= left) & (bins <= centre), rising, 0)
    weights = np.where((bins >= centre) & (bins < right), falling, weights)
    weights = np.where((left == centre) & (bins == centre), 1, weights)
    return _of_type(weights, output_datatype)
