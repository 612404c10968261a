#!/usr/bin/env python3
"""The server-side step: app files and models in, a static site out. ``build.py --help`` says how."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "py"))

try:
    from onnxlet_build.cli import main
except ModuleNotFoundError as error:
    sys.exit(f"error: {sys.executable} has no module {error.name}; run `make demo` once, then use .venv/bin/python")

if __name__ == "__main__":
    sys.exit(main())
