"""The file type task around Magika's model; test_examples.py compares its answers with the magika package's."""

import asyncio
import json
from typing import Any

import pytest

from onnxlet import File, InferenceSession, InvalidInput
from onnxlet.tasks import FileTypeDetector
from onnxlet_build.fetch import from_pypi

PACKAGE = "magika==1.0.3"
FILES = {
    "magika/models/standard_v3_3/model.onnx": "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
    "magika/models/standard_v3_3/config.min.json": "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db",
    "magika/config/content_types_kb.min.json": "75208adba69bc0556403b62b32ef3ccf8b5ce494411780845852e52e6583a10d",
}


@pytest.fixture(scope="module")
def parts() -> tuple[InferenceSession, dict[str, Any], dict[str, Any]]:
    model, rules, kinds = (from_pypi(PACKAGE, member, digest) for member, digest in FILES.items())
    return InferenceSession(model), json.loads(rules.read_bytes()), json.loads(kinds.read_bytes())


def test_bytes_and_files_are_told_apart_by_content(parts: Any) -> None:
    session, rules, kinds = parts
    detector = FileTypeDetector(session, rules=rules, kinds=kinds)
    code = b"import os\n\n\ndef main():\n    print(os.getcwd())\n" * 5
    found = detector(code)
    assert str(found) == "python: Python source (text/x-python)"
    assert found.guesses.best == "python"
    assert detector(File(code, "picture.png")) == found
    assert asyncio.run(detector.acall(code)) == found
    assert len(detector(code, top_k=None).guesses.items) == len(rules["target_labels_space"])


def test_what_is_too_small_for_the_model_is_told_by_rules(parts: Any) -> None:
    session, rules, kinds = parts
    detector = FileTypeDetector(session, rules=rules, kinds=kinds)
    assert [detector(data).label for data in (b"", b"abc", b"\xff\xfe\x80")] == ["empty", "txt", "unknown"]


def test_tables_that_do_not_go_with_the_model_are_named(parts: Any) -> None:
    session, rules, kinds = parts
    with pytest.raises(InvalidInput, match=r"the rules have no beg_size; give the model's config.min.json"):
        FileTypeDetector(session, rules={}, kinds=kinds)
    with pytest.raises(InvalidInput, match=r'nothing is known of "3gp"; give the content_types_kb.min.json'):
        FileTypeDetector(session, rules=rules, kinds={})
