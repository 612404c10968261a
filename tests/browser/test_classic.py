"""The story that every newcomer tries: a PyTorch MLP, a dynamic batch, int8, and the same answer in the browser."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.browser.conftest import ROOT
from tests.browser.driver import Visit
from tests.browser.test_sources import APPS, source, tensors


@pytest.fixture(scope="module")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One command: train, export, quantize, prove in Chromium, write the site."""
    folder = tmp_path_factory.mktemp("classic")
    shutil.copytree(APPS / "mlp", folder / "mlp")
    options = ["--variants", "int8-dynamic", "--prefer", "size", "--precompress", "none", "--out", str(folder / "dist")]
    command = [sys.executable, "build.py", str(folder / "mlp"), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


def test_the_export_has_a_dynamic_batch_and_a_modern_opset(classic: Path) -> None:
    model = onnx.load(classic.parent / "mlp" / "mlp.onnx")
    batch = model.graph.input[0].type.tensor_type.shape.dim[0]
    assert batch.dim_param
    assert not batch.dim_value
    assert next(o.version for o in model.opset_import if o.domain == "") >= 17


def test_int8_with_a_batch_of_four_gives_torchs_classes_natively_and_in_chromium(
    classic: Path, visit: Callable[..., Visit]
) -> None:
    import torch

    made = source("mlp")
    four = made.digits()[0][-4:]
    expected = made.network()(torch.from_numpy(four)).argmax(1).numpy()
    (model,) = json.loads((classic / "site.json").read_bytes())["models"].values()
    variant = model["variants"][model["choice"]["wasm"]]
    assert variant["name"] == "int8-dynamic"
    data = b"".join((classic / part).read_bytes() for part in variant["parts"])
    assert {"MatMulInteger", "DynamicQuantizeLinear"} <= {n.op_type for n in onnx.load_from_string(data).graph.node}
    native = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(native.run(["logits"], {"x": four})[0].argmax(1), expected)

    visitor = visit(classic)
    ready = visitor.start("mlp", "wasm")
    assert ready.get("provider") == "CPUExecutionProvider", ready
    (got,) = tensors(visitor, "mlp")
    np.testing.assert_array_equal(got, expected)


def test_the_report_says_what_was_measured_and_where(classic: Path) -> None:
    report = json.loads((classic / "report.json").read_bytes())
    text = json.dumps(report)
    assert "int8-dynamic" in text
    assert "Chromium" in text
    assert "int8-dynamic" in (classic / "report.html").read_text(encoding="utf-8")
