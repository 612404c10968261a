"""Tasks on texts in the page: the native answers, by ONNX Runtime Web and by Python alone; spans marked in texts."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from onnxlet import InferenceSession, Tokenizer
from onnxlet.tasks import TokenClassifier
from onnxlet_build.sources import export
from tests.browser.conftest import build
from tests.browser.driver import Visit, assert_same
from tests.build.question_model import reader
from tests.build.text_models import WORDS, save

HEADS = {
    "classes": ("ForSequenceClassification", dict(enumerate(["bad", "fair", "good"]))),
    "entities": ("ForTokenClassification", dict(enumerate(["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "MISC"]))),
    "gaps": ("ForMaskedLM", {}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The app with its models."""
    folder = tmp_path_factory.mktemp("texts")
    shutil.copy(Path(__file__).parent / "text_app" / "app.py", folder)
    for name, (head, labels) in HEADS.items():
        saved = save(tmp_path_factory.mktemp(name), head, labels)
        (folder / f"{name}.onnx").write_bytes(export(saved, name).data)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(saved / file, folder)
    (folder / "answers.onnx").write_bytes(reader(len(WORDS)))
    return folder


@pytest.fixture(scope="module")
def site(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build([folder], tmp_path_factory.mktemp("site") / "dist")


@pytest.mark.parametrize("backend", ["wasm", "python"])
def test_every_answer_is_the_native_one(site: Path, visit: Callable[..., Visit], backend: str) -> None:
    visitor = visit(site)
    (app,) = visitor.site["apps"]
    assert "error" not in visitor.start(app["name"], backend)
    assert {example["function"] for example in app["examples"]} == {"classify", "find", "fill", "answer"}
    for index in range(len(app["examples"])):
        assert_same(*visitor.run_example(app["name"], index), floats_db=80)


def test_entities_and_answers_are_marked_in_their_text(site: Path, folder: Path, visit: Callable[..., Visit]) -> None:
    find = TokenClassifier(InferenceSession(folder / "entities.onnx"), Tokenizer(folder), aggregation_strategy="first")
    text = "Zürich 🏔 naïve café\nAngela"
    expected = find(text)
    page = visit(site).open()
    page.get_by_role("tab", name="Find").click()
    panel = page.get_by_role("tabpanel", name="Find")
    panel.get_by_label("Text").fill(text)
    panel.get_by_role("button", name="Run").click()
    prose = panel.locator(".output-spans .spans")
    expect(prose.locator("mark")).to_have_count(len(expected.items))
    marked = prose.evaluate("node => [...node.querySelectorAll('mark')].map((mark) => mark.firstChild.textContent)")
    assert marked == [text[span.start : span.end] for span in expected.items]
    tags = prose.evaluate("node => [...node.querySelectorAll('mark .span-label')].map((tag) => tag.textContent)")
    assert tags == [span.label for span in expected.items]
    copied = """node => {
      const copy = node.cloneNode(true);
      for (const tag of copy.querySelectorAll(".span-label")) tag.remove();
      return copy.textContent;
    }"""
    assert prose.evaluate(copied) == text
    expect(panel.locator(".output-spans .legend > li")).to_have_count(len(expected.items))

    page.get_by_role("tab", name="Answer").click()
    panel = page.get_by_role("tabpanel", name="Answer")
    panel.get_by_label("Question").fill("what?")
    panel.get_by_label("Context").fill(text)
    panel.get_by_role("button", name="Run").click()
    best = panel.locator(".output-spans .headline strong")
    expect(best).to_have_text(re.compile(".+"))
    expect(panel.locator(".output-spans mark:not(.lesser)").first).to_contain_text(best.inner_text()[:2])
