"""What can go wrong, by who has to act.

    Exception
    └── OnnxletError
        ├── InvalidModel    (ValueError)           the model's author: the file breaks the ONNX format or its own rules
        ├── InvalidInput    (ValueError)           the caller: a feed, a value or an argument does not fit
        ├── UnsupportedOp   (NotImplementedError)  us, or the author of a custom operator
        ├── OutOfMemory     (MemoryError)          whoever has the device, or the person at the build: it does not fit
        ├── ProviderError   (RuntimeError)         the runtime below failed
        │   └── Refused                            ... before it ran: it will not take these nodes
        └── BuildError      (RuntimeError)         the person at the build: a file, a package or an option

A message says where, what was expected, what came, and what to do, in that order:
``node "conv1" (Conv): W has 3 input channels, expected 8 (X channels / group)``.
"""

from collections.abc import Sequence

__all__ = [
    "BuildError",
    "InvalidInput",
    "InvalidModel",
    "OnnxletError",
    "OutOfMemory",
    "ProviderError",
    "Refused",
    "UnsupportedOp",
]


class OnnxletError(Exception):
    """The root of every error that this package raises on purpose."""


class InvalidModel(OnnxletError, ValueError):
    """A file is no ONNX model, or the model breaks a rule of ONNX."""


class InvalidInput(OnnxletError, ValueError):
    """A feed or an argument does not fit what was declared."""


class UnsupportedOp(OnnxletError, NotImplementedError):
    """An operator, or one of its modes, that nothing here implements."""


class OutOfMemory(OnnxletError, MemoryError):
    """A model, or a run of it, needs more memory than there is. Later, when others are closed, it may fit."""


class ProviderError(OnnxletError, RuntimeError):
    """The runtime below a session failed."""


class Refused(ProviderError):
    """A provider will not take a model.

    Args:
        message: what the provider said.
        nodes: names of the nodes that it named; empty when it named none.
        final: it will take no part of the model either.
    """

    def __init__(self, message: str, nodes: Sequence[str] = (), *, final: bool = False) -> None:
        super().__init__(message)
        self.nodes = tuple(nodes)
        self.final = final


class BuildError(OnnxletError, RuntimeError):
    """The build cannot go on until a person changes something."""
