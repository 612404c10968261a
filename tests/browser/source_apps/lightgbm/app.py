"""A tumour's measurements: benign or malignant."""

from typing import Annotated

import numpy as np

from onnxlet import App, InferenceSession, Tensor

session = InferenceSession("lightgbm.onnx")


def diagnose(
    rows: Annotated[np.ndarray, Tensor(dtype="float32", shape=[None, 30])],
) -> tuple[np.ndarray, np.ndarray]:
    """The class of each row, and the probability of each class."""
    return tuple(session.run(None, {session.get_inputs()[0].name: rows}))


app = App(diagnose, title="lightgbm", examples=["rows.npy"])
