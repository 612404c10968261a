"""How many of ONNX's node tests pass on NumpyExecutionProvider: ``python -m tests.ops.rates``.

Prints what fails, why it is excluded where it is, and the rate that README shows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from . import node_cases
from .exclusions import reason


def measure(cases: list[node_cases.Case]) -> dict[str, str]:
    """The failed cases, with what went wrong."""
    failed = {}
    for case in cases:
        try:
            node_cases.check(case)
        except Exception as e:
            failed[case.name] = f"{type(e).__name__}: {' '.join(str(e).split())[:200]}"
    return failed


def main() -> None:
    cache = Path(".pytest_cache/d/onnxlet")
    cases = node_cases.load(cache if cache.is_dir() else Path(tempfile.mkdtemp()))
    failed = measure(cases)
    for name, error in failed.items():
        print(f"{name}: {reason(name) or error}")
    passed = len(cases) - len(failed)
    print(f"NumpyExecutionProvider: {passed} of {len(cases)} ONNX node tests pass ({passed / len(cases):.1%})")


if __name__ == "__main__":
    main()
