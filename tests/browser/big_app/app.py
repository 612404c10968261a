from onnxlet import App, InferenceSession, Number

session = InferenceSession("big.onnx")


def norm(value: float) -> Number:
    """How large the last layer's answer is."""
    x = session.get_inputs()[0].shape[1] * [value]
    (y,) = session.run(None, {"x": [x]})
    return float((y**2).mean() ** 0.5)


app = App(norm, title="Big", examples=[1.0])
