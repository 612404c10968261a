"""Import what the start of any page imports: numpy, the core, and what a typical app takes from the standard library.

Runs inside Pyodide. Whatever is in sys.modules afterwards is in the page's first archives; the rest of Python's library
comes after the start (onnxlet/late.py).
"""

import importlib

# What apps import, and Pillow's readers of PNG, JPEG and WebP; each costs a visitor a few kilobytes.
TYPICAL = [
    *("array", "base64", "collections.abc", "csv", "dataclasses", "datetime", "enum", "functools", "hashlib", "heapq"),
    *("io", "itertools", "json", "math", "operator", "pathlib", "random", "re", "string", "struct", "tempfile"),
    *("textwrap", "time", "typing", "unicodedata", "warnings"),
    "importlib.metadata",  # importlib.invalidate_caches() imports it
    *("encodings.cp437", "encodings.latin_1", "encodings.utf_8_sig"),
]

for name in (*TYPICAL, "onnxlet.host", "onnxlet.late", "onnxlet.snapshot", "onnxlet.tasks"):
    importlib.import_module(name)
del name
