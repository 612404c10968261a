"""The inside of the models on the page: placement, times of nodes, comparison; with a Python operator in the middle."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from onnx import TensorProto, helper
from playwright.sync_api import Browser, Locator, expect

from tests.browser.conftest import ROOT, build
from tests.browser.driver import Visit, assert_same
from tests.browser.harness import open_python
from tests.browser.server import Host
from tests.browser.test_page_look import CONTRAST, NAMELESS, SMALL_TARGETS
from tests.browser.visitor import Visitor, visiting
from tests.core.test_comparison import encoder, with_error_in

WAIT_MS = 120_000  # WebGPU on a software adapter
PROVIDERS = {"wasm": "CPUExecutionProvider", "webgpu": "WebGpuExecutionProvider"}
NAMES = {"wasm": "WASM", "webgpu": "WebGPU"}
NODES = 20

NAN_APP = """
import numpy as np
from onnxlet import App, InferenceSession

session = InferenceSession("nan.onnx")


def clean(shift: float = 0.0) -> str:
    x = np.array([1.0, np.nan, -2.0, 3.0], np.float32) + np.float32(shift)
    return " ".join(map(str, session.run(None, {"x": x})[0].tolist()))


app = App(clean, examples=[0.5])
"""


def nan_model() -> bytes:
    """Add, Relu, Mul."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["a"], "add"),
        helper.make_node("Relu", ["a"], ["r"], "relu"),
        helper.make_node("Mul", ["r", "x"], ["y"], "mul"),
    ]
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"])] for n in "xy"]
    graph = helper.make_graph(nodes, "nan", *ends)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inside")
    (folder / "nan").mkdir()
    (folder / "nan" / "app.py").write_text(NAN_APP)
    (folder / "nan" / "nan.onnx").write_bytes(nan_model())
    return build([ROOT / "examples" / "count" / "app.py", folder / "nan" / "app.py"], folder / "dist")


def opened(visitor: Visitor) -> Locator:
    """The part of the panel that shows the inside, once it shows it."""
    visitor.wait_ready()
    visitor.page.locator("#status").click()
    visitor.page.get_by_text("Inside the model").click()
    inside = visitor.page.locator(".inside-session")
    expect(inside.first).to_be_visible()
    return inside


@pytest.fixture(scope="module")
def counting(browser: Browser, host: Host, site: Path) -> Iterator[Visitor]:
    """The counting page on WebAssembly, its first example run, its inside open."""
    with visiting(browser, host, site, "count.html?backend=wasm", locale="en-GB") as visitor:
        visitor.wait_ready()
        visitor.page.get_by_role("button", name="Try the example").first.click()
        visitor.view.wait()
        opened(visitor)
        yield visitor
        assert visitor.complaints == []


@pytest.mark.parametrize("backend", ["wasm", "webgpu"])
def test_a_graph_with_a_python_operator_answers_as_natively_and_only_that_leaves_the_provider(
    visit: Callable[..., Visit], site: Path, backend: str
):
    visitor = visit(site)
    ready = visitor.start("count", backend)
    assert ready.get("provider") == PROVIDERS[backend], ready
    for index in range(2):
        got, expected = visitor.run_example("count", index)
        assert_same(got, expected)
    answer = visitor.page.evaluate("client.inside('placements')")
    assert "error" not in answer, answer
    (placement,) = answer
    assert placement["model"] == "count.onnx"
    assert [part["provider"] for part in placement["parts"]] == [
        PROVIDERS[backend],
        "NumpyExecutionProvider",
        PROVIDERS[backend],
    ]
    assert [operator for _, operator in placement["parts"][1]["nodes"]] == ["Components"]
    assert sum(len(part["nodes"]) for part in placement["parts"]) == NODES
    assert {name for name, _ in placement["crossing"]} >= {"mask", "labels"}


def test_the_page_shows_which_node_is_where_and_what_crosses(counting: Visitor):
    parts = counting.page.locator(".part")
    expect(parts.locator("summary")).to_have_text(
        [re.compile(r"WASM\s+11 nodes"), re.compile(r"Python\s+1 node\s+Components"), re.compile(r"WASM\s+8 nodes")]
    )
    expect(parts.first.get_by_text("Resize")).to_be_hidden()
    parts.first.locator("summary").click()
    expect(parts.first.get_by_text("Resize")).to_be_visible()
    expect(counting.page.locator(".crossing")).to_contain_text("labels 1.2 MB")
    counting.page.get_by_text("Why it does not run in one place").click()
    expect(counting.page.locator(".reason")).to_contain_text("com.example:Components")


