"""What the report says, before it is a page: ratios to the original, who loads what, and all of it as JSON.

report.json, whose keys stay as they are within one `format`; numbers that JSON lacks are "inf", "-inf" or "nan":

    {"format": 1,
     "proven": whether a browser gave right answers with any variant,
     "context": {"title", "time", "commands": [], "versions": {}, "machine", "browser", "adapter"},
     "models": [{"name", "app", "source", "verified", "notes", "findings", "steps", "choice", "reasons", "budget",
                 "calibration_samples", "calibration_from", "evaluation_samples", "evaluation_from", "seconds",
                 "verdict": sentences,
                 "candidates": [Candidate's fields, `path` being the file's name, and "times_smaller"],
                 "proofs": [Proof's fields, and "refused", "cold_times_faster", "warm_times_faster"]}],
     "direct": [{"app", "function", "waits": why it waits for Python, or "", "samples", "max_abs"}], tasks only,
     "downloads": [{"group", "files", "bytes", "gzip_bytes", "brotli_bytes"}] or null,
     "visits": [{"app", "title",
                 "parts": [{"name", "kind", "when": "first" or "later", "weight": {"bytes", "gz", "br"}}]}]}

A proof's "refused" says why the variant is not offered there, "" where it may be.
The ratios compare with the original on the same backend; null where it did not run, or where the times mean nothing.
"""

import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from onnxlet.errors import BuildError

from ..accuracy import Accuracy, Budget
from ..choose import right_on
from ..sizes import Row
from ..variants import DEVICE_CLASSES, ORIGINAL, Candidate, Proof, Study
from ..visits import Visit

__all__ = [
    "BACKENDS",
    "DEVICES",
    "RUNS_ON",
    "Context",
    "accuracy_of",
    "allowed",
    "document",
    "loaded_by",
    "proof_for",
    "refusal",
    "times_faster",
    "times_smaller",
]

DEVICES = {
    "wasm": "WebAssembly",
    "webgpu": "WebGPU",
    "webgpu-f16": "WebGPU (float16)",
    "python": "Python alone",
}
BACKENDS = {
    "wasm": "WebAssembly, 1 thread",
    "wasm-threads": "WebAssembly, threads",
    "webgpu": "WebGPU",
    "python": "Python",
}
# What a device class runs on, the backend that stands for it first.
RUNS_ON = {"wasm": ("wasm", "wasm-threads"), "webgpu": ("webgpu",), "webgpu-f16": ("webgpu",), "python": ("python",)}
_PACKAGES = ("onnxlet", "numpy", "onnx", "onnxruntime")


@dataclass(frozen=True, slots=True)
class Context:
    """What all studies of one build share.

    Args:
        title: of the site or its only app.
        time: of the build, ISO 8601.
        commands: shell lines that do it again.
        versions: by name, as far as they may change a result.
        machine: operating system, processors.
        browser: what proved the variants, with its version; "" where none did.
        adapter: the browser's graphics adapter; "" where it had none.
        direct: of each function that is a task, whether it answers before Python is there.
    """

    title: str = ""
    time: str = ""
    commands: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: str = ""
    browser: str = ""
    adapter: str = ""
    direct: tuple[Mapping[str, Any], ...] = ()

    @classmethod
    def here(
        cls,
        title: str,
        commands: Sequence[str] = (),
        versions: Mapping[str, str] | None = None,
        browser: str = "",
        adapter: str = "",
    ) -> "Context":
        """The context of a build that runs now, on this machine.

        Args:
            versions: of what Python's packages do not tell: onnxruntime-web, pyodide, the source's framework.
        """
        found = {"python": platform.python_version()}
        for package in _PACKAGES:
            try:
                found[package] = version(package)
            except PackageNotFoundError:  # run from a checkout that was never installed
                continue
        machine = f"{platform.system()} {platform.machine()}, {os.cpu_count() or 1} CPUs"
        now = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(title, now, tuple(commands), {**found, **(versions or {})}, machine, browser, adapter)


def times_smaller(study: Study, candidate: Candidate) -> float | None:
    """The original's bytes over the candidate's; None where either is unknown."""
    original = study.candidate(ORIGINAL)
    return original.bytes / candidate.bytes if original and original.bytes and candidate.bytes else None


def times_faster(study: Study, proof: Proof) -> tuple[float | None, float | None]:
    """The original's time over the variant's on the same backend: (cold, warm); None where they mean nothing."""
    originals = [p for p in study.proofs if p.variant == ORIGINAL and p.backend == proof.backend]
    base = next((p for p in originals if p.f16 == proof.f16), originals[0] if originals else None)
    if base is None or base.emulated or proof.emulated or proof.accuracy is None:
        return None, None
    return _ratio(base.cold_ms, proof.cold_ms), _ratio(base.warm_ms, proof.warm_ms)


