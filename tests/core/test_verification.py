"""The visitor's own check: references of the site through a session, against what the build saw."""

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import onnxlet
from onnxlet import source
from onnxlet.accuracy import Accuracy, Measure, comparable, strays
from onnxlet.dtypes import DataType, Narrow
from onnxlet.errors import InvalidInput
from onnxlet.verification import verify

CPU = "CPUExecutionProvider"


def model(operator: str, kind: int) -> bytes:
    """y = operator(x) on [n]."""
    ends = [[helper.make_tensor_value_info(name, kind, ["n"])] for name in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "one", *ends)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def npz(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    return stream.getvalue()


class Site:
    """Recorded models, as the page has them, and the files of its references."""

    def __init__(self, data: bytes, kind: str) -> None:
        self.data = data
        self.files: dict[str, bytes] = {}
        args = [{"name": name, "type": f"tensor({kind})", "shape": ["n"]} for name in "xy"]
        self.entry: dict[str, Any] = {"id": "m", "inputs": args[:1], "outputs": args[1:], "references": []}

    def refer(self, x: Any, y: Any) -> None:
        number = len(self.entry["references"])
        self.files |= {f"x{number}": npz(x=x), f"y{number}": npz(y=y)}
        self.entry["references"].append({"feeds": f"x{number}", "outputs": f"y{number}"})

    def expect(self, **error: Any) -> None:
        zero = {"samples": 9, "max_abs": 0.0, "snr_db": None, "cosine": 1.0, "top1": None, "metric": None}
        self.entry["variants"] = {CPU: {"name": "int8", "error": {**zero, **error}}}

    def verify(self) -> dict[str, Any]:
        async def read(path: str) -> bytes:
            return self.files[path]

        session = onnxlet.InferenceSession("m.onnx", providers=[CPU])
        return asyncio.run(verify(session.number, read))


@pytest.fixture
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    """A site with a model of one operator."""
    operator, kind, name = getattr(request, "param", ("Abs", TensorProto.FLOAT, "float"))
    made = Site(model(operator, kind), name)

    async def fetch(_: str) -> bytes:
        return made.data

    source.use_recorded(source.RecordedModels(Path.cwd(), {"m.onnx": made.entry}, lambda _: made.data, fetch))
    yield made
    source.use_recorded(None)


def test_answers_as_near_as_the_build_saw_are_right(site: Site) -> None:
    site.refer(np.float32([-1, 2]), np.float32([1.02, 2]))
    site.refer(np.float32([3]), np.float32([3.01]))
    site.expect(snr_db=40.0, max_abs=0.02)
    answer = site.verify()
    assert answer["wrong"] == ""
    assert answer["provider"] == CPU
    assert (answer["found"]["samples"], answer["expected"]["samples"]) == (2, 9)
    assert 40 < answer["found"]["snr_db"] < 50


def test_answers_further_away_than_the_build_saw_are_wrong(site: Site) -> None:
    site.refer(np.float32([-1, 2]), np.float32([1.5, 2]))
    site.expect(snr_db=40.0)
    assert site.verify()["wrong"] == "14.0 dB, expected 40.0 dB"


def test_without_the_builds_figures_answers_must_be_those_of_the_original(site: Site) -> None:
    site.refer(np.float32([-1, 2]), np.float32([1.02, 2]))
    answer = site.verify()
    assert answer["expected"] is None
    assert answer["wrong"] == "41.0 dB, expected no difference"


@pytest.mark.parametrize("site", [("Identity", TensorProto.STRING, "string")], indirect=True)
def test_strings_go_in_and_out(site: Site) -> None:
    site.refer(np.array(["a", "b"]), np.array(["a", "b"]))
    assert site.verify()["wrong"] == ""


def test_the_apps_last_input_stays_the_last_one(site: Site) -> None:
    from onnxlet import inside, last_calls
    from onnxlet import session as sessions

    last_calls.watch()
    try:
        site.refer(np.float32([-1]), np.float32([1]))
        session = onnxlet.InferenceSession("m.onnx", providers=[CPU])

        async def read(path: str) -> bytes:
            return site.files[path]

        asyncio.run(verify(session.number, read))
        with pytest.raises(InvalidInput, match="has not run yet"):
            asyncio.run(inside.times(session.number))
        session.run(None, {"x": np.float32([-5])})
        asyncio.run(verify(session.number, read))
        assert asyncio.run(inside.times(session.number))["count"] == 1
    finally:
        sessions.observers.pop()


def test_a_site_without_references_says_what_to_do(site: Site) -> None:
    with pytest.raises(InvalidInput, match=r"m\.onnx: the site has no samples of it; build it with a browser"):
        site.verify()


def test_what_strays_is_a_factor_of_three_not_a_rounding() -> None:
    expected = Accuracy(9, 0.02, 34.0, 1.0, 0.98)
    assert strays(Accuracy(3, 0.05, 25.0, 1.0, 2 / 3), expected) == ""
    assert strays(Accuracy(3, 0.05, 70.0, 1.0, 1.0), Accuracy(9, 0, 130.0, 1.0, 1.0)) == ""
    assert strays(Accuracy(3, 0.05, 23.0, 1.0, 1.0), expected) == "23.0 dB, expected 34.0 dB"
    assert strays(Accuracy(3, 0.05, 25.0, 1.0, 1 / 3), expected) == "33.3% equal best classes, expected 98.0%"
    assert strays(Accuracy(3, 0.0, 99.0, 1.0, 1.0, fault="is broken"), expected) == "is broken"


def test_outputs_of_every_kind_can_be_stored_and_compared() -> None:
    narrow = Narrow(DataType.BFLOAT16, np.float32([1.5]))
    values = [narrow, np.array(["a"], object), [{0: 0.25, 1: 0.75}], [np.ones(2), np.zeros((1, 1))], {"odd": 1}]
    stored = [comparable(value) for value in values]
    assert [array.dtype.kind for array in stored] == ["f", "U", "f", "f", "U"]
    assert [array.shape for array in stored] == [(1,), (1,), (1, 2), (3,), ()]
    measure = Measure(["y"])
    measure.add([values[2]], [[{0: 0.3, 1: 0.7}]])
    assert measure.result().top1 == 1
