"""From a model to its variants: what ships, and what is refused with which reason."""

import shutil
from concurrent.futures import Executor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import helper

from onnxlet.errors import BuildError
from onnxlet_build.accuracy import Budget
from onnxlet_build.progress import Reporter
from onnxlet_build.quantization.native import Native
from onnxlet_build.quantize import RECIPES, quantize
from onnxlet_build.samples import Samples
from onnxlet_build.variants import Candidate

from .models import cnn, images, mlp, model, op_types, rows


def run(
    data: bytes,
    calibration: Samples,
    evaluation: Samples,
    folder: Path,
    executor: Executor,
    *wanted: str,
    budget: str = "1%",
    **more: object,
) -> dict[str, Candidate]:
    names = list(wanted) or None
    given = (data, calibration, evaluation, Budget.parse(budget), folder, executor, Reporter(quiet=True))
    found = quantize(*given, wanted=names, **more)  # type: ignore[arg-type]
    return {candidate.name: candidate for candidate in found}


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory, executor: Executor) -> dict[str, Candidate]:
    """Every recipe on the MLP that newcomers try first."""
    folder = tmp_path_factory.mktemp("mlp")
    return run(mlp(), rows(folder / "c", 12), rows(folder / "e", 12, seed=2), folder / "out", executor, budget="20dB")


def test_every_recipe_gives_a_file_or_a_reason(variants: dict[str, Candidate]) -> None:
    assert list(variants) == list(RECIPES)
    for candidate in variants.values():
        assert bool(candidate.path) != bool(candidate.refused)
        assert candidate.path is None or candidate.path.stat().st_size == candidate.bytes
    assert [name for name, found in variants.items() if found.refused] in ([], ["int4-weights"])


def test_the_classic_mlp_of_gemm_nodes_really_quantizes_dynamically(variants: dict[str, Candidate]) -> None:
    found = variants["int8-dynamic"]
    assert found.path
    assert op_types(found.path).count("MatMulInteger") == 3
    assert "Gemm" not in op_types(found.path)
    assert found.bytes < len(mlp()) / 3.5
    x = np.random.default_rng(5).normal(size=(4, 784)).astype(np.float32)
    before, after = (Native(side).run({"x": x})[0] for side in (mlp(), found.path))
    np.testing.assert_array_equal(before.argmax(1), after.argmax(1))


@pytest.mark.parametrize(
    ("recipe", "kind", "times"),
    [
        ("fp16", "fp16", 1.9),
        ("fp16-storage", "fp16", 1.9),
        ("int8-dynamic", "int8", 3.5),
        ("int8-static", "int8", 3.5),
        ("int8-weights", "int8", 3.2),
    ],
)
def test_variants_are_as_small_as_their_format_says(
    variants: dict[str, Candidate], recipe: str, kind: str, times: float
) -> None:
    found = variants[recipe]
    assert found.format == kind
    assert len(mlp()) / found.bytes > times
    assert found.accuracy
    assert found.accuracy.samples == 12
    assert found.steps[0] == RECIPES[recipe].says


def test_static_layers_are_fused_into_integer_kernels(variants: dict[str, Candidate], tmp_path: Path) -> None:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "fused.onnx")
    options.log_severity_level = 4
    ort.InferenceSession(str(variants["int8-static"].path), options)
    assert op_types(tmp_path / "fused.onnx") == ["QuantizeLinear", "QGemm", "QGemm", "QGemm"]


def test_each_node_is_compared_with_the_originals(variants: dict[str, Candidate]) -> None:
    errors = variants["int8-dynamic"].node_errors
    assert [error.op_type for error in errors] == ["Gemm", "Relu", "Gemm", "Relu", "Gemm"]
    assert all(20 < error.snr_db < 60 for error in errors)


@pytest.mark.usefixtures("small_too")
def test_a_budget_that_needs_it_leaves_the_worst_nodes_in_float(tmp_path: Path, executor: Executor) -> None:
    calibration, evaluation = images(tmp_path / "c", 8), images(tmp_path / "e", 8, seed=2)
    out = tmp_path / "out"
    free = run(cnn(spoiled=True), calibration, evaluation, out, executor, "int8-static", budget="-200dB")
    strict = run(cnn(spoiled=True), calibration, evaluation, out, executor, "int8-static", budget="25dB")
    before, after = free["int8-static"], strict["int8-static"]
    assert before.accuracy
    assert before.accuracy.snr_db < 25
    assert not before.float_nodes
    assert after.refused == ""
    assert after.accuracy
    assert after.accuracy.snr_db >= 25
    assert {"expand1", "depth1"} & set(after.float_nodes)
    assert len(after.float_nodes) <= 5
    assert [error.node for error in after.node_errors if error.float_kept] == [
        error.node for error in after.node_errors if error.node in after.float_nodes
    ]


@pytest.mark.usefixtures("small_too")
def test_what_is_left_in_float_is_float_in_the_runtime_too(tmp_path: Path, executor: Executor) -> None:
    """ONNX Runtime quantizes float convolutions behind a DequantizeLinear with one scale for the tensor."""
    from onnxlet_build.quantization.evaluate import variant
    from onnxlet_build.quantization.graphs import Graph, prepare
    from onnxlet_build.quantization.ranges import Range

    data = prepare(cnn())
    graph = Graph(data)
    ranges = {name: Range(-8, 8, 8, 1e-3) for name in graph.types}
    names = [name for name in RECIPES["int8-static"].targets(graph, ranges) if name != "depth0"]
    changed = variant(data, "int8-static", names, ranges)
    feeds = next(iter(images(tmp_path / "x", 1)))
    plain, fused = (Native(changed, plain=plain).run(feeds)[0] for plain in (True, False))
    assert np.abs(plain - fused).max() < 0.02 * np.abs(plain).max()


