"""Tasks answer before Python is there, and say what Python says later; what is odd or broken waits for Python."""

import base64
import hashlib
import io
import json
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from PIL import Image as PillowImage
from playwright.sync_api import Browser, Page, expect

from onnxlet import Image, SessionOptions
from onnxlet.media.raster import draw_strokes
from onnxlet.providers import ort_web
from onnxlet.values.json_text import to_text
from onnxlet_build.browser import find
from onnxlet_build.folding import differing
from onnxlet_build.progress import Reporter
from tests.browser.conftest import ROOT, chromium
from tests.browser.driver import Visit, assert_same
from tests.browser.server import Host
from tests.browser.visitor import visiting

HELD = "iso+held~asm.wasm"  # Python comes when the test lets it
SEVEN = {"size": 22, "points": [85, 65, 195, 62, 125, 230]}

# Calls while the worker starts; LATE is the same once Python is ready. Buffers are base64.
EARLY = """async ({app, backend, edits, calls}) => {
  const site = await (await fetch("site.json")).json();
  const path = Object.keys(site.files).find((name) => name.endsWith("/client.js"));
  const { Client } = await import(new URL(path, location.href));
  const client = new Client({ site, root: "./", app });
  if (edits) {
    await client.edit(edits);
    client.close();
  }
  const unpack = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const all = () => Promise.all(calls.map(([fn, inputs, buffers]) => client.call(fn, inputs, buffers.map(unpack))));
  const started = client.start({ backend });
  globalThis.late = async () => {
    const ready = await started;
    const answers = await all();
    client.close();
    return [ready, answers];
  };
  return all();
}"""


def both(visitor: Visit, app: str, *calls: Any, backend: str = "auto", edits: Any = None) -> dict[str, Any]:
    """Answers to calls (function, inputs, buffers), before and after the worker is ready.

    Under HELD, Python is let in between; only calls that need none of it may be among those.
    """
    visitor.host.gate.clear()
    visitor.page.goto(visitor.url("__blank__"))
    packed = [(fn, inputs, [base64.b64encode(data).decode() for data in buffers]) for fn, inputs, buffers in calls]
    early = visitor.page.evaluate(EARLY, {"app": app, "backend": backend, "edits": edits, "calls": packed})
    visitor.host.gate.set()
    ready, late = visitor.page.evaluate("late()")
    return {"early": early, "ready": ready, "late": late}


def examples(visitor: Visit, app: str) -> tuple[list[Any], list[Any]]:
    """An app's examples as calls, and the answers that the build stored."""
    entry = next(entry for entry in visitor.site["apps"] if entry["name"] == app)
    given = [
        (e["function"], e["inputs"], [(visitor.folder / b).read_bytes() for b in e["buffers"]])
        for e in entry["examples"]
    ]
    return given, [{"outputs": e["outputs"], "buffers": []} for e in entry["examples"]]


def drawing(*strokes: Any) -> Any:
    return ("classify", [{"kind": "drawing", "width": 280, "height": 280, "strokes": list(strokes)}], [])


def test_the_page_answers_before_python_is_up(browser: Browser, host: Host, demo: Path) -> None:
    host.gate.clear()
    with visiting(browser, host, demo, "digits.html", HELD) as visitor:
        visitor.page.get_by_role("button", name="seven.png").click()
        expect(visitor.view.result.locator(".took")).to_contain_text("answered before Python was up")
        html = visitor.page.locator("html")
        expect(html).to_have_attribute("data-answer", "direct")
        assert html.get_attribute("data-ready") is None
        early = visitor.view.result.locator(".outputs").inner_text().splitlines()
        host.gate.set()
        visitor.wait_ready()
        late = visitor.view.run().locator(".outputs").inner_text().splitlines()
        assert "7" in early
        assert early[:-1] == late[:-1], "all but the note with the time"
        expect(visitor.view.result.locator(".took")).not_to_contain_text("before Python")
        assert visitor.complaints == []


