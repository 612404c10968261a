"""Which variant each kind of device loads: the smallest within 10% of the fastest, among those that are right there."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import onnx

from onnxlet.accuracy import strays
from onnxlet.errors import BuildError

from .accuracy import Budget
from .convert import read_model
from .formats import computes_in_half
from .models import infer_types, place
from .variants import DEVICE_CLASSES, ORIGINAL, Candidate, Proof

__all__ = ["Choice", "choose", "right_on"]

NEAR = 1.1  # times this close to the fastest are no reason to load more bytes

# The proofs that speak for each backend of a page, whose worker may get threads or not.
_SETTINGS = {"wasm": ("wasm", "wasm-threads"), "webgpu": ("webgpu",), "python": ("python",)}


@dataclass(frozen=True, slots=True)
class Choice:
    """What a page loads, and where it tries to run it.

    Args:
        by_class: a candidate's name for each device class that can run the model.
        prefer: backends, best first.
        reasons: a sentence for each device class, those left out included.
        right: the page's backends on which a candidate may be offered, by its name.
        reason: a sentence: why `prefer` is in this order.
    """

    by_class: dict[str, str]
    prefer: tuple[str, ...]
    reasons: dict[str, str]
    right: dict[str, tuple[str, ...]] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Runner:
    """A candidate that is right on a backend, with the worse of what its settings measured."""

    candidate: Candidate
    proofs: tuple[Proof, ...]

    @property
    def warm_ms(self) -> float:
        return max(proof.warm_ms for proof in self.proofs)

    @property
    def on_cpu(self) -> set[str]:
        """What is not on the GPU: operators that ONNX Runtime keeps on the processor, and parts in Python."""
        placement = self.proofs[0].placement
        left = placement.get("on_cpu")
        found = set(map(str, left)) if isinstance(left, list) else set()
        return found | {"Python"} if placement.get("parts") else found


def choose(
    candidates: Sequence[Candidate], proofs: Sequence[Proof], budget: Budget, *, smallest: bool = False
) -> Choice:
    """Choose a variant for each device class.

    Args:
        candidates: ORIGINAL among them.
        proofs: of the same candidates, by `parity.prove`.
        budget: how far a variant may be from the original.
        smallest: whatever its time, instead of the smallest within 10% of the fastest.
    Raises: BuildError: there is no original.
    """
    near = math.inf if smallest else NEAR
    original = next((c for c in candidates if c.name == ORIGINAL and c.path), None)
    if original is None or original.path is None:
        raise BuildError("the original model is not among the candidates, so there is nothing to compare them with")
    runners = {backend: _runners(candidates, proofs, backend, budget) for backend in _SETTINGS}
    by_class: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for device in DEVICE_CLASSES:
        backend = device.removesuffix("-f16")
        if device == "python":
            chosen, reason = _for_python(original, runners[backend], proofs, budget)
        elif backend == "webgpu":
            chosen, reason = _for_gpu(runners[backend], near, half=device == "webgpu-f16")
        else:
            chosen, reason = _fastest(runners[backend], near)
        if chosen:
            by_class[device] = chosen.name
        reasons[device] = reason or _why_none(proofs, backend, budget, candidates)
    prefer, reason = _order(original, by_class, runners)
    right = {
        name: tuple(b for b in ("webgpu", "wasm", "python") if any(r.candidate.name == name for r in runners[b]))
        for name in dict.fromkeys(by_class.values())
    }
    return Choice(by_class, prefer, reasons, right, reason)


def right_on(candidate: Candidate, proofs: Sequence[Proof], backend: str, budget: Budget, original: Candidate) -> str:
    """Why a candidate may not be offered on a backend; "" where every setting of it was seen to be right.

    Args:
        backend: of a page: "wasm", "webgpu" or "python".
    """
    found = [p for p in proofs if p.variant == candidate.name and p.backend in _SETTINGS[backend]]
    if not found:
        return "not proven"
    return next(filter(None, (_refusal(proof, candidate, original, budget) for proof in found)), "")


def _refusal(proof: Proof, candidate: Candidate, original: Candidate, budget: Budget) -> str:
    found, native = proof.accuracy, candidate.accuracy
    if proof.fault or found is None:
        return proof.fault or "not proven"
    if native is None or native.metric is None:
        return budget.refuses(found)
    # A person's metric was measured natively: the browser has to answer as that did, and the budget is kept there.
    metric_of_original = original.accuracy.metric if original.accuracy else None
    return strays(found, native) or budget.refuses(replace(found, metric=native.metric), metric_of_original)


def _runners(candidates: Sequence[Candidate], proofs: Sequence[Proof], backend: str, budget: Budget) -> list[_Runner]:
    original = next(c for c in candidates if c.name == ORIGINAL)
    return [
        _Runner(c, tuple(p for p in proofs if p.variant == c.name and p.backend in _SETTINGS[backend]))
        for c in candidates
        if c.path and not c.refused and not right_on(c, proofs, backend, budget, original)
    ]


def _fastest(runners: Sequence[_Runner], near: float) -> tuple[Candidate | None, str]:
    """The smallest of those that take at most `near` times what the fastest takes."""
    if not runners:
        return None, ""
    fastest = min(runners, key=lambda runner: runner.warm_ms)
    fast = [runner for runner in runners if runner.warm_ms <= fastest.warm_ms * near]
    chosen = min(fast, key=lambda runner: (runner.candidate.bytes, runner.warm_ms))
    text = f"{chosen.candidate.name}: {_bytes(chosen)}, {chosen.warm_ms:.3g} ms a run"
    if chosen is not fastest:
        text += f"; {fastest.candidate.name} takes {fastest.warm_ms:.3g} ms and has {_bytes(fastest)}"
    original = next((r for r in runners if r.candidate.name == ORIGINAL), None)
    if original and original not in (chosen, fastest):
        text += f"; the original takes {original.warm_ms:.3g} ms and has {_bytes(original)}"
    return chosen.candidate, text


def _for_gpu(runners: Sequence[_Runner], near: float, *, half: bool) -> tuple[Candidate | None, str]:
    """The same for a GPU; by size alone where the processor emulated it, because times mean nothing there."""
    usable = [r for r in runners if not _needs_half(r.candidate) or (half and r.proofs[0].f16)]
    if not usable:
        return None, ""
    if not any(runner.proofs[0].emulated for runner in usable):
        return _fastest(usable, near)
    original = next((r for r in usable if r.candidate.name == ORIGINAL), None)
    # What the processor does of shapes it does for the original too; integer kernels are a variant's own.
    allowed = original.on_cpu if original else set()
    whole = [runner for runner in usable if runner.on_cpu <= allowed] or usable
    chosen = min(whole, key=lambda runner: runner.candidate.bytes)
    where = "the smallest that keeps to the GPU" if chosen.on_cpu <= allowed else "no variant keeps to the GPU"
    adapter = chosen.proofs[0].adapter
    return (
        chosen.candidate,
        f"{chosen.candidate.name}: {_bytes(chosen)}, {where}; chosen by size, because the processor emulated the "
        f"graphics adapter ({adapter}) and its times mean nothing",
    )


def _for_python(
    original: Candidate, runners: Sequence[_Runner], proofs: Sequence[Proof], budget: Budget
) -> tuple[Candidate | None, str]:
    """The smallest that the core's own operators run right. They are the last resort: the original, even unproven."""
    if runners:
        chosen = min(runners, key=lambda runner: runner.candidate.bytes)
        return chosen.candidate, f"{chosen.candidate.name}: {_bytes(chosen)}, the smallest that is right"
    why = right_on(original, proofs, "python", budget, original)
    answered = any(p.accuracy for p in proofs if p.variant == ORIGINAL and p.backend == "python")
    return (None, "") if answered else (original, f"{ORIGINAL}, as the last resort: {why}")


