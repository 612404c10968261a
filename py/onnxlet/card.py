"""Where a model comes from and what it is bad at, in the words of who publishes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from .errors import InvalidInput
from .records import dataclass

__all__ = ["Cards", "ModelCard", "read_cards"]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a visitor reads about a model below the form. Its size is not said here: the build knows it.

    Args:
        name: of the model.
        source: where it was taken from: a package and its version, a paper, an address.
        licence: of the weights, as SPDX writes it where it has a name for it.
        trained_on: the data that it learned from.
        limits: what it is bad at, or must not be used for.
    Raises: InvalidInput: an empty name, source or licence; another type than text.
    """

    name: str
    source: str
    licence: str
    trained_on: str = ""
    limits: str = ""

    def __post_init__(self) -> None:
        for field, value in asdict(self).items():
            if not isinstance(value, str):
                raise InvalidInput(f"ModelCard: expected {field} as text, got {type(value).__name__}")
            if not value.strip() and field in ("name", "source", "licence"):
                raise InvalidInput(f"ModelCard: {field} is empty; say it, even if it is only “own work”")


Cards = ModelCard | Sequence[ModelCard] | None


def read_cards(card: Cards) -> tuple[ModelCard, ...]:
    """One card, several or none, as a tuple. Raises: InvalidInput: anything else."""
    if card is None:
        return ()
    cards = (card,) if isinstance(card, ModelCard) else tuple(card)
    if strange := [one for one in cards if not isinstance(one, ModelCard)]:
        raise InvalidInput(f"App: expected card as a ModelCard or a list of them, got {type(strange[0]).__name__}")
    return cards
