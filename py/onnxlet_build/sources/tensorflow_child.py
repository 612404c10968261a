"""Runs in the TensorFlow environment: converts a Keras file or a SavedModel, and answers random inputs with TensorFlow.

    python tensorflow_child.py keras|saved_model PATH OUT

OUT receives model.onnx, and numbered feeds_N.npz (by the names of the ONNX inputs) and answers_N.npz (in the order of
its outputs, "0", "1", ...). Imports nothing of onnxlet.
"""

import os
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": "-1"}
OPSET = 18  # the newest that tf2onnx 1.17 writes
BATCHES = (2, 1, 3)
OTHER_SIZE = 32  # of dimensions that the model leaves open


def main(kind: str, path: str, out: Path) -> None:
    import numpy as np

    model, outputs, inputs, answer, highest = (from_keras if kind == "keras" else from_saved_model)(path, out)
    names = named(model, outputs, inputs)
    for number, batch in enumerate(BATCHES):
        rng = np.random.default_rng(number)
        feeds = [random(spec, batch, highest, rng) for spec in inputs]
        by_name: dict[str, Any] = dict(zip(names, feeds, strict=True))
        answers: dict[str, Any] = {str(i): np.asarray(a) for i, a in enumerate(answer(feeds))}
        np.savez(out / f"feeds_{number}.npz", **by_name)
        np.savez(out / f"answers_{number}.npz", **answers)


def from_keras(path: str, out: Path) -> tuple[Path, list[str], list[Any], Any, int]:
    """Load a .keras file. Returns: the .onnx file, output names, input specs, the model's own answers, vocabulary."""
    import keras
    import numpy as np

    try:
        model = keras.models.load_model(path, compile=False)
    except (TypeError, ValueError) as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        said = next((line for line in lines if "not locate class" in line or "Unknown" in line), lines[0])
        fail(f"Keras cannot load it ({said[:200]}); layers of your own: export a SavedModel, model.export(folder)")
    if isinstance(model, keras.Sequential):  # has neither `input` nor `output_names` before it is called
        model = keras.Model(model.inputs, model.outputs)
    sizes = [layer.input_dim for layer in model.layers if isinstance(layer, keras.layers.Embedding)]
    highest = min(sizes, default=2)

    def answer(feeds: list[Any]) -> Any:
        given = keras.tree.pack_sequence_as(model.input, feeds)
        return keras.tree.flatten(model(given, training=False))

    inputs = keras.tree.flatten(model.inputs)
    answer([random(spec, 1, highest, np.random.default_rng(0)) for spec in inputs])  # Keras exports what was called
    model.export(out / "model.onnx", format="onnx", opset_version=OPSET, verbose=False)
    return out / "model.onnx", model.output_names, inputs, answer, highest


def from_saved_model(path: str, out: Path) -> tuple[Path, list[str], list[Any], Any, int]:
    """Load a SavedModel's serving signature. Returns: as `from_keras`."""
    import tensorflow as tf
    from tf2onnx import convert

    signatures = tf.saved_model.load(path).signatures
    name = "serving_default" if "serving_default" in signatures else next(iter(signatures), None)
    if name is None:
        fail("has no signature; save it with tf.saved_model.save(model, folder, signatures=...), or model.export")
    function = signatures[name]
    model = out / "model.onnx"
    arguments = ["--saved-model", path, "--output", str(model), "--opset", str(OPSET), "--signature_def", name]
    sys.argv[1:] = arguments
    convert.main()
    specs = list(function.structured_input_signature[1].values())
    outputs = list(function.structured_outputs)

    def answer(feeds: list[Any]) -> Any:
        given = {spec.name: tf.constant(feed) for spec, feed in zip(specs, feeds, strict=True)}
        got = function(**given)
        return [got[output] for output in outputs]

    return model, outputs, specs, answer, 2


def named(model: Path, outputs: list[str], inputs: list[Any]) -> list[str]:
    """Give the outputs the source's names, and the first dimension its own. Returns: the names of the inputs."""
    import onnx

    proto = onnx.load(model)
    graph = proto.graph
    given = {value.name.partition(":")[0]: value for value in graph.input}
    names = [str(spec.name) for spec in inputs]
    # Where TensorFlow changed names, both lists are in the same order.
    order = [given[name] for name in names] if set(names) <= given.keys() else list(graph.input)
    by_name = {value.name: value for value in graph.output}
    results = [by_name[output] for output in outputs] if set(outputs) <= by_name.keys() else list(graph.output)
    renamed = {value.name: output for value, output in zip(results, outputs, strict=True)}
    renamed |= {value.name: str(spec.name) for value, spec in zip(order, inputs, strict=True)}
    for node in graph.node:
        node.input[:] = [renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
    for value in [*order, *results]:
        value.name = renamed[value.name]
        sizes = value.type.tensor_type.shape.dim
        for axis, size in enumerate(sizes):
            if size.dim_param.startswith("unk__"):
                size.dim_param = "batch" if axis == 0 else f"{value.name}_{axis}"
    kept = [onnx.ValueInfoProto.FromString(value.SerializeToString()) for value in results]
    del graph.output[:]
    graph.output.extend(kept)  # in the source's order
    onnx.save(proto, model)
    return [value.name for value in order]


def random(spec: Any, batch: int, highest: int, rng: Any) -> Any:
    """Values for one input: numbers below `highest` where they are whole, as embeddings want."""
    import numpy as np
    import tensorflow as tf

    rank = spec.shape.rank if hasattr(spec.shape, "rank") else len(spec.shape)
    if rank is None:
        fail(f"input {spec.name!r} has no rank; save it with an input signature")
    sizes = list(spec.shape)
    shape = [size or (batch if axis == 0 else OTHER_SIZE) for axis, size in enumerate(sizes)]
    dtype = np.dtype(tf.as_dtype(spec.dtype).as_numpy_dtype)
    if dtype.kind in "iu":
        return rng.integers(0, highest, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind != "f":
        fail(f"input {spec.name!r} is {spec.dtype}: made-up inputs are numbers only")
    return rng.standard_normal(shape).astype(dtype)


def fail(text: str) -> NoReturn:
    """End with a sentence for the person at the build."""
    print(text, file=sys.stderr)
    sys.exit(1)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    try:
        main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    except Exception as error:  # whatever the two libraries raise: the last line is what the build shows
        said = " ".join(str(error).split())[:300]
        fail(f"TensorFlow or tf2onnx fails on it ({type(error).__name__}: {said}); use TensorFlow's own layers only")
