"""Silero's voice activity detector out of the silero-vad package on PyPI (MIT)."""

from onnxlet_build.fetch import from_pypi

PACKAGE = "silero-vad==6.2.3"
MODEL = "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85"


def model():
    """The model for 16 kHz that hears many frames a run: the one that hears a frame a run takes ten times as long."""
    return {"silero-vad.onnx": from_pypi(PACKAGE, "silero_vad/data/silero_vad_16k_sequence.onnx", MODEL)}
