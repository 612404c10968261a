"""Keras and TensorFlow, and the environment of their own that the build makes for them.

One creation of it costs some 40 s where the network is fast; a machine that has it in its cache keeps it.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnxlet import InferenceSession
from onnxlet.errors import BuildError
from onnxlet_build import fetch, paths
from onnxlet_build.isolated import Environment, run
from onnxlet_build.sources import export, open_file
from onnxlet_build.sources.tensorflow import ENVIRONMENT
from tests.fetching import fetching, skip_outside_ci

from ..conftest import heed_ctrl_c

SMALL = Environment("small", ("six==1.17.0",), "six")

MODELS = """
    import os, sys
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import keras, tensorflow as tf

    folder = sys.argv[1]
    words = keras.Input((None,), dtype="int32", name="words")
    read = keras.layers.LSTM(6)(keras.layers.Embedding(50, 8)(words))
    keras.Model(words, keras.layers.Dense(1, name="score")(read)).save(f"{folder}/words.keras")

    class Doubled(keras.layers.Layer):
        def call(self, x):
            return 2 * x

    keras.Sequential([keras.Input((3,)), Doubled()]).save(f"{folder}/own.keras")

    class Two(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None, 4], name="left"), tf.TensorSpec([4], name="right")])
        def both(self, left, right):
            return {"sum": left + right, "product": tf.linalg.matvec(left, right)}

    two = Two()
    tf.saved_model.save(two, f"{folder}/two", signatures=two.both)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models that TensorFlow saved, in the environment that the build makes."""
    folder = tmp_path_factory.mktemp("tensorflow")
    script = folder / "models.py"
    script.write_text(textwrap.dedent(MODELS))
    with fetching():
        run(ENVIRONMENT, script, [str(folder)])
    return folder


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "_cache", tmp_path / "cache")
    return tmp_path / "cache" / "environments"


def signature(data: bytes) -> dict[str, Any]:
    session = InferenceSession(data)
    return {arg.name: (arg.type, arg.shape) for arg in (*session.get_inputs(), *session.get_outputs())}


@pytest.mark.filterwarnings("ignore:__array__ implementation")
def test_a_model_made_on_another_backend_is_exported_and_answers_as_there(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    import keras

    keras.utils.set_random_seed(0)
    picture = keras.Input((9, 9, 3), name="picture")
    x = keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(picture)
    x = keras.layers.GlobalAveragePooling2D()(keras.layers.BatchNormalization()(x))
    model = keras.Model(
        picture, [keras.layers.Dense(4, "softmax", name="kind")(x), keras.layers.Dense(1, name="size")(x)]
    )
    found = export(model, "m")
    assert "agrees with Keras 3.15.1 on TensorFlow 2.21.0 on 3 inputs" in found.verified
    assert signature(found.data) == {
        "picture": ("tensor(float)", ["batch", 9, 9, 3]),
        "kind": ("tensor(float)", ["batch", 4]),
        "size": ("tensor(float)", ["batch", 1]),
    }
    rows = np.random.default_rng(1).random((5, 9, 9, 3)).astype(np.float32)
    for got, expected in zip(InferenceSession(found.data).run(None, {"picture": rows}), model(rows), strict=True):
        np.testing.assert_allclose(got, expected.detach().cpu().numpy(), atol=1e-5)


def test_a_keras_file_keeps_its_open_dimensions(made: Path) -> None:
    found = export(made / "words.keras", "words.onnx")
    assert signature(found.data) == {
        "words": ("tensor(int32)", ["batch", "words_1"]),
        "score": ("tensor(float)", ["batch", 1]),
    }
    for length in (1, 7):
        words = np.arange(2 * length, dtype=np.int32).reshape(2, length)
        (score,) = InferenceSession(found.data).run(None, {"words": words})
        assert score.shape == (2, 1)


def test_a_saved_model_keeps_the_names_of_its_signature(made: Path) -> None:
    found = export(made / "two", "two.onnx")
    left, right = np.arange(8, dtype=np.float32).reshape(2, 4), np.array([1, 0, -1, 2], np.float32)
    names = [output.name for output in InferenceSession(found.data).get_outputs()]
    answers = dict(zip(names, InferenceSession(found.data).run(None, {"left": left, "right": right}), strict=True))
    np.testing.assert_allclose(answers["sum"], left + right)
    np.testing.assert_allclose(answers["product"], left @ right)


def test_what_cannot_be_loaded_is_said_in_a_sentence(made: Path, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"own\.keras: Keras cannot load it .*Doubled.*export a SavedModel"):
        export(made / "own.keras", "own.onnx")
    (tmp_path / "old.h5").write_bytes(b"\x89HDF")
    with pytest.raises(BuildError, match=r"old\.h5: is in Keras's old format; load it with Keras 3"):
        open_file(tmp_path / "old.h5")


def test_an_environment_is_made_once_and_holds_what_is_pinned(cache: Path, tmp_path: Path) -> None:
    with fetching():
        python = SMALL.python()
    assert SMALL.python() == python
    assert [path.name for path in cache.iterdir() if path.is_dir()] == [SMALL.folder.name]
    script = tmp_path / "script.py"
    script.write_text("import six, sys\nprint('found', six.__version__, file=sys.stderr)\nsys.exit(3)")
    with pytest.raises(BuildError, match=r"^found 1\.17\.0$"):
        run(SMALL, script, [])
    assert Environment("small", ("six==1.16.0",), "six").folder != SMALL.folder


def test_without_network_or_with_a_wrong_pin_nothing_is_left(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildError, match="small: its environment cannot be made: No matching distribution"):
        Environment("small", ("six==0.0.1",), "six").python()
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    with pytest.raises(fetch.Unreachable, match="small: its packages cannot be fetched; look at the network"):
        Environment("small", ("six==1.15.0",), "six").python()
    monkeypatch.setattr(fetch, "offline", True)
    with pytest.raises(BuildError, match="not in the cache, and --offline forbids"):
        SMALL.python()
    assert [path.name for path in cache.iterdir()] == ["small.lock"]


MAKE = """
import sys
from pathlib import Path
from onnxlet_build import isolated, paths
paths.use_cache(Path(sys.argv[1]))
environment = isolated.Environment("small", ("six==1.17.0",), "six")
print("starting", flush=True)
environment.python()
print("made", flush=True)
"""


def maker(cache: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAKE, str(cache.parent)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_ctrl_c)


def test_two_builds_at_once_make_one_environment(cache: Path) -> None:
    both = [maker(cache), maker(cache)]
    said = [process.communicate(timeout=120) for process in both]
    if any("look at the network" in errors for _, errors in said):
        skip_outside_ci("no network")
    assert [out.split() for out, _ in said] == [["starting", "made"]] * 2
    made_by = [errors for _, errors in said if "making an environment" in errors]
    assert len(made_by) == 1
    assert sorted(path.name for path in cache.iterdir()) == sorted(["small.lock", SMALL.folder.name])


def test_ctrl_c_leaves_nothing_half_made(cache: Path) -> None:
    process = maker(cache)
    deadline = time.monotonic() + 60
    while not list(cache.glob(".small-*/made")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert out.split() == ["starting"]
    assert process.returncode != 0
    assert [path.name for path in cache.iterdir()] == ["small.lock"]
