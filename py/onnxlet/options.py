"""How a session and a run are configured: onnxruntime's classes, fields and defaults.

A field that means nothing to a provider is accepted and checked all the same, so that code written for onnxruntime
runs unchanged. ``SessionOptions.free_dimensions`` and ``config`` are what providers read.
Source: onnxruntime 1.32, `onnxruntime.SessionOptions` and `onnxruntime.RunOptions`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar

__all__ = ["ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "RunOptions", "SessionOptions"]


class GraphOptimizationLevel(IntEnum):
    """How far a provider may rewrite the graph before it runs it."""

    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(IntEnum):
    """Whether independent nodes may run at the same time."""

    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(IntEnum):
    """In which order nodes run where the graph leaves a choice."""

    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


class _Fields:
    """An object with a fixed set of typed fields: a typing error in a name or a value fails at once."""

    _defaults: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        for name, value in self._defaults.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "config", {})

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        if name not in self._defaults:
            raise AttributeError(f"{kind} has no field {name!r}; it has {', '.join(self._defaults)}")
        wanted = type(self._defaults[name])
        if wanted in (int, bool) and not isinstance(value, IntEnum) and hasattr(value, "__index__"):
            value = wanted(value)  # numpy's integers too, as onnxruntime does
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, IntEnum)):
            raise TypeError(f"{kind}.{name}: expected {wanted.__name__}, got {type(value).__name__} ({value!r})")
        object.__setattr__(self, name, value)

    def _add(self, key: str, value: str) -> None:
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"a configuration entry is two strings, got {key!r}: {value!r}")
        if not key:
            raise ValueError("a configuration entry needs a key that is not empty")
        self.config[key] = value

    def _get(self, key: str) -> str:
        try:
            return self.config[key]
        except KeyError:
            raise RuntimeError(f"{type(self).__name__} does not have configuration with key: {key}") from None

    config: dict[str, str]


class SessionOptions(_Fields):
    """How a model is loaded. Every field has onnxruntime's name, type and default.

    ``intra_op_num_threads`` 0 lets the provider choose: natively all cores, in the page min(4, cores / 2) where the
    page is isolated and 1 where it is not.
    """

    _defaults: ClassVar[dict[str, Any]] = {
        "enable_cpu_mem_arena": True,
        "enable_mem_pattern": True,
        "enable_mem_reuse": True,
        "enable_profiling": False,
        "execution_mode": ExecutionMode.ORT_SEQUENTIAL,
        "execution_order": ExecutionOrder.DEFAULT,
        "graph_optimization_level": GraphOptimizationLevel.ORT_ENABLE_ALL,
        "inter_op_num_threads": 0,
        "intra_op_num_threads": 0,
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "optimized_model_filepath": "",
        "profile_file_prefix": "onnxruntime_profile_",
        "use_deterministic_compute": False,
        "use_per_session_threads": True,
    }
    enable_cpu_mem_arena: bool
    enable_mem_pattern: bool
    enable_mem_reuse: bool
    enable_profiling: bool
    execution_mode: ExecutionMode
    execution_order: ExecutionOrder
    graph_optimization_level: GraphOptimizationLevel
    inter_op_num_threads: int
    intra_op_num_threads: int
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    optimized_model_filepath: str
    profile_file_prefix: str
    use_deterministic_compute: bool
    use_per_session_threads: bool
    free_dimensions: dict[str, int]

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "free_dimensions", {})

    def add_session_config_entry(self, key: str, value: str) -> None:
        """Set an entry such as ``session.qdq_matmulnbits_accuracy_level``; the provider reads it.

        Raises: TypeError: key or value is no string; ValueError: the key is empty.
        """
        self._add(key, value)

    def get_session_config_entry(self, key: str) -> str:
        """Raises: RuntimeError: nobody set it."""
        return self._get(key)

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Fix a symbolic dimension ("batch") to a size, so that the provider can plan for it."""
        if not isinstance(name, str) or isinstance(size, bool) or not isinstance(size, int):
            raise TypeError(f"a dimension override is a name and a size, got {name!r}: {size!r}")
        self.free_dimensions[name] = size

    def has_providers(self) -> bool:
        """Whether options carry providers of their own; here providers are always given to the session."""
        return False


class RunOptions(_Fields):
    """How one run is made. Every field has onnxruntime's name, type and default."""

    _defaults: ClassVar[dict[str, Any]] = {
        "log_severity_level": -1,
        "log_verbosity_level": 0,
        "logid": "",
        "only_execute_path_to_fetches": False,
        "terminate": False,
    }
    log_severity_level: int
    log_verbosity_level: int
    logid: str
    only_execute_path_to_fetches: bool
    terminate: bool

    def add_run_config_entry(self, key: str, value: str) -> None:
        """Raises: TypeError: key or value is no string; ValueError: the key is empty."""
        self._add(key, value)

    def get_run_config_entry(self, key: str) -> str:
        """Raises: RuntimeError: nobody set it."""
        return self._get(key)
