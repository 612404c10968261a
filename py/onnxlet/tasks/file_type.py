"""What kind of file some bytes are: Magika's rules around its model, in its PREDICTION mode with high confidence.

Source: Fratantonio et al. 2024, Magika, arXiv:2409.13768, and the tables that come with its models (Apache-2.0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import Array
from ..errors import InvalidInput
from ..session import InferenceSession
from ..values import File, Labels
from .steps import Run, Steps, arun, run

__all__ = ["FileType", "FileTypeDetector"]

_RULES = (
    "beg_size",
    "end_size",
    "block_size",
    "padding_token",
    "min_file_size_for_dl",
    "medium_confidence_threshold",
    "thresholds",
    "overwrite_map",
    "target_labels_space",
)


class FileType(NamedTuple):
    """What a file is.

    Args:
        label: Magika's, such as "python"; "txt" or "unknown" where the model is not sure.
        description: such as "Python source".
        mime_type: "application/octet-stream" where there is none of its own.
        guesses: what the model saw, best first; the label alone where the file was too small to ask it.
    """

    label: str
    description: str
    mime_type: str
    guesses: Labels

    def __str__(self) -> str:
        return f"{self.label}: {self.description} ({self.mime_type})"


class FileTypeDetector:
    """Tells what kind of file some bytes are, from their first and last kilobyte.

    Args:
        session: Magika's model, int32 [N, 2048] -> scores [N, labels].
        rules: what the model's ``config.min.json`` holds: sizes, labels and thresholds.
        kinds: what ``content_types_kb.min.json`` holds: by label, its description, MIME type and whether it is text.
    Raises: InvalidInput: the rules lack something, or the kinds lack a label of theirs.
    """

    def __init__(
        self, session: InferenceSession, *, rules: Mapping[str, Any], kinds: Mapping[str, Mapping[str, Any]]
    ) -> None:
        if missing := [name for name in _RULES if name not in rules]:
            raise InvalidInput(f"FileTypeDetector: the rules have no {missing[0]}; give the model's config.min.json")
        labels = {*rules["target_labels_space"], *rules["overwrite_map"].values(), "txt", "unknown", "empty"}
        if missing := sorted(labels - set(kinds)):
            raise InvalidInput(
                f'FileTypeDetector: nothing is known of "{missing[0]}"; give the content_types_kb.min.json that came '
                "with the model"
            )
        self.session = session
        self._rules = rules
        self._kinds = kinds

    def __call__(self, file: File | bytes, top_k: int | None = 5) -> FileType:
        """Tell what a file is.

        Args:
            top_k: how many guesses of the model to keep; None keeps all.
        """
        return run(self._steps(file, top_k))

    async def acall(self, file: File | bytes, top_k: int | None = 5) -> FileType:
        """As a call, for ``async def`` apps."""
        return await arun(self._steps(file, top_k))

    def _steps(self, file: File | bytes, top_k: int | None) -> Steps[FileType]:
        data = file.data if isinstance(file, File) else file
        row = self._tokens(data)
        if row is None:
            label = self._label_without_model(data)
            return self._known(label, Labels([(label, 1.0)]))
        outputs = yield Run(self.session, None, {self.session.get_inputs()[0].name: row})
        guesses = Labels.from_scores(outputs[0], names=self._rules["target_labels_space"], top=top_k)
        return self._known(self._label_of(*guesses.items[0]), guesses)

    def _tokens(self, data: bytes) -> Array | None:
        """What the model reads: both ends without the white space around them, int32 [1, beg_size + end_size].

        Returns: None where too few bytes are left to tell anything.
        """
        rules = self._rules
        begin = data[: rules["block_size"]].lstrip()[: rules["beg_size"]]
        end = data[-rules["block_size"] :].rstrip()[-rules["end_size"] :]
        if min(len(data), len(begin)) < rules["min_file_size_for_dl"]:
            return None
        row = np.full(rules["beg_size"] + rules["end_size"], rules["padding_token"], np.int32)
        row[: len(begin)] = np.frombuffer(begin, np.uint8)
        row[len(row) - len(end) :] = np.frombuffer(end, np.uint8)
        return row[None]

    def _label_without_model(self, data: bytes) -> str:
        """The label of a file that is empty or too short for the model."""
        if not data:
            return "empty"
        try:
            data[: self._rules["block_size"]].decode()
        except UnicodeDecodeError:
            return "unknown"
        return "txt"

    def _label_of(self, guess: str, score: float) -> str:
        """The label for the model's best guess: a general one where the model is not sure."""
        label = self._rules["overwrite_map"].get(guess, guess)
        if score >= self._rules["thresholds"].get(guess, self._rules["medium_confidence_threshold"]):
            return label
        return "txt" if self._kinds[label]["is_text"] else "unknown"

    def _known(self, label: str, guesses: Labels) -> FileType:
        kind = self._kinds[label]
        return FileType(label, kind["description"] or label, kind["mime_type"] or "application/octet-stream", guesses)
