"""``python -m onnxlet_build``: the same as build.py."""

import sys

from .cli import main

sys.exit(main())
