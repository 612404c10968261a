"""Ranges of values: the same whoever finds them, in bounded memory, from samples that are worth it."""

import subprocess
import sys
import textwrap
from concurrent.futures import Executor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from onnxlet.errors import BuildError
from onnxlet_build.progress import Reporter
from onnxlet_build.quantization.calibrate import calibrate
from onnxlet_build.quantization.graphs import prepare
from onnxlet_build.quantization.histogram import METHODS, Histogram
from onnxlet_build.samples import Samples

from .models import images, mlp, model, rows

PARTS = st.lists(
    st.lists(st.floats(-(2.0**100), 2.0**100, width=32) | st.floats(-1, 1, width=32), max_size=20),
    min_size=1,
    max_size=5,
)


def filled(*parts: list[float]) -> Histogram:
    histogram = Histogram()
    for part in parts:
        histogram.add(np.array(part, np.float32))
    return histogram


@given(PARTS)
@settings(max_examples=100, deadline=None)
def test_histograms_of_parts_add_up_to_that_of_the_whole(parts: list[list[float]]) -> None:
    whole = filled([x for part in parts for x in part])
    merged = filled(*parts[:1])
    for part in parts[1:]:
        merged.merge(filled(part))
    assert merged.counts is not None
    assert whole.counts is not None
    np.testing.assert_array_equal(merged.counts, whole.counts)
    assert [merged.range(method) for method in METHODS] == [whole.range(method) for method in METHODS]
    assert whole.counts.sum() == sum(map(len, parts))


@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=50))
@settings(max_examples=100, deadline=None)
def test_no_method_goes_beyond_what_was_seen(values: list[float]) -> None:
    histogram = filled(values)
    for method in METHODS:
        found = histogram.range(method)
        assert min(values) <= found.low <= found.high <= max(values) or found.low <= 0 <= found.high
        assert found.largest == max(map(abs, values))


def test_outliers_are_cut_by_percentile_and_entropy_and_kept_by_minmax() -> None:
    values = np.random.default_rng(0).normal(size=200_000).astype(np.float32)
    values[0] = 100
    histogram = Histogram()
    histogram.add(values)
    assert histogram.range("minmax").high == 100
    assert 3 < histogram.range("percentile").high < 6
    assert 2 < histogram.range("entropy").high < 10
    assert histogram.range("entropy").largest == 100


def test_infinities_and_nan_are_noted_and_do_not_count() -> None:
    histogram = filled([1.0, -2.0, float("inf")], [float("nan")])
    found = histogram.range()
    assert (found.low, found.high, found.finite) == (-2.0, 1.0, False)
    assert filled([0.0, 0.0]).range().least == float("inf")
    assert filled([0.0, -1e-12, 3.0]).range().least == pytest.approx(1e-12)


def test_the_ranges_of_a_model_are_those_of_its_values(tmp_path: Path, executor: Executor) -> None:
    samples = rows(tmp_path / "s", 20, 16)
    path = tmp_path / "m.onnx"
    path.write_bytes(prepare(mlp((16, 8, 4))))
    found = calibrate(path, samples, {"h0"}, executor, Reporter(quiet=True))
    x = np.stack([feeds["x"] for feeds in samples])
    assert (found["x"].low, found["x"].high) == (x.min(), x.max())
    assert found["x"].counts is None
    assert found["h0"].counts is not None
    assert found["h0"].counts.sum() == 20 * 4 * 8
    assert found["r0"].low == 0
    assert set(found) == {"x", "h0", "r0", "y"}


def test_memory_does_not_grow_with_the_calibration_set(tmp_path: Path) -> None:
    """400 MB of values, of which a calibrator that keeps them would need all."""
    sample = images(tmp_path / "s", 1, size=128).paths[0]
    script = f"""
        import resource, sys
        from pathlib import Path
        from onnxlet_build.quantization.calibrate import ranges_of
        model, sample = Path({str(tmp_path / "big.onnx")!r}), Path({str(sample)!r})
        names = ["stem.y", "stem.c"]
        ranges_of(model, names, set(names), 0, [sample] * 2)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = ranges_of(model, names, set(names), 0, [sample] * 100)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, found["stem.y"].counts.sum())
    """
    weights = np.random.default_rng(0).normal(size=(32, 3, 3, 3))
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["stem.y"], pads=[1] * 4),
        helper.make_node("Relu", ["stem.y"], ["stem.c"]),
    ]
    data = model(nodes, {"x": ["batch", 3, 128, 128]}, ["stem.y", "stem.c"], {"w": weights})
    (tmp_path / "big.onnx").write_bytes(data)
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    grown_kb, counted = map(int, done.stdout.split())
    assert counted == 100 * 32 * 128 * 128
    assert grown_kb < 30_000, f"{grown_kb} kB more for 100 samples than for 2"


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({"x": np.full((4, 784), np.nan, np.float32)}, 'calibration sample 2: input "x" has 3136 NaN of 3136 values'),
        ({"x": np.zeros((4, 700), np.float32)}, r"calibration sample 2: .*x.*784.*700"),
        ({"y": np.zeros((4, 784), np.float32)}, "calibration sample 2: .*x"),
        ({"x": np.array([["a"] * 784])}, "calibration sample 2: .*x"),
    ],
)
def test_a_sample_that_does_not_fit_is_named(
    tmp_path: Path, executor: Executor, feeds: dict[str, np.ndarray], message: str
) -> None:
    good = list(rows(tmp_path / "g", 2))
    samples = Samples.write(tmp_path / "s", [*good, feeds])
    path = tmp_path / "m.onnx"
    path.write_bytes(prepare(mlp()))
    with pytest.raises(BuildError, match=message):
        calibrate(path, samples, set(), executor, Reporter(quiet=True))


def test_no_sample_at_all_is_refused(tmp_path: Path, executor: Executor) -> None:
    with pytest.raises(BuildError, match="no calibration sample; give the app an example"):
        calibrate(tmp_path / "m.onnx", Samples(), set(), executor, Reporter(quiet=True))
