"""Import what the start of any page imports: numpy, the core, and what a typical app takes from the standard library.

Runs inside Pyodide. Whatever is in sys.modules afterwards is in the page's first archives; the rest of Python's library
comes after the start (onnxlet/late.py).
"""

import importlib

# What apps import, and Pillow's readers of PNG, JPEG and WebP; each costs a visitor a few kilobytes.
TYPICAL = [
    *("array", "base64", "collections.abc", "csv", "dataclasses", "datetime", "enum", "fractions", "functools"),
    *("hashlib", "heapq", "io", "itertools", "json", "math", "operator", "pathlib", "random", "re", "string", "struct"),
    *("tempfile", "textwrap", "time", "typing", "unicodedata", "warnings"),
    "importlib.metadata",  # importlib.invalidate_caches() imports it
    *("encodings.cp437", "encodings.latin_1", "encodings.utf_8_sig"),
]

# Beside what these import: what a session and a call import in a page when they are first made.
CORE = [
    *("onnxlet.host", "onnxlet.late", "onnxlet.snapshot", "onnxlet.media.codecs", "onnxlet.tensors", "onnxlet.files"),
    *("onnxlet.providers.partitioned", "onnxlet.providers.faults", "onnxlet.providers.stages", "onnxlet.partition"),
]

for name in (*TYPICAL, *CORE):
    importlib.import_module(name)
for package in map(importlib.import_module, ("onnxlet", "onnxlet.tasks")):
    for name in dir(package):
        getattr(package, name)  # their modules are imported when a name is used
del name, package
