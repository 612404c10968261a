"""What the tasks on texts share: a session that takes tokens, how texts are cut to fit it, and its outputs' names.

Every text runs alone, unpadded, as Hugging Face's pipelines do by default: its answer depends on no other text, even in
models whose int8 scales are taken from all that is run together.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields

import numpy as np

from ..dtypes import Array, from_ort_type
from ..errors import InvalidInput
from ..session import InferenceSession
from ..tokenizer import Encoding, Tokenizer
from .metadata import MAX_LENGTH, custom_metadata, literal
from .steps import Run, Steps

__all__ = ["TextModel", "nonempty", "windows"]

_KNOWN = ("input_ids", "attention_mask", "token_type_ids", "position_ids")


class TextModel:
    """A session that takes token ids, and the tokenizer that makes them.

    Args:
        task: the class that uses it, for messages.
        outputs: names of the outputs that are wanted, as Hugging Face calls them; a model that has other names gives
            its first ones.
    Raises: InvalidInput: the model takes no ids, or something that a text does not give; too few outputs.
    """

    def __init__(self, task: str, session: InferenceSession, tokenizer: Tokenizer, outputs: Sequence[str]) -> None:
        self.task = task
        self.session = session
        self.tokenizer = tokenizer
        self._inputs = {arg.name: arg for arg in session.get_inputs()}
        if "input_ids" not in self._inputs or not set(self._inputs) <= set(_KNOWN):
            raise InvalidInput(
                f"{task}: the model takes {', '.join(self._inputs)}; expected input_ids, "
                f"and none but {', '.join(_KNOWN)}"
            )
        given = session.get_outputs()
        if len(given) < len(outputs):
            raise InvalidInput(f"{task}: the model has {len(given)} output, expected {' and '.join(outputs)}")
        found = {arg.name: arg for arg in given}
        self.outputs = [found[name] for name in outputs] if found.keys() >= set(outputs) else given[: len(outputs)]
        length = self._inputs["input_ids"].shape[-1]
        self._length = length if isinstance(length, int) else None  # of models that take no other
        told = literal(custom_metadata(session).get(MAX_LENGTH, ""))
        limits = [n for n in (self._length, told, tokenizer.model_max_length) if isinstance(n, int)]
        self.limit: int | None = min(limits, default=None)  # tokens, special ones among them

    def encode(self, text: str, pair: str | None = None) -> Encoding:
        """The tokens of a text, or of two; what does not fit goes from the end of the longer one, with a warning."""
        encoding = self.tokenizer.encode(text, pair)
        if self.limit is None or len(encoding) <= self.limit:
            return encoding
        self.warn_cut(len(encoding))
        return self.tokenizer.encode(text, pair, max_length=self.limit)

    def warn_cut(self, length: int) -> None:
        """Say that a text is longer than the model takes."""
        text = f"{self.task}: the text has {length} tokens and the model takes {self.limit}; the rest is left out"
        warnings.warn(text, stacklevel=2)

    def run(self, row: Encoding) -> Steps[list[Array]]:
        """Steps that run the model on one text. Returns: the outputs, float64, of this text: [...] each."""
        length = self._length or len(row)
        given = dict(zip(_KNOWN, (row.ids, row.attention_mask, row.type_ids, list(range(len(row)))), strict=True))
        feeds = {}
        for name, arg in self._inputs.items():
            filler = self.tokenizer.pad_token_id or 0 if name == "input_ids" else 0
            values = given[name] + [filler] * (length - len(row))
            feeds[name] = np.array([values], from_ort_type(arg.type).numpy)
        outputs = yield Run(self.session, [arg.name for arg in self.outputs], feeds)
        found = [np.asarray(output, np.float64)[0] for output in outputs]
        if any(np.isnan(output).any() for output in found):
            raise InvalidInput(f"{self.task}: the model's outputs hold NaN; look at what it was given")
        return found


def windows(encoding: Encoding, sequence: int, limit: int | None, stride: int, task: str) -> list[Encoding]:
    """Cut the text of an encoding into windows that overlap; what stands around it is around each of them.

    Args:
        sequence: which text is cut: 0, or 1 for the pair.
        limit: tokens of a window, special ones among them; None: there is no limit.
        stride: tokens that a window shares with the one before; half of them where there is no room for so many.
    Raises: InvalidInput: nothing of the text fits beside the rest.
    """
    if limit is None or len(encoding) <= limit:
        return [encoding]
    inside = [i for i, one in enumerate(encoding.sequence_ids) if one == sequence]
    around = len(encoding) - len(inside)
    room = limit - around
    if room < 1 or not inside:
        raise InvalidInput(f"{task}: {around} tokens stand beside the text and the model takes {limit}; shorten them")
    step = room - (stride if 0 <= stride < room else room // 2)
    count = 1 + max(0, -(-(len(inside) - room) // step))
    before, after = range(inside[0]), range(inside[-1] + 1, len(encoding))
    return [part(encoding, [*before, *inside[i * step : i * step + room], *after]) for i in range(count)]


def part(encoding: Encoding, kept: Iterable[int]) -> Encoding:
    """Some tokens of an encoding."""
    kept = list(kept)
    return Encoding(**{one.name: [getattr(encoding, one.name)[i] for i in kept] for one in fields(Encoding)})


def nonempty(text: str, what: str, task: str) -> str:
    """The text. Raises: InvalidInput: it is no str, or has nothing but white space."""
    if not isinstance(text, str):
        raise InvalidInput(f"{task}: expected {what} as a str, got {type(text).__name__}")
    if not text.strip():
        raise InvalidInput(f"{task}: {what} is empty; write something")
    return text
