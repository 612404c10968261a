"""Which variant each kind of device loads, from proofs as a browser would give them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onnxlet import protobuf
from onnxlet.accuracy import Accuracy
from onnxlet.errors import BuildError
from onnxlet_build.accuracy import Budget
from onnxlet_build.choose import Choice, choose
from onnxlet_build.formats import computes_in_half
from onnxlet_build.manifest import Tree
from onnxlet_build.progress import Reporter
from onnxlet_build.site_models import SiteModels
from onnxlet_build.variants import ORIGINAL, Candidate, NodeError, Proof

from .conftest import DATA

RIGHT = Accuracy(8, 1e-6, 130.0, 1.0, 1.0)
INT8 = Accuracy(8, 0.02, 34.0, 0.9998, 1.0)
WRONG = Accuracy(8, 0.9, 12.0, 0.97, 0.6)
BUDGET = Budget(0.01)


def candidate(name: str, size: int, path: Path = DATA / "P_add1.onnx", **more: Any) -> Candidate:
    return Candidate(name, path, bytes=size, **more)


def proof(variant: str, backend: str, ms: float = 1.0, accuracy: Accuracy | None = RIGHT, **more: Any) -> Proof:
    return Proof(variant, backend, accuracy, warm_ms=ms, **more)


ORIGINALS = [
    proof(ORIGINAL, "wasm", 10),
    proof(ORIGINAL, "wasm-threads", 5),
    proof(ORIGINAL, "webgpu", 400, emulated=True, adapter="google swiftshader"),
    proof(ORIGINAL, "python", 40),
]


def test_the_smallest_within_a_tenth_of_the_fastest_is_chosen() -> None:
    candidates = [candidate(ORIGINAL, 400), candidate("int8", 110), candidate("int4", 60), candidate("tiny", 20)]
    proofs = [
        *ORIGINALS,
        proof("int8", "wasm", 3.0, INT8),
        proof("int4", "wasm", 3.2, INT8),
        proof("tiny", "wasm", 3.4, INT8),
    ]
    choice = choose(candidates, proofs, BUDGET)
    assert choice.by_class["wasm"] == "int4"
    assert choice.reasons["wasm"] == (
        "int4: 60 bytes, 3.2 ms a run; int8 takes 3 ms and has 110 bytes; the original takes 10 ms and has 400 bytes"
    )
    assert choice.right["int4"] == ("wasm",)


def test_whoever_prefers_size_gets_the_smallest_that_is_right() -> None:
    candidates = [candidate(ORIGINAL, 400), candidate("int8", 110), candidate("wrong", 20)]
    proofs = [*ORIGINALS, proof("int8", "wasm", 50.0, INT8), proof("wrong", "wasm", 1.0, WRONG)]
    assert choose(candidates, proofs, BUDGET).by_class["wasm"] == ORIGINAL
    assert choose(candidates, proofs, BUDGET, smallest=True).by_class["wasm"] == "int8"


def test_a_variant_that_is_wrong_with_threads_is_wrong_on_webassembly() -> None:
    candidates = [candidate(ORIGINAL, 400), candidate("int8", 110)]
    proofs = [*ORIGINALS, proof("int8", "wasm", 1.0, INT8), proof("int8", "wasm-threads", 0.5, WRONG)]
    assert choose(candidates, proofs, BUDGET).by_class["wasm"] == ORIGINAL


@pytest.mark.parametrize("bad", [proof("int8", "wasm", 1.0, None, fault="gave no answer within 60 s"), None])
def test_what_failed_and_what_nobody_ran_is_not_offered(bad: Proof | None) -> None:
    candidates = [candidate(ORIGINAL, 400), candidate("int8", 110)]
    choice = choose(candidates, [*ORIGINALS, *([bad] if bad else [])], BUDGET)
    assert set(choice.by_class.values()) == {ORIGINAL}


def test_what_was_refused_before_is_not_offered() -> None:
    candidates = [candidate(ORIGINAL, 400), candidate("int8", 110, refused="is not smaller")]
    choice = choose(candidates, [*ORIGINALS, proof("int8", "wasm", 1.0, INT8)], BUDGET)
    assert choice.by_class["wasm"] == ORIGINAL


def test_a_persons_metric_counts_where_the_browser_answers_as_native_runs_do() -> None:
    """Best classes differ by more than the budget, and yet the person's metric has not dropped by as much."""
    half = replace(INT8, top1=0.97, metric=0.909)
    candidates = [candidate(ORIGINAL, 400, accuracy=replace(RIGHT, metric=0.91)), candidate("int8", 110, accuracy=half)]
    there = [*ORIGINALS, proof("int8", "wasm", 1.0, replace(INT8, top1=0.96))]
    assert choose(candidates, there, BUDGET).by_class["wasm"] == "int8"
    astray = [*ORIGINALS, proof("int8", "wasm", 1.0, replace(INT8, top1=0.96, snr_db=20.0))]
    assert choose(candidates, astray, BUDGET).by_class["wasm"] == ORIGINAL


