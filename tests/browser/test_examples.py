"""Every example's answer in the page is the native one: on every backend, and without a network."""

import pytest

from tests.browser.conftest import ROOT
from tests.browser.driver import assert_same

EXAMPLES = sorted(path.parent.name for path in (ROOT / "examples").glob("*/app.py"))
MODES = {"WASM with threads": ("iso+cores4", "wasm"), "Python": ("plain", "python")}
QUICK = ("digits", "filetype")  # small enough for what few visitors get
GPU_DB = 60.0  # a thousandth: what other orders of summing cost a deep network in float32


@pytest.mark.parametrize("app", EXAMPLES)
def test_every_example_gives_the_native_answer_on_wasm_without_a_network(visit, gallery, host, app):
    visitor = visit(gallery, "plain+nocache", offline=True)
    visitor.open(entry_of(visitor.site, app)["page"])
    visitor.when_offline()
    host.down = True
    try:
        visitor.page.reload()
        page = visitor.when_ready()
        page.locator(".example").first.click()
        page.locator(".run").first.click()
        page.locator(".result-body .outputs").wait_for(timeout=60_000)
        assert page.locator(".error").count() == 0
        ready = visitor.start_here(app, "wasm")
        assert ready["backend"] == "wasm", ready
        answers_as_natively(visitor, app)
    finally:
        host.down = False


@pytest.mark.parametrize("app", EXAMPLES)
def test_every_example_gives_the_native_answer_on_webgpu(visit, gallery, app):
    visitor = visit(gallery, "iso")
    ready = visitor.start(app, "webgpu")
    assert "error" not in ready, ready
    assert ready["backend"] == possible(visitor.site, app, "webgpu"), ready["reason"]
    answers_as_natively(visitor, app, most=1)  # an emulated adapter needs a minute for each page of text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("app", QUICK)
def test_quick_examples_give_the_native_answer_in_rare_ways_too(visit, demo, app, mode):
    conditions, backend = MODES[mode]
    visitor = visit(demo, conditions)
    ready = visitor.start(app, backend)
    assert ready["backend"] == backend, ready
    assert (ready["threads"] > 1) == (mode == "WASM with threads"), ready["reason"]
    answers_as_natively(visitor, app)


@pytest.mark.parametrize("app", EXAMPLES)
def test_every_example_tells_where_its_model_comes_from(gallery, visit, app):
    entry = entry_of(visit(gallery).site, app)
    assert entry["cards"], "an example shows its readers how: card=ModelCard(...)"
    assert all(card["limits"] for card in entry["cards"])
    assert entry["description"].count(".") + entry["description"].count("?") >= 2, entry["description"]


def answers_as_natively(visitor, app, most=None):
    """The examples of an app, in the client that has started."""
    examples = entry_of(visitor.site, app)["examples"][:most]
    assert examples
    for index in range(len(examples)):
        got, expected = visitor.run_example(app, index)
        assert_same(got, expected, GPU_DB)


def entry_of(site, app):
    return next(entry for entry in site["apps"] if entry["name"] == app)


def possible(site, app, backend):
    """The backend that whoever asks for `backend` gets: WebGPU only where the build found a variant right on it."""
    models = [site["models"][key] for key in entry_of(site, app)["models"].values()]
    right = all(any(backend in variant["backends"] for variant in model["variants"]) for model in models)
    return backend if right else "wasm"


def test_cold_and_warm_calls_say_what_they_took(visit, demo):
    visitor = visit(demo, "plain")
    visitor.start("digits")
    for _ in range(2):
        answer, _ = visitor.run_example("digits", 0)
        assert answer["timing"]["runs"] == 1
        assert 0 < answer["timing"]["run_ms"] <= answer["timing"]["total_ms"]
