"""Faults that people reported of quantizers, remade small (tests/data), on native ONNX Runtime."""

import numpy as np
import onnx
import pytest

from onnxlet.dtypes import Array
from onnxlet_build.quantization.calibrate import float_values, with_outputs
from onnxlet_build.quantization.evaluate import variant
from onnxlet_build.quantization.graphs import Graph, prepare
from onnxlet_build.quantization.histogram import Histogram
from onnxlet_build.quantization.native import Native
from onnxlet_build.quantization.ranges import Ranges
from onnxlet_build.quantization.recipes import RECIPES

from .models import case, expected

pytestmark = pytest.mark.usefixtures("small_too")

FORMS = ["fp16", "int8-dynamic", "int8-static"]


def ranges(data: bytes, feeds: dict[str, Array]) -> Ranges:
    """The ranges of all values in one run."""
    names = float_values(Graph(data))
    session = Native(with_outputs(data, names))
    values = {**feeds, **dict(zip(session.outputs, session.run(feeds), strict=True))}
    found = {}
    for name in names:
        histogram = Histogram()
        histogram.add(values[name])
        found[name] = histogram.range()
    return found


def changed(name: str, recipe: str, feeds: dict[str, Array], *, measured: bool = False) -> bytes:
    """A case with a recipe applied to every node it can change."""
    data = prepare(case(name))
    seen = ranges(data, feeds)
    targets = RECIPES[recipe].targets(Graph(data), seen)
    assert targets, f"{recipe} changes nothing in {name}"
    return variant(data, recipe, targets, seen, measured=measured)


def answers(data: bytes, feeds: dict[str, Array]) -> dict[str, Array]:
    session = Native(data)
    return dict(zip(session.outputs, session.run(feeds), strict=True))


@pytest.mark.parametrize("recipe", FORMS)
def test_a_convolution_in_two_dimensions_loads_and_answers_in_8_bits(recipe: str) -> None:
    feeds, right = expected("Q01_conv")
    got = answers(changed("Q01_conv", recipe, feeds), feeds)
    np.testing.assert_allclose(got["y"], right["y"], atol=0.02 * np.abs(right["y"]).max())


@pytest.mark.parametrize("recipe", ["int8-dynamic", "int8-static"])
def test_a_convolution_in_three_dimensions_stays_in_float(recipe: str) -> None:
    assert RECIPES[recipe].targets(Graph(prepare(case("Q01_conv3d"))), {}) == []


@pytest.mark.parametrize("recipe", FORMS)
def test_channels_of_zeros_and_of_denormal_numbers_stay_exactly_zero(recipe: str) -> None:
    feeds, right = expected("Q03_zero_channel")
    got = answers(changed("Q03_zero_channel", recipe, feeds), feeds)
    assert np.isfinite(got["a"]).all()
    np.testing.assert_array_equal(got["z"], 0)
    np.testing.assert_array_equal(got["a"][:, 1], 0)
    np.testing.assert_array_equal(got["a"][0], 0)
    np.testing.assert_allclose(got["a"], right["a"], atol=0.05)


@pytest.mark.parametrize("bits", [4, 8])
def test_zero_channels_stay_exactly_zero_in_blocks_too(bits: int) -> None:
    feeds, _ = expected("Q03_zero_channel")
    got = answers(changed("Q03_zero_channel", f"int{bits}-weights", feeds), feeds)
    assert np.isfinite(got["a"]).all()
    np.testing.assert_array_equal(got["z"], 0)
    np.testing.assert_array_equal(got["a"][:, 1:3], 0)


@pytest.mark.parametrize("recipe", [*FORMS, "fp16-storage"])
def test_a_table_of_whole_numbers_stays_exact_and_all_four_outputs_come(recipe: str) -> None:
    feeds, right = expected("Q07_tables")
    got = answers(changed("Q07_tables", recipe, feeds), feeds)
    assert list(got) == ["code", "e", "logits", "p"]
    np.testing.assert_array_equal(got["code"], right["code"])
    assert got["code"].dtype == np.int64
    np.testing.assert_allclose(got["e"], right["e"], atol=0.02)
    np.testing.assert_allclose(got["logits"], right["logits"], atol=0.08)


@pytest.mark.parametrize("measured", [False, True])
def test_tiny_and_huge_constants_keep_their_nodes_out_of_float16(measured: bool) -> None:
    feeds, right = expected("Q10_fp16_consts")
    data = changed("Q10_fp16_consts", "fp16", feeds, measured=measured)
    got = answers(data, feeds)
    np.testing.assert_array_equal(got["ln"][0], 0)
    np.testing.assert_allclose(got["ln"], right["ln"], atol=2e-3)
    np.testing.assert_allclose(got["p"], right["p"], atol=1e-3)
    for tensor in onnx.load_model_from_string(data).graph.initializer:
        assert np.isfinite(onnx.numpy_helper.to_array(tensor)).all()
        assert onnx.numpy_helper.to_array(tensor).any(), f"{tensor.name} became 0"


def test_values_over_65504_on_the_way_keep_their_nodes_out_of_float16() -> None:
    feeds, _ = expected("Q11_fp16_residual")
    data = prepare(case("Q11_fp16_residual"))
    assert RECIPES["fp16"].targets(Graph(data), ranges(data, feeds)) == []


def test_float16_that_overflows_shows_in_the_form_that_is_measured() -> None:
    feeds, right = expected("Q11_fp16_residual")
    data = prepare(case("Q11_fp16_residual"))
    every = [node.name for node in Graph(data).nodes]
    plain = answers(variant(data, "fp16", every, {}), feeds)["y"]
    np.testing.assert_allclose(plain, right["y"], atol=1e-2)  # native ONNX Runtime computes in float32
    measured = answers(variant(data, "fp16", every, {}, measured=True), feeds)["y"]
    assert not np.isfinite(measured).all()


@pytest.mark.parametrize("recipe", FORMS)
def test_an_inner_value_that_is_an_output_as_well_does_not_vanish(recipe: str) -> None:
    feeds, right = expected("G12_intermediate_out")
    got = answers(changed("G12_intermediate_out", recipe, feeds), feeds)
    assert list(got) == ["post", "pre", "same", "post_copy"]
    assert got["pre"].min() < -0.5
    for name, values in right.items():
        np.testing.assert_allclose(got[name], values, atol=0.03)
