"""The app that the build runs in a real browser: one variant of a model, in the session that a page would use.

Its site holds one app a variant, which all share this file. Operators of a person's own are registered by importing the
app that has them, whose files lie beside this one.
"""

import functools
import importlib
import io
import json
import time
from pathlib import Path

import numpy as np

from onnxlet import App, File, InferenceSession, SessionOptions, inside
from onnxlet.accuracy import comparable
from onnxlet.providers.base import Traced

VARIANT = "__variant__.onnx"
CPU = "CPUExecutionProvider"

operators = Path("__operators__.txt")
if operators.is_file():
    importlib.import_module(operators.read_text())


@functools.cache
def opened() -> InferenceSession:
    """The session, opened when it is first asked for."""
    return InferenceSession(VARIANT)


async def run(feeds: File) -> tuple[np.ndarray, str]:
    """Run once; the first run opens the session. Gives the outputs as the bytes of an .npz, and facts as JSON."""
    arrays = load(feeds)
    begin_s = time.perf_counter()
    session = opened()
    outputs = await session.arun(None, arrays)
    facts = {
        "ms": (time.perf_counter() - begin_s) * 1e3,
        "provider": session.get_providers()[0],
        "fallen": session.fallen,
        "placement": session.placement() or {},
    }
    names = [output.name for output in session.get_outputs()]
    stream = io.BytesIO()
    np.savez(
        stream, allow_pickle=False, **{name: comparable(value) for name, value in zip(names, outputs, strict=True)}
    )
    return np.frombuffer(stream.getvalue(), np.uint8), json.dumps(facts)


async def measure(feeds: File, rounds: int, runs: int) -> str:
    """Milliseconds a run, a JSON list with one number a round: a browser's clock is too coarse for one short run."""
    session, arrays = opened(), load(feeds)
    times = []
    for _ in range(rounds):
        begin_s = time.perf_counter()
        for _ in range(runs):
            await session.arun(None, arrays)
        times.append((time.perf_counter() - begin_s) * 1e3 / runs)
    return json.dumps(times)


async def on_cpu(feeds: File) -> str:
    """The operators that ONNX Runtime keeps on the processor although it has the GPU, as a JSON list."""
    options = SessionOptions()
    options.enable_profiling = True
    traced = opened().again(options)
    try:
        await traced.arun(None, load(feeds))
        executable = traced.executable
        rows = inside.node_times(await executable.atrace() if isinstance(executable, Traced) else [])
    finally:
        traced.close()
    return json.dumps(sorted({row["operator"] for row in rows if row["provider"] == CPU}))


def load(feeds: File) -> dict[str, np.ndarray]:
    """The arrays of an .npz; texts become the objects that a session takes."""
    with np.load(io.BytesIO(feeds.data), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored}
    return {name: array.astype(object) if array.dtype.kind == "U" else array for name, array in arrays.items()}


app = App(run, measure, on_cpu, title="Proof")
