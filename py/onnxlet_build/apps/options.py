"""What a person may say of a model that has no app file, and what is made of it: names, numbers, files."""

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from onnxlet.errors import BuildError

__all__ = ["Wanted", "flag", "numbers", "read_labels", "sides"]

_NUMBERED = re.compile(r"\s*(\d+)\s*[:,\t ]\s*(\S.*)")
_WORDNET = re.compile(r"\s*n\d{8}[\s,:]+(\S.*)")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was said, by the name of its option; "", None and () where nothing was.

    Args:
        task: a name in `TASKS`; by default the one that the model's files tell.
        title: of the app; by default the model's name in words.
        labels: a file that names the classes.
        image_size: WIDTHxHEIGHT of the pictures that the model takes.
        mean, std: one number or three with commas, in the order of the channels, of levels between 0 and 1.
        tokenizer: tokenizer.json or vocab.txt.
        corpus: a text file that is searched, one text a line.
        features: a CSV file whose columns the model takes.
        recognizer, characters: of ocr: the model that reads lines, and the characters that it knows.
        example: files, or texts, for visitors to try.
    """

    task: str = ""
    title: str = ""
    labels: Path | None = None
    image_size: str = ""
    mean: str = ""
    std: str = ""
    tokenizer: Path | None = None
    corpus: Path | None = None
    features: Path | None = None
    recognizer: Path | None = None
    characters: Path | None = None
    example: tuple[str, ...] = ()

    def given(self) -> list[str]:
        """Names of the options that were said."""
        return [field.name for field in fields(self) if getattr(self, field.name)]

    def file(self, name: str) -> bytes:
        """The content of the file that an option names.

        Raises: BuildError: it cannot be read.
        """
        path: Path = getattr(self, name)
        try:
            return path.read_bytes()
        except OSError as error:
            raise BuildError(f"{flag(name)} {path}: cannot be read ({error.strerror}); check the path") from error

    def lines(self, name: str) -> list[str]:
        """The lines of the text file that an option names, without empty ones.

        Raises: BuildError: it cannot be read, is not UTF-8, or is empty.
        """
        path: Path = getattr(self, name)
        found = [line.strip() for line in _text(self.file(name), f"{flag(name)} {path}").splitlines() if line.strip()]
        if not found:
            raise BuildError(f"{flag(name)} {path}: is empty; expected a text file, one entry a line")
        return found


def flag(name: str) -> str:
    """How an option is written."""
    return f"--{name.replace('_', '-')}"


def read_labels(wanted: Wanted) -> list[str]:
    """The names of the classes in the file of --labels, in the order of the model's outputs.

    Text with a name a line, also with its number or WordNet id before it; a list, or a dict of number -> name (or of
    number -> [id, name], as Keras has ImageNet's), as JSON or Python writes them; a config.json with id2label.

    Raises: BuildError: the file cannot be read or is nothing of these.
    """
    where = f"--labels {wanted.labels}"
    text = _text(wanted.file("labels"), where)
    literal = text.lstrip()[:1] in ("{", "[")
    names = _named(_literal(text, where), where) if literal else _lines(text)
    names = [" ".join(name.split()) for name in names]
    if not names or not all(names):
        raise BuildError(f"{where}: names nothing; expected a text file with a name a line, or a JSON list")
    return names


def _lines(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if all(found := [_WORDNET.fullmatch(line) for line in lines]):
        return [match[1] for match in found if match]
    numbered = [_NUMBERED.fullmatch(line) for line in lines]
    if [int(match[1]) if match else -1 for match in numbered] == list(range(len(lines))):
        return [match[2] for match in numbered if match]
    return lines


def _literal(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            raise BuildError(f"{where}: is no JSON ({error}); give a list, a dict, or a name a line") from error


def _named(content: Any, where: str) -> list[str]:
    if isinstance(content, dict):
        content = content.get("id2label", content)
        try:
            by_number = {int(number): name for number, name in content.items()}
        except (ValueError, TypeError):
            try:  # label2id
                by_number = {int(number): name for name, number in content.items()}
            except (ValueError, TypeError):
                raise BuildError(f"{where}: expected a dict of number -> name, such as {{'0': 'cat'}}") from None
        if sorted(by_number) != list(range(len(by_number))):
            raise BuildError(
                f"{where}: its {len(by_number)} numbers are not 0 to {len(by_number) - 1}; name every class"
            )
        content = [by_number[number] for number in range(len(by_number))]
    return [str(entry[-1] if isinstance(entry, list | tuple) and entry else entry) for entry in content]


def _text(content: bytes, where: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BuildError(f"{where}: is not UTF-8 text (byte {error.start}); save it as UTF-8") from error


def sides(text: str) -> tuple[int, int]:
    """(width, height) of "224x224" or "224".

    Raises: BuildError: it is neither.
    """
    found = re.fullmatch(r"(\d+)(?:[xX×](\d+))?", text.strip())
    if not found or not int(found[1]) or not int(found[2] or 1):
        raise BuildError(f"--image-size {text}: expected WIDTHxHEIGHT in pixels, such as 224x224")
    return int(found[1]), int(found[2] or found[1])


def numbers(text: str, name: str) -> Sequence[float]:
    """One number, or three with commas between.

    Raises: BuildError: it is something else.
    """
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if len(found) not in (1, 3):
        raise BuildError(f"{flag(name)} {text}: expected one number or three, such as 0.485,0.456,0.406")
    return found
