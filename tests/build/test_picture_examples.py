"""What the picture examples see in pictures whose content is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxlet import Image

from .test_examples import EXAMPLES, load_app


def opened(name: str, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """An example's module, and a function that opens one of its pictures."""
    module = load_app(EXAMPLES / name, scratch, monkeypatch)
    return module, lambda picture: Image.open(EXAMPLES / name / picture)


def test_photo_knows_an_espresso_and_an_egyptian_cat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, picture = opened("photo", tmp_path, monkeypatch)
    assert app.classify(picture("coffee.png")).best == "espresso"
    assert app.classify(picture("chelsea.png")).best == "Egyptian cat"


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
