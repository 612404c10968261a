"""make bench: what Python costs over plain JavaScript, and how fast a page starts against a tutorial's page.

Both sides of a comparison run in one browser, in turns, from one server with one compression; ratios are of medians.
"""

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, sync_playwright
from rich.console import Console
from rich.table import Table

from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime
from tests.browser.conftest import FLAGS, ROOT, build, chromium
from tests.browser.driver import Visit
from tests.browser.server import Host, serving

PAGES = Path(__file__).parent / "pages"
CALLS = {"tiny": (1, 8, 200), "ten_ms": (512, 512, 20)}  # rows, width, runs a turn
WARM = 5  # turns' worth of runs before the first turn: V8 takes about 1000 to compile what of Python a run needs
START_MS = 120_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="turns that each side takes")
    parser.add_argument("--only", choices=["calls", "start"], help="one of the two parts")
    options = parser.parse_args()
    rows: list[tuple[str, str, str, str, str]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sites = {"bench": build([PAGES.parent / "app" / "app.py"], folder / "bench")}
        if options.only != "calls":
            sites["demo"] = _ours(build([ROOT / "examples" / "digits" / "app.py"], folder / "demo"))
            sites["tutorial"] = _tutorial(folder / "tutorial", sites["demo"])
        with serving(sites) as host:
            host.compress = True
            if options.only != "start":
                rows += calls(host, options.rounds)
            if options.only != "calls":
                rows += starts(host, folder, options.rounds)
    table = Table("", "ours", "other", "ratio", "target", title="onnxlet, in Chromium")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


@contextmanager
def browser(profile: Path) -> Iterator[BrowserContext]:
    """A browser with a profile of its own on disk."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(str(profile), executable_path=chromium(), args=[*FLAGS])
        yield context
        context.close()


# ---- calls: session.run from Python, and the same from JavaScript ----------------------------------------------


def calls(host: Host, rounds: int) -> list[tuple[str, str, str, str, str]]:
    rows = []
    with tempfile.TemporaryDirectory() as profile, browser(Path(profile)) as context:
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
            target = "<= 1.05" if name == "ten_ms" else "<= 0.5 ms more"
            label = f"session.run, {name.replace('_', ' ')} model"
            ratio = f"{ours / other:.2f}" if name == "ten_ms" else f"{ours - other:+.2f} ms"
            rows.append((label, f"{ours:.2f} ms", f"{other:.2f} ms", ratio, target))
    return rows


def _measure(name: str, height: int, width: int, runs: int) -> dict[str, Any]:
    return {"name": name, "rows": height, "width": width, "runs": runs}


def _python(visitor: Visit, name: str, runs: int) -> dict[str, Any]:
    answer = visitor.call("measure", {"kind": "text", "text": name}, {"kind": "number", "value": runs})
    assert "error" not in answer, answer
    return json.loads(answer["outputs"][0]["text"])


def _start_plain(visitor: Visit) -> None:
    """Start ONNX Runtime Web in a worker of its own, on the files that the app uses."""
    site = visitor.site
    shutil.copy(PAGES / "plain.js", visitor.folder / "plain.js")
    files = {kind: visitor.url(path) for kind, path in site["ort"]["wasm"].items()}
    models = {model["name"].removesuffix(".onnx"): _file(model) for model in site["models"].values()}
    visitor.page.evaluate(
        """async (start) => {
  const worker = new Worker("plain.js", { type: "module" });
  globalThis.ask = (message) => new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.postMessage(message);
  });
  await ask(start);
}""",
        {**files, "models": {name: visitor.url(path) for name, path in models.items()}},
    )


def _file(model: dict[str, Any]) -> str:
    """The file of a model that the app loads on WebAssembly."""
    return model["variants"][model.get("choice", {}).get("wasm", 0)]["parts"][0]


# ---- start: from navigation to the first prediction -------------------------------------------------------------


def starts(host: Host, folder: Path, rounds: int) -> list[tuple[str, str, str, str, str]]:
    pages = {"ours": host.url("plain", "demo", "bench.html"), "tutorial": host.url("plain", "tutorial", "index.html")}
    times: dict[tuple[str, str], list[float]] = {(page, visit): [] for page in pages for visit in ("first", "repeat")}
    for turn in range(rounds + 1):
        for name, url in pages.items():
            with browser(folder / f"profile-{turn}-{name}") as context:
                first = _visit(context, url, settle=name == "ours")
                repeat = _visit(context, url)
            if turn:  # in the first turn the server compresses
                times[name, "first"].append(first)
                times[name, "repeat"].append(repeat)
    rows = []
    for visit, target in (("first", "<= 0.80"), ("repeat", "<= 0.60")):
        ours, other = (statistics.median(times[page, visit]) for page in ("ours", "tutorial"))
        label = f"{visit} visit to first prediction"
        rows.append((label, f"{ours:.0f} ms", f"{other:.0f} ms", f"{ours / other:.2f}", target))
    return rows


def _visit(context: BrowserContext, url: str, *, settle: bool = False) -> float:
    """Milliseconds from navigation to the answer."""
    page: Page = context.new_page()
    page.goto(url)
    page.wait_for_function("document.title === 'answered'", timeout=START_MS)
    if settle:
        page.wait_for_function("globalThis.offline", timeout=START_MS)
        assert page.evaluate("offline") == "ready", page.evaluate("offline")
    answer, answered = page.evaluate("[globalThis.answer, globalThis.answered]")
    assert isinstance(answer, int) or answer == "", answer
    page.close()
    return float(answered)


def _ours(site: Path) -> Path:
    """Add the bench's own page to a built site."""
    manifest = json.loads((site / "site.json").read_bytes())
    client = next(path for path in manifest["files"] if path.endswith("/client.js"))
    hashed = next(path.name for path in site.glob("site.*.json"))
    config = {"app": manifest["apps"][0]["name"], "site": hashed, "root": "./", "client": f"./{client}"}
    (site / "bench.html").write_text((PAGES / "ours.html").read_text().replace("CONFIG", json.dumps(config)))
    shutil.copy(PAGES / "ours.js", site / "ours.js")
    return site


def _tutorial(folder: Path, site: Path) -> Path:
    """The tutorial's page, with the same versions and the same model."""
    runtime = Runtime(Reporter())
    assets = folder / "assets"
    (assets / "pyodide").mkdir(parents=True)
    (assets / "ort").mkdir()
    for name in runtime.pins["pyodide"]["files"]:
        shutil.copy(runtime.npm_file("pyodide", name), assets / "pyodide" / name)
    shutil.copy(runtime.wheel("numpy"), assets / "pyodide" / runtime.lock["packages"]["numpy"]["file_name"])
    for name in runtime.pins["ort"]["builds"]["wasm"].values():
        shutil.copy(runtime.npm_file("ort", name), assets / "ort" / Path(name).name)
    manifest = json.loads((site / "site.json").read_bytes())
    (model,) = manifest["models"].values()
    shutil.copy(site / _file(model), assets / "model.onnx")
    shape = [size if isinstance(size, int) else 1 for size in model["inputs"][0]["shape"]]
    task = {"input": model["inputs"][0]["name"], "shape": shape, "output": model["outputs"][-1]["name"]}
    (assets / "task.json").write_text(json.dumps(task))
    shutil.copy(PAGES / "tutorial.js", assets / "tutorial.js")
    shutil.copy(PAGES / "tutorial.html", folder / "index.html")
    return folder


if __name__ == "__main__":
    main()
