"""WebGPU in the core's sessions, and everything that can be wrong with it."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from onnxlet.dtypes import DataType as T
from onnxlet.model import Node
from tests.browser import poverty
from tests.browser.harness import ROOT, PagePython, open_python
from tests.browser.server import serving
from tests.core.models import identity, model

SYNC = [{"name": "f", "async": False}]


def mlp() -> bytes:
    w = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    nodes = [Node("MatMul", ("x", "w"), ("h",)), Node("Relu", ("h",), ("y",))]
    return model(nodes, {"x": (T.FLOAT, ["n", 4])}, {"y": (T.FLOAT, ["n", 3])}, {"w": w})


def models() -> dict[str, object]:
    wide = model([Node("Neg", ("x",), ("y",))], {"x": (T.DOUBLE, ["n"])}, {"y": (T.DOUBLE, ["n"])})
    return {
        "mlp.onnx": {"data": mlp(), "prefer": ["webgpu", "wasm"], "reason": "faster on the GPU"},
        "half.onnx": {"data": identity(T.FLOAT16, ["n"]), "prefer": ["webgpu", "wasm"]},
        "wide.onnx": {"data": wide, "variant": {"backends": ["wasm", "python"]}},
    }


@pytest.fixture(scope="module")
def gpu(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PagePython]:
    folder = tmp_path_factory.mktemp("gpu")
    with open_python(browser, folder, conditions="iso+card", models=models(), functions=SYNC) as python:
        python.run("import asyncio, json, warnings\nimport numpy as np\nimport onnxlet")
        yield python


def test_each_model_runs_where_the_build_wants_it_and_the_device_can(gpu: PagePython) -> None:
    x = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)
    want = np.maximum(x @ np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), 0)
    y, providers, status = gpu.run(f"""
mlp = onnxlet.InferenceSession("mlp.onnx")
(y,) = mlp.run(None, {{"x": np.array({x.tolist()}, np.float32)}})
status = json.loads(onnxlet.host.status())
others = [onnxlet.InferenceSession(name).get_providers()[0] for name in ("half.onnx", "wide.onnx")]
[y.tolist(), [*mlp.get_providers(), *others], status]
""")
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)
    # SwiftShader has no shader-f16; the wide model has no variant for WebGPU
    cpu = "CPUExecutionProvider"
    assert providers == ["WebGpuExecutionProvider", cpu, cpu, cpu]
    assert (status["backend"], status["provider"]) == ("webgpu", "WebGpuExecutionProvider")
    assert status["reason"].startswith("faster on the GPU")


def test_providers_that_the_code_asks_for_are_tried_in_its_order(gpu: PagePython) -> None:
    assert gpu.run("""
names = ["CPUExecutionProvider", "WebGpuExecutionProvider"]
[onnxlet.get_available_providers(), onnxlet.get_device(),
 onnxlet.InferenceSession("mlp.onnx", providers=names).get_providers(),
 onnxlet.InferenceSession("mlp.onnx", providers=names[1:]).get_providers()]
""") == [["WebGpuExecutionProvider", "CPUExecutionProvider", "NumpyExecutionProvider"], "GPU",
         ["CPUExecutionProvider", "WebGpuExecutionProvider"],
         ["WebGpuExecutionProvider", "CPUExecutionProvider"]]  # fmt: skip


def test_a_type_without_gpu_kernels_goes_to_the_cpu_with_a_warning(gpu: PagePython) -> None:
    y, provider, warned = gpu.run("""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    session = onnxlet.InferenceSession("wide.onnx", providers=["WebGpuExecutionProvider"])
    (y,) = session.run(None, {"x": [0.1, 2.0]})
[y.tolist(), session.get_providers()[0], [str(w.message) for w in caught]]
""")
    assert (y, provider) == ([-0.1, -2.0], "CPUExecutionProvider")
    assert warned[0].startswith("WebGpuExecutionProvider does not take this model, CPUExecutionProvider goes on")


def test_a_device_that_is_lost_in_the_middle_leaves_the_model_to_the_cpu(browser: Browser, tmp_path: Path) -> None:
    with open_python(browser, tmp_path, conditions="iso+card+loselater", models=models(), functions=SYNC) as python:
        ys, providers, reason = python.run("""
import numpy as np, onnxlet
session = onnxlet.InferenceSession("mlp.onnx")
before = session.get_providers()[0]
ys = [session.run(None, {"x": np.ones((1, 4), np.float32)})[0].tolist() for _ in range(12)]
[ys, [before, *session.get_providers()], session.fallen]
""")
        want = np.maximum(np.linspace(-1, 1, 12).reshape(4, 3).sum(0), 0)
        np.testing.assert_allclose(ys, np.broadcast_to(want, (12, 1, 3)), rtol=1e-5, atol=1e-6)
        assert providers == ["WebGpuExecutionProvider", "CPUExecutionProvider"]
        assert "WebGPU cannot go on in this worker" in reason
        assert python.js("return bridge.describe('webgpu').broken")


def test_an_emulated_gpu_is_left_to_those_who_ask_for_it(browser: Browser, tmp_path: Path) -> None:
    ask = """
import json, onnxlet
providers = ["WebGpuExecutionProvider", "CPUExecutionProvider"]
first = onnxlet.InferenceSession("mlp.onnx").get_providers()[0]
asked = onnxlet.InferenceSession("mlp.onnx", providers=providers).get_providers()[0]
[first, asked, json.loads(onnxlet.host.status())["reason"]]
"""
    with open_python(browser, tmp_path / "auto", models=models(), functions=SYNC) as python:
        first, asked, reason = python.run(ask)
    assert (first, asked) == ("CPUExecutionProvider", "WebGpuExecutionProvider")
    assert reason.startswith("the processor emulates the only graphics adapter (google swiftshader)")


FAULTS = {
    "nogpu": "this browser has no WebGPU",
    "noadapter": "WebGPU found no graphics adapter",
    "hangadapter": "the graphics driver did not answer within 10 s",
    "lostdevice": "the graphics device was lost",
    "nof16": "",
}


@pytest.mark.parametrize("condition", FAULTS)
def test_every_fault_of_webgpu_is_a_sentence_within_seconds(browser: Browser, condition: str) -> None:
    with serving({"demo": ROOT / "web" / "src"}) as host:
        context = browser.new_context()
        try:
            context.add_init_script(poverty.script({condition}))
            page = context.new_page()
            page.goto(host.url("plain", "demo", "__blank__"))
            begin = time.monotonic()
            answer = page.evaluate(f"async () => (await import('{host.url('plain', 'demo', 'gpu.js')}')).probeGpu()")
            assert time.monotonic() - begin < 15
        finally:
            context.close()
    assert FAULTS[condition] in answer["fault"], json.dumps(answer)
    assert bool(answer["fault"]) == bool(FAULTS[condition])
    assert not answer["f16"]
