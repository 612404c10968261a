"""Faults that people reported elsewhere do not occur here: small graphs, told in tests/data/ID.json."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from onnxlet import protobuf
from onnxlet.providers.reference import ReferenceExecutable

from . import reported

DATA = Path(__file__).parent.parent / "data"
IDS = sorted(p.stem for p in DATA.glob("*.json") if re.match(r"[GQRW]\d\d", p.stem) and p.stem != "W01_buffer_reuse")


@pytest.mark.parametrize("case", IDS)
def test_a_reported_fault_does_not_occur(case):
    told = json.loads((DATA / f"{case}.json").read_text())
    it = ReferenceExecutable(protobuf.read(DATA / told["model"]))
    reported.check(told, it.run)


def test_a_long_position_chain_beside_a_norm_keeps_its_values():
    it = ReferenceExecutable(protobuf.read(DATA / "W01_buffer_reuse.onnx"))
    feeds = {"p": np.arange(1, 195)[None], "x": np.full((1, 194, 960), 3, np.float32)}
    d, rms = it.run(["d", "rms"], feeds)
    np.testing.assert_allclose(d[0], np.arange(194)[:, None] / 10000 ** (np.arange(32) / 32), rtol=1e-5)
    np.testing.assert_allclose(rms, 9.00001, rtol=1e-6)


def test_a_three_dimensional_convolution_runs_as_the_two_dimensional_one():
    model = protobuf.read(DATA / "Q01_conv3d.onnx")
    (feed,) = model.graph.feeds
    shape = [n if isinstance(n, int) else 1 for n in feed.type.shape]
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    (y,) = ReferenceExecutable(model).run([model.graph.outputs[0].name], {feed.name: x})
    import onnxruntime

    session = onnxruntime.InferenceSession(DATA / "Q01_conv3d.onnx")
    np.testing.assert_allclose(y, session.run(None, {feed.name: x})[0], rtol=1e-4, atol=1e-5)
