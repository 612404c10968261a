"""Detectors: pictures to inputs, outputs to boxes in the picture's own pixels, whichever head a model has."""

import asyncio
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper as h

from onnxlet import Image, InferenceSession
from onnxlet.errors import InvalidInput
from onnxlet.source import NodeArg
from onnxlet.tasks import Frame, ImageInput, ObjectDetector, non_max_suppression, recognize

from .detectors import LABELS, SIDES, detector

NAMES = {"names": "{0: 'red', 1: 'green'}", "task": "detect", "imgsz": "[64, 64]", "stride": "32"}


def session(data: bytes) -> InferenceSession:
    return InferenceSession(data, providers=["CPUExecutionProvider"])


def picture() -> Image:
    """128 x 96: grey with a red and a green square, which become one cell each of a letterboxed 64 x 64 input."""
    pixels = np.full((96, 128, 3), 120, np.uint8)
    pixels[16:32, 32:48] = [255, 0, 0]
    pixels[80:96, 112:128] = [0, 255, 0]
    return Image(pixels)


def found(detect: ObjectDetector, image: Image, threshold: float = 0.5) -> list[tuple[str, list[float]]]:
    return [(item.label, [round(v, 3) for v in item.box]) for item in detect(image, threshold).items]


@pytest.mark.parametrize("head", ["yolov5", "yolov8", "end-to-end"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_known_boxes_come_out_in_the_pixels_of_the_picture(head: str, dynamic: bool) -> None:
    metadata = {**NAMES, "end2end": str(head == "end-to-end")}
    detect = ObjectDetector(session(detector(head, metadata=metadata, dynamic=dynamic)))
    assert detect.head == head
    assert sorted(found(detect, picture())) == [("green", [112, 80, 128, 96]), ("red", [32, 16, 48, 32])]


def test_the_sides_of_a_distribution_go_left_top_right_bottom() -> None:
    detect = ObjectDetector(session(detector("nanodet")), names=LABELS)
    assert (detect.head, detect.image.bgr) == ("nanodet", True)
    left, top, right, bottom = (distance * 8 * 2 for distance in SIDES)  # cells of 8, at half the picture's scale
    red = [40 - left, 24 - top, 40 + right, 24 + bottom]
    green = [120 - left, 88 - top, 128, 96]  # clipped
    assert sorted(found(detect, picture())) == [("green", green), ("red", red)]


@pytest.mark.parametrize("head", ["detr", "rt-detr"])
def test_boxes_in_shares_go_with_a_stretched_picture(head: str) -> None:
    stretched = ImageInput((64, 64), "stretch")
    detect = ObjectDetector(session(detector(head)), names=LABELS, image=stretched)
    assert detect.head == head
    pixels = np.full((192, 128, 3), 120, np.uint8)
    pixels[48:72, 32:48] = [255, 0, 0]
    assert found(detect, Image(pixels)) == [("red", [32, 48, 48, 72])]


def test_of_boxes_over_one_thing_the_surest_stays() -> None:
    detect = ObjectDetector(session(detector("yolov5", metadata=NAMES)))
    assert len(detect(picture(), 0.5).items) == 2
    everything = detect(picture(), 0.5, iou_threshold=1.0).items
    assert [round(item.score, 2) for item in everything] == [1, 1, 0.9, 0.9, 0.8, 0.8]
    assert len(detect(picture(), 0.5, iou_threshold=1.0, limit=4).items) == 4


def test_an_async_app_gets_the_same() -> None:
    detect = ObjectDetector(session(detector("yolov8", metadata=NAMES)))
    assert asyncio.run(detect.acall(picture(), 0.5)).items == detect(picture(), 0.5).items


def test_a_float16_model_is_fed_float16() -> None:
    proto = onnx.load_model_from_string(detector("yolov8", metadata=NAMES))
    proto.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    cast = h.make_node("Cast", ["images"], ["wide"], to=onnx.TensorProto.FLOAT)
    for node in proto.graph.node:
        node.input[:] = ["wide" if name == "images" else name for name in node.input]
    proto.graph.node.insert(0, cast)
    assert len(found(ObjectDetector(session(proto.SerializeToString())), picture())) == 2


def test_scores_that_are_nan_are_an_error() -> None:
    proto = onnx.load_model_from_string(detector("yolov8", metadata=NAMES))
    proto.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.full((1, 2, 3), np.nan, np.float32), "c1"))
    for node in proto.graph.node:
        if node.op_type == "MatMul":
            node.input[0] = "c1"
    proto.graph.initializer[0].name = "c1"
    del proto.graph.initializer[1]
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 3, -1]), "c0"))
    with pytest.raises(InvalidInput, match="scores hold NaN"):
        ObjectDetector(session(proto.SerializeToString()))(picture())


