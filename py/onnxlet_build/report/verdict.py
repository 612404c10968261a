"""The report in a few sentences: what visitors load, what it saves them, and how sure we are."""

from ..accuracy import Accuracy
from ..variants import ORIGINAL, Study
from . import numbers
from .data import DEVICES, Context, accuracy_of, loaded_by, proof_for, times_faster, times_smaller

__all__ = ["agreement", "verdict"]


def verdict(study: Study, context: Context) -> list[str]:
    """A sentence for each variant that somebody loads, and one about the proof."""
    if not study.choice:
        return ["Visitors load the original, unchanged: no variant was proven, so none is offered."]
    names = dict.fromkeys(study.choice.values())
    return [*(_about(study, name) for name in names), _proof(study, context)]


def _about(study: Study, name: str) -> str:
    devices = loaded_by(study, name)
    who = f"Visitors on {_named(devices)} load"
    if name == ORIGINAL:
        return f"{who} the original, unchanged."
    accuracy, original = accuracy_of(study, devices[0]), study.candidate(ORIGINAL)
    said = _saving(study, name, devices)
    if accuracy:
        said += (", with " if said else "") + agreement(accuracy, original.accuracy if original else None)
    return f"{who} {name}: {said or 'nothing was measured'}."


def _saving(study: Study, name: str, devices: list[str]) -> str:
    """Size and speed; the speed with its device's name where devices differ."""
    candidate = study.candidate(name)
    ratio = times_smaller(study, candidate) if candidate else None
    said = [] if ratio is None else [numbers.smaller(ratio)]
    speeds: dict[str, list[str]] = {}
    for device in devices:
        proof = proof_for(study, device)
        warm = times_faster(study, proof)[1] if proof else None
        if warm is not None:
            speeds.setdefault(numbers.speed(warm), []).append(device)
    for speed, where in speeds.items():
        said.append(speed if where == devices else f"{speed} on {_named(where)}")
    if not said:
        return ""
    end = " as the original" if said[-1].startswith(("as fast", "the same size")) else " than the original"
    return _listed(said) + end


def agreement(accuracy: Accuracy, original: Accuracy | None) -> str:
    """How near the answers are, by the measure that means most to a person."""
    samples = numbers.count(accuracy.samples, "sample")
    if accuracy.max_abs == 0 and not accuracy.fault:
        return f"the very same answers on {samples}"
    if accuracy.metric is not None and original is not None and original.metric is not None:
        own = f"{accuracy.metric:.4g} by the model's own metric on {samples}"
        return f"{own}, where the original has {original.metric:.4g}"
    if accuracy.top1 is not None:
        return f"the same best class on {numbers.share(accuracy.top1)} of {samples}"
    return f"{numbers.decibels(accuracy.snr_db)} of signal to noise on {samples}"


def _proof(study: Study, context: Context) -> str:
    if not study.proven:
        return "No browser has shown that any of this is right."
    proofs = {device: proof_for(study, device) for device in study.choice}
    right = [proof for proof in proofs.values() if proof]
    missing = [device for device, proof in proofs.items() if not proof]
    if not right:
        return "No browser has shown that what visitors load is right."
    text = f"Proven in {context.browser or 'a real browser'}"
    text += f", but not on {_named(missing)}." if missing else "."
    if any(proof.emulated for proof in right):
        text += " Its graphics adapter was emulated, so the speed on WebGPU is unknown."
    return text


def _named(devices: list[str]) -> str:
    """Device classes in words; WebGPU means both of its kinds where both are there."""
    both = "webgpu" in devices and "webgpu-f16" in devices
    return _listed([DEVICES.get(device, device) for device in devices if not (both and device == "webgpu-f16")])


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