def test_the_persons_metric_decides_where_there_is_one(tmp_path: Path, executor: Executor) -> None:
    data, samples = mlp((64, 64, 10)), rows(tmp_path / "e", 4, 64)
    asked: list[str] = []

    def score(path: Path) -> float:
        asked.append(path.name)
        return 0.9 if b"MatMulInteger" not in path.read_bytes() else 0.7

    out = tmp_path / "out"
    found = run(data, samples, samples, out, executor, "int8-dynamic", "fp16-storage", budget="5%", score=score)
    assert "the metric drops by 0.2" in found["int8-dynamic"].refused
    assert found["fp16-storage"].path
    assert found["fp16-storage"].accuracy
    assert found["fp16-storage"].accuracy.metric == 0.9
    assert asked[0].startswith("int8-dynamic") or asked[0] == "given.onnx"
    assert sorted(path.name for path in out.iterdir()) == ["fp16-storage.onnx"]


def test_a_recipe_that_finds_nothing_says_what_is_missing(tmp_path: Path, executor: Executor) -> None:
    data = model([helper.make_node("Relu", ["x"], ["y"])], {"x": ["batch", 784]}, ["y"], {})
    samples = rows(tmp_path / "e", 2)
    found = run(data, samples, samples, tmp_path / "out", executor)
    assert "no MatMul, Gemm or Conv with a constant float32 weight" in found["int8-static"].refused
    assert "no float32 weight" in found["fp16-storage"].refused
    assert found["fp16"].refused.startswith("not smaller: ")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_variant_that_is_not_smaller_is_refused(tmp_path: Path, executor: Executor) -> None:
    data, samples = mlp((4, 3)), rows(tmp_path / "e", 2, 4)
    found = run(data, samples, samples, tmp_path / "out", executor, "int8-dynamic")
    assert found["int8-dynamic"].refused.startswith("not smaller: ")
    assert found["int8-dynamic"].path is None


def test_a_model_that_is_quantized_already_is_left_alone(
    variants: dict[str, Candidate], tmp_path: Path, executor: Executor
) -> None:
    path = variants["int8-static"].path
    assert path
    samples = rows(tmp_path / "e", 1)
    found = run(path.read_bytes(), samples, samples, tmp_path / "out", executor)
    assert {candidate.refused for candidate in found.values()} == {
        "it is quantized already (9 DequantizeLinear): it ships as it came"
    }


def test_weights_that_are_scaled_without_the_operators_for_it_count_as_quantized(
    tmp_path: Path, executor: Executor
) -> None:
    nodes = [
        helper.make_node("Cast", ["q"], ["f"], to=onnx.TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "s"], ["w"]),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    data = onnx.load_model_from_string(model(nodes, {"x": ["batch", 784]}, ["y"], {"s": np.ones(64)}))
    data.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((784, 64), np.int8), "q"))
    samples = rows(tmp_path / "e", 1)
    found = run(data.SerializeToString(), samples, samples, tmp_path / "out", executor)
    assert {candidate.refused for candidate in found.values()} == {
        "most of its weights are int8 already: it ships as it came"
    }


def test_operators_that_native_onnx_runtime_lacks_refuse_every_recipe(tmp_path: Path, executor: Executor) -> None:
    node = helper.make_node("Mine", ["x"], ["y"], domain="my.own")
    data = onnx.load_model_from_string(model([node], {"x": [1, 4]}, ["y"], {}))
    data.opset_import.append(helper.make_opsetid("my.own", 1))
    samples = rows(tmp_path / "e", 1, 4, batch=1)
    found = run(data.SerializeToString(), samples, samples, tmp_path / "out", executor)
    assert all("native ONNX Runtime does not take the model" in candidate.refused for candidate in found.values())


def test_an_unknown_recipe_and_an_unknown_method_are_named(tmp_path: Path, executor: Executor) -> None:
    samples = Samples()
    with pytest.raises(BuildError, match="recipe 'int3': there is no such one; expected one of fp16, fp16-storage"):
        run(mlp(), samples, samples, tmp_path, executor, "int3")
    with pytest.raises(BuildError, match=r"calibration method 'max': .* minmax, percentile, entropy"):
        run(mlp(), samples, samples, tmp_path, executor, method="max")


def test_without_samples_nothing_is_claimed(tmp_path: Path, executor: Executor) -> None:
    with pytest.raises(BuildError, match="no sample to measure accuracy on; give the app an example"):
        run(mlp(), Samples(), Samples(), tmp_path / "out", executor)


@pytest.mark.usefixtures("small_too")
@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy"])
def test_the_calibration_method_can_be_chosen(tmp_path: Path, executor: Executor, method: str) -> None:
    samples = images(tmp_path / "e", 4)
    found = run(cnn(), samples, samples, tmp_path / "out", executor, "int8-static", budget="10dB", method=method)
    assert f"ranges by {method} over 4 samples" in found["int8-static"].steps[1]


def test_a_full_disk_is_noticed_before_work_begins(
    tmp_path: Path, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=1_000_000))
    samples = rows(tmp_path / "e", 1)
    with pytest.raises(BuildError, match=r"1 MB are free on this disk, expected 2 MB to quantize a model of 0 MB"):
        run(mlp(), samples, samples, tmp_path / "out", executor)


def test_ctrl_c_half_way_leaves_no_file(tmp_path: Path, executor: Executor) -> None:
    def score(path: Path) -> float:
        raise KeyboardInterrupt

    samples = rows(tmp_path / "e", 2, 64)
    with pytest.raises(KeyboardInterrupt):
        run(mlp((64, 64, 10)), samples, samples, tmp_path / "out", executor, score=score)
    assert list((tmp_path / "out").iterdir()) == []
