"""How much a visit may weigh: what a person allows, and where a site goes past it."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from onnxlet.errors import BuildError

from .report.numbers import size
from .visits import KINDS, Visit

__all__ = ["entry", "overruns", "parse"]

# What a budget may be set for, and the parts that count.
_COUNTED = {"total": KINDS, "runtime": ("python", "onnxruntime"), **{kind: (kind,) for kind in KINDS}}
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?i?b?)", re.I)


def parse(text: str) -> dict[str, int]:
    """``12MB`` or ``total=12MB,model=5MB`` as bytes by name; {} for "".

    Raises: BuildError: there is no such name or no such size.
    """
    limits = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        name, equals, value = item.rpartition("=")
        name = name.strip() if equals else "total"
        match = _SIZE.fullmatch(value.strip())
        if name not in _COUNTED or not match or match[2].lower() not in _UNITS:
            names = ", ".join(_COUNTED)
            raise BuildError(f"--budget {item}: expected a size such as 12MB, or NAME=SIZE, the name one of {names}")
        limits[name] = round(float(match[1]) * _UNITS[match[2].lower()])
    return limits


def entry(visits: Sequence[Visit], limits: Mapping[str, int]) -> dict[str, Any]:
    """site.json's "budget": bytes over the wire, in brotli, before an app's first answer."""
    apps = {
        visit.app: {name: visit.first(*kinds).br for name, kinds in _COUNTED.items() if name != "runtime"}
        for visit in visits
    }
    return {"limits": dict(limits), "apps": apps}


def overruns(visits: Sequence[Visit], limits: Mapping[str, int]) -> list[str]:
    """A sentence for each limit that an app's visit goes past, and what weighs most in it."""
    found = []
    for visit in visits:
        for name, limit in limits.items():
            kinds = _COUNTED[name]
            bytes_ = visit.first(*kinds).br
            if bytes_ <= limit:
                continue
            parts = sorted((p for p in visit.parts if p.kind in kinds), key=lambda part: part.weight.br, reverse=True)
            most = ", ".join(f"{part.name} {size(part.weight.br)}" for part in parts[:3])
            found.append(
                f"{visit.title}: a first visit fetches {size(bytes_)} ({name}, brotli), the budget is {size(limit)}; "
                f"most of it: {most}"
            )
    return found
