"""The kernels' native module: `Program`, which runs operators, and OPERATORS, what it may name.

Natively there is one module. For WebAssembly there are two, with SIMD128 and with relaxed SIMD: an engine that lacks
the latter refuses the whole module that has it.
"""

try:
    from .relaxed import OPERATORS, Program
except ImportError:
    from .simd import OPERATORS, Program

__all__ = ["OPERATORS", "Program"]
