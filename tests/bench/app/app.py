"""Runs a model many times from Python and tells the time of one run, which `make bench` compares with JavaScript's."""

import time

import numpy as np

from onnxlet import App, InferenceSession

sessions = {name: InferenceSession(f"{name}.onnx") for name in ("tiny", "ten_ms")}


def measure(model: str, runs: int) -> dict:
    """Milliseconds a run, over `runs` runs."""
    session = sessions[model]
    rows = {"tiny": 1, "ten_ms": 512}[model]
    x = np.full((rows, session.get_inputs()[0].shape[1]), 0.01, np.float32)
    begin = time.perf_counter()
    for _ in range(runs):
        (y,) = session.run(None, {"x": x})
    return {"ms": (time.perf_counter() - begin) * 1000 / runs, "first": float(y[0, 0])}


app = App(measure, title="Bench")
