"""Models of other libraries, from their source to the page: what the page answers is what the library answers."""

import io
import shutil
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.browser.conftest import ROOT, build
from tests.browser.driver import Visit, snr_db

APPS = Path(__file__).parent / "source_apps"


def source(name: str) -> ModuleType:
    """The model.py of an app."""
    spec = spec_from_file_location(f"source_{name}", APPS / name / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them but the one with variants, in one site."""
    folder = tmp_path_factory.mktemp("sources")
    shutil.copytree(APPS, folder / "apps")  # a build writes models beside their apps
    names = ("lightgbm", "xgboost", "pipeline", "keras", "text")
    apps = [*(folder / "apps" / name for name in names), ROOT / "examples" / "detect"]
    return build(apps, folder / "dist")


def tensors(visitor: Visit, app: str, example: int = 0) -> list[Any]:
    """The arrays that the page gives for an example."""
    answer, _ = visitor.run_example(app, example)
    assert "error" not in answer, answer
    return [np.load(io.BytesIO(answer["buffers"][value["buffer"]])) for value in answer["outputs"]]


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_boosted_trees_answer_as_their_library_does(name: str, site: Path, visit: Callable[..., Visit]) -> None:
    made = source(name)
    expected = made.estimator().predict_proba(made.rows())
    visitor = visit(site)
    assert "error" not in visitor.start(name)
    labels, probabilities = tensors(visitor, name)
    np.testing.assert_array_equal(labels, expected.argmax(1))
    np.testing.assert_allclose(probabilities, expected, rtol=1e-5, atol=1e-6)


def test_a_scikit_learn_pipeline_answers_as_in_python(site: Path, visit: Callable[..., Visit]) -> None:
    import pandas

    rows = [(50, 800, "Kyiv"), (30, 1500, "Lima"), (90, 700, "elsewhere"), (20, 300, "Osaka")]
    expected = source("pipeline").pipeline().predict_proba(pandas.DataFrame(rows, columns=["area", "rent", "city"]))
    visitor = visit(site)
    assert "error" not in visitor.start("pipeline")
    got = [tensors(visitor, "pipeline", number)[0][0] for number in range(len(rows))]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_a_keras_model_answers_as_keras_does(site: Path, visit: Callable[..., Visit]) -> None:
    made = source("keras")
    expected = np.asarray(made.network()(made.pictures()).detach())
    visitor = visit(site)
    assert "error" not in visitor.start("keras")
    assert snr_db(tensors(visitor, "keras")[0], expected) > 100


def test_a_hugging_face_folder_answers_as_transformers_does(site: Path, visit: Callable[..., Visit]) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = source("text").folder()
    tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    visitor = visit(site)
    assert "error" not in visitor.start("text")
    sentences = ["A cat sits on the mat.", "Wer reitet so spät durch Nacht und Wind?"]
    for number, sentence in enumerate(sentences):
        with torch.no_grad():
            hidden = network(**tokenizer(sentence, return_tensors="pt")).last_hidden_state[0].mean(0)
        (embedding,) = tensors(visitor, "text", number)
        assert snr_db(embedding, (hidden / hidden.norm()).numpy()) > 90


def test_a_tensorflow_js_detector_finds_the_cat(site: Path, visit: Callable[..., Visit]) -> None:
    visitor = visit(site)
    assert "error" not in visitor.start("detect")
    answer, native = visitor.run_example("detect", 2)
    found, expected = answer["outputs"][0]["items"], native["outputs"][0]["items"]
    assert found[0]["label"] == "cat"
    assert [item["label"] for item in found] == [item["label"] for item in expected]
    np.testing.assert_allclose([i["box"] for i in found], [i["box"] for i in expected], atol=0.1)
