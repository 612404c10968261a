"""Whether a model answers on the visitor's device as the build saw it answer: asked for by the visitor, on the page."""

from __future__ import annotations

import io
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from .accuracy import Accuracy, Measure, strays
from .dtypes import Array
from .errors import InvalidInput
from .last_calls import keeping_last, session_of

__all__ = ["verify"]

_EQUAL = Accuracy(0, 0.0, math.inf, 1.0)


async def verify(number: int, read: Callable[[str], Awaitable[bytes]]) -> dict[str, Any]:
    """Run the build's samples through a session, and see whether it is as near to the original as the build saw.

    Args:
        number: the session's.
        read: gives a file of the site by its path.
    Returns: ``found`` and ``expected``: figures of `Accuracy`, with None for infinity (``expected`` is None where the
        build has none); ``provider``: what the session was on; ``wrong``: why its answers cannot be trusted here, ""
        where they can.
    Raises: InvalidInput: no such session, or no samples for it; else what a run raises.
    """
    session = session_of(number)
    references = session.source.references
    if not references:
        raise InvalidInput(f"{session.source.name}: the site has no samples of it; build it with a browser at hand")
    provider = session.get_providers()[0]
    expected = _read(session.source.variant(provider).get("error"))
    measure: Measure | None = None
    with keeping_last(session):
        for reference in references:
            feeds, outputs = [_arrays(await read(reference[kind])) for kind in ("feeds", "outputs")]
            measure = measure or Measure(list(outputs))
            measure.add(list(outputs.values()), await session.arun(list(outputs), feeds))
    assert measure, "there is a reference"
    found = measure.result()
    ran = (session.placement() or {}).get("provider", session.get_providers()[0])
    return {
        "found": _plain(found),
        "expected": _plain(expected) if expected else None,
        "provider": provider,
        "wrong": strays(found, expected or _EQUAL) if ran == provider else session.fallen or f"{ran} had to take over",
    }


def _arrays(data: bytes) -> dict[str, Array]:
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored}


def _read(error: Mapping[str, Any] | None) -> Accuracy | None:
    """The build's figures; site.json has no infinity."""
    if not error:
        return None
    return Accuracy(**{**error, "snr_db": math.inf if error["snr_db"] is None else error["snr_db"]})


def _plain(accuracy: Accuracy) -> dict[str, Any]:
    return {**asdict(accuracy), "snr_db": accuracy.snr_db if math.isfinite(accuracy.snr_db) else None}
