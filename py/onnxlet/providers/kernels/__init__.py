"""KernelExecutionProvider: graphs compiled to programs for the kernels in wasm/kernels, run by one call each.

A program is compiled for the shapes that come, and kept. Results are those of the core's operators within the errors
that the kernels state (wasm/kernels/src).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import ops
from ...errors import ProviderError, Refused
from ...execute import compile_model
from ..base import Value
from . import convolution, elementwise, linear, reductions, rows, shapes  # noqa: F401  (rules)
from .compiling import Plan, compile_graph, refused_nodes

if TYPE_CHECKING:
    from ...options import SessionOptions
    from ...source import ModelSource

__all__ = ["KernelExecutable", "KernelProvider"]

KEPT = 8  # programs of one model, each for other shapes


@cache
def _module() -> Any:
    """The kernels' native module; None where it is not installed."""
    try:
        import onnxlet_kernels
    except ImportError:
        return None
    return onnxlet_kernels


class KernelProvider:
    """Our own kernels (see `providers.base.Provider`)."""

    name = "KernelExecutionProvider"

    def unavailable(self) -> str:
        return "" if _module() else "the package onnxlet-kernels is not installed"

    def load(self, source: ModelSource, options: SessionOptions) -> KernelExecutable:
        """Raises: Refused: nodes for which there is no kernel, whatever comes to them."""
        ops.load_all()
        program = compile_model(source.model())
        if nodes := refused_nodes(program):
            raise Refused(f"no kernel for the nodes {', '.join(nodes)}", nodes=nodes)
        return KernelExecutable(program)


class KernelExecutable:
    """A model whose programs are compiled as shapes come (see `providers.base.Executable`)."""

    def __init__(self, program: Any) -> None:
        self._program = program
        self._plans: dict[Any, Plan] = {}

    def run(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """Raises: Refused: no kernel for a node with the types and shapes that come."""
        if self._program is None:
            raise ProviderError("the session is closed; open another")
        plan = self.plan(fetches, feeds)
        outputs = tuple(np.empty(shape, dtype) for dtype, shape in plan.compiled.results)
        given = tuple(np.require(feeds[name], requirements=["C", "A"]) for name in plan.feeds)
        plan.compiled.program.run(given, outputs)
        return [outputs[r] if isinstance(r, int) else r.copy() for r in plan.results]

    def plan(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> Plan:
        """The program for these shapes. Raises: Refused: see `run`."""
        if odd := [name for name, value in feeds.items() if not isinstance(value, np.ndarray)]:
            raise Refused(f"the inputs {odd} are no arrays of types that numpy has")
        key = (tuple(fetches), *((name, v.dtype.char, v.shape) for name, v in feeds.items()))
        plan = self._plans.pop(key, None)
        if plan is None:
            kinds = {name: (value.dtype, value.shape) for name, value in feeds.items()}
            plan = compile_graph(self._program, kinds, fetches, _module())
            if len(self._plans) >= KEPT:
                del self._plans[next(iter(self._plans))]
        self._plans[key] = plan  # the one that was used last stands last
        return plan

    async def arun(self, fetches: Sequence[str], feeds: Mapping[str, Value]) -> list[Value]:
        """The same: nothing here waits."""
        return self.run(fetches, feeds)

    def close(self) -> None:
        """Give the memory back."""
        self._program = None
        self._plans = {}
