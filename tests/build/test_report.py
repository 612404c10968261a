"""The report: what it says of variants that were really made, how it takes hostile names, how Chromium shows it."""

import json
import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlet_build import browser
from onnxlet_build.accuracy import Accuracy, Budget
from onnxlet_build.check import Finding
from onnxlet_build.choose import choose
from onnxlet_build.headers import headers_file
from onnxlet_build.manifest import Tree
from onnxlet_build.progress import Reporter
from onnxlet_build.quantize import quantize
from onnxlet_build.report import Context, numbers, style_hash, write_report
from onnxlet_build.samples import Samples
from onnxlet_build.serve import make_server
from onnxlet_build.sizes import Row
from onnxlet_build.variants import ORIGINAL, Candidate, NodeError, Proof, Step, Study
from tests.browser.test_page_look import CONTRAST
from tests.fetching import skip_outside_ci

HOSTILE = "/net/<script>alert('x')</script>&\x00\"/MatMul"
BUDGET = Budget(0.05)
CONTEXT = Context("Digits", "2026-11-30T12:00:00+00:00", ("python build.py digits/app.py",), browser="Chromium 150.0")
ROWS = [Row("ort-wasm", 3, 14_300_000, 3_680_000, 2_310_000), Row("page", 52, 310_000, 80_000, 71_000)]


