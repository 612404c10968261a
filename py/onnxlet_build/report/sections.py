"""The report's parts about one model that are mostly words; one without contents is None."""

from ..accuracy import Accuracy
from ..variants import ORIGINAL, Candidate, Study
from . import numbers
from .data import DEVICES, accuracy_of, allowed, proof_for, times_faster, times_smaller
from .markup import Child, Markup, code, el
from .tables import Column, badge, part, table

__all__ = ["choice", "findings", "origin", "refused", "steps"]

_LISTED = 40  # names in a list of nodes; all of them are in report.json


def origin(study: Study) -> Markup | None:
    """Where the model came from, and on what the variants were measured."""
    facts: list[tuple[str, Child]] = [("Made from", study.source), ("Compared with the source", study.verified)]
    facts.append(("Allowed", allowed(study)))
    for what, samples, where in (
        ("Calibrated with", study.calibration_samples, study.calibration_from),
        ("Measured on", study.evaluation_samples, study.evaluation_from),
    ):
        facts.append((what, numbers.count(samples, "sample") + (f" from {where}" if where else "") if samples else ""))
    facts += [("Note", note) for note in study.notes]
    if study.seconds:
        spent = ", ".join(f"{name} {numbers.duration(seconds)}" for name, seconds in study.seconds.items())
        facts.append(("Took", f"{numbers.duration(sum(study.seconds.values()))}: {spent}"))
    shown = [el("div", el("dt", name), el("dd", value)) for name, value in facts if value]
    return el("dl", shown, class_="facts") if shown else None


def choice(study: Study) -> Markup | None:
    """Which visitor loads what, and why; what is offered to nobody as well."""
    devices = dict.fromkeys([*study.choice, *study.reasons])
    if not devices:
        return None
    columns = [Column("Visitor's device", head=True), Column("Loads"), Column("Size", number=True)]
    columns += [Column("Speed", number=True), Column("Answers"), Column("Proof"), Column("Why", wide=True)]
    rows = [_choice_row(study, device) for device in devices]
    return part("What visitors load", table("What each kind of visitor's device loads", columns, rows, style="stacked"))


def _choice_row(study: Study, device: str) -> list[Child]:
    label, why = DEVICES.get(device, device), study.reasons.get(device, "")
    candidate = study.candidate(study.choice.get(device, ""))
    if candidate is None:
        return [label, "nothing", numbers.NONE, numbers.NONE, numbers.NONE, numbers.NONE, why]
    original, proof = study.candidate(ORIGINAL), proof_for(study, device)
    warm = times_faster(study, proof)[1] if proof and candidate is not original else None
    return [
        label,
        [el("strong", candidate.name), " ", el("span", candidate.format, class_="fine")],
        _size(study, candidate),
        "unknown: emulated" if proof and proof.emulated else numbers.speed(warm),
        _answers(accuracy_of(study, device), original),
        badge("proven", "good") if proof else badge("not proven", "bad"),
        why,
    ]


def _answers(accuracy: Accuracy | None, original: Candidate | None) -> str:
    if accuracy is None:
        return "not measured"
    if accuracy.max_abs == 0 and not accuracy.fault:
        return "identical"
    if accuracy.metric is not None:
        base = original.accuracy.metric if original and original.accuracy else None
        return f"metric {accuracy.metric:.3f}" + (f" (original {base:.3f})" if base is not None else "")
    if accuracy.top1 is not None:
        return f"{numbers.share(accuracy.top1)} same best class"
    return numbers.decibels(accuracy.snr_db)


def _size(study: Study, candidate: Candidate) -> Child:
    if not candidate.bytes:
        return numbers.NONE
    ratio = times_smaller(study, candidate)
    lesser = numbers.smaller(ratio) if candidate.name != ORIGINAL else numbers.NONE
    return [numbers.size(candidate.bytes), None if lesser == numbers.NONE else el("span", lesser, class_="under")]


def refused(study: Study) -> Markup | None:
    """What did not come to be, and why."""
    rows: list[list[Child]] = []
    for candidate in (c for c in study.candidates if c.refused):
        snr = numbers.decibels(candidate.accuracy.snr_db) if candidate.accuracy else numbers.NONE
        rows.append([code(candidate.name), _size(study, candidate), snr, candidate.refused])
    columns = [Column("Recipe", head=True), Column("Size", number=True), Column("Signal to noise", number=True)]
    columns.append(Column("Why it is not offered", wide=True))
    return (
        part("Refused", table("Recipes whose result is not offered", columns, rows, style="stacked")) if rows else None
    )


def steps(study: Study) -> Markup | None:
    """What optimizing did, and how each variant was made."""
    rows: list[list[Child]] = [
        [
            step.name,
            badge("kept", "good") if step.kept else badge("dropped", "plain"),
            _change(f"{step.nodes_before:,}", f"{step.nodes_after:,}") if step.nodes_before else numbers.NONE,
            _change(*map(numbers.size, (step.bytes_before, step.bytes_after))) if step.bytes_before else numbers.NONE,
            step.reason,
        ]
        for step in study.steps
    ]
    columns = [Column("Step", head=True), Column("Result"), Column("Nodes", number=True), Column("Size", number=True)]
    done = (
        table("Steps of optimizing", [*columns, Column("What it did", wide=True)], rows, style="stacked")
        if rows
        else None
    )
    made = [el("div", el("dt", c.name), el("dd", _recipe(c))) for c in study.candidates if c.steps or c.float_nodes]
    listed = el("dl", made, class_="facts made") if made else None
    return part("How it was made", done, listed) if done or made else None


def _change(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _recipe(candidate: Candidate) -> Child:
    names = candidate.float_nodes
    kept = [[" " if i else "", code(name)] for i, name in enumerate(names[:_LISTED])]
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    floats = el("p", f"Kept in float ({len(names):,}): ", kept, more) if names else None
    return [[el("p", step) for step in candidate.steps], floats]


def findings(study: Study) -> Markup | None:
    """What `check` says of the model, the worst first."""
    order = {"error": 0, "warning": 1, "note": 2}
    kinds = {"error": "bad", "warning": "wait"}
    items = [
        el(
            "li",
            badge(f.level, kinds.get(f.level, "plain")),
            " ",
            f.text,
            el("span", f.remedy, class_="remedy") if f.remedy else None,
        )
        for f in sorted(study.findings, key=lambda f: order.get(f.level, 3))
    ]
    return part("Findings", el("ul", items, class_="findings")) if items else None
