"""What stands behind the tabs of a page: the app's Python, edited, run and asked; and the model."""

import importlib.util
import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from playwright.sync_api import Browser, FrameLocator, expect

import onnxlet
from onnxlet import session as onnxlet_session
from tests.browser.conftest import ROOT, build
from tests.browser.driver import Visit, until
from tests.browser.server import Host
from tests.browser.test_page_look import CONTRAST, NAMELESS, SMALL_TARGETS
from tests.browser.visitor import LOAD_MS, Visitor, visiting

HELPING = "FACTOR = 10\n"
APP = '''
"""Multiplies."""

from helping import FACTOR
from onnxlet import App, InferenceSession

session = InferenceSession("twice.onnx")


def scale(x: float = 1.5) -> str:
    (y,) = session.run(None, {"x": [x]})
    return f"{float(y[0]) * FACTOR:g}"


app = App(scale, examples=[2.0])
'''


def twice() -> bytes:
    nodes = [helper.make_node("Add", ["x", "x"], ["y"], "add")]
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"])] for n in "xy"]
    graph = helper.make_graph(nodes, "twice", *ends)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("panels")
    app = folder / "scale"
    app.mkdir()
    (app / "app.py").write_text(APP)
    (app / "helping.py").write_text(HELPING)
    (app / "twice.onnx").write_bytes(twice())
    return build([app / "app.py", ROOT / "examples" / "count" / "app.py"], folder / "dist")


@pytest.fixture(scope="module")
def scaling(browser: Browser, host: Host, site: Path) -> Iterator[Visitor]:
    """The page of the small app, its Python panel open; what was fetched before that stands in `early`."""
    with visiting(browser, host, site, "scale.html?backend=wasm", locale="en-GB") as visitor:
        asked: list[str] = []
        visitor.page.on("request", lambda request: asked.append(request.url))
        visitor.page.reload()
        visitor.wait_ready()
        visitor.early = list(asked)  # type: ignore[attr-defined]
        python(visitor)
        yield visitor
        assert visitor.complaints == []


def python(visitor: Visitor) -> None:
    visitor.page.get_by_role("tab", name="Python", exact=True).click()
    expect(visitor.page.locator(".cm-content")).to_be_visible()


def answer(visitor: Visitor) -> str:
    """What the form says now."""
    visitor.page.get_by_role("tab", name="Try it").click()
    return visitor.view.run().locator(".output").inner_text().split()[0]


def edit(visitor: Visitor, path: str, text: str) -> None:
    """Type another text for a file."""
    python(visitor)
    visitor.page.get_by_label("File", exact=True).select_option(path)
    visitor.page.locator(".cm-content").click()
    visitor.page.keyboard.press("ControlOrMeta+a")
    visitor.page.keyboard.insert_text(text)


def run(visitor: Visitor) -> None:
    visitor.page.get_by_role("button", name="Run the edited version").click()
    ended = re.compile("now runs your version|went wrong")
    expect(visitor.page.locator(".python-answer").get_by_text(ended)).to_be_visible()


def reset(visitor: Visitor) -> None:
    python(visitor)
    visitor.page.get_by_role("button", name="Reset").click()
    expect(visitor.page.locator(".python-answer").get_by_text("runs the original again")).to_be_visible()


def say(visitor: Visitor, *lines: str) -> str:
    """Give the console lines; what it shows since the first of them."""
    log = visitor.page.locator(".prompt-log")
    before = log.locator("> *").count()
    for line in lines:
        shown = log.locator(".prompt-in").count()
        visitor.page.get_by_label("Line of Python").fill(line)
        visitor.page.get_by_label("Line of Python").press("Enter")
        expect(log.locator(".prompt-in")).to_have_count(shown + 1)
        expect(log).not_to_have_attribute("aria-busy", "true")
    return "\n".join(log.locator("> *").all_inner_texts()[before:])


def test_a_first_visit_fetches_nothing_of_what_stands_behind_the_tabs(scaling: Visitor):
    behind = re.compile(r"/editor\.|/netron\.|/(model|python)-\w+\.js|styles/(python|model)\.css")
    assert [url for url in scaling.early if behind.search(url)] == []  # type: ignore[attr-defined]


def test_the_edited_version_answers_in_the_form_and_reset_brings_the_original_back(scaling: Visitor):
    assert answer(scaling) == "30"
    edit(scaling, "helping.py", "FACTOR = 7\n")
    expect(scaling.page.locator(".python-head .badge")).to_be_visible()
    assert answer(scaling) == "30", "typing alone changes nothing"
    python(scaling)
    run(scaling)
    assert answer(scaling) == "21"
    expect(scaling.page.locator("[data-notice=edited]")).to_be_visible()
    reset(scaling)
    assert answer(scaling) == "30"
    expect(scaling.page.locator("[data-notice=edited]")).to_have_count(0)


