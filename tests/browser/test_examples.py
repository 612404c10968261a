"""Every example's answer in the page is the native one, on every backend."""

import pytest

from tests.browser.driver import assert_same

MODES = {
    "WASM with threads": ("iso+cores4", "wasm"),
    "WASM without threads": ("plain", "wasm"),
    "WebGPU": ("iso", "webgpu"),
    "Python": ("plain", "python"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("app", ["digits", "filetype"])
def test_every_example_gives_the_native_answer(visit, demo, app, mode):
    conditions, backend = MODES[mode]
    visitor = visit(demo, conditions)
    ready = visitor.start(app, backend)
    assert "error" not in ready, ready
    assert ready["backend"] == possible(visitor.site, app, backend), ready["reason"]
    assert (ready["threads"] > 1) == (mode == "WASM with threads"), ready["reason"]
    entry = next(entry for entry in visitor.site["apps"] if entry["name"] == app)
    assert entry["examples"]
    for index in range(len(entry["examples"])):
        got, expected = visitor.run_example(app, index)
        assert_same(got, expected)


def possible(site, app, backend):
    """The backend that whoever asks for `backend` gets: WebGPU only where the build found a variant right on it."""
    entry = next(entry for entry in site["apps"] if entry["name"] == app)
    models = [site["models"][key] for key in entry["models"].values()]
    right = all(any(backend in variant["backends"] for variant in model["variants"]) for model in models)
    return backend if right else "wasm"


def test_cold_and_warm_calls_say_what_they_took(visit, demo):
    visitor = visit(demo, "plain")
    visitor.start("digits")
    for _ in range(2):
        answer, _ = visitor.run_example("digits", 0)
        assert answer["timing"]["runs"] == 1
        assert 0 < answer["timing"]["run_ms"] <= answer["timing"]["total_ms"]
