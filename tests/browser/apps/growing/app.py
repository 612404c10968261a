"""Functions that yield: with a model or without, of both kinds, endless, failing, and silent."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import numpy as np

from onnxlet import App, InferenceSession, Labels

session = InferenceSession("add1.onnx")
closed: list[str] = []


def count(steps: int = 3) -> Iterator[str]:
    """Adds 1 by the model at each step."""
    x = np.zeros((1, 1), np.float32)
    for _ in range(steps):
        x = session.run(None, {"x": x})[0]
        yield f"{x[0, 0]:.0f}"


async def acount(steps: int = 3) -> AsyncIterator[str]:
    """The same, awaited."""
    x = np.zeros((1, 1), np.float32)
    for _ in range(steps):
        x = (await session.arun(None, {"x": x}))[0]
        yield f"{x[0, 0]:.0f}"


def endless() -> Iterator[Labels]:
    """Goes on until it is stopped."""
    step = 0
    try:
        while True:
            step += 1
            yield Labels({f"step {step}": 1.0} | {f"class {k}": 0.5 for k in range(10)})
            time.sleep(0.02)
    finally:
        closed.append("endless")


async def stuck() -> AsyncIterator[str]:
    """Yields once, and never again."""
    yield "once"
    await asyncio.sleep(10**6)


def breaks() -> Iterator[str]:
    """Fails after two values."""
    yield "one"
    yield "two"
    raise ValueError("there is no three")


def silent() -> Iterator[str]:
    """Yields nothing."""
    yield from ()


def ended() -> str:
    """What was closed since the worker started."""
    return ", ".join(closed) or "nothing"


app = App(
    count,
    acount,
    endless,
    stuck,
    breaks,
    silent,
    ended,
    title="Growing",
    examples={"count": [3, 5], "acount": [4]},
)
