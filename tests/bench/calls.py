"""Calls: session.run from Python, and the same from JavaScript, in turns in one browser."""

import json
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Playwright

from tests.bench.chrome import opened
from tests.bench.rows import Row, difference, ratio
from tests.bench.sites import model_file
from tests.browser.driver import Visit
from tests.browser.server import Host

__all__ = ["calls"]

HERE = Path(__file__).parent
CALLS = {"tiny": (1, 8, 200), "ten_ms": (512, 512, 20)}  # rows, width, runs a turn
WARM = 5  # turns' worth of runs before the first turn: V8 takes about 1000 to compile what of Python a run needs
MOST_MS = 0.3  # more a call than JavaScript
MOST_RATIO = 1.03  # of JavaScript's time, where a run takes 10 ms


def calls(playwright: Playwright, host: Host, rounds: int) -> list[Row]:
    """Time `session.run` from Python and from JavaScript on the site mounted as "bench"."""
    rows = []
    with tempfile.TemporaryDirectory() as profile, opened(playwright, Path(profile)) as context:
        visitor = Visit(host, context, "bench", "plain")
        ready = visitor.start("app", "wasm")
        assert "error" not in ready, ready
        _start_plain(visitor)
        for name, (height, width, runs) in CALLS.items():
            python, plain = [], []
            for turn in range(rounds + 1):
                count = runs if turn else WARM * runs
                a = _python(visitor, name, count)
                b = visitor.page.evaluate("(m) => ask({measure: m})", _measure(name, height, width, count))
                assert abs(a["first"] - b["first"]) <= 1e-5 * abs(b["first"]), "the two answers differ"
                if turn:
                    python.append(a["ms"])
                    plain.append(b["ms"])
            ours, other = statistics.median(python), statistics.median(plain)
            label = f"session.run from Python against JavaScript, {name.replace('_', ' ')} model"
            if name == "tiny":
                rows.append(difference(label, ours, other, _ms, MOST_MS))
            else:
                rows.append(ratio(label, ours, other, _ms, MOST_RATIO))
    return rows


def _ms(value: float) -> str:
    return f"{value:.2f} ms"


def _measure(name: str, height: int, width: int, runs: int) -> dict[str, Any]:
    return {"name": name, "rows": height, "width": width, "runs": runs}


def _python(visitor: Visit, name: str, runs: int) -> dict[str, Any]:
    answer = visitor.call("measure", {"kind": "text", "text": name}, {"kind": "number", "value": runs})
    assert "error" not in answer, answer
    return json.loads(answer["outputs"][0]["text"])


def _start_plain(visitor: Visit) -> None:
    """Start ONNX Runtime Web in a worker of its own, on the files that the app uses."""
    site = visitor.site
    shutil.copy(HERE / "pages" / "calls.js", visitor.folder / "calls.js")
    files = {kind: visitor.url(path) for kind, path in site["ort"]["wasm"].items()}
    models = {model["name"].removesuffix(".onnx"): model_file(model) for model in site["models"].values()}
    visitor.page.evaluate(
        """async (start) => {
  const worker = new Worker("calls.js", { type: "module" });
  globalThis.ask = (message) => new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.postMessage(message);
  });
  await ask(start);
}""",
        {**files, "models": {name: visitor.url(path) for name, path in models.items()}},
    )
