"""What stands behind the tabs of a page: the app's Python, edited, run and asked; and the model."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from onnx import TensorProto, helper
from playwright.sync_api import Browser, expect

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
    behind = re.compile(r"/editor\.|/netron\.|/panels/|styles/(python|model)\.css")
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
    edit(scaling, "helping.py", "FACTOR = 2\n")
    run(scaling)
    line = scaling.page.get_by_label("Line of Python")
    line.fill("while True: pass")
    line.press("Enter")
    line.press("Enter")
    scaling.page.locator(".prompt").get_by_role("button", name="Stop").click()
    expect(scaling.page.locator(".prompt-log")).to_contain_text("Python started again")
    scaling.wait_ready()
    assert "'6'" in say(scaling, "scale()")
    assert answer(scaling) == "6"
    reset(scaling)


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