def test_the_page_times_every_node_in_one_table(counting: Visitor):
    counting.page.get_by_role("button", name="Time the nodes").click()
    rows = counting.page.locator(".inside-times tbody tr")
    expect(rows).to_have_count(NODES, timeout=WAIT_MS)
    for row in rows.all_inner_texts():
        node, time, share, _operator, where = row.split("\t")
        assert re.fullmatch(r"[\d.,]+\s(ms|s)", time), row
        assert share.strip().endswith("%"), row
        assert where == ("Python" if node == "components" else "WASM"), row
    expect(counting.page.locator(".inside-times .fine")).to_contain_text(
        re.compile(r"for one run, .* outside the nodes")
    )


def test_the_page_compares_every_value_with_the_definition(counting: Visitor):
    counting.page.get_by_role("button", name="Compare with the definition").click()
    found = counting.page.locator(".inside-comparison")
    expect(found.locator(".verdict")).to_have_text(f"All {NODES} values agree to 60 dB or better.", timeout=WAIT_MS)
    expect(found.locator("tbody tr")).to_have_count(NODES)
    expect(found.locator("tbody tr").first).to_contain_text(" dB")  # float32 on both sides, yet not the same code
    expect(found).to_contain_text("Compared: WASM with Python")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_inside_is_legible_and_fits(counting: Visitor, scheme: str, width: int):
    page = counting.page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_timeout(300)  # transitions
    assert page.evaluate(CONTRAST) == []
    assert [one for one in page.evaluate(NAMELESS) if "canvas" not in one] == []  # the result's picture is not ours
    assert page.evaluate(SMALL_TARGETS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_before_the_first_run_the_page_says_what_to_do(browser: Browser, host: Host, site: Path):
    with visiting(browser, host, site, "nan.html?backend=wasm", locale="en-GB") as visitor:
        inside = opened(visitor)
        expect(inside.locator(".part summary")).to_have_text([re.compile(r"WASM\s+3 nodes\s+Add, Relu, Mul")])
        expect(inside.get_by_role("button", name="Time the nodes")).to_be_disabled()
        expect(inside).to_contain_text("Run once first")
        visitor.view.root.locator(".run").click()
        expect(inside.get_by_role("button", name="Time the nodes")).to_be_enabled()
        assert visitor.complaints == []


def test_the_page_compares_on_webgpu_where_nan_stays_nan(browser: Browser, host: Host, site: Path):
    """Case G11: ONNX Runtime Web's own Relu on WebGPU loses NaN, the session's does not."""
    with visiting(browser, host, site, "nan.html?backend=webgpu", locale="en-GB") as visitor:
        visitor.wait_ready()
        visitor.view.run()
        inside = opened(visitor)
        inside.get_by_role("button", name="Compare with the definition").click()
        verdict = inside.locator(".inside-comparison .verdict")
        expect(verdict).to_have_text("All 3 values agree to 60 dB or better.", timeout=WAIT_MS)


@pytest.mark.parametrize(
    ("conditions", "backend", "functions"),
    [
        ("iso", "wasm", ()),
        ("iso+nojspi", "wasm", ()),
        ("plain+nojspi", "wasm", ({"async": True},)),
        ("iso", "webgpu", ()),
    ],
    ids=["jspi", "atomics", "async", "webgpu"],
)
def test_a_planted_error_is_found_and_nodes_are_timed_however_python_waits(
    browser: Browser, tmp_path: Path, conditions: str, backend: str, functions: tuple
):
    right, wrong = encoder(), with_error_in(encoder(), "w3")
    models = {"right.onnx": right}
    with open_python(
        browser, tmp_path / "site", conditions=conditions, backend=backend, models=models, functions=functions
    ) as python:
        python.put("/app/wrong.onnx", wrong)
        first, bad, count, where = python.run(
            """
            import numpy as np, onnxlet
            from onnxlet import inside
            feeds = {"x": np.linspace(-1, 1, 32, dtype=np.float32).reshape(2, 16)}
            found = await onnxlet.acompare("right.onnx", feeds, "NumpyExecutionProvider", "wrong.onnx")
            session = onnxlet.InferenceSession("right.onnx")
            await session.arun(None, feeds)
            times = await inside.times(session.number)
            [found.first.node, len(found.bad), times["count"], session.get_providers()[0]]
            """
        )
    assert first == "matmul3"
    assert bad >= 3
    assert count >= 6, "onnxruntime may fuse each layer into one node, not more"
    assert where == PROVIDERS[backend]
