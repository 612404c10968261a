"""Silero's voice activity detector out of the silero-vad package on PyPI (MIT)."""

from onnxlet_build.fetch import from_pypi

PACKAGE = "silero-vad==6.2.3"
MODEL = "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49"


def model():
    """The model for 16 kHz that hears one frame a run: If chooses what to do with the sample rate, LSTM remembers."""
    return {"silero-vad.onnx": from_pypi(PACKAGE, "silero_vad/data/silero_vad_16k_op15.onnx", MODEL)}
