"""Samples out of a folder that a person names: arrays for the model, or files for the app's own function."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from onnxlet.errors import BuildError
from onnxlet.source import ModelSource

from .child import run_child
from .inspect_app import Inspected
from .model_child import checked_feeds
from .samples import Samples, load_feeds

__all__ = ["given_samples"]

MOST = 512
_ARRAYS = (".npz", ".npy")


def given_samples(source: Path, model: Path, folder: Path, app: Inspected | None = None) -> Samples:
    """Samples for a model.

    Args:
        source: a folder. Files ending in .npz hold one array an input, by name; .npy the array of a model's only input.
            All other files are given, one each, to the app's first function, whose other inputs keep their defaults:
            what the app then feeds the model is the sample.
        folder: a new one, for what is read.
        app: None where there is none.
    Raises: BuildError: there is no such folder, nothing in it fits, or a file cannot be read.
    """
    if not source.is_dir():
        raise BuildError(f"--calibration {source}: is no folder; give one with .npz or .npy files, or the app's inputs")
    files = sorted(file for file in source.iterdir() if file.is_file() and not file.name.startswith("."))[:MOST]
    arrays = [file for file in files if file.suffix in _ARRAYS]
    if arrays:
        items = _read(arrays, model)
        checked = checked_feeds(items, model, f"--calibration {source}", [file.name for file in arrays])
        return Samples.write(folder, (feeds for feeds, _ in checked))
    if not files:
        raise BuildError(f"--calibration {source}: is empty; put samples there")
    if app is None:
        raise BuildError(f"--calibration {source}: holds no .npz or .npy file, and there is no app that reads others")
    folder.mkdir(parents=True)
    main = app.files[f"{app.module}.py"]
    # the app runs in its own folder
    answer = run_child("feed", main, folder, model=str(model), files=[str(file.resolve()) for file in files])
    samples = Samples([Path(path) for path in answer["samples"]])
    if not samples:
        raise BuildError(f"--calibration {source}: with its files {main.name} feeds {model.name} nothing")
    return samples


def _read(files: list[Path], model: Path) -> Iterator[dict[str, Any]]:
    names = [arg.name for arg in ModelSource(model).signature().inputs]
    for file in files:
        try:
            if file.suffix == ".npz":
                yield load_feeds(file)
                continue
            array = np.load(file, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise BuildError(f"{file}: cannot be read as a {file.suffix} file ({error})") from error
        if len(names) != 1:
            raise BuildError(f"{file}: {model.name} has the inputs {', '.join(names)}; expected .npz files with all")
        yield {names[0]: array}