def test_drawings_and_pictures_get_the_answer_that_python_gives_later(visit: Callable[..., Visit], demo: Path) -> None:
    visitor = visit(demo, HELD)
    given, expected = examples(visitor, "digits")
    rgba = np.random.default_rng(0).integers(0, 256, (31, 47, 4), np.uint8)
    frame = (
        "classify",
        [{"kind": "image", "width": 47, "height": 31, "encoding": "rgba", "buffer": 0}],
        [rgba.tobytes()],
    )
    answers = both(
        visitor, "digits", *given, frame, drawing(SEVEN), drawing(SEVEN, {"size": 5, "points": [3, 4]}), drawing()
    )
    assert "error" not in answers["ready"]
    for early, late in zip(answers["early"], answers["late"], strict=True):
        assert early["direct"] is True
        assert "direct" not in late
        assert_same(early, late, floats_db=140)
    for early, stored in zip(answers["early"], expected, strict=False):
        assert_same(early, stored)
    assert answers["early"][-3]["outputs"][0]["items"][0]["label"] == "7"


def test_rows_get_the_numbers_and_words_that_python_gives_later(visit: Callable[..., Visit], cases: Path) -> None:
    visitor = visit(cases, HELD)
    given, expected = examples(visitor, "rows")
    for size, age, share in (("S", 0, 1), ("M", 120, -1), ("L", 33, 1e-9), (None, None, None)):
        cells = [("choice", size), ("number", age), ("number", share)]
        price = [None if value is None else {"kind": kind, "value": value} for kind, value in cells]
        given += [("price", price, []), ("kind", [price[2], price[0]], [])]
    answers = both(visitor, "rows", *given)
    for early, late in zip(answers["early"], answers["late"], strict=True):
        assert early["direct"] is True
        assert "direct" not in late
        assert_same(early, late, floats_db=140)
    for early, stored in zip(answers["early"], expected, strict=False):
        assert_same(early, stored)


def test_what_is_odd_waits_for_python_and_its_words(visit: Callable[..., Visit], demo: Path) -> None:
    visitor = visit(demo)
    stream = io.BytesIO()
    PillowImage.fromarray(np.zeros((20, 30, 3), np.uint8)).save(stream, "JPEG")
    picture = [{"kind": "image", "buffer": 0, "name": "x", "type": ""}]
    answers = both(
        visitor, "digits", ("classify", picture, [stream.getvalue()]), ("classify", picture, [b"no picture"])
    )
    jpeg, broken = answers["early"]
    assert "direct" not in jpeg
    assert_same(jpeg, answers["late"][0])
    assert broken["error"]["type"] == "InvalidInput"


@pytest.mark.parametrize("fault", ["404", "cut", "html", "flip"])
def test_without_a_whole_graph_python_gives_the_answer(fault: str, visit: Callable[..., Visit], demo: Path) -> None:
    visitor = visit(demo, f"iso+{fault}~pre.")
    answers = both(visitor, "digits", drawing(SEVEN))
    assert "error" not in answers["ready"]
    (early,) = answers["early"]
    assert "direct" not in early
    assert early["outputs"] == answers["late"][0]["outputs"]


def test_edited_code_and_webgpu_answer_through_python(visit: Callable[..., Visit], demo: Path) -> None:
    visitor = visit(demo)
    source = (ROOT / "examples" / "digits" / "app.py").read_text().replace("0123456789", "abcdefghij")
    (edited,) = both(visitor, "digits", drawing(SEVEN), edits={"app.py": source})["early"]
    assert "direct" not in edited
    assert edited["outputs"][0]["items"][0]["label"] == "h"
    answers = both(visitor, "digits", drawing(SEVEN), backend="webgpu")
    assert answers["ready"]["backend"] == "webgpu"
    assert "direct" not in answers["early"][0]
    assert answers["early"][0]["outputs"][0]["items"][0]["label"] == "7"


def test_the_build_notices_in_chromium_what_says_something_else(demo: Path, tmp_path: Path) -> None:
    folder = tmp_path / "site"
    shutil.copytree(demo, folder)
    site = json.loads((folder / "site.json").read_bytes())
    (function,) = next(app for app in site["apps"] if app["name"] == "digits")["functions"]
    graph = onnx.load(folder / function["direct"]["post"])
    names = next(one for one in graph.graph.initializer if one.data_type == onnx.TensorProto.STRING)
    names.string_data[:] = list(names.string_data)[::-1]
    data = graph.SerializeToString()
    entry = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), "group": "direct:digits"}
    path = chromium()
    browser = find(Path(path) if path else None)
    assert browser
    assert differing(folder, site, browser, Reporter(quiet=True)) == {}
    (folder / "assets" / "wrong.onnx").write_bytes(data)
    function["direct"]["post"] = "assets/wrong.onnx"
    site["files"]["assets/wrong.onnx"] = entry
    (folder / "site.json").write_text(json.dumps(site))
    for packed in folder.glob("site.json.*"):  # which the host would send instead
        packed.unlink()
    wrong = differing(folder, site, browser, Reporter(quiet=True))
    assert list(wrong) == [("digits", "classify")]
    assert "is not Python's" in wrong["digits", "classify"]


