"""Apps that the build wrote for models without one: the page answers as they do natively."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto
from onnx import helper as h

from onnxlet_build.apps import Wanted, write_app
from onnxlet_build.progress import Reporter
from tests.browser.conftest import build
from tests.browser.driver import Visit, assert_same

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXT = "[PAD] [UNK] [CLS] [SEP] [MASK] this is the best day i have had in years . nothing here works ##s"
WORDS = TEXT.split()
MEAN_DB = 80.0  # of 50,176 pixels in float32, summed in another order


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Hugging Face folder, given to the command line as it is, and a classifier's app, written with labels before."""
    folder = tmp_path_factory.mktemp("written")
    build([mood(folder / "mood"), colour(folder)], folder / "dist")
    return folder / "dist"


def mood(folder: Path) -> Path:
    torch.manual_seed(0)
    small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=len(WORDS), id2label={0: "sad", 1: "glad", 2: "neither"}, **small)
    model = transformers.BertForSequenceClassification(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(4)
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    return folder


def colour(folder: Path) -> Path:
    """How red, green and blue a picture is, in a model that says nothing of itself."""
    x = h.make_tensor_value_info("pixels", TensorProto.FLOAT, ["n", 3, 224, 224])
    y = h.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 3])
    axes = onnx.numpy_helper.from_array(np.array([2, 3]), "axes")
    graph = h.make_graph([h.make_node("ReduceMean", ["pixels", "axes"], ["scores"], keepdims=0)], "g", [x], [y], [axes])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 18)], ir_version=8), folder / "colour.onnx")
    (folder / "names.txt").write_text("red\ngreen\nblue\n")
    wanted = Wanted("image-classification", "Colour", folder / "names.txt")
    return write_app(folder / "colour.onnx", folder / "colour", Reporter(quiet=True), wanted).parent


def test_texts_and_pictures_get_the_native_answers_in_one_site(site: Path, visit: Callable[..., Visit]) -> None:
    visitor = visit(site)
    for app, labels in (("mood", {"sad", "glad", "neither"}), ("colour", {"red", "green", "blue"})):
        entry = next(entry for entry in visitor.site["apps"] if entry["name"] == app)
        assert not [path for path in entry["files"] if path.startswith(".")]
        page = visitor.open(entry["page"])
        page.locator(".example").first.click()
        page.locator(".run").first.click()
        page.locator(".result-body .outputs").wait_for()
        assert page.locator(".error").count() == 0
        assert labels <= set(re.findall(r"\w+", page.locator(".result-body").inner_text()))
        assert "error" not in visitor.start_here(app, "wasm")
        for number in range(len(entry["examples"])):
            assert_same(*visitor.run_example(app, number), MEAN_DB)


def test_the_app_of_a_model_is_kept_beside_the_site_to_be_edited(site: Path) -> None:
    (kept,) = site.with_name("dist-apps").iterdir()
    assert sorted(file.name for file in kept.iterdir()) == [
        *(".written", "app.py", "mood.onnx"),
        *("tokenizer.json", "tokenizer_config.json"),
    ]
    assert not list(site.parent.glob(".dist-building-*"))