def perceptron() -> bytes:
    """64 -> 128 -> 64 -> 10, with random weights and one hostile name."""
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "x"
    for i, (rows, columns) in enumerate(((64, 128), (128, 64), (64, 10))):
        matrix = rng.standard_normal((rows, columns), np.float32) / np.float32(math.sqrt(rows))
        weights.append(numpy_helper.from_array(matrix, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], HOSTILE if i == 1 else f"dense{i}"))
        last = f"m{i}"
        if i < 2:
            nodes.append(helper.make_node("Relu", [last], [f"r{i}"], f"relu{i}"))
            last = f"r{i}"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, ["n", 10])
    graph = helper.make_graph(nodes, "mlp", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A perceptron's variants as the build makes and measures them; a browser's times, which no test waits for."""
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(1)
    feeds = [{"x": rng.standard_normal((8, 64), np.float32)} for _ in range(24)]
    calibration, evaluation = (Samples.write(folder / name, feeds[part]) for name, part in _PARTS.items())
    original = folder / "original.onnx"
    original.write_bytes(perceptron())
    with ThreadPoolExecutor(1) as executor:
        made = quantize(
            original.read_bytes(), calibration, evaluation, BUDGET, folder / "q", executor, Reporter(quiet=True)
        )
    exact = Accuracy(12, 0.0, math.inf, 1.0, 1.0)
    first = Candidate(ORIGINAL, original, "fp32", original.stat().st_size, accuracy=exact)
    candidates = (first, *made)
    proofs = tuple(_proof(c, backend, ms) for c in candidates if c.path for backend, ms in _TIMES.items())
    choice = choose(candidates, proofs, BUDGET)
    return Study(
        "mlp.onnx",
        "Digits",
        "random weights",
        "no other library has them",
        ("a note",),
        (Finding("note", "opset 17", ""), Finding("warning", "a dynamic batch", "fix the batch axis")),
        (Step("onnxslim", False, "found nothing to fold", 5, 5, first.bytes, first.bytes),),
        candidates,
        proofs,
        choice.by_class,
        choice.reasons,
        str(BUDGET),
        12,
        "random numbers",
        12,
        "other random numbers",
        seconds={"quantize": 4.0, "prove": 61.0},
    )


_PARTS = {"calibration": slice(0, 12), "evaluation": slice(12, 24)}
_TIMES = {"wasm": 8.0, "wasm-threads": 4.0, "webgpu": 90.0, "python": 20.0}


def _proof(candidate: Candidate, backend: str, original_ms: float) -> Proof:
    times = 0.5 if candidate.format == "int8" else 1.0
    provider = {"webgpu": "WebGpuExecutionProvider", "python": "NumpyExecutionProvider"}.get(backend)
    return Proof(
        candidate.name,
        backend,
        candidate.accuracy,
        100 * times,
        original_ms * times,
        60_000_000,
        2 if backend == "wasm-threads" else 1,
        provider or "CPUExecutionProvider",
        adapter="google swiftshader" if backend == "webgpu" else "",
        emulated=backend == "webgpu",
    )


class _Tags(HTMLParser):
    """Checks that every element is closed where it has to be, and gathers the page's text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def read(folder: Path, *studies: Study, context: Context = CONTEXT) -> tuple[str, dict[str, Any]]:
    """Write a report and read it again: the page's text, and report.json in strict JSON."""
    folder.mkdir(exist_ok=True)
    assert write_report(Tree(folder), studies, ROWS, context) == "report.html"
    page = (folder / "report.html").read_text(encoding="utf-8")
    parsed = _Tags(page)
    assert "script" not in parsed.tags

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is no JSON")

    text = (folder / "report.json").read_text(encoding="utf-8")
    assert str(folder.parent.parent) not in page + text, "a path of the machine"
    return re.sub(r"\s+", " ", parsed.text), json.loads(text, parse_constant=refuse)


def test_the_first_sentence_says_what_visitors_load_and_what_that_saves(measured: Study, tmp_path: Path) -> None:
    text, data = read(tmp_path / "r", measured)
    name = measured.choice["wasm"]
    chosen, original = measured.candidate(name), measured.candidates[0]
    assert chosen
    assert chosen.accuracy
    assert name.startswith("int8")
    first = f"load {name}: {original.bytes / chosen.bytes:.1f}× smaller"
    assert first in text
    assert "2.0× faster" in data["models"][0]["verdict"][0]
    assert "of 12 samples" in data["models"][0]["verdict"][0]
    assert "Proven in Chromium 150.0." in text
    assert text.index(first) < text.index("What visitors load") < text.index("Every variant on every backend")
    assert "was not proven" not in text


def test_every_recipe_stands_in_the_report_and_refused_ones_with_their_reason(measured: Study, tmp_path: Path) -> None:
    text, data = read(tmp_path / "r", measured)
    refused = [candidate for candidate in measured.candidates if candidate.refused]
    assert refused, "4 bits are too few for random weights"
    assert all(candidate.name in text for candidate in measured.candidates)
    assert all(candidate.refused in text for candidate in refused)
    assert "Why it is not offered" in text
    assert [one["refused"] for one in data["models"][0]["candidates"]] == [c.refused for c in measured.candidates]


def test_the_worst_node_of_a_variant_is_named(measured: Study, tmp_path: Path) -> None:
    text, _ = read(tmp_path / "r", measured)
    chosen = measured.candidate(measured.choice["wasm"])
    assert chosen
    worst = min(chosen.node_errors, key=lambda error: error.snr_db)
    assert f"{worst.snr_db:.1f} dB" in text
    assert f"the worst is {worst.node.replace(chr(0), '�')}" in text


def test_json_has_the_same_numbers_and_words_for_those_that_json_lacks(measured: Study, tmp_path: Path) -> None:
    _, data = read(tmp_path / "r", measured)
    assert data["format"] == 1
    assert data["proven"] is True
    assert data["downloads"][0] == {
        "group": "ort-wasm",
        "files": 3,
        "bytes": 14_300_000,
        "gzip_bytes": 3_680_000,
        "brotli_bytes": 2_310_000,
    }
    (model,) = data["models"]
    assert model["candidates"][0]["accuracy"]["snr_db"] == "inf"
    assert model["candidates"][0]["path"] == "original.onnx"
    assert "references" not in model
    for candidate, one in zip(measured.candidates, model["candidates"], strict=True):
        ratio = measured.candidates[0].bytes / candidate.bytes if candidate.bytes else None
        assert one["times_smaller"] == ratio
    fast = [p for p in model["proofs"] if p["variant"] == "int8-dynamic" and p["backend"] == "wasm"]
    assert [p["warm_times_faster"] for p in fast] == [2.0]
    assert {error["node"] for error in model["candidates"][1]["node_errors"]} >= {HOSTILE}


def test_times_of_an_emulated_adapter_are_no_times(measured: Study, tmp_path: Path) -> None:
    text, data = read(tmp_path / "r", measured)
    on_gpu = [p for p in data["models"][0]["proofs"] if p["backend"] == "webgpu"]
    assert on_gpu
    assert all(p["warm_times_faster"] is None and p["cold_times_faster"] is None for p in on_gpu)
    assert "Its times say nothing about a real one" in text
    assert "graphics adapter was emulated, so the speed on WebGPU is unknown" in text


def test_without_a_browser_the_report_says_loudly_that_nothing_was_proven(measured: Study, tmp_path: Path) -> None:
    unproven = replace(measured, proofs=(), choice={}, reasons={})
    text, data = read(tmp_path / "r", unproven, context=replace(CONTEXT, browser=""))
    assert data["proven"] is False
    assert text.index("Nothing here was proven in a browser.") < text.index("Visitors load the original")
    assert "Build again without --no-browser" in text
    assert "faster" not in text
    text, _ = read(tmp_path / "both", measured, unproven)
    assert "Not every model was proven in a browser." in text


def test_a_variant_over_the_budget_in_a_browser_is_not_called_right(measured: Study, tmp_path: Path) -> None:
    wrong = Accuracy(12, 3.1, 4.0, 0.6, 0.5)
    proofs = [replace(p, accuracy=wrong) if p.backend == "webgpu" else p for p in measured.proofs]
    proofs[0] = replace(proofs[0], accuracy=None, fault="it did not answer within 60 s")
    text, data = read(tmp_path / "r", replace(measured, proofs=tuple(proofs)))
    reasons = [p["refused"] for p in data["models"][0]["proofs"] if p["backend"] == "webgpu"]
    assert set(reasons) == {"4.0 dB: mostly noise"}
    right = sum(not p["refused"] for p in data["models"][0]["proofs"])
    assert f"Proof{right} of {len(proofs)}" in text
    assert "not offered 4.0 dB: mostly noise" in text
    assert "not offered it did not answer within 60 s" in text


def test_the_metric_of_the_person_comes_before_any_other_measure(measured: Study, tmp_path: Path) -> None:
    scores = {
        c.name: replace(c.accuracy, metric=0.97 - i / 100) for i, c in enumerate(measured.candidates) if c.accuracy
    }
    candidates = tuple(replace(c, accuracy=scores.get(c.name)) for c in measured.candidates)
    text, data = read(tmp_path / "r", replace(measured, candidates=candidates))
    mine = scores[measured.choice["wasm"]].metric
    assert f"{mine:.4g} by the model's own metric on 12 samples, where the original has 0.97" in text
    assert "the model's own metric may drop by 0.05" in text
    assert data["models"][0]["candidates"][0]["accuracy"]["metric"] == 0.97


def test_a_node_that_browsers_cut_out_is_told_where_the_variant_ran(measured: Study, tmp_path: Path) -> None:
    parts = [
        {"provider": "CPUExecutionProvider", "nodes": ["a", "b"]},
        {"provider": "NumpyExecutionProvider", "nodes": ["c"]},
    ]
    cut = replace(measured.proofs[0], placement={"whole": False, "parts": parts, "on_cpu": ["QLinearConv"]})
    text, _ = read(tmp_path / "r", replace(measured, proofs=(cut,)))
    assert "cut: 2 nodes CPU, 1 node Numpy; on the processor: QLinearConv" in text


@pytest.mark.parametrize("studies", [(), (Study("m.onnx"),), (Study("", candidates=(Candidate("x", None),)),)])
def test_what_was_not_done_leaves_no_gap(studies: tuple[Study, ...], tmp_path: Path) -> None:
    folder = tmp_path / "r"
    text, data = read(folder, *studies, context=Context())
    write_report(Tree(folder), studies, None, Context())
    assert "None" not in text
    assert len(data["models"]) == len(studies)
    assert json.loads((folder / "report.json").read_text())["downloads"] is None


def crowd() -> Study:
    """12 variants with very long names on 4 backends, 1000 nodes, numbers of every kind."""
    rng = np.random.default_rng(2)
    strange = (math.inf, -math.inf, math.nan)
    names = [ORIGINAL, *(f"int8-{'very-long-' * 9}{i}" for i in range(11))]
    errors = tuple(
        NodeError(f"{HOSTILE}{'n' * 200}{i}", "Conv", strange[i % 3] if i % 50 == 0 else 60 - i / 25, i % 97 == 0)
        for i in range(1000)
    )
    candidates = tuple(
        Candidate(name, Path("x.onnx"), "int8", 4_000_000 + 90_000 * i, node_errors=errors if i in (1, 2) else ())
        for i, name in enumerate(names)
    )
    candidates = tuple(
        replace(
            c,
            accuracy=Accuracy(9, 0.1, 30.0 - i, 0.99, 0.98),
            float_nodes=tuple(e.node for e in errors if e.float_kept),
        )
        for i, c in enumerate(candidates)
    )
    proofs = tuple(
        Proof(name, backend, Accuracy(9, 0.1, 25.0, 0.99, 0.98), *rng.uniform(1, 90, 2).tolist(), 10**8)
        for name in names
        for backend in _TIMES
    )
    reasons = {"wasm": "<img src=x onerror=alert(1)>"}
    return Study(
        "a" * 300 + ".onnx",
        "</title>" * 9,
        candidates=candidates,
        proofs=proofs,
        choice={"wasm": names[1]},
        reasons=reasons,
    )


def test_a_thousand_nodes_and_twelve_variants_stay_readable_and_small(tmp_path: Path) -> None:
    text, data = read(tmp_path / "r", crowd())
    assert (tmp_path / "r" / "report.html").stat().st_size < 250_000
    assert "1000 nodes, 11 of them kept in float" in text
    assert "NaN" in text
    assert "<img src=x onerror=alert(1)>" in text
    found = {error["snr_db"] for error in data["models"][0]["candidates"][1]["node_errors"]}
    assert found >= {"inf", "-inf", "nan"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (numbers.size(4_862_331), "4.86 MB"),
        (numbers.size(999_600), "1.00 MB"),
        (numbers.size(12), "12 bytes"),
        (numbers.smaller(3.87), "3.9× smaller"),
        (numbers.smaller(0.5), "2.0× larger"),
        (numbers.smaller(1.001), "the same size"),
        (numbers.speed(2.14), "2.1× faster"),
        (numbers.speed(1 / 1.07), "7% slower"),
        (numbers.speed(1.03), "as fast"),
        (numbers.speed(None), "–"),
        (numbers.decibels(41.26), "41.3 dB"),
        (numbers.decibels(math.inf), "equal"),
        (numbers.share(1.0), "100.0%"),
        (numbers.share(0.99999), ">99.9%"),
        (numbers.cosine(0.999_999), ">0.9999"),
        (numbers.cosine(1.0), "1"),
        (numbers.error(0.01234), "0.012"),
        (numbers.error(1.23e-7), "1.2 × 10⁻⁷"),
        (numbers.error(0.0), "0"),
        (numbers.error(math.inf), "infinite"),
        (numbers.milliseconds(0.42), "0.42 ms"),
        (numbers.milliseconds(1444), "1.4 s"),
        (numbers.duration(200), "3 min 20 s"),
    ],
)
def test_numbers_have_units_and_no_digits_that_nobody_measured(given: str, expected: str) -> None:
    assert given == expected


