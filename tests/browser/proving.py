"""A small network and variants of it, and what a real browser says of them: made once, for every test that needs it."""

import atexit
import functools
import itertools
import logging
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxlet
from onnxlet_build import browser, site
from onnxlet_build.accuracy import Budget
from onnxlet_build.choose import choose
from onnxlet_build.inspect_app import Inspected
from onnxlet_build.parity import prove
from onnxlet_build.progress import Reporter
from onnxlet_build.reference import expected_outputs
from onnxlet_build.runtime import Runtime
from onnxlet_build.samples import Samples
from onnxlet_build.variants import ORIGINAL, Candidate, Proof, Study
from tests.browser.conftest import chromium

SIZES = (64, 128, 96, 10)
APP = '''
import numpy as np
from onnxlet import App, InferenceSession

session = InferenceSession("mlp.onnx")


def classify(seed: int = 1) -> str:
    """The class of a random row."""
    x = np.random.default_rng(seed).standard_normal((1, 64)).astype(np.float32)
    return str(session.run(None, {"x": x})[0].argmax())


app = App(classify, title="MLP", examples=[3])
'''


@dataclass(frozen=True, slots=True)
class Proven:
    """The network, its int8 variant, and their proofs."""

    folder: Path
    samples: Samples
    candidates: tuple[Candidate, ...]
    proofs: tuple[Proof, ...]

    def path(self, name: str) -> Path:
        return next(candidate.path for candidate in self.candidates if candidate.name == name and candidate.path)

    def proof(self, variant: str, backend: str) -> Proof:
        return next(p for p in self.proofs if (p.variant, p.backend) == (variant, backend))


def scratch() -> Path:
    """A folder that is gone when the tests are."""
    folder = Path(tempfile.mkdtemp(prefix="onnxlet-proving-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def network() -> tuple[Path, Path, Samples]:
    """The float network, its int8 copy made by onnxruntime, and samples of f32 [4, 64]."""
    from onnxruntime.quantization import quantize_dynamic

    folder = scratch()
    path, int8 = folder / "mlp.onnx", folder / "int8.onnx"
    path.write_bytes(mlp())
    logging.disable(logging.WARNING)  # it recommends a step that only larger models need
    try:
        quantize_dynamic(path, int8)
    finally:
        logging.disable(logging.NOTSET)
    rows = clear_rows(path, 24).reshape(6, 4, SIZES[0])
    return path, int8, Samples.write(folder / "samples", ({"x": x} for x in rows))


def clear_rows(path: Path, count: int) -> np.ndarray:
    """Random rows whose best class is well ahead of the second: 8 bits do not turn them round."""
    x = np.random.default_rng(1).standard_normal((40 * count, SIZES[0])).astype(np.float32)
    (scores,) = onnxlet.InferenceSession(path).run(None, {"x": x})
    second, best = np.sort(scores, axis=1)[:, -2:].T
    return x[np.argsort(second - best)[:count]]


def mlp(seed: int = 0) -> bytes:
    """MatMul and Relu."""
    rng = np.random.default_rng(seed)
    nodes, weights, value = [], [], "x"
    for i, (k, n) in enumerate(itertools.pairwise(SIZES)):
        w = rng.standard_normal((k, n)).astype(np.float32) * np.float32(2 / np.sqrt(k))
        weights.append(numpy_helper.from_array(w, f"w{i}"))
        nodes.append(helper.make_node("MatMul", [value, f"w{i}"], [f"m{i}"], f"matmul{i}"))
        value = f"m{i}"
        if n != SIZES[-1]:
            nodes.append(helper.make_node("Relu", [value], [f"r{i}"], f"relu{i}"))
            value = f"r{i}"
    return model(nodes, {"x": ["batch", SIZES[0]]}, {value: ["batch", SIZES[-1]]}, weights)


def model(nodes: list, inputs: dict, outputs: dict, weights: Sequence[onnx.TensorProto] = ()) -> bytes:
    """A model of float32 values."""
    ends = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in named.items()]
        for named in (inputs, outputs)
    ]
    graph = helper.make_graph(nodes, "graph", *ends, list(weights))
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8).SerializeToString()


def candidate(name: str, path: Path) -> Candidate:
    return Candidate(name, path, bytes=path.stat().st_size)


def proven(
    candidates: Sequence[Candidate],
    reference: Path,
    samples: Samples,
    backends: Sequence[str],
    limit_s: float = 60,
    app: Inspected | None = None,
) -> list[Proof]:
    """`prove` in the tests' browser."""
    report = Reporter(quiet=True)
    found = browser.find(Path(named) if (named := chromium()) else None)
    assert found, "no Chromium"
    options = {"chromium": found, "limit_s": limit_s, "backends": backends, "app": app}
    return prove(candidates, reference, samples, scratch() / "proof", report, Runtime(report), **options)


@functools.cache
def proven_network() -> Proven:
    """Both variants of the network on every backend."""
    path, int8, samples = network()
    candidates = (candidate(ORIGINAL, path), candidate("int8", int8))
    proofs = proven(candidates, path, samples, ("wasm", "webgpu", "python"))
    return Proven(path.parent, samples, candidates, tuple(proofs))


def build_with(found: Proven, out: Path, monkeypatch: pytest.MonkeyPatch, **changed: Path) -> Path:
    """The site of an app with the network, built from its proofs; WASM gets the int8 variant, Python the original.

    Args:
        changed: another file under a variant's name, as if it had been damaged after it was proven.
    """
    proofs = [replace(p, warm_ms=1.0 if p.variant == "int8" else 10.0) for p in found.proofs]
    proofs = [p for p in proofs if (p.variant, p.backend) != ("int8", "python")]
    candidates = [replace(c, path=changed.get(c.name, c.path)) for c in found.candidates]
    samples = found.samples[:3]
    outputs = expected_outputs(found.path(ORIGINAL), samples, scratch() / "expected")
    pairs = tuple(zip(samples.paths, outputs.paths, strict=True))
    chosen = choose(candidates, proofs, Budget())
    study = Study(
        "mlp.onnx",
        candidates=tuple(candidates),
        proofs=tuple(proofs),
        choice=chosen.by_class,
        reasons=chosen.reasons,
        references=pairs,
    )
    monkeypatch.setattr(site, "study", lambda *_, **__: study)
    app = out.parent / "mlp" / "app.py"
    app.parent.mkdir()
    app.write_text(APP)
    shutil.copy(found.path(ORIGINAL), app.parent / "mlp.onnx")
    with ThreadPoolExecutor(1) as executor:
        site.build_site([app], out, site.Options(codings=()), Reporter(quiet=True), executor)
    return out


def damaged(path: Path, out: Path) -> Path:
    """A copy in which one weight matrix lies the other way up: it loads, runs, and is wrong."""
    proto = onnx.load(path)
    weight = next(t for t in proto.graph.initializer if len(t.dims) == 2)
    flipped = numpy_helper.to_array(weight)[::-1]
    weight.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(flipped), weight.name))
    out.write_bytes(proto.SerializeToString())
    return out
