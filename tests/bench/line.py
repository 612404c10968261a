"""A slow network, made by the test host itself: so it holds for pages, workers and service workers of any browser.

Chromium's own emulation is set for one DevTools target at a time; nothing here depends on which of them it reaches.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["NETWORKS", "Link", "Network"]

_CHUNK = 16384  # bytes; at 20 Mbit/s each holds the line for 6.6 ms, so answers share it evenly


@dataclass
class Link:
    """One line that all connections share, with a delay before each answer, as DevTools defines latency.

    Args:
        bytes_per_s: bytes a second towards the browser; what it sends is free.
        latency_s: from a request to the first byte of its answer; connections are set up at no cost.
    """

    bytes_per_s: float
    latency_s: float
    _free_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self) -> None:
        """Let the latency pass; many requests wait side by side."""
        time.sleep(self.latency_s)

    def write(self, write: Callable[[bytes], object], data: bytes) -> None:
        """Hand data on in chunks, each when the line has carried it."""
        for start in range(0, len(data), _CHUNK):
            chunk = data[start : start + _CHUNK]
            with self._lock:
                arrives = max(time.monotonic(), self._free_at) + len(chunk) / self.bytes_per_s
                self._free_at = arrives
            time.sleep(max(0.0, arrives - time.monotonic()))
            write(chunk)


@dataclass(frozen=True)
class Network:
    """A network to measure on: `words` for titles, and what makes its line."""

    words: str
    line: Callable[[], Link | None]


NETWORKS = {
    "none": Network("", lambda: None),
    "20mbit": Network(", 20 Mbit/s and 40 ms", lambda: Link(bytes_per_s=20e6 / 8, latency_s=0.040)),
}
