"""What a network of Keras's sees in pictures."""

from typing import Annotated

import numpy as np

from onnxlet import App, InferenceSession, Tensor

session = InferenceSession("keras.onnx")


def classify(pictures: Annotated[np.ndarray, Tensor(dtype="float32", shape=[None, 16, 16, 3])]) -> np.ndarray:
    """The share of each class."""
    (shares,) = session.run(None, {session.get_inputs()[0].name: pictures})
    return shares


app = App(classify, title="Keras", examples=["pictures.npy"])
