"""One C source tree, compiled once natively, and twice for WebAssembly: with SIMD128, and with relaxed SIMD too."""

import os
import platform
import sys
from pathlib import Path

from setuptools import Extension, setup

HERE = Path(__file__).parent
SOURCES = sorted(path.relative_to(HERE).as_posix() for path in (HERE / "src").glob("*.c"))
WASM = "emscripten" in sys.platform or "_PYTHON_HOST_PLATFORM" in os.environ
COMMON = ["-O3", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-Wall", "-Wextra"]


def module(name: str, *flags: str) -> Extension:
    return Extension(
        f"onnxlet_kernels.{name}",
        SOURCES,
        depends=[path.relative_to(HERE).as_posix() for path in (HERE / "src").glob("*.h")],
        define_macros=[("MODULE", name)],
        extra_compile_args=[*COMMON, *flags],
        py_limited_api=True,
    )


if WASM:
    modules = [module("simd", "-msimd128"), module("relaxed", "-msimd128", "-mrelaxed-simd")]
else:
    x86 = platform.machine() in ("x86_64", "AMD64")
    modules = [module("simd", *(["-msse4.1"] if x86 else []))]

setup(ext_modules=modules, options={"bdist_wheel": {"py_limited_api": "cp311"}})
