"""What a provider is: the one interface between a session and whatever computes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ..session import SessionOptions
    from ..source import ModelSource

__all__ = ["Executable", "Provider", "Traced", "Understudied", "Value"]

Value = Any  # numpy array, Narrow, list (sequence), dict (map), or None (empty optional)


class Executable(Protocol):
    """One model, loaded by one provider. Runs of one executable never overlap; the session queues them."""

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """Compute `fetches` in their order. `feeds` are checked, contiguous and native-endian.

        Raises: ProviderError: it failed; Refused: it learned only now that it cannot.
        """
        ...

    async def arun(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """The same without blocking the event loop, where the provider can."""
        ...

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        ...


@runtime_checkable
class Traced(Protocol):
    """An executable that keeps a time table of its nodes where ``SessionOptions.enable_profiling`` asks for it."""

    def trace(self) -> list[dict[str, Any]]:
        """Chrome-trace events with onnxruntime's names; no more are kept afterwards. Empty without profiling."""
        ...

    async def atrace(self) -> list[dict[str, Any]]:
        """The same where nothing can block."""
        ...


class Provider(Protocol):
    """A way to run ONNX graphs."""

    name: str  # onnxruntime's, such as "CPUExecutionProvider"

    def unavailable(self) -> str:
        """ "" when it can run here, else a sentence that says why not."""
        ...

    def load(self, source: ModelSource, options: SessionOptions) -> Executable:
        """Make a model runnable.

        Raises: Refused: it will not take the model, with the names of the nodes if it named any;
            InvalidModel: the model is broken.
        """
        ...


@runtime_checkable
class Understudied(Protocol):
    """A provider that answers some feeds wrongly, knows which, and knows who answers them right."""

    def understudy(self, feeds: Mapping[str, Value]) -> tuple[Provider, str] | None:
        """Who runs a model on these feeds instead, and why; None where the provider is right itself."""
        ...