def test_a_syntax_error_is_shown_at_its_line_and_the_app_goes_on(scaling: Visitor):
    edit(scaling, "app.py", APP.replace("return f", "return f(("))
    run(scaling)
    error = scaling.page.locator(".python-answer .error")
    expect(error).to_contain_text("(app.py, line 12)")
    error.get_by_text("Python traceback").click()
    expect(error.locator("pre")).to_contain_text('return f(("')
    expect(scaling.page.locator(".cm-wrong")).to_contain_text("return f((")
    assert answer(scaling) == "30"
    python(scaling)
    scaling.page.get_by_role("button", name="Reset").click()
    expect(scaling.page.locator(".cm-content")).to_contain_text('return f"{float')


def test_an_error_while_the_edited_version_runs_names_its_line(scaling: Visitor):
    edit(scaling, "app.py", APP.replace("    (y,) =", "    nowhere\n    (y,) ="))
    run(scaling)
    scaling.page.get_by_role("tab", name="Try it").click()
    failed = scaling.view.run()
    expect(failed).to_contain_text("name 'nowhere' is not defined")
    failed.get_by_text("Python traceback").click()
    expect(failed.locator("pre")).to_contain_text('File "/app/app.py", line 11')
    reset(scaling)


def test_another_signature_makes_another_form(scaling: Visitor):
    edited = APP.replace("x: float = 1.5)", "x: float = 1.5, loud: bool = False)").replace(":g}", ":g}{'!' * loud}")
    edit(scaling, "app.py", edited)
    run(scaling)
    scaling.page.get_by_role("tab", name="Try it").click()
    scaling.view.field("loud").locator("input").check()
    assert answer(scaling) == "30!"
    reset(scaling)
    scaling.page.get_by_role("tab", name="Try it").click()
    expect(scaling.view.field("loud")).to_have_count(0)


def test_the_console_works_in_the_scope_of_the_app(scaling: Visitor):
    python(scaling)
    assert "NodeArg(name='x', type='tensor(float)'" in say(scaling, "session.get_inputs()")
    assert "<App" in say(scaling, "app")
    assert "array([6.], dtype=float32)" in say(scaling, "session.run(None, {'x': np.array([3], 'f4')})[0]")
    assert "array([8.], dtype=float32)" in say(scaling, "(await session.arun(None, {'x': [4]}))[0]")
    said = say(scaling, "for i in range(2):", "    print('at', i)", "")
    assert "at 0\nat 1" in said
    assert say(scaling, "x = 5") == ">>> x = 5\n", "None is not shown"
    said = say(scaling, "1 / 0")
    assert "ZeroDivisionError: division by zero" in said
    assert "workbench.py" not in said
    assert "SyntaxError" in say(scaling, "def = 1")
    assert "'30'" in say(scaling, "scale()")
    scaling.page.get_by_label("Line of Python").press("ArrowUp")
    expect(scaling.page.get_by_label("Line of Python")).to_have_value("scale()")


def test_several_lines_can_be_pasted_into_the_console(scaling: Visitor):
    python(scaling)
    line = scaling.page.get_by_label("Line of Python")
    line.fill("")
    line.evaluate(
        """(input, text) => {
          const data = new DataTransfer();
          data.setData("text", text);
          input.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }""",
        "def double(n):\n    return 2 * n\n\ndouble(21)\n",
    )
    expect(scaling.page.locator(".prompt-log > *").last).to_have_text("42\n")


def test_what_never_ends_can_be_stopped_and_the_edited_version_stays(scaling: Visitor):
    """Were each line that it prints a message of its own, the page would not get to the click."""
    edit(scaling, "helping.py", "FACTOR = 2\n")
    run(scaling)
    line = scaling.page.get_by_label("Line of Python")
    line.fill("while True: print('again')")
    line.press("Enter")
    expect(scaling.page.locator(".prompt-sign")).to_have_text("...")
    line.press("Enter")
    scaling.page.locator(".prompt").get_by_role("button", name="Stop").click()
    expect(scaling.page.locator(".prompt-log")).to_contain_text("Python started again")
    scaling.wait_ready()
    assert "'6'" in say(scaling, "scale()")
    assert answer(scaling) == "6"
    reset(scaling)


