"""Files that lie beside a written app: labels, examples."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from onnxlet import Audio, Image
from onnxlet.errors import BuildError

from .draft import Draft
from .subject import Subject

__all__ = ["add_example", "add_examples", "add_texts", "lines_of", "picture", "tone"]


def add_examples(draft: Draft, given: Sequence[str]) -> None:
    """Copy the files of --example beside the app.

    Raises: BuildError: one cannot be read.
    """
    for one in given:
        path = Path(one)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise BuildError(f"--example {one}: cannot be read ({error.strerror}); check the path") from error
        if draft.files.get(path.name, content) != content:
            raise BuildError(f"--example {one}: another file of the app is called {path.name}; rename one")
        draft.files[path.name] = content
        draft.examples.append(path.name)


def add_example(draft: Draft, subject: Subject, name: str, make: Callable[[], bytes], what: str) -> None:
    """The files of --example; without them one of our own, and a note of what it is.

    Raises: BuildError: as `add_examples`.
    """
    if subject.wanted.example:
        add_examples(draft, subject.wanted.example)
        return
    draft.examples.append(name)
    draft.files[name] = make()
    draft.notes.append(f"its example is {what}; give your own by --example, which variants are judged by")


def picture() -> bytes:
    """A PNG of a ball on a table, 320 x 240: something for the page to show before a visitor's own picture."""
    y, x = np.mgrid[0:240, 0:320].astype(np.float32)
    scene = np.stack([150 + 0.2 * y, 170 + 0.1 * y, 200 - 0.1 * y], axis=2)
    scene[170:] = np.stack([120 + 0.1 * x, 85 + 0.05 * x, 55 + 0 * x], axis=2)[170:]
    inside = (x - 150) ** 2 + (y - 140) ** 2 < 60**2
    light = np.clip(1.1 - np.hypot(x - 130, y - 115) / 110, 0.1, 1)[..., None]
    scene = np.where(inside[..., None], light * [230, 70, 50], scene)
    return Image(np.clip(scene, 0, 255).astype(np.uint8)).to_png()


def add_texts(draft: Draft, subject: Subject, parameters: Sequence[str], usual: Sequence[tuple[str, ...]]) -> None:
    """The texts of --example, one a parameter, in order; those that are the paths of text files are read.

    Args:
        usual: examples where none is given.
    Raises: BuildError: they do not come out even, or a file is no text.
    """
    given = [_text(one) for one in subject.wanted.example]
    if len(given) % len(parameters):
        raise BuildError(
            f"--example: got {len(given)} texts, expected {len(parameters)} an example ({', '.join(parameters)})"
        )
    texts = iter(given)
    rows = list(zip(*[texts] * len(parameters), strict=True)) or usual
    draft.examples = [row[0] if len(row) == 1 else tuple(row) for row in rows]


def _text(given: str) -> str:
    try:
        path = Path(given)
        return path.read_text(encoding="utf-8-sig").strip() if path.suffix == ".txt" and path.is_file() else given
    except (OSError, UnicodeDecodeError) as error:
        raise BuildError(f"--example {given}: cannot be read as UTF-8 text ({error})") from error


def lines_of(names: Sequence[str]) -> bytes:
    """A text file, one name a line."""
    return "".join(f"{' '.join(name.split())}\n" for name in names).encode()


def tone() -> bytes:
    """A WAV of two seconds: a tone that swells and fades, 440 Hz at 16 kHz."""
    seconds = np.arange(32_000) / 16_000
    samples = 0.3 * np.sin(2 * np.pi * 440 * seconds) * np.sin(np.pi * seconds / 2)
    return Audio(samples.astype(np.float32), 16_000).to_wav()