def _ratio(original: float, variant: float) -> float | None:
    return original / variant if original > 0 and variant > 0 else None


def allowed(study: Study) -> str:
    """The budget in words."""
    budget = _budget(study)
    if budget is None:
        return study.budget
    if budget.snr_db is not None:
        return f"at least {budget.snr_db:g} dB of signal to noise"
    found = [candidate.accuracy for candidate in study.candidates if candidate.accuracy]
    if any(accuracy.metric is not None for accuracy in found):
        return f"the model's own metric may drop by {budget.drop:g}"
    if any(accuracy.top1 is not None for accuracy in found):
        return f"at most {100 * budget.drop:.3g}% of the best classes may differ"
    return f"a cosine of at least {1 - budget.drop:g}"


def _budget(study: Study) -> Budget | None:
    try:
        return Budget.parse(study.budget)
    except BuildError:  # none was kept
        return None


def refusal(study: Study, proof: Proof) -> str:
    """Why what was proven may not be offered: it failed, or its answers there are over the budget; "" where it may."""
    candidate, original, budget = study.candidate(proof.variant), study.candidate(ORIGINAL), _budget(study)
    if candidate and candidate.refused:
        return candidate.refused
    if candidate is None or original is None or budget is None:
        return proof.fault or ("" if proof.accuracy else "it did not run")
    page = next((page for page, backends in RUNS_ON.items() if proof.backend in backends), "")
    return right_on(candidate, [proof], page, budget, original) if page else proof.fault


def loaded_by(study: Study, name: str) -> list[str]:
    """The device classes that load a candidate, in the usual order; classes that we do not know come last."""
    known = [device for device in DEVICE_CLASSES if study.choice.get(device) == name]
    return known + [device for device, chosen in study.choice.items() if chosen == name and device not in known]


def proof_for(study: Study, device: str) -> Proof | None:
    """The proof that stands for what a device class loads; None where no browser gave right answers with it."""
    of_choice = [p for p in study.proofs if p.variant == study.choice.get(device) and p.accuracy and not p.fault]
    for backend in RUNS_ON.get(device, (device,)):
        fitting = [proof for proof in of_choice if proof.backend == backend]
        if fitting:
            return next((proof for proof in fitting if proof.f16 == (device == "webgpu-f16")), fitting[0])
    return None


def accuracy_of(study: Study, device: str) -> Accuracy | None:
    """How near the answers are that a device class gets: as proven, else as native ONNX Runtime gave them."""
    proof, candidate = proof_for(study, device), study.candidate(study.choice.get(device, ""))
    native = candidate.accuracy if candidate else None
    if proof is None or proof.accuracy is None:
        return native
    return replace(proof.accuracy, metric=native.metric) if native else proof.accuracy  # measured natively only


def document(
    studies: Sequence[Study],
    rows: Sequence[Row] | None,
    context: Context,
    verdicts: Sequence[Sequence[str]],
    visits: Sequence[Visit] = (),
) -> dict[str, Any]:
    """All of report.json: see the module's text."""
    models = [_model(study, list(verdict)) for study, verdict in zip(studies, verdicts, strict=True)]
    proven = any(study.proven for study in studies)
    downloads = None if rows is None else [asdict(row) for row in rows]
    whole = {
        "format": 1,
        "proven": proven,
        "context": {name: value for name, value in asdict(context).items() if name != "direct"},
        "models": models,
        "direct": context.direct,
        "downloads": downloads,
        "visits": [asdict(visit) for visit in visits],
    }
    plain: dict[str, Any] = _plain(whole)
    return plain


def _model(study: Study, verdict: list[str]) -> dict[str, Any]:
    candidates = [
        {
            **asdict(candidate),
            "path": candidate.path.name if candidate.path else None,
            "times_smaller": times_smaller(study, candidate),
        }
        for candidate in study.candidates
    ]
    proofs = [
        {
            **asdict(proof),
            "refused": refusal(study, proof),
            **dict(zip(("cold_times_faster", "warm_times_faster"), times_faster(study, proof), strict=True)),
        }
        for proof in study.proofs
    ]
    fields = {name: value for name, value in asdict(study).items() if name != "references"}  # files of the site
    return {**fields, "verdict": verdict, "candidates": candidates, "proofs": proofs}


def _plain(value: Any) -> Any:
    """The value with nothing in it that JSON lacks."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    if isinstance(value, Path):
        return value.name
    if isinstance(value, float) or hasattr(value, "dtype"):
        number = value.item() if hasattr(value, "item") else value
        return number if not isinstance(number, float) or math.isfinite(number) else str(number)
    return value
