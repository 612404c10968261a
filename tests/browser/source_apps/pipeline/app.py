"""Will a flat be let within a week?"""

from typing import Annotated, Literal

import numpy as np

from onnxlet import App, InferenceSession, Number

session = InferenceSession("flats.onnx")


def predict(
    area: Annotated[float, Number(min=10, max=300)] = 50,
    rent: Annotated[float, Number(min=100, max=5000)] = 800,
    city: Literal["Berlin", "Kyiv", "Lima", "Osaka", "elsewhere"] = "Kyiv",
) -> np.ndarray:
    """Probabilities of no and yes."""
    row = {"area": np.float32([[area]]), "rent": np.float32([[rent]]), "city": np.array([[city]], dtype=object)}
    _, probabilities = session.run(None, row)
    return probabilities


app = App(
    predict, title="Flats", examples=[(50, 800, "Kyiv"), (30, 1500, "Lima"), (90, 700, "elsewhere"), (20, 300, "Osaka")]
)