# ------------------------------------------------------------------------------------------- parts, module by module


@pytest.fixture
def modules(browser: Browser, host: Host) -> Any:
    """A page that can import the page's modules as they are written."""
    host.sites["modules"] = ROOT / "web" / "src"
    page = browser.new_page(service_workers="block")
    page.goto(host.url("iso", "modules", "__blank__"))
    yield page
    page.close()


def test_a_session_made_ahead_is_the_one_that_python_asks_for(modules: Page) -> None:
    options = ort_web._options(SessionOptions())
    model = {
        "name": "m",
        "inputs": [],
        "outputs": [],
        "prefer": [],
        "metadata": {},
        "variants": [{"parts": ["m.onnx"], "backends": ["wasm"]}],
    }
    site = {"models": {"m": model}, "files": {}, "ort": {"wasm": {"entry": "e", "mjs": "e", "wasm": "e"}}}
    ask = """async ({site, options}) => {
      const { Engine } = await import("./engine.js");
      const { Assets } = await import("./assets.js");
      const engine = new Engine(site, new Assets(site, location.href), false);
      const ahead = engine.ahead("m", "wasm");
      const other = engine.create({ id: "m", provider: "wasm", options: { ...options, enableProfiling: true } }, null);
      const asked = engine.create({ id: "m", provider: "wasm", options }, null);
      const again = engine.create({ id: "m", provider: "wasm", options }, null);
      return [ahead, other, asked, again];
    }"""
    ahead, other, asked, again = modules.evaluate(ask, {"site": site, "options": options})
    assert asked == ahead
    assert len({ahead, other, again}) == 3


def test_a_plan_waits_for_a_graphics_adapter_only_where_one_may_be_chosen(modules: Page, demo: Path) -> None:
    site = json.loads((demo / "site.json").read_bytes())
    ask = """async (site) => {
      const { choose, planWithoutGpu } = await import("./choose.js");
      const digits = site.apps.find(({ name }) => name === "digits");
      const sure = planWithoutGpu(site, digits, "auto", true);
      const chosen = await choose(site, digits, "auto", true);
      const gpuFirst = structuredClone(site);
      for (const model of Object.values(gpuFirst.models)) model.prefer = ["webgpu", "wasm"];
      const said = ({ waits, backend, reason, files }) => JSON.stringify({ waits, backend, reason, files });
      const asked = [["auto", gpuFirst], ["webgpu", site], ["python", site]];
      return {
        same: [said(sure), said(chosen)],
        asked: asked.map(([wanted, of]) => planWithoutGpu(of, digits, wanted, true)),
      };
    }"""
    told = modules.evaluate(ask, site)
    assert told["same"][0] == told["same"][1]
    assert told["asked"] == [None, None, None]


def test_strokes_become_the_very_levels_that_python_draws(modules: Page) -> None:
    rng = np.random.default_rng(3)
    sheets = []
    for number in range(120):
        width, height = (int(side) for side in rng.integers(1, 90, 2))
        lines = []
        for _ in range(int(rng.integers(0, 4))):
            points = rng.normal(0.5, 0.5, (int(rng.integers(1, 8)), 2)) * [width, height]
            points = np.round(points, int(rng.integers(0, 4))) if number % 2 else points
            lines.append({"size": float(rng.choice([0.3, 1, 2.5, 22, 60])), "points": points.ravel().tolist()})
        ink, paper = (255, 0) if number % 3 else (int(level) for level in rng.integers(0, 256, 2))
        sheets.append((width, height, lines, ink, paper))
    ask = """async (sheets) => {
      const { drawStrokes } = await import("./direct/strokes.js");
      return sheets.map((sheet) => [...drawStrokes(...sheet)]);
    }"""
    for sheet, levels in zip(sheets, modules.evaluate(ask, sheets), strict=True):
        width, height, lines, ink, paper = sheet
        strokes = [(line["size"], np.reshape(line["points"], (-1, 2))) for line in lines]
        expected = draw_strokes(width, height, strokes, ink, paper)
        np.testing.assert_array_equal(np.reshape(levels, (height, width)), expected)


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width: int, height: int, kind: int, rows: bytes, *more: bytes, depth: int = 8) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0))
    packed = zlib.compress(rows)
    data = [chunk(b"IDAT", part) for part in (packed[:50], packed[50:]) if part]
    return b"\x89PNG\r\n\x1a\n" + b"".join([head, *more, *data, chunk(b"IEND", b"")])