def _needs_half(candidate: Candidate) -> bool:
    assert candidate.path, "a runner has a file"
    return computes_in_half(read_model(candidate.path))


def _why_none(proofs: Sequence[Proof], backend: str, budget: Budget, candidates: Sequence[Candidate]) -> str:
    original = next(c for c in candidates if c.name == ORIGINAL)
    why = right_on(original, proofs, backend, budget, original) or "every variant computes in float16"
    return f"nothing is offered; the original there: {why}"


def _order(
    original: Candidate, by_class: dict[str, str], runners: dict[str, list[_Runner]]
) -> tuple[tuple[str, ...], str]:
    """Backends, best first: as measured where a real graphics adapter was there, else by rules of thumb."""
    assert original.path, "the original has a file"
    offered = [b for b in ("webgpu", "wasm", "python") if b in by_class or f"{b}-f16" in by_class]
    gpu = next((r for r in runners["webgpu"] if r.candidate.name == by_class.get("webgpu")), None)
    wasm = next((r for r in runners["wasm"] if r.candidate.name == by_class.get("wasm")), None)
    if gpu and wasm and not gpu.proofs[0].emulated:
        cpu_ms = min(proof.warm_ms for proof in wasm.proofs)  # with threads, where they help
        first = "webgpu" if gpu.warm_ms < cpu_ms else "wasm"
        order = [first, *(b for b in offered if b != first)]
        reason = f"measured: {gpu.warm_ms:.3g} ms on WebGPU ({gpu.proofs[0].adapter}), {cpu_ms:.3g} ms on WebAssembly"
        return tuple(order), reason
    placement = place(read_model(original.path), infer_types(onnx.load(original.path)))
    order = [b for b in (*placement.prefer, *offered) if b in offered]
    return tuple(dict.fromkeys(order)), placement.reason


def _bytes(runner: _Runner) -> str:
    return f"{runner.candidate.bytes:,} bytes"
