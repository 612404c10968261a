"""The file type example keeps its promise: after one visit, without a network, Magika's own answers on each backend."""

import base64
import io
import wave
from pathlib import Path

import numpy as np
import pytest
from magika import Magika
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.driver import until
from tests.browser.visitor import View

BACKENDS = {"wasm": "ort-wasm", "webgpu": "ort-jspi"}  # and the group of files that each needs
RECORD = "caches.match(new URL('__onnxlet__/record', location.href)).then((record) => record?.json())"
TRANSFER = """({name, data}) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
  return transfer;
}"""


def files() -> dict[str, bytes]:
    picture, sound = io.BytesIO(), io.BytesIO()
    Image.effect_noise((64, 48), 40).save(picture, "PNG")
    with wave.open(sound, "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", ""))
        out.writeframes((np.sin(np.arange(8000) / 9) * 20000).astype("<i2").tobytes())
    return {"p.png": picture.getvalue(), "s.wav": sound.getvalue(), "a.py": Path(__file__).read_bytes()}


def drop(page: Page, name: str, data: bytes) -> None:
    """Let a file fall on the page, as a hand does that misses the field."""
    transfer = page.evaluate_handle(TRANSFER, {"name": name, "data": base64.b64encode(data).decode()})
    page.dispatch_event("main", "drop", {"dataTransfer": transfer})


@pytest.fixture(scope="module")
def magika() -> Magika:
    return Magika()


def test_dropped_files_get_magikas_answers_without_a_network(visit, demo, host, magika):
    visitor = visit(demo, "plain+nocache", offline=True)
    for backend, group in BACKENDS.items():
        visitor.open(f"filetype.html?backend={backend}")
        until(visitor.page, f"{RECORD}.then((record) => record?.filetype.groups.includes('{group}'))")
    host.down = True
    try:
        for backend in BACKENDS:
            page = visitor.open(f"filetype.html?backend={backend}")
            expect(page.locator("#panel")).to_contain_text({"wasm": "WASM", "webgpu": "WebGPU"}[backend])
            view = View(page.locator(".view:not([hidden])"))
            for name, data in files().items():
                answer = magika.identify_bytes(data)
                drop(page, name, data)
                expect(view.field("file")).to_contain_text(name)
                said = f"{answer.output.label}: {answer.output.description} ({answer.output.mime_type})"
                expect(view.result.locator(".output-text")).to_contain_text(said, timeout=120_000)  # emulated GPU
                expect(view.result.locator(".headline strong")).to_have_text(str(answer.dl.label))
                expect(view.result.locator(".bar.best .bar-score")).to_have_text(f"{answer.score:.1%}")
    finally:
        host.down = False