def test_png_files_become_the_very_pixels_that_pillow_reads(modules: Page) -> None:
    rng = np.random.default_rng(4)
    palette = chunk(b"PLTE", rng.bytes(3 * 256))
    files, odd = [], [b"", b"GIF89a", png(2, 2, 2, bytes(14), depth=16), png(3, 1, 0, b"\0\0", depth=1)]
    for kind, samples in ((0, 1), (2, 3), (3, 1), (4, 2), (6, 4)):
        for width, height in ((1, 1), (1, 9), (13, 1), (31, 12), (64, 65)):
            rows = b"".join(bytes([rng.integers(0, 5)]) + rng.bytes(width * samples) for _ in range(height))
            more = [palette, *([chunk(b"tRNS", rng.bytes(100))] if width % 2 else [])] if kind == 3 else []
            files.append(png(width, height, kind, rows, *more))
        odd += [png(2, 2, kind, rows, *more), files[-1][:-40]]
    odd += [png(1, 1, 2, bytes(4), chunk(b"tRNS", bytes(6))), png(1, 1, 2, bytes(4), chunk(b"eXIf", b"MM"))]
    odd += [png(1, 1, 3, b"\0\x09", chunk(b"PLTE", bytes(9))), png(1, 1, 2, b"\7\0\0\0")]
    for mode in ("RGB", "RGBA", "L", "LA", "P"):
        smooth = np.add.outer(np.arange(90), np.arange(70)).astype(np.uint8)
        stream = io.BytesIO()
        PillowImage.fromarray(np.dstack([smooth, smooth // 2, 255 - smooth, smooth])).convert(mode).save(stream, "PNG")
        files.append(stream.getvalue())
    ask = """async (files) => {
      const { pixelsOfPng } = await import("./direct/png.js");
      return Promise.all(files.map(async (file) => {
        const bytes = Uint8Array.from(atob(file), (c) => c.charCodeAt(0));
        const pixels = await pixelsOfPng(bytes).catch(() => null);
        return pixels && [pixels.width, pixels.height, [...pixels.data]];
      }));
    }"""
    packed = [base64.b64encode(file).decode() for file in [*files, *odd]]
    answers = modules.evaluate(ask, packed)
    for file, (width, height, data) in zip(files, answers[: len(files)], strict=True):
        np.testing.assert_array_equal(np.reshape(data, (height, width, 4)), Image.open(file).rgba)
    assert answers[len(files) :] == [None] * len(odd)


def test_numbers_are_written_as_python_writes_them(modules: Page) -> None:
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**32, 3000, np.uint32).view(np.float32)
    singles = np.concatenate(
        [bits[np.isfinite(bits)], np.float32([0, -0.0, 1, 0.1, 16777216, 1e16, 1e-4, 9.9e-5, 1e-45, 3.4e38])]
    )
    doubles = np.concatenate(
        [rng.normal(size=500) * 10.0 ** rng.integers(-20, 22, 500), [5e-324, 1e15, 1e16, 123456789012345.0, 1e22]]
    )
    ask = """async ({singles, doubles}) => {
      const { pythonText, shortest } = await import("./direct/outputs.js");
      return [singles.map((number) => pythonText(shortest(number))), doubles.map(pythonText)];
    }"""
    got = modules.evaluate(ask, {"singles": singles.astype(float).tolist(), "doubles": doubles.tolist()})
    assert got[0] == [to_text(float(str(number))) for number in singles]
    assert got[1] == [to_text(float(number)) for number in doubles]