def test_of_much_that_is_printed_the_end_stays_on_the_page(scaling: Visitor):
    python(scaling)
    say(scaling, "for i in range(20_000): print('line', i)", "")
    said = scaling.page.locator(".prompt-out").last.inner_text()
    assert said.endswith("line 19998\nline 19999\n")
    assert len(said) <= 50_000


def test_an_edited_version_that_never_ends_its_import_can_be_stopped_and_the_app_goes_on(scaling: Visitor):
    edit(scaling, "helping.py", "while True: pass\n")
    scaling.page.get_by_role("button", name="Run the edited version").click()
    scaling.page.locator(".python-answer").get_by_role("button", name="Stop").click()
    expect(scaling.page.locator(".python-answer")).to_contain_text("The app that ran before goes on.")
    scaling.wait_ready()
    assert answer(scaling) == "30"
    python(scaling)
    scaling.page.get_by_role("button", name="Reset").click()


def test_a_function_that_prints_and_never_ends_can_be_stopped(scaling: Visitor):
    edit(scaling, "app.py", APP.replace("    (y,) =", "    while x == 5: print('again')\n    (y,) ="))
    run(scaling)
    assert answer(scaling) == "30"
    scaling.view.field("x").locator("input").fill("5")
    scaling.view.root.locator(".run").click()
    scaling.view.root.get_by_role("button", name="Stop").click()
    scaling.wait_ready()
    reset(scaling)
    assert answer(scaling) == "100"
    scaling.view.field("x").locator("input").fill("1.5")
    assert answer(scaling) == "30"