def test_a_model_without_names_shows_numbers_and_too_few_names_are_an_error() -> None:
    data = detector("yolov8")
    assert {label for label, _ in found(ObjectDetector(session(data)), picture())} == {"0", "1"}
    assert {label for label, _ in found(ObjectDetector(session(data), names={1: "green"}), picture())} == {"0", "green"}
    with pytest.raises(InvalidInput, match="got 1 names for the 2 classes that the outputs of a yolov8 head show"):
        ObjectDetector(session(data), names=["red"])
    without_count = session(detector("end-to-end"))
    with pytest.raises(InvalidInput, match="found class 1 but has 1 names"):
        ObjectDetector(without_count, names=["red"])(picture())


def test_what_is_no_detector_is_refused_with_its_outputs() -> None:
    x, y = (h.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 3, 8, 8]) for name in "xy")
    graph = h.make_graph([h.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    data = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8).SerializeToString()
    with pytest.raises(InvalidInput, match=r"no known head has these outputs: y \[1, 3, 8, 8\]; give head= \(yolov5, "):
        ObjectDetector(session(data))
    with pytest.raises(InvalidInput, match='no head "yolo99"; known are yolov5'):
        ObjectDetector(session(data), head="yolo99")
    with pytest.raises(InvalidInput, match=r"output is \[1, 3, 8, 8\], expected \[1, rows, columns\]"):
        ObjectDetector(session(data), head="yolov8", image=ImageInput((8, 8)))(picture())


# --------------------------------------------------------------------------------------------------- recognizing

IMAGE = [1, 3, 640, 640]
COCO = {"names": str({i: f"class {i}" for i in range(80)}), "task": "detect"}


@pytest.mark.parametrize(
    ("image", "outputs", "metadata", "head"),
    [
        (IMAGE, [[1, 84, 8400]], {}, "yolov8"),
        (IMAGE, [[1, 84, 8400]], COCO, "yolov8"),
        (IMAGE, [[1, 6, 8400]], {}, "yolov8"),
        ([1, 3, 480, 640], [[1, 84, 6300]], {}, "yolov8"),
        ([1, 3, 1280, 1280], [[1, 84, 34000]], {}, "yolov8"),  # four strides
        (["batch", 3, "height", "width"], [["batch", 84, "anchors"]], COCO, "yolov8"),
        (IMAGE, [[1, 25200, 85]], {}, "yolov5"),
        (IMAGE, [[1, 25200, 6]], {}, "yolov5"),
        (IMAGE, [[1, 25200, 85], [1, 3, 80, 80, 85], [1, 3, 40, 40, 85], [1, 3, 20, 20, 85]], {}, "yolov5"),
        (["batch", 3, "height", "width"], [["batch", "anchors", 85]], COCO, "yolov5"),
        (IMAGE, [[1, 300, 6]], {}, "end-to-end"),
        (["batch", 3, "height", "width"], [["batch", 300, 6]], {**COCO, "end2end": "True"}, "end-to-end"),
        ([1, 3, 416, 416], [[1, n, c] for c in (80, 44) for n in (169, 2704, 676)], {}, "nanodet"),
        (IMAGE, [[1, 8400, 85]], {}, None),  # YOLOX: raw, or YOLOv6: decoded
        (IMAGE, [[1, 84, 8400]], {**COCO, "task": "pose"}, None),
        (IMAGE, [[1, 116, 8400], [1, 32, 160, 160]], {}, None),  # masks too
        (IMAGE, [[1, 85, 8400]], COCO, None),  # not the named classes
        (IMAGE, [[1, 1000]], {}, None),
        ([1, 1, 640, 640], [[1, 84, 8400]], {}, None),
        (["batch", 3, "height", "width"], [["batch", 84, "anchors"]], {}, None),
        (["batch", 16], [["batch", 300, 6]], {}, None),
    ],
)  # fmt: skip
def test_heads_are_known_by_shapes_and_metadata(
    image: list[Any], outputs: list[list[Any]], metadata: dict[str, str], head: str | None
) -> None:
    args = [NodeArg(f"output{i}", "tensor(float)", shape) for i, shape in enumerate(outputs)]
    seen = recognize([NodeArg("images", "tensor(float)", image)], args, metadata)
    assert (seen.head if seen else None) == head


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("{0: 'person', 1: 'it\\'s'}", ("person", "it's")),
        ("['person', 'car']", ("person", "car")),
        ("{0: 'person', 2: 'car'}", ("person", "1", "car")),
        ("__import__('os').getcwd()", ()),
        ("{0: 'person'", ()),
    ],
)
def test_names_are_read_as_python_writes_them_and_nothing_is_run(names: str, expected: tuple[str, ...]) -> None:
    args = [NodeArg("output0", "tensor(float)", [1, 300, 6])]
    seen = recognize([NodeArg("images", "tensor(float)", IMAGE)], args, {"names": names})
    assert seen is not None
    assert seen.names == expected


