"""The word of a pass for: nothing to do here."""

__all__ = ["Unsuited"]


class Unsuited(Exception):
    """The pass does not apply to a model; the message says why, as the end of a sentence."""
