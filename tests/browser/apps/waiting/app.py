"""An app that awaits its model, so that it runs in browsers where Python cannot block."""

from onnxlet import App, InferenceSession, Tensor

session = InferenceSession("add1.onnx")


async def increment(x: Tensor) -> Tensor:
    """x + 1 for float32 [a, b]."""
    return (await session.arun(None, {"x": x}))[0]


app = App(increment, title="Waiting")
