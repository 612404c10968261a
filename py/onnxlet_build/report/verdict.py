"""The report in a sentence or two: what visitors load, what it saves them, and how sure we are."""

from ..accuracy import Accuracy
from ..variants import ORIGINAL, Study
from . import numbers
from .data import DEVICES, Context, accuracy_of, loaded_by, proof_for, times_faster, times_smaller

__all__ = ["agreement", "proof_line", "verdict"]


def verdict(study: Study, context: Context) -> list[str]:
    """A sentence for each variant that somebody loads, and one about the proof."""
    if not study.choice:
        return [f"Nothing was chosen for visitors of {study.name}: the page decides by rules of thumb."]
    names = list(dict.fromkeys(study.choice.values()))
    return [_about(study, name, context) for name in names] + _unproven(study)


def _about(study: Study, name: str, context: Context) -> str:
    devices = loaded_by(study, name)
    who = f"On {_listed([DEVICES.get(device, device) for device in devices])}, visitors load"
    if name == ORIGINAL:
        return f"{who} the original, unchanged{_where(study, devices, context)}."
    said = [text for text in (_saving(study, name, devices), _answers(study, devices[0])) if text]
    return f"{who} {name}: {', '.join(said) or 'nothing was measured'}{_where(study, devices, context)}."


def _saving(study: Study, name: str, devices: list[str]) -> str:
    """Size and speed: one speed where all devices agree, else each with its device's name."""
    candidate = study.candidate(name)
    ratio = times_smaller(study, candidate) if candidate else None
    said = [] if ratio is None else [numbers.smaller(ratio)]
    speeds: dict[str, list[str]] = {}
    for device in devices:
        proof = proof_for(study, device)
        warm = times_faster(study, proof)[1] if proof else None
        if warm is not None:
            speeds.setdefault(numbers.speed(warm), []).append(DEVICES.get(device, device))
    for speed, names in speeds.items():
        said.append(speed if len(speeds) == 1 and len(names) == len(devices) else f"{speed} on {_listed(names)}")
    return f"{', '.join(said)} than the original" if said and _compares(said[-1]) else ", ".join(said)


def _compares(text: str) -> bool:
    return any(word in text for word in ("smaller", "larger", "faster", "slower"))


def _answers(study: Study, device: str) -> str:
    accuracy = accuracy_of(study, device)
    original = study.candidate(ORIGINAL)
    return agreement(accuracy, original.accuracy if original else None) if accuracy else ""


def agreement(accuracy: Accuracy, original: Accuracy | None) -> str:
    """How near the answers are, by the measure that means most to a person."""
    samples = numbers.count(accuracy.samples, "sample")
    if accuracy.max_abs == 0 and not accuracy.fault:
        return f"the very same answers on {samples}"
    if accuracy.metric is not None and original is not None and original.metric is not None:
        return f"{accuracy.metric:.3f} by the model's own metric, where the original has {original.metric:.3f}"
    if accuracy.top1 is not None:
        return f"the same best class on {numbers.share(accuracy.top1)} of {samples}"
    return f"answers {numbers.decibels(accuracy.snr_db)} from the original's on {samples}"


def _where(study: Study, devices: list[str], context: Context) -> str:
    proofs = [(device, proof_for(study, device)) for device in devices]
    right = [proof for _, proof in proofs if proof]
    if not right:
        return ""
    missing = [DEVICES.get(device, device) for device, proof in proofs if proof is None]
    browser = context.browser or "a real browser"
    text = f"; proven in {browser}" + (f", but not on {_listed(missing)}" if missing else "")
    if any(proof.emulated for proof in right):
        text += ", where the graphics adapter was emulated, so that its speed says nothing"
    return text


def _unproven(study: Study) -> list[str]:
    return [] if study.proven else ["No browser has shown that any of this is right."]


def proof_line(study: Study) -> str:
    """Which candidates were shown to be right where: ``9 of 12 variants on 3 backends``."""
    right = [proof for proof in study.proofs if proof.accuracy and not proof.fault]
    variants = len({proof.variant for proof in study.proofs})
    proven = len({proof.variant for proof in right})
    backends = numbers.count(len({proof.backend for proof in right}), "backend")
    return f"{proven} of {numbers.count(variants, 'variant')} right on {backends}" if right else ""


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