def test_on_an_emulated_adapter_the_smallest_that_keeps_to_the_gpu_is_chosen_and_it_says_so() -> None:
    candidates = [candidate(ORIGINAL, 400), candidate("int8-dynamic", 90), candidate("int8-weights", 120)]
    emulated = {"emulated": True, "adapter": "google swiftshader"}
    proofs = [
        *ORIGINALS,
        proof("int8-dynamic", "webgpu", 1, INT8, placement={"on_cpu": ["MatMulInteger"]}, **emulated),
        proof("int8-weights", "webgpu", 900, INT8, **emulated),
    ]
    choice = choose(candidates, proofs, BUDGET)
    assert (choice.by_class["webgpu"], choice.by_class["webgpu-f16"]) == ("int8-weights", "int8-weights")
    assert (
        "chosen by size, because the processor emulated the graphics adapter (google swiftshader)"
        in (choice.reasons["webgpu"])
    )
    assert choice.prefer == ("wasm", "webgpu", "python"), "what an emulated adapter took says nothing of a visitor's"
    assert "too small to pay for a GPU's start" in choice.reason


def test_what_the_original_leaves_to_the_processor_too_is_no_fault_of_a_variant() -> None:
    shapes = {"emulated": True, "placement": {"on_cpu": ["Shape", "Gather"]}}
    candidates = [candidate(ORIGINAL, 400), candidate("int8-weights", 120)]
    proofs = [proof(ORIGINAL, "webgpu", 9, **shapes), proof("int8-weights", "webgpu", 9, INT8, **shapes)]
    assert choose(candidates, proofs, BUDGET).by_class["webgpu"] == "int8-weights"


def test_a_real_adapter_decides_by_its_times_and_puts_the_faster_backend_first() -> None:
    candidates = [candidate(ORIGINAL, 400), candidate("int8-weights", 120)]
    proofs = [
        *(p for p in ORIGINALS if p.backend != "webgpu"),
        proof(ORIGINAL, "webgpu", 1.0, adapter="nvidia ada"),
        proof("int8-weights", "webgpu", 1.5, INT8, adapter="nvidia ada"),
    ]
    choice = choose(candidates, proofs, BUDGET)
    assert choice.by_class["webgpu"] == ORIGINAL
    assert choice.prefer == ("webgpu", "wasm", "python")
    assert choice.reason == "measured: 1 ms on WebGPU (nvidia ada), 5 ms on WebAssembly"


def test_float16_goes_only_to_adapters_that_have_it_and_only_if_one_was_seen(tmp_path: Path) -> None:
    half, stored = tmp_path / "half.onnx", tmp_path / "stored.onnx"
    half.write_bytes(float16_model(casts=False))
    stored.write_bytes(float16_model(casts=True))
    assert computes_in_half(protobuf.load(half.read_bytes()))
    assert not computes_in_half(protobuf.load(stored.read_bytes()))
    candidates = [candidate(ORIGINAL, 400), candidate("fp16", 100, half), candidate("fp16-storage", 200, stored)]

    def on_gpu(**adapter: Any) -> Choice:
        proofs = [proof(name, "webgpu", 1.0, **adapter) for name in (ORIGINAL, "fp16", "fp16-storage")]
        return choose(candidates, [*ORIGINALS[:2], *proofs], BUDGET)

    seen = on_gpu(adapter="nvidia ada", f16=True)
    assert (seen.by_class["webgpu"], seen.by_class["webgpu-f16"]) == ("fp16-storage", "fp16")
    assert on_gpu(adapter="old", f16=False).by_class["webgpu-f16"] == "fp16-storage"


def test_python_gets_the_smallest_right_one_else_the_original_as_a_last_resort() -> None:
    candidates = [candidate(ORIGINAL, 400), candidate("int8", 110)]
    right = choose(candidates, [*ORIGINALS, proof("int8", "python", 90, INT8)], BUDGET)
    assert right.by_class["python"] == "int8"
    slow = [*ORIGINALS[:2], proof(ORIGINAL, "python", 0, None, fault="gave no answer within 20 s")]
    choice = choose(candidates, slow, BUDGET)
    assert choice.by_class["python"] == ORIGINAL
    assert choice.reasons["python"] == "original, as the last resort: gave no answer within 20 s"
    assert "python" not in choose(candidates, [proof(ORIGINAL, "python", 1, WRONG)], BUDGET).by_class


