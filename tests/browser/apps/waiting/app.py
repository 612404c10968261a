"""An app that awaits its model, so that it runs in browsers where Python cannot block."""

from collections.abc import AsyncIterator

from onnxlet import App, InferenceSession, Tensor

session = InferenceSession("add1.onnx")


async def increment(x: Tensor) -> Tensor:
    """x + 1 for float32 [a, b]."""
    return (await session.arun(None, {"x": x}))[0]


async def increments(x: Tensor) -> AsyncIterator[Tensor]:
    """x + 1 and x + 2."""
    for _ in range(2):
        x = (await session.arun(None, {"x": x}))[0]
        yield x


app = App(increment, increments, title="Waiting")
