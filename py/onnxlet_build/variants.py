"""What the build knows of one model's variants: the words that optimize, quantize, parity, choose and report share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .accuracy import Accuracy
from .findings import Finding

__all__ = ["DEVICE_CLASSES", "ORIGINAL", "Candidate", "NodeError", "Proof", "Step", "Study"]

ORIGINAL = "original"
# What a visitor's machine may be, as site.json's `choice` names it; "python" is the core's own operators.
DEVICE_CLASSES = ("wasm", "webgpu", "webgpu-f16", "python")


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that was tried on a model.

    Args:
        name: such as "onnxslim" or "transformer fusions".
        kept: whether its result was kept.
        reason: a sentence: what it gained, or why it was dropped.
    """

    name: str
    kept: bool
    reason: str
    nodes_before: int = 0
    nodes_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0


@dataclass(frozen=True, slots=True)
class NodeError:
    """How far one node's output in a variant is from the original's, on native ONNX Runtime.

    Args:
        snr_db: inf where equal.
        float_kept: whether the search left the node in float.
    """

    node: str
    op_type: str
    snr_db: float
    float_kept: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A variant that might ship.

    Args:
        name: ORIGINAL, "optimized", or a recipe's name, such as "int8-dynamic".
        path: the .onnx file; None where the recipe was refused.
        format: of most weights: fp32, fp16, int8, int4 ..., as `site_models.weight_format` says.
        steps: sentences: how it came to be.
        float_nodes: names of the nodes that the sensitivity search left in float.
        accuracy: against the original, on native ONNX Runtime.
        node_errors: in the graph's order; empty where nodes of both graphs cannot be matched.
        refused: why it cannot ship, known without a browser; "" where it may.
    """

    name: str
    path: Path | None
    format: str = ""
    bytes: int = 0
    steps: tuple[str, ...] = ()
    float_nodes: tuple[str, ...] = ()
    accuracy: Accuracy | None = None
    node_errors: tuple[NodeError, ...] = ()
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """One variant on one backend of a real browser.

    Args:
        variant: a candidate's name.
        backend: "wasm" (one thread), "wasm-threads", "webgpu" or "python".
        accuracy: against the original on native ONNX Runtime; None where it did not run.
        cold_ms: from opening the session to its first answer; warm_ms: the median of later runs.
        peak_bytes: of the WebAssembly memories after the runs.
        provider: what really ran, onnxruntime's name.
        placement: the session's, as docs/architecture.md has it; empty where the whole graph ran on the provider.
        emulated: whether the graphics adapter was software: its times mean nothing.
        fault: why it may not be offered; "" where it is right.
    """

    variant: str
    backend: str
    accuracy: Accuracy | None = None
    cold_ms: float = 0.0
    warm_ms: float = 0.0
    peak_bytes: int = 0
    threads: int = 1
    provider: str = ""
    placement: dict[str, object] = field(default_factory=dict)
    adapter: str = ""
    f16: bool = False
    emulated: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """All that the build found out about one model; what it did not do stays empty.

    Args:
        name: the model's file as the app opens it, such as "digits.onnx".
        app: the title of the app.
        source: a sentence: what the model was made from, and by what.
        verified: a sentence: how its outputs were compared with the source library's; "" where they were not.
        notes: sentences: what else happened on the way, or was left out (``--no-browser``).
        findings: of `check`.
        steps: of `optimize`, in their order.
        candidates: ORIGINAL and every variant, the refused ones included.
        proofs: of every candidate that a browser ran.
        choice: the candidate's name by device class; reasons: a sentence for each, those left out included.
        budget: how much worse a variant may be, as ``--max-drop`` takes it.
        calibration_from, evaluation_from: where the samples came from, such as "the app's examples".
        references: files of samples and of the original's outputs, pairs of .npz, for a visitor's own check.
        seconds: what each stage took, by name, in the order of the stages.
    """

    name: str
    app: str = ""
    source: str = ""
    verified: str = ""
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    steps: tuple[Step, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    proofs: tuple[Proof, ...] = ()
    choice: Mapping[str, str] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    budget: str = ""
    calibration_samples: int = 0
    calibration_from: str = ""
    evaluation_samples: int = 0
    evaluation_from: str = ""
    references: tuple[tuple[Path, Path], ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def proven(self) -> bool:
        """Whether a browser gave right answers with any variant."""
        return any(proof.accuracy is not None and not proof.fault for proof in self.proofs)

    def candidate(self, name: str) -> Candidate | None:
        """The candidate of a name."""
        return next((candidate for candidate in self.candidates if candidate.name == name), None)
