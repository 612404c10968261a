"""A model that comes alone gets an app that runs."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx import helper as h

from onnxlet import Boxes, Image
from onnxlet.errors import BuildError
from onnxlet_build.apps import write_app
from onnxlet_build.inspect_app import inspect_app
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime
from tests.values.detectors import detector


def save(path: Path, nodes: list[onnx.NodeProto], inputs: list[Any], outputs: list[Any]) -> Path:
    graph = h.make_graph(nodes, "g", inputs, outputs)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
    return path


def load(app: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("written", app)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_example(app: Path) -> Any:
    """What the app's first example gives."""
    written = load(app).app
    return written(**written.load(written.examples[0]))


def test_a_detector_gets_pictures_and_shows_boxes(tmp_path: Path, report: Reporter) -> None:
    path = tmp_path / "red and green.onnx"
    path.write_bytes(detector("yolov8", metadata={"names": "{0: 'red', 1: 'green'}"}))
    app = write_app(path, tmp_path / "app", report)
    files = {file.name for file in app.parent.iterdir()}
    assert files == {"app.py", "red-and-green.onnx", "labels.txt", "example.png", ".written"}
    assert isinstance(run_example(app), Boxes)
    pixels = np.full((64, 64, 3), 120, np.uint8)
    pixels[16:24, 32:40] = [255, 0, 0]
    (box,) = load(app).app(Image(pixels), 0.5).items
    assert (box.label, box.box) == ("red", (32, 16, 40, 24))


def test_any_other_model_gets_tensors_by_its_signature(tmp_path: Path, report: Reporter, runtime: Runtime) -> None:
    x = h.make_tensor_value_info("x.1", TensorProto.FLOAT, ["batch", 4])
    k = h.make_tensor_value_info("session", TensorProto.INT64, [2])
    y = h.make_tensor_value_info("lambda", TensorProto.FLOAT, ["batch", 4])
    z = h.make_tensor_value_info("session:0", TensorProto.INT64, [2])
    nodes = [h.make_node("Relu", ["x.1"], ["lambda"]), h.make_node("Add", ["session", "session"], ["session:0"])]
    app = write_app(save(tmp_path / "two.onnx", nodes, [x, k], [y, z]), tmp_path / "app", report)
    relu, doubled = run_example(app)
    assert (relu.shape, relu.min() >= 0, doubled.dtype) == ((1, 4), True, np.int64)
    found = inspect_app(app, tmp_path / "scratch", report, runtime)
    assert list(found.models) == ["two.onnx"]
    (function,) = found.functions
    assert [(i["label"], i["options"]) for i in function["inputs"]] == [
        ("x.1", {"dtype": "float32", "shape": [None, 4]}),
        ("session", {"dtype": "int64", "shape": [2]}),
    ]
    assert [o["label"] for o in function["outputs"]] == ["lambda", "session:0"]
    (example,) = found.examples
    assert [o["dtype"] for o in example["outputs"]] == ["float32", "int64"]


def test_texts_and_sequences_pass_too(tmp_path: Path, report: Reporter) -> None:
    x = h.make_tensor_value_info("words", TensorProto.STRING, [3])
    y = h.make_tensor_value_info("same", TensorProto.STRING, [3])
    z = h.make_tensor_sequence_value_info("parts", TensorProto.STRING, None)
    nodes = [h.make_node("Identity", ["words"], ["same"]), h.make_node("SequenceConstruct", ["words"], ["parts"])]
    app = write_app(save(tmp_path / "words.onnx", nodes, [x], [y, z]), tmp_path / "app", report)
    same, parts = run_example(app)
    assert same.tolist() == parts[0].tolist() == ["s0", "s1", "s2"]


def test_without_a_size_that_runs_there_is_no_example(tmp_path: Path, report: Reporter) -> None:
    x = h.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    y = h.make_tensor_value_info("y", TensorProto.FLOAT, [7, 11])
    shape = h.make_node("Constant", [], ["shape"], value_ints=[7, 11])
    nodes = [shape, h.make_node("Reshape", ["x", "shape"], ["y"])]
    app = write_app(save(tmp_path / "odd.onnx", nodes, [x], [y]), tmp_path / "app", report)
    module = load(app)
    assert module.app.examples == ()
    assert module.app(np.zeros(77, np.float32)).shape == (7, 11)


def test_an_app_that_a_person_changed_is_left_alone(tmp_path: Path, report: Reporter) -> None:
    path = tmp_path / "yolo.onnx"
    path.write_bytes(detector("yolov8"))
    app = write_app(path, tmp_path, report)  # beside the model: which stays
    assert write_app(path, tmp_path, report) == app
    app.write_text(app.read_text() + "# mine\n")
    with pytest.raises(BuildError, match=r"app\.py: is there already, and not what would be written; build it instead"):
        write_app(path, tmp_path, report)
    assert app.read_text().endswith("# mine\n")


def test_a_folder_of_a_hugging_face_detector_becomes_an_app(tmp_path: Path, report: Reporter) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.YolosConfig(
        **sizes, image_size=[64, 96], patch_size=16, num_detection_tokens=5, id2label={0: "cat", 1: "fire hydrant"}
    )
    folder = tmp_path / "tiny-yolos"
    model = transformers.YolosForObjectDetection(config).eval()
    model.save_pretrained(folder)
    mean_std = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    size = {"shortest_edge": 64, "longest_edge": 96}
    (folder / "preprocessor_config.json").write_text(json.dumps({"size": size, "do_normalize": True, **mean_std}))
    app = write_app(folder, tmp_path / "app", report)
    module = load(app)
    picture = Image.open(app.parent / "example.png")
    boxes = module.app(picture, 0.0)
    # Against transformers: its own model, and its own way from outputs to boxes.
    processor = transformers.YolosImageProcessorPil.from_pretrained(folder)
    with torch.no_grad():
        outputs = model(**processor(picture.array, return_tensors="pt", do_pad=False))
    (expected,) = processor.post_process_object_detection(outputs, threshold=0.0, target_sizes=[(240, 320)])
    order = expected["scores"].argsort(descending=True)
    assert [box.label for box in boxes.items] == [config.id2label[int(i)] for i in expected["labels"][order]]
    np.testing.assert_allclose([b.score for b in boxes.items], expected["scores"][order], atol=1e-4)
    wanted = np.clip(expected["boxes"][order].numpy(), 0, [320, 240, 320, 240])
    np.testing.assert_allclose([b.box for b in boxes.items], wanted, atol=0.1)
