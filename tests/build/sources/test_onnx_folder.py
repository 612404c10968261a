"""Folders that have their ONNX model, as Optimum and Transformers.js lay them out, need no export."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto
from onnx import helper as h

from onnxlet import InferenceSession, Tokenizer
from onnxlet.errors import BuildError
from onnxlet_build.check import check
from onnxlet_build.sources import export, open_file

CONFIG = {
    "model_type": "roberta",
    "architectures": ["RobertaForSequenceClassification"],
    "id2label": {"0": "bad", "1": "good"},
    "problem_type": "multi_label_classification",
    "max_position_embeddings": 514,
    "pad_token_id": 1,
}


def model(classes: int = 2) -> bytes:
    x = h.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", classes])
    y = h.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", classes])
    graph = h.make_graph([h.make_node("Cast", ["input_ids"], ["logits"], to=TensorProto.FLOAT)], "g", [x], [y])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8).SerializeToString()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mood"
    (made / "onnx").mkdir(parents=True)
    (made / "onnx" / "model.onnx").write_bytes(model())
    (made / "onnx" / "model_fp16.onnx").write_bytes(model(3))
    (made / "config.json").write_text(json.dumps(CONFIG))
    (made / "tokenizer.json").write_text("{}")
    (made / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 10**30}))
    return made


def told(data: bytes) -> dict[str, str]:
    return dict(InferenceSession(data).get_modelmeta().custom_metadata_map)


SAID = {
    "onnxlet.task": "text-classification",
    "onnxlet.problem_type": "multi_label_classification",
    "onnxlet.max_length": "512",
    "names": "{0: 'bad', 1: 'good'}",
}


def test_the_configuration_goes_into_the_models_metadata_and_nothing_else_changes(folder: Path) -> None:
    made = export(folder, "mood.onnx")
    assert told(made.data) == SAID
    before, after = onnx.load_from_string(model()), onnx.load_from_string(made.data)
    assert after.graph == before.graph
    assert set(made.files) == {"config.json", "tokenizer.json", "tokenizer_config.json", "labels.txt"}
    assert made.files["labels.txt"] == b"bad\ngood\n"
    assert made.notes == ("is onnx/model.onnx of mood; nothing was exported",)


def test_a_file_in_such_a_folder_is_known_by_it_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(export(folder / "onnx" / "model_fp16.onnx", "m.onnx").data)["onnxlet.task"] == "text-classification"
    monkeypatch.chdir(folder / "onnx")
    assert told(export("model.onnx", "m.onnx").data) == SAID


def test_a_model_that_says_so_itself_is_believed(folder: Path) -> None:
    proto = onnx.load_from_string(model())
    h.set_model_props(proto, {"onnxlet.task": "feature-extraction", "names": "['a', 'b']"})
    onnx.save(proto, folder / "onnx" / "model.onnx")
    assert told(export(folder, "m.onnx").data) == SAID | {"onnxlet.task": "feature-extraction", "names": "['a', 'b']"}


def test_a_file_beside_other_models_is_only_itself(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    for name in ("a.onnx", "b.onnx"):
        (tmp_path / name).write_bytes(model())
    assert export(tmp_path / "a.onnx", "a.onnx").data == model()
    with pytest.raises(BuildError, match=r"has 2 models \(a\.onnx, b\.onnx\); give the path of one of them"):
        open_file(tmp_path)


@pytest.mark.parametrize(
    "config", [{}, {"architectures": ["GPT2LMHeadModel"]}, {"id2label": None, "architectures": []}]
)
def test_a_folder_that_says_nothing_gives_its_model(tmp_path: Path, config: dict[str, Any]) -> None:
    (tmp_path / "only.onnx").write_bytes(model())
    (tmp_path / "labels.txt").write_text("x\ny\n")
    if config:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", **config}))
    made = export(tmp_path, "only.onnx")
    assert made.data == model()
    assert made.files["labels.txt"] == b"x\ny\n"


def test_checking_a_folder_says_what_an_app_for_it_would_do(folder: Path) -> None:
    checked = check(folder)
    assert checked.task == "text-classification (as its files say)"
    assert checked.ok
    assert checked.path == str(folder)


def test_what_an_export_wrote_beside_a_file_goes_with_it(tmp_path: Path) -> None:
    (tmp_path / "mood.onnx").write_bytes(model())
    (tmp_path / "vocab.txt").write_text("a\n")
    (tmp_path / "labels.txt").write_text("bad\ngood\n")
    made = export(tmp_path / "mood.onnx", "mood.onnx")
    assert made.data == model()
    assert made.files == {"vocab.txt": b"a\n", "labels.txt": b"bad\ngood\n"}


def test_a_tokenizer_that_only_python_reads_is_converted(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    (folder / "tokenizer.json").unlink()
    words = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", "a", "b", "ab", "\u0120"]
    (folder / "vocab.json").write_text(json.dumps({word: i for i, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\na b\n")
    made = export(folder, "mood.onnx")
    assert "its tokenizer was turned into a tokenizer.json" in made.notes
    (tmp_path / "tokenizer.json").write_bytes(made.files["tokenizer.json"])
    assert Tokenizer(tmp_path / "tokenizer.json").encode("abb").ids == [0, 7, 6, 2]
    (folder / "vocab.json").write_text("not JSON")
    assert "no tokenizer.json can be made of it (" in export(folder, "mood.onnx").notes[1]
