"""What the picture examples see in pictures whose content is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as PillowImage

from onnxlet import Image, InvalidInput
from onnxlet.tasks import TextReader

from .test_examples import EXAMPLES, load_app


def opened(name: str, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """An example's module, and a function that opens one of its pictures."""
    module = load_app(EXAMPLES / name, scratch, monkeypatch)
    return module, lambda picture: Image.open(EXAMPLES / name / picture)


def test_photo_knows_an_espresso_and_an_egyptian_cat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, picture = opened("photo", tmp_path, monkeypatch)
    assert app.app(picture("coffee.png")).best == "espresso"
    assert app.app(picture("chelsea.png")).best == "Egyptian cat"


def test_detect_finds_a_person_a_motorcycle_and_a_cat_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, picture = opened("detect", tmp_path, monkeypatch)
    for name, label, inside in [
        ("astronaut.png", "person", (220, 120)),  # her face
        ("motorcycle_left.png", "motorcycle", (400, 250)),
        ("chelsea.png", "cat", (220, 110)),
    ]:
        found = app.detect(picture(name))
        best = found.items[0]
        x0, y0, x1, y1 = best.box
        assert best.label == label
        assert x0 < inside[0] < x1
        assert y0 < inside[1] < y1
        assert len(app.detect(picture(name), 0.1).items) > len(app.detect(picture(name), 0.9).items)


def test_background_keeps_the_astronaut_and_takes_the_flag_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, picture = opened("background", tmp_path, monkeypatch)
    photo = picture("astronaut.png")
    cut, mask = app.cut_out(photo)
    face, corner = np.s_[80:160, 190:240], np.s_[:80, 400:]
    assert cut.alpha[face].min() > 250
    assert cut.alpha[corner].max() < 5
    np.testing.assert_array_equal(mask.array, cut.alpha)
    np.testing.assert_array_equal(cut.rgba[..., :3], photo.array)
    on_green, _ = app.cut_out(photo, "green")
    np.testing.assert_allclose(on_green.array[corner], np.broadcast_to([0, 0xB1, 0x40], (80, 112, 3)), atol=5)


PAGE = """\
Region-based segmentation
Let us first determine markers of the coins and the
background. These markers are pixels that we can label
unambiguously as either object or background. Here,
the markers are found at the two extreme parts of the
histogram of grey values:
"""


def test_ocr_reads_the_lines_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, picture = opened("ocr", tmp_path, monkeypatch)
    text, boxes = app.read(picture("page.png"))
    assert text.startswith(PAGE)  # then a line of Python, cut off by the page's edge
    assert len(boxes.items) == 7
    # Where RapidOCR 3.10, which the package itself calls, finds the first line with these networks.
    np.testing.assert_allclose(boxes.items[0].box, [2, 8, 295, 34], atol=3)
    assert boxes.items[0].label == "Region-based segmentation"


@pytest.mark.parametrize("degrees", [-35, 20, 60, 90])
def test_ocr_reads_a_turned_page(degrees: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, picture = opened("ocr", tmp_path, monkeypatch)
    page = PillowImage.fromarray(picture("page.png").array).convert("L")
    turned = page.rotate(degrees, PillowImage.Resampling.BICUBIC, expand=True, fillcolor=200)
    text, _ = app.read(Image.from_array(turned))
    assert text.startswith(PAGE)


def test_ocr_reads_a_receipt_row_by_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, picture = opened("ocr", tmp_path, monkeypatch)
    text, _ = app.read(picture("receipt.png"))
    assert text.splitlines() == [
        "CORNER BAKERY",
        "12 Mill Lane, Ashford",
        "2 Croissants 5.60",
        "1 Rye bread 4.20",
        "3 Cinnamon rolls 9.30",
        "TOTAL 19.10",
        "Thank you, come again!",
    ]


@pytest.mark.parametrize("size", [(1, 1), (640, 480), (3000, 1), (1, 3000), (9000, 4000)])
def test_ocr_of_an_empty_picture_is_no_text(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, _ = opened("ocr", tmp_path, monkeypatch)
    text, boxes = app.read(Image(np.full(size[::-1], 255, np.uint8)))
    assert text == ""
    assert boxes.items == []


def test_ocr_reads_through_transparency_as_over_white(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, picture = opened("ocr", tmp_path, monkeypatch)
    ink = 255 - picture("page.png").gray().array
    sheet = np.dstack([np.zeros((*ink.shape, 3), np.uint8), np.clip(ink.astype(int) * 2 - 150, 0, 255)])
    text, _ = app.read(Image(sheet.astype(np.uint8)))
    assert "Region-based segmentation" in text


def test_a_recognizer_with_other_characters_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = opened("ocr", tmp_path, monkeypatch)
    with pytest.raises(InvalidInput, match=r"got 26 characters, expected 6904, since the recognizer gives 6906"):
        TextReader(app.reader.detector, app.reader.recognizer, characters="abcdefghijklmnopqrstuvwxyz")
    with pytest.raises(InvalidInput, match='has no "character" in its metadata; give characters='):
        TextReader(app.reader.recognizer, app.reader.detector)