# ------------------------------------------------------------------------------------------------ letterbox and back


@settings(deadline=None)  # a busy machine is no fault of the letterbox
@given(st.integers(1, 3000), st.integers(1, 3000), st.sampled_from([(640, 640), (416, 320), (64, 96)]))
def test_a_letterbox_lies_where_ultralytics_puts_it(width: int, height: int, size: tuple[int, int]) -> None:
    """Source: ultralytics' LetterBox, which rounds margins of half a pixel down at the left and the top."""
    frame = ImageInput(size).frame(Image(np.zeros((height, width), np.uint8)))
    scale = min(size[0] / width, size[1] / height)
    scaled = (max(1, round(width * scale)), max(1, round(height * scale)))
    margins = tuple(round((whole - part) / 2 - 0.1) for whole, part in zip(size, scaled, strict=True))
    assert (frame.scaled, frame.offset) == (scaled, margins)
    whole = [*margins, margins[0] + scaled[0], margins[1] + scaled[1]]
    np.testing.assert_allclose(frame.to_picture(np.array([whole], float)), [[0, 0, width, height]])


def test_margins_are_grey_and_boxes_are_clipped() -> None:
    x, frame = ImageInput((64, 64)).prepare(picture())
    assert x.shape == (1, 3, 64, 64)
    np.testing.assert_allclose(x[0, :, [0, 7, 56, 63]], 114 / 255, rtol=1e-6)
    np.testing.assert_allclose(x[0, :, 8:56].mean(axis=(1, 2)), picture().array.mean(axis=(0, 1)) / 255, rtol=1e-2)
    clipped = frame.to_picture(np.array([[-9.0, -9, 99, 99], [10, 0, 20, 6]]))
    assert clipped.tolist() == [[0, 0, 128, 96], [20, 0, 40, 0]]


def test_a_shortest_edge_rounds_as_transformers_does() -> None:
    """Sizes that `transformers.image_transforms.get_size_with_aspect_ratio` gives."""
    detr = ImageInput.from_config({"size": {"shortest_edge": 800, "longest_edge": 1333}, "image_mean": [0.5] * 3})
    expected = {(640, 480): (1066, 800), (480, 640): (800, 1066), (1000, 300): (1333, 400), (1869, 651): (1333, 464)}
    for size, scaled in expected.items():
        assert detr.frame(Image(np.zeros(size[::-1], np.uint8))) == Frame(size, scaled)
    small = ImageInput((64, 96), "shortest_edge")
    assert small.frame(Image(np.zeros((651, 1869), np.uint8))).scaled == (96, 33)  # not 33 * 1869 / 651, 94.7


def test_a_preprocessor_without_a_known_size_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"size is \{'max_pixels': 9\}, expected height and width, or shortest_edge"):
        ImageInput.from_config({"size": {"max_pixels": 9}})


# ---------------------------------------------------------------------------------------------------- suppression


def onnx_nms() -> onnxruntime.InferenceSession:
    kinds = [("boxes", 1, [1, "n", 4]), ("scores", 1, [1, "c", "n"]), ("most", 7, [1]), ("iou", 1, [1])]
    inputs = [h.make_tensor_value_info(*kind) for kind in kinds]
    output = h.make_tensor_value_info("kept", onnx.TensorProto.INT64, ["k", 3])
    node = h.make_node("NonMaxSuppression", [kind[0] for kind in kinds], ["kept"])
    model = h.make_model(
        h.make_graph([node], "g", inputs, [output]), opset_imports=[h.make_opsetid("", 17)], ir_version=8
    )
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 60), st.integers(1, 4), st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]), st.integers(0, 10_000))
def test_suppression_keeps_what_onnx_runtime_keeps_class_by_class(n: int, classes: int, iou: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low = rng.uniform(0, 50, (n, 2)).astype(np.float32)
    boxes = np.hstack([low, low + rng.uniform(1, 40, (n, 2)).astype(np.float32)])
    scores, kinds = rng.permutation(n).astype(np.float32) + 1, rng.integers(0, classes, n)
    by_class = np.where(kinds == np.arange(classes)[:, None], scores, -1)[None]
    feeds = {"boxes": boxes[None], "scores": by_class, "most": np.array([1000]), "iou": np.array([iou], np.float32)}
    theirs = {int(i) for _, c, i in NMS.run(None, feeds)[0] if kinds[i] == c}
    ours = non_max_suppression(boxes, scores, kinds, iou).tolist()
    assert set(ours) == theirs
    assert ours == sorted(ours, key=lambda i: -scores[i])


NMS = onnx_nms()