def test_a_backend_on_which_nothing_is_right_is_left_out_with_the_reason() -> None:
    choice = choose([candidate(ORIGINAL, 400)], [*ORIGINALS[:2], proof(ORIGINAL, "webgpu", 1, WRONG)], BUDGET)
    assert "webgpu" not in choice.by_class
    why = "nothing is offered; the original there: 60.0% equal best classes, expected 99.0%"
    assert choice.reasons["webgpu"] == why
    assert (
        choice.reasons["webgpu"] == "nothing is offered; the original there: 60.0% equal best classes, expected 99.0%"
    )


def test_without_an_original_there_is_nothing_to_choose() -> None:
    with pytest.raises(BuildError, match="the original model is not among the candidates"):
        choose([candidate("int8", 1)], [], BUDGET)


def test_a_site_holds_what_some_device_loads_and_nothing_else(tmp_path: Path) -> None:
    paths = {name: tmp_path / f"{name}.onnx" for name in (ORIGINAL, "int8", "int4")}
    for name, path in paths.items():
        model = onnx.load(DATA / "P_add1.onnx")
        model.doc_string = name
        path.write_bytes(model.SerializeToString())
    candidates = [candidate(name, 400 - 10 * i, path) for i, (name, path) in enumerate(paths.items())]
    proofs = [
        *ORIGINALS,
        proof("int8", "wasm", 3.0, INT8),
        proof("int8", "wasm-threads", 3.0, replace(INT8, snr_db=31.0)),
        proof("int4", "wasm", 3.1, WRONG),
    ]
    choice = choose(candidates, proofs, BUDGET)
    tree = Tree(tmp_path)
    models = SiteModels(tree, Reporter(quiet=True))
    model_id = models.add(paths[ORIGINAL], candidates, proofs, choice, [(paths["int8"], paths["int4"])])
    entry = models.entries[model_id]
    int8, original = entry["variants"]
    assert (int8["name"], int8["backends"]) == ("int8", ["wasm"])
    assert int8["error"]["snr_db"] == 31.0, "the worse of both settings"
    assert (original["name"], original["backends"]) == (ORIGINAL, ["webgpu", "wasm", "python"])
    assert entry["choice"] == {"wasm": 0, "webgpu": 1, "webgpu-f16": 1, "python": 1}
    assert entry["proven"] is True
    (reference,) = entry["references"]
    assert (tmp_path / reference["feeds"]).read_bytes() == paths["int8"].read_bytes()
    assert tree.files[reference["outputs"]]["group"] == f"verify:{model_id}"
    assert models.add(paths[ORIGINAL], candidates, proofs, choice) == model_id
    assert len([path for path in tree.files if path.endswith(".onnx")]) == 2


def test_a_site_holds_how_far_each_node_of_a_variant_is_for_who_looks(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes((DATA / "P_add1.onnx").read_bytes())
    errors = (NodeError("a", "Conv", 31.256), NodeError("b", "Relu", float("inf"), float_kept=True))
    candidates = [candidate(ORIGINAL, 400), candidate("int8", 100, path, node_errors=errors)]
    proofs = [*ORIGINALS, proof("int8", "wasm", 3.0, INT8), proof("int8", "wasm-threads", 3.0, INT8)]
    tree = Tree(tmp_path / "site")
    models = SiteModels(tree, Reporter(quiet=True))
    model_id = models.add(path, candidates, proofs, choose(candidates, proofs, BUDGET))
    variants = {variant["name"]: variant for variant in models.entries[model_id]["variants"]}
    table = json.loads((tmp_path / "site" / variants["int8"]["nodes"]).read_bytes())
    assert table == {"a": {"snr_db": 31.26, "float": False}, "b": {"snr_db": None, "float": True}}
    assert tree.files[variants["int8"]["nodes"]]["group"] == f"verify:{model_id}", "no start fetches it"
    assert "nodes" not in variants[ORIGINAL]


def test_a_model_that_is_right_nowhere_stops_the_build(tmp_path: Path) -> None:
    candidates = [candidate(ORIGINAL, 400)]
    proofs = [proof(ORIGINAL, backend, 1, WRONG) for backend in ("wasm", "webgpu", "python")]
    models = SiteModels(Tree(tmp_path), Reporter(quiet=True))
    with pytest.raises(BuildError, match="no backend gives right answers: nothing is offered"):
        models.add(DATA / "P_add1.onnx", candidates, proofs, choose(candidates, proofs, BUDGET))


def float16_model(*, casts: bool) -> bytes:
    """y = x * w with w in float16: cast to float32 first, or multiplied as it is."""
    weight = numpy_helper.from_array(np.ones(4, np.float16), "w")
    kind = TensorProto.FLOAT if casts else TensorProto.FLOAT16
    nodes = [helper.make_node("Cast", ["w"], ["c"], to=TensorProto.FLOAT)] if casts else []
    nodes.append(helper.make_node("Mul", ["x", "c" if casts else "w"], ["y"]))
    ends = [[helper.make_tensor_value_info(name, kind, [4])] for name in "xy"]
    graph = helper.make_graph(nodes, "half", *ends, [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