def test_tab_indents_in_the_editor_and_escape_lets_it_leave(scaling: Visitor):
    python(scaling)
    scaling.page.locator(".cm-content").click()
    scaling.page.keyboard.press("Tab")
    inside = "document.activeElement.shadowRoot !== null"
    assert scaling.page.evaluate(inside)
    scaling.page.keyboard.press("Escape")
    scaling.page.keyboard.press("Tab")
    assert not scaling.page.evaluate(inside)
    scaling.page.get_by_role("button", name="Reset").click()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_python_panel_is_legible_and_fits(scaling: Visitor, scheme: str, width: int):
    python(scaling)
    page = scaling.page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_timeout(300)  # transitions
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(SMALL_TARGETS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_draft_outlives_the_page_and_the_original_runs_until_then(browser: Browser, host: Host, site: Path):
    with visiting(browser, host, site, "scale.html?backend=wasm#python", locale="en-GB") as visitor:
        expect(visitor.page.locator(".cm-content")).to_be_visible()
        visitor.wait_ready()
        edit(visitor, "helping.py", "FACTOR = 1 / 0\n")
        run(visitor)
        visitor.page.reload()
        visitor.wait_ready()
        expect(visitor.page.locator(".python-head .badge")).to_be_visible()
        assert answer(visitor) == "30"
        edit(visitor, "helping.py", "FACTOR = 4\n")
        run(visitor)
        visitor.page.reload()
        visitor.wait_ready()
        assert answer(visitor) == "30"
        python(visitor)
        run(visitor)
        assert answer(visitor) == "12"
        assert visitor.complaints == []


def test_the_editor_is_there_offline_once_it_was_opened(visit: Callable[..., Visit], site: Path):
    visitor = visit(site, offline=True)
    page = visitor.open("scale.html?backend=wasm#python")
    expect(page.locator(".cm-content")).to_be_visible()
    kept = "caches.match('%s').then(Boolean)"
    until(page, kept % visitor.site["panels"]["editor"])
    visitor.when_offline()
    page.context.set_offline(True)
    page.reload()
    expect(page.locator(".cm-content")).to_be_visible(timeout=LOAD_MS)
    page.context.set_offline(False)


# ---- the model ---------------------------------------------------------------------------------------------------

NODES = 20  # of examples/count


@pytest.fixture(scope="module")
def counted(browser: Browser, host: Host, site: Path) -> Iterator[Visitor]:
    """The counting page on WebAssembly, its first example run, its model panel open."""
    with visiting(browser, host, site, "count.html?backend=wasm#model", locale="en-GB") as visitor:
        visitor.wait_ready()
        graph(visitor)  # out of sight it would be drawn a second time
        visitor.page.get_by_role("tab", name="Try it").click()
        visitor.page.get_by_role("button", name="Try the example").first.click()
        visitor.view.wait()
        visitor.page.get_by_role("tab", name="Model").click()
        expect(visitor.page.locator(".node-table tbody tr")).to_have_count(NODES)
        yield visitor
        assert visitor.complaints == [], "among them what the policy forbade"


def graph(visitor: Visitor) -> FrameLocator:
    """The frame, once the graph is drawn in it."""
    frame = visitor.page.frame_locator(".graph-frame")
    expect(frame.locator("svg .node-item-type").first).to_be_visible(timeout=LOAD_MS)
    return frame


def test_the_graph_is_drawn_from_the_sites_own_files(counted: Visitor, site: Path):
    frame = graph(counted)
    expect(frame.locator("svg .node-item-type")).to_have_count(NODES)
    expect(frame.locator("svg .node-item-type", has_text="Components")).to_have_count(1)
    frame.locator("svg .node-item-type", has_text="AveragePool").nth(1).click()
    expect(frame.locator(".sidebar")).to_contain_text("Node Properties", ignore_case=True)
    (page,) = [one for one in counted.page.frames if one != counted.page.main_frame]
    assert page.evaluate(
        "performance.getEntriesByType('resource').every(({ name }) => name.startsWith(location.origin))"
    )
    assert page.evaluate("document.cookie") == ""
    assert "ipinfo" not in "".join(path.read_text() for path in site.glob("assets/netron.*/frame.js"))


def test_the_frame_may_ask_no_other_origin(counted: Visitor):
    graph(counted)
    (page,) = [one for one in counted.page.frames if one != counted.page.main_frame]
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
    assert policy
    assert "default-src 'none'" in policy
    sandbox = counted.page.locator(".graph-frame").get_attribute("sandbox")
    assert sandbox == "allow-scripts allow-same-origin", "it opens no windows and leads this page nowhere"
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_table_has_every_node_with_its_place_its_shapes_and_its_time(counted: Visitor):
    page = counted.page
    row = page.locator("tr[data-node=components]")
    expect(row).to_contain_text("Components")
    expect(row).to_contain_text("Python")
    expect(page.locator("tr[data-node=coarse]")).to_contain_text("WASM")
    page.get_by_role("button", name="Measure with the last input").click()
    expect(page.get_by_role("columnheader", name="Time")).to_be_visible(timeout=LOAD_MS)
    assert re.search(r"Python\s+[\d.,]+\s(ms|s)\s+int64 1 × 1 × 320 × 480", row.inner_text()), row.inner_text()
    expect(page.locator(".model-nodes .fine").first).to_contain_text(re.compile("for one run, .* outside the nodes"))
    times = page.evaluate("[...document.querySelectorAll('.node-table tbody tr')].map((row) => row.cells[4].innerText)")
    known = [float(text.split()[0].replace(",", "")) for text in times if text.endswith("ms")]
    assert known
    assert known == sorted(known, reverse=True), "the slowest come first"
    page.get_by_role("button", name="Node", exact=True).click()
    names = page.locator(".node-name").all_inner_texts()
    assert names == sorted(names)
    page.get_by_label("Filter by name or operator").fill("averagepool")
    expect(page.locator(".node-table tbody tr")).to_have_count(3)
    page.get_by_label("Filter by name or operator").fill("")


def natively(*names: str) -> list[np.ndarray]:
    """Values inside the counting model for the first example, on native ONNX Runtime."""
    spec = importlib.util.spec_from_file_location("counting_app", ROOT / "examples" / "count" / "app.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fed: list[dict] = []
    onnxlet_session.observers.append(note := lambda session, fetches, feeds: fed.append(feeds))
    try:
        module.count(onnxlet.Image.open(ROOT / "examples" / "count" / "coins.png"), "brighter", 0.08, 60)
    finally:
        onnxlet_session.observers.remove(note)
    return module.session.run(list(names), fed[0])


def test_what_a_node_gave_has_the_statistics_that_it_has_natively(visit: Callable[..., Visit], site: Path):
    visitor = visit(site)
    assert visitor.start("count", "wasm")["backend"] == "wasm"
    visitor.run_example("count", 0)
    (placement,) = visitor.page.evaluate("client.inside('placements')")
    names = ["around", "mask", "labels", "area"]
    for name, expected in zip(names, natively(*names), strict=True):
        ask = "([session, name]) => client.inside('value', session, name)"
        found = visitor.page.evaluate(ask, [placement["session"], name])
        assert "error" not in found, found
        wide = expected.astype(np.float64)
        assert found["shape"] == list(expected.shape), name
        assert found["type"] == str(expected.dtype), name
        got = [float(found[key]) for key in ("min", "max", "mean", "std")]
        np.testing.assert_allclose(got, [wide.min(), wide.max(), wide.mean(), wide.std()], rtol=1e-5, err_msg=name)
        assert found["zeros"] == int((expected == 0).sum()), name
        assert sum(found["histogram"]["counts"]) == expected.size, name


def test_a_click_on_a_node_shows_its_figures_and_a_picture(counted: Visitor):
    counted.page.get_by_role("button", name="around", exact=True).click()
    detail = counted.page.locator(".node-detail")
    expect(detail.locator("canvas.heat")).to_be_visible(timeout=LOAD_MS)
    (around,) = natively("around")
    expect(detail.locator(".facts")).to_contain_text("1 × 1 × 320 × 480")
    shown = detail.locator("dt", has_text="Mean").locator("xpath=../dd").inner_text()
    assert float(shown) == pytest.approx(float(around.astype(np.float64).mean()), rel=1e-4)
    shades = detail.locator("canvas.heat").evaluate(
        """(canvas) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(data.buffer)).size;
        }"""
    )
    assert shades > 20
    counted.page.get_by_role("button", name="Measure with the last input").click()
    counted.page.get_by_role("button", name="around", exact=True).click()  # which takes nothing from who measures
    expect(counted.page.locator(".model-nodes .fine").first).to_contain_text("for one run", timeout=LOAD_MS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_the_model_panel_is_legible_and_fits(counted: Visitor, scheme: str, width: int):
    page = counted.page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.wait_for_timeout(300)  # transitions
    assert page.evaluate(CONTRAST) == []
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(SMALL_TARGETS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_another_backend_is_another_place_in_the_table(counted: Visitor):
    page = counted.page
    page.locator("#status").click()
    page.locator(".segment", has_text="Python").click()
    counted.wait_ready()
    page.locator("#status").click()
    expect(page.locator("tr[data-node=coarse]")).to_contain_text("Python")
    expect(page.get_by_role("button", name="Measure with the last input")).to_be_disabled()
    expect(page.locator(".model-nodes")).to_contain_text("Run the app once first")


def test_what_quantizing_did_to_each_node_stands_in_the_table(browser: Browser, host: Host, site: Path, tmp_path: Path):
    """The build writes the file where it has measured it (tests/build/test_choose.py)."""
    folder = shutil.copytree(site, tmp_path / "site")
    (folder / "assets" / "twice-nodes.json").write_text(json.dumps({"add": {"snr_db": 31.26, "float": True}}))
    for manifest in folder.glob("site*.json"):
        text = json.loads(manifest.read_text())
        text["models"]["twice"]["variants"][0]["nodes"] = "assets/twice-nodes.json"
        manifest.write_text(json.dumps(text))
    with visiting(browser, host, folder, "scale.html?backend=wasm#model", locale="en-GB") as visitor:
        visitor.wait_ready()
        row = visitor.page.locator("tr[data-node=add]")
        expect(row).to_contain_text("31 dB (left in float)")
        assert visitor.complaints == []


@pytest.mark.parametrize(
    ("conditions", "says"),
    [("iso+csp", "must add 'self' to frame-src"), ("iso+404~frame.js", "the viewer did not start")],
)
def test_a_host_that_forbids_or_breaks_the_frame_is_told_of_and_the_table_stays(
    browser: Browser, host: Host, site: Path, conditions: str, says: str
):
    with visiting(browser, host, site, "scale.html?backend=wasm#model", conditions, locale="en-GB") as visitor:
        visitor.wait_ready()
        expect(visitor.page.locator(".graph")).to_contain_text(says, timeout=LOAD_MS)
        expect(visitor.page.locator("tr[data-node=add]")).to_be_visible()


def test_the_graph_is_drawn_and_kept_where_only_the_service_worker_isolates(visit: Callable[..., Visit], site: Path):
    visitor = visit(site, "plain", offline=True)
    page = visitor.open("scale.html?backend=wasm")
    visitor.when_offline()
    page.reload()
    visitor.when_ready()
    assert page.evaluate("crossOriginIsolated")
    page.get_by_role("tab", name="Model").click()
    drawn = page.frame_locator(".graph-frame").locator("svg .node-item-type").first
    expect(drawn).to_be_visible(timeout=LOAD_MS)
    until(page, f"caches.match('{visitor.site['panels']['netron']}').then(Boolean)")
    visitor.when_offline()
    page.context.set_offline(True)
    page.reload()
    expect(drawn).to_be_visible(timeout=LOAD_MS)
    page.context.set_offline(False)
