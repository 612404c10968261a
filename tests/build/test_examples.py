"""The examples answer right: the file type app as the magika package does, the digits app what was drawn."""

import importlib.util
import io
import os
import shutil
import sys
import tarfile
import wave
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import onnxruntime
import pytest
from PIL import Image as PillowImage

from onnxlet import Audio, Drawing, File
from onnxlet_build.inspect_app import make_models
from onnxlet_build.progress import Reporter

EXAMPLES = Path(__file__).parents[2] / "examples"


def load_app(folder: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import an example's app, its model made first if need be."""
    make_models(folder / "model.py", folder / "app.py", scratch, Reporter(quiet=True))
    monkeypatch.syspath_prepend(str(folder))
    spec = importlib.util.spec_from_file_location(f"example_{folder.name}", folder / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def samples() -> Iterator[tuple[str, bytes]]:
    """Files of many kinds, and the sizes at which Magika's rules change."""
    pixels = PillowImage.fromarray(np.random.default_rng(0).integers(0, 255, (40, 50, 3), np.uint8))
    for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "ICO"):
        stream = io.BytesIO()
        pixels.save(stream, kind)
        yield kind, stream.getvalue()
    stream = io.BytesIO()
    with wave.open(stream, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(np.sin(np.arange(4000) / 5).astype("<i2").tobytes())
    yield "WAV", stream.getvalue()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.txt", "text" * 100)
    yield "ZIP", stream.getvalue()
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        tar.add(__file__, "test.py")
    yield "tar.gz", stream.getvalue()
    stream = io.BytesIO()
    np.save(stream, np.arange(10))
    yield "npy", stream.getvalue()
    root = EXAMPLES.parent
    for name in ("build.py", "Makefile", "README.md", "pyproject.toml", "LICENSE", "web/package.json", ".gitignore"):
        yield name, (root / name).read_bytes()
    for name in ("web/src/page.js", "web/src/app.html", "web/src/icon.svg", "web/src/styles/base.css"):
        yield name, (root / name).read_bytes()
    yield "onnx", (root / "tests" / "data" / "P_add1.onnx").read_bytes()
    yield "this file", Path(__file__).read_bytes()
    yield "python itself", Path(sys.executable).read_bytes()
    yield "stdlib module", Path(os.__file__).read_bytes()
    for code in (
        "int main(void) { return 0; }\n",
        "SELECT name FROM people WHERE age > 3;\n",
        "a,b\n1,2\n3,4\n",
        "\n" * 9,
    ):
        yield repr(code), code.encode()
    for size in (0, 1, 7, 8, 9, 20, 1023, 1024, 1025, 2048, 4095, 4096, 4097, 9000):
        yield f"{size} random bytes", np.random.default_rng(size).bytes(size)
        yield f"{size} bytes of text", (b"The quick brown fox jumps over it. " * 300)[:size]
        yield f"{size} bytes, spaces around", (b" " * (size // 2) + b"x = 1\n" * 9 + b"\n" * (size // 2))
    yield "spaces", b" " * 5000
    yield "letters after white space", b" \t\n" * 3000 + b"abc"
    yield "latin-1", "Grüße aus Köln".encode("latin-1")
    yield "cut utf-8 at the block's end", b" " * 4090 + "äöü".encode() * 2


def test_the_file_type_app_gives_magikas_own_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    magika = pytest.importorskip("magika", reason="of the dev extra")
    app = load_app(EXAMPLES / "filetype", tmp_path, monkeypatch)
    expected_by = magika.Magika()
    labels = set()
    for name, data in samples():
        answer, guesses = app.identify(File(data, name))
        expected = expected_by.identify_bytes(data)
        assert answer.split(":")[0] == str(expected.output.label), name
        assert answer.endswith(f"({expected.output.mime_type})"), name
        if str(expected.dl.label) != "undefined":
            assert guesses.best == str(expected.dl.label), name
            assert guesses.items[0][1] == pytest.approx(expected.score, rel=1e-5), name
        labels.add(str(expected.output.label))
    assert len(labels) > 25, "the samples are of many kinds"


def stroke(*points: float) -> dict[str, object]:
    return {"size": 22.0, "points": [float(p) for p in points]}


def ring(x: float, y: float, rx: float, ry: float, start: float = 0, end: float = 360) -> list[float]:
    angles = np.radians(np.linspace(start, end, 24))
    return np.stack([x + rx * np.cos(angles), y + ry * np.sin(angles)], 1).ravel().tolist()


DRAWN = {
    "0": [stroke(*ring(140, 140, 60, 90))],
    "2": [stroke(*ring(140, 95, 50, 45, 180, 390), 90, 225, 200, 222)],
    "3": [stroke(*ring(135, 95, 48, 42, 200, 450)), stroke(*ring(133, 182, 55, 46, 270, 500))],
    "4": [stroke(165, 230, 165, 50, 80, 165, 205, 165)],
    "5": [stroke(190, 60, 105, 60, 100, 125), stroke(*ring(135, 170, 58, 52, 240, 500))],
    "6": [stroke(175, 55, 115, 120), stroke(*ring(140, 180, 50, 48, 200, 560))],
    "7": [stroke(85, 65, 195, 62, 125, 230)],
    "8": [stroke(*ring(140, 95, 42, 40)), stroke(*ring(140, 187, 52, 50))],
    "9": [stroke(*ring(140, 100, 48, 45)), stroke(188, 100, 180, 170, 150, 230)],
}


def test_the_digits_app_reads_drawn_digits_wherever_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    classify = load_app(EXAMPLES / "digits", tmp_path, monkeypatch).app
    for digit, strokes in DRAWN.items():
        drawing = Drawing.from_strokes(strokes)
        assert classify(drawing).best == digit
        assert classify(drawing.pad(90, 10, 0, 60)).items == classify(drawing).items
    assert len(classify(Drawing.from_strokes([])).items) == 5, "empty paper is no error"


def test_the_digits_model_is_the_classic_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_app(EXAMPLES / "digits", tmp_path, monkeypatch)
    session = onnxruntime.InferenceSession(EXAMPLES / "digits" / "digits.onnx", providers=["CPUExecutionProvider"])
    assert [(a.name, a.type, a.shape[1:]) for a in session.get_inputs()] == [("x", "tensor(float)", [784])]
    (shares,) = session.run(None, {"x": np.zeros((4, 784), np.float32)})
    assert shares.shape == (4, 10)
    np.testing.assert_allclose(shares.sum(1), 1, rtol=1e-5)


def test_the_count_app_counts_what_lies_on_its_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = load_app(EXAMPLES / "count", tmp_path, monkeypatch)
    for example, expected in zip(app.app.examples, [17, 40], strict=True):
        mask, things = app.app(**app.app.load(example))
        assert len(things.rows) == expected, example.label
        assert np.count_nonzero(mask.array) == sum(int(row[1]) for row in things.rows)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_components_of_a_random_mask_are_those_of_a_flood_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connectivity: int
) -> None:
    app = load_app(EXAMPLES / "count", tmp_path, monkeypatch)
    mask = np.random.default_rng(3).random((1, 1, 23, 31)) < 0.5
    expected = np.zeros((23, 31), np.int64)
    for y, x in np.argwhere(mask[0, 0]):
        if expected[y, x]:
            continue
        number, waiting = expected.max() + 1, [(y, x)]
        while waiting:
            v, u = waiting.pop()
            if not (0 <= v < 23 and 0 <= u < 31) or expected[v, u] or not mask[0, 0, v, u]:
                continue
            expected[v, u] = number
            near = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if connectivity == 8 or not dy * dx]
            waiting += [(v + dy, u + dx) for dy, dx in near]
    np.testing.assert_array_equal(app.Components(mask, connectivity=connectivity)[0, 0], expected)


def test_the_voice_app_hears_espeak_and_nobody_in_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = load_app(EXAMPLES / "voice", tmp_path, monkeypatch)
    voices, noise = (app.app(**app.app.load(example)) for example in app.app.examples)
    assert voices[0] == "Somebody speaks in 3.3 of 4.4 seconds."
    assert [len(answer[2]) for answer in (voices, noise)] == [2, 0]
    assert noise[0] == "Nobody speaks here."
    shaded = (voices[1].array == sys.modules["picture"].SHADE).all(2).any(0)
    assert np.count_nonzero(np.diff(shaded.astype(int)) == 1) == 2, "two stretches of the picture are shaded"
    assert voices[1].size == noise[1].size
    short = app.listen(Audio(np.full(50, 0.1), 8000))
    assert short[0] == "Nobody speaks here."
    assert short[1].size == noise[1].size


def test_the_voice_app_hears_a_microphone_as_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = load_app(EXAMPLES / "voice", tmp_path, monkeypatch)
    sound = Audio.open(EXAMPLES / "voice" / "two-voices.wav").resample(48000)
    whole = np.array(app.detector(sound))
    silence = np.random.default_rng(0).normal(0, 1e-3, 8 * 48000).astype(np.float32)
    samples = np.concatenate([silence, sound.samples, silence])
    piece = 48000 // 5
    for number, samples_now in enumerate(np.split(samples, range(piece, len(samples), piece))):
        now, picture = app.hear_live(Audio(samples_now, 48000, start_s=number / 5))
        second = number / 5 - 8
        if any(start + 0.3 < second < end - 0.4 for start, end in whole):
            assert now.best == "speech", second
        if second < -0.3 or second > whole[-1][1] + 0.3:
            assert now.best == "no speech", second
        if 0 < second - sound.duration_s < 0.2:
            offset = app.heard.sound.duration_s - number / 5 - 0.2 + 8
            np.testing.assert_allclose(app.heard.speech(), whole + offset, atol=0.1)
    assert app.heard.sound.duration_s == 10
    assert len(app.heard.speech()) < 2, "the first words have left the last ten seconds"
    shaded = (picture.array == sys.modules["picture"].SHADE).all(2).any(0)
    assert shaded.any() == bool(app.heard.speech())


def test_the_diagnosis_app_tells_tumours_apart_as_doctors_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = load_app(EXAMPLES / "diagnosis", tmp_path, monkeypatch)
    for example in app.app.examples[:2]:
        verdict, boosted, grown = app.app(**app.app.load(example))
        assert f"a {boosted.best} tumour" == example.label
        assert verdict == f"Both say {grown.best}."
    told = app.diagnose_many(**app.app.load(app.app.examples[2]))
    assert told.column("LightGBM") == told.column("random forest") == told.column("found by doctors")
    assert [p.kind for p in app.app.function().inputs] == ["number"] * 8


def test_the_diagnosis_models_answer_what_their_libraries_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = load_app(EXAMPLES / "diagnosis", tmp_path, monkeypatch)
    spec = importlib.util.spec_from_file_location("diagnosis_model", EXAMPLES / "diagnosis" / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.model()
    _, rows, _, _ = module.data()
    rows = rows.astype(np.float32).astype(np.float64)
    for predictor, name in ((app.lightgbm, "lightgbm.onnx"), (app.forest, "forest.onnx")):
        given = rows if name == "lightgbm.onnx" else rows.to_numpy()
        expected = made[name].predict_proba(given)[:, 1]
        ours = [dict(predictor(row.tolist()).items)["benign"] for row in rows.to_numpy()[:40]]
        np.testing.assert_allclose(ours, expected[:40], atol=1e-5)


def test_examples_have_no_second_copy_of_their_models_in_the_repository() -> None:
    git = shutil.which("git")
    if not git or not (EXAMPLES.parent / ".git").exists():
        pytest.skip("not a git checkout")
    import subprocess

    tracked = subprocess.run([git, "ls-files", "examples"], cwd=EXAMPLES.parent, capture_output=True, text=True).stdout
    assert not [name for name in tracked.split() if name.endswith(".onnx")]
