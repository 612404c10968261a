"""A batch of digits at once."""

from typing import Annotated

import numpy as np

from onnxlet import App, InferenceSession, Tensor

session = InferenceSession("mlp.onnx")


def classify(pictures: Annotated[np.ndarray, Tensor(dtype="float32", shape=[None, 784])]) -> np.ndarray:
    """The best class of each picture."""
    (logits,) = session.run(["logits"], {"x": pictures})
    return logits.argmax(1)


app = App(classify, title="MLP", examples=["four.npy"])
