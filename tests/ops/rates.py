"""How many of ONNX's node tests pass on NumpyExecutionProvider: ``python -m tests.ops.rates``.

Prints what fails, why it is excluded where it is, and the rate that README shows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from . import generate_cases, node_cases
from .exclusions import reason


def main() -> None:
    cache = Path(".pytest_cache/d/onnxlet")
    cases = generate_cases.load(cache if cache.is_dir() else Path(tempfile.mkdtemp()))
    failed = node_cases.failures(cases)
    for name, error in failed.items():
        print(f"{name}: {reason(name) or error}")
    passed = len(cases) - len(failed)
    print(f"NumpyExecutionProvider: {passed} of {len(cases)} ONNX node tests pass ({passed / len(cases):.1%})")


if __name__ == "__main__":
    main()
