"""A reader whose logits are known by heart, as a network of few nodes: waves over the token's number and its place.

transformers 5 has no pipeline for question answering any more. What the last one that had it, of transformers 4.57.6,
answers with these logits stands in tests/data/question_answering.json.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnxlet.dtypes import Array

__all__ = ["reader", "waves"]

_WAVES = {"start": (6.0, 12.9898, 2.0, 0.37), "end": (6.0, 78.233, 2.0, 0.61)}  # of tokens and places: height, pace


def waves(name: str, count: int) -> tuple[Array, Array]:
    """What each token and each place adds to the "start" or "end" logit, float32 [count] each."""
    token_height, token_pace, place_height, place_pace = _WAVES[name]
    numbers = np.arange(count, dtype=np.float64)
    tokens, places = token_height * np.sin(token_pace * numbers), place_height * np.sin(place_pace * numbers)
    return tokens.astype(np.float32), places.astype(np.float32)


def reader(vocabulary: int, length: int | str = "T", dtype: int = onnx.TensorProto.INT64) -> bytes:
    """The network: input_ids [1, length] of an integer type to start_logits and end_logits, float32 [1, length]."""
    constants = [numpy_helper.from_array(np.array([0]), "zero")]
    nodes = [helper.make_node("Shape", ["input_ids"], ["length"], start=1)]
    for name in _WAVES:
        tokens, places = waves(name, vocabulary)[0], waves(name, 1000)[1]
        constants += [
            numpy_helper.from_array(tokens, f"{name}_tokens"),
            numpy_helper.from_array(places, f"{name}_places"),
        ]
        nodes.append(helper.make_node("Gather", [f"{name}_tokens", "input_ids"], [f"{name}_by_token"]))
        nodes.append(helper.make_node("Slice", [f"{name}_places", "zero", "length"], [f"{name}_by_place"]))
        nodes.append(helper.make_node("Add", [f"{name}_by_token", f"{name}_by_place"], [f"{name}_logits"]))
    graph = helper.make_graph(
        nodes,
        "reader",
        [helper.make_tensor_value_info("input_ids", dtype, [1, length])],
        [helper.make_tensor_value_info(f"{name}_logits", onnx.TensorProto.FLOAT, [1, length]) for name in _WAVES],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()
