"""The recipes, by name."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from . import dynamic, half, static, weights
from .graphs import Graph
from .ranges import Ranges

__all__ = ["RECIPES", "Recipe"]

Change = Callable[[Graph, Collection[str], Ranges], None]


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to make a model smaller.

    Args:
        says: what it does, for the report.
        needs: what a model must have for it, for the refusal of a model that has none.
        targets: names of the nodes that it can change.
        change: changes these nodes, all or some of them.
        measured: the change that is run natively to measure accuracy; None where it is `change`.
        calibrated: whether it needs the ranges of the values; without, those of convolutions' inputs correct biases.
        instead: the change for nodes that suffer from `change`; None leaves them in float32.
        left: what those nodes get, in words.
        others: the change for all nodes that are no targets, or stay in float32.
    """

    name: str
    says: str
    needs: str
    targets: Callable[[Graph, Ranges], list[str]]
    change: Change
    measured: Change | None = None
    calibrated: bool = False
    instead: Change | None = None
    left: str = "stay in float32"
    others: Change | None = None


_PRODUCTS = "no MatMul, Gemm{more} with a constant float32 weight"

RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "fp16",
            "computes in float16; values outside of its range stay float32",
            "no operator on float32 that has a float16 form",
            half.targets,
            half.build,
            half.rounded,
            calibrated=True,
        ),
        Recipe(
            "fp16-storage",
            "weights stored as float16, computed in float32",
            "no float32 weight of some size whose values fit into float16",
            half.targets_storage,
            half.build_storage,
        ),
        Recipe(
            "int8-dynamic",
            "weights int8 with a scale for each channel, activations uint8 with scales found at run time",
            _PRODUCTS.format(more=", Conv, LSTM or Gather"),
            dynamic.targets,
            dynamic.build,
            others=half.build_storage,
        ),
        Recipe(
            "int8-static",
            "weights int8 with a scale for each channel, activations uint8 with scales from the calibration samples",
            _PRODUCTS.format(more=" or Conv"),
            static.targets,
            static.build,
            calibrated=True,
            others=half.build_storage,
        ),
        Recipe(
            "int8-weights",
            "weights stored with 8 bits, products in blocks of 32, computed in float32",
            _PRODUCTS.format(more=", Conv or Gather") + " of some size",
            weights.targets_int8,
            weights.build_int8,
            others=half.build_storage,
        ),
        Recipe(
            "int4-weights",
            "weights stored with 4 bits in blocks of 32, those of convolutions with 8, computed in float32",
            _PRODUCTS.format(more=" or Gather") + " of some size",
            weights.targets_int4,
            weights.build_int4,
            instead=weights.build_int8,
            left="have 8 bits",
            others=half.build_storage,
        ),
    )
}