OVERFLOW = "() => document.documentElement.scrollWidth - innerWidth"
NAMELESS_PICTURES = """() => [...document.querySelectorAll("svg")].filter((svg) =>
  !svg.closest("[aria-hidden=true]") && !svg.closest("svg:is([role=img])")).length"""
UNSTYLED = "() => getComputedStyle(document.body).fontFamily.includes('Times')"
HEADLESS_TABLES = """() => [...document.querySelectorAll("table")].filter((table) =>
  !table.querySelector("th[scope=col]") || !table.caption).length"""


def test_chromium_shows_it_without_a_complaint_under_the_sites_policy(measured: Study, tmp_path: Path) -> None:
    chromium = browser.find()
    if chromium is None:
        skip_outside_ci("no Chromium here")
    for name, study in (("measured", measured), ("crowd", crowd())):
        read(tmp_path / name, study)
        (tmp_path / name / "_headers").write_text(headers_file((), style_hash()), encoding="utf-8")
        (tmp_path / name / "index.html").write_text("<!doctype html>", encoding="utf-8")
    faults: list[str] = []
    asked: list[str] = []

    async def look(*addresses: str) -> None:
        async with browser.launched(chromium, software=True) as open_browser:
            page = await open_browser.new_page()
            page.on("console", lambda message: faults.append(message.text))
            page.on("request", lambda request: asked.append(request.url))
            for address in addresses:
                await page.goto(address)
                for width, scheme in ((390, "dark"), (1440, "light")):
                    await page.set_viewport_size({"width": width, "height": 900})
                    await page.emulate_media(color_scheme=scheme)
                    contrast = [] if "crowd" in address else [CONTRAST]  # it has the same colours
                    for script in (OVERFLOW, NAMELESS_PICTURES, UNSTYLED, HEADLESS_TABLES, *contrast):
                        if wrong := await page.evaluate(script):
                            faults.append(f"{address} {width} {scheme} {script[:60]}: {wrong}")

    with make_server(tmp_path / "measured", "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        addresses = [f"{server.address}report.html", (tmp_path / "crowd" / "report.html").as_uri()]
        browser.run_apart(look(*addresses))
        server.shutdown()
    assert faults == []
    assert asked == addresses
