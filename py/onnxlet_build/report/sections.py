"""The report's parts about one model, each a function of its study; a part without contents is None."""

import math
from collections.abc import Iterator

from ..accuracy import Accuracy
from ..variants import ORIGINAL, Candidate, NodeError, Proof, Study
from . import charts, numbers
from .data import BACKENDS, DEVICES, RUNS_ON, accuracy_of, loaded_by, proof_for, times_faster, times_smaller
from .markup import Child, Markup, code, el
from .tables import Column, badge, part, table

__all__ = ["choice", "findings", "model_charts", "nodes", "origin", "refused", "steps", "variants"]

_NAME = 48  # characters of a node's name before its middle goes
_WORST = 8  # nodes that are named beside a chart
_LISTED = 40  # names in a list of nodes; all of them are in report.json
_LONGEST = 3.0  # times of the original that a bar may show: longer ones are cut, or the others would be too short
# What runs a backend as a rule; the others are worth a word.
_PROVIDERS = {
    "wasm": "CPUExecutionProvider",
    "wasm-threads": "CPUExecutionProvider",
    "webgpu": "WebGpuExecutionProvider",
    "python": "NumpyExecutionProvider",
}


def origin(study: Study) -> Markup | None:
    """Where the model came from, and on what the variants were measured."""
    facts: list[tuple[str, Child]] = [("Made from", study.source), ("Compared with the source", study.verified)]
    facts.append(("Allowed", study.budget))
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
    """Which visitor loads what, and why."""
    if not study.choice:
        return None
    original = study.candidate(ORIGINAL)
    rows = []
    for device, name in study.choice.items():
        candidate, proof = study.candidate(name), proof_for(study, device)
        accuracy = accuracy_of(study, device)
        warm = times_faster(study, proof)[1] if proof else None
        emulated = proof is not None and proof.emulated
        rows.append(
            [
                DEVICES.get(device, device),
                [el("strong", name), " ", _format(candidate)],
                _size(study, candidate) if candidate else numbers.NONE,
                "unknown: emulated" if emulated else numbers.speed(None if name == ORIGINAL else warm),
                _answers(accuracy, original),
                badge("proven", "good") if proof else badge("not proven", "bad"),
                study.reasons.get(device, ""),
            ]
        )
    columns = [Column("Visitor's device", head=True), Column("Loads"), Column("Size", number=True)]
    columns += [Column("Speed", number=True), Column("Answers"), Column("Proof"), Column("Why", wide=True)]
    return part("What visitors load", table("What each kind of visitor's device loads", columns, rows, style="stacked"))


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


def _format(candidate: Candidate | None) -> Markup | None:
    return el("span", candidate.format, class_="fine") if candidate and candidate.format else None


def _size(study: Study, candidate: Candidate) -> Child:
    if not candidate.bytes:
        return numbers.NONE
    ratio = times_smaller(study, candidate)
    lesser = numbers.smaller(ratio) if candidate.name != ORIGINAL else numbers.NONE
    return [numbers.size(candidate.bytes), None if lesser == numbers.NONE else el("span", lesser, class_="under")]


def model_charts(study: Study) -> Markup | None:
    """Size against error, and times against the original's."""
    marks = [
        charts.Mark(c.name, c.bytes, c.accuracy.snr_db, _kind(study, c))
        for c in study.candidates
        if c.bytes and c.accuracy and not c.accuracy.fault
    ]
    figures = []
    if len(marks) > 1:
        text = "Signal to noise of the outputs on native ONNX Runtime; higher and further left is better."
        keys = [("chosen", "loaded by visitors"), ("right", "within the budget"), ("refused", "refused")]
        key = el("p", [_key(kind, words) for kind, words in keys if any(mark.kind == kind for mark in marks)])
        heading = el("h4", "Size and error")
        figures.append(el("figure", heading, charts.size_error(marks), el("figcaption", key, text), class_="figure"))
    figures += [_times(study, *key) for key in _backends(study)]
    return el("div", figures, class_="figures") if figures else None


def _key(kind: str, text: str) -> Markup:
    dot = el("svg", el("circle", cx=7, cy=7, r=5, class_=f"mark {kind}"), width=14, height=14, aria_hidden="true")
    return el("span", dot, text, class_="key")


def _kind(study: Study, candidate: Candidate) -> str:
    return "refused" if candidate.refused else "chosen" if loaded_by(study, candidate.name) else "right"


def _backends(study: Study) -> Iterator[tuple[str, bool]]:
    """Backends, once for each precision of the adapter, on which a time can be compared with the original's."""
    seen = dict.fromkeys((proof.backend, proof.f16) for proof in study.proofs if proof.accuracy)
    for backend, f16 in seen:
        here = [p for p in study.proofs if (p.backend, p.f16) == (backend, f16)]
        if len(here) > 1 and any(p.variant == ORIGINAL and p.warm_ms > 0 for p in here):
            yield backend, f16


def _times(study: Study, backend: str, f16: bool) -> Markup:
    proofs = [p for p in study.proofs if (p.backend, p.f16) == (backend, f16)]
    name = _backend(backend, f16)
    heading = el("h4", "Time of a run: ", name)
    if any(proof.emulated for proof in proofs):
        text = "The graphics adapter was emulated in software. Its times say nothing about a real one and are left out."
        return el("figure", heading, el("figcaption", text), class_="figure")
    shares = {proof.variant: 1 / warm for proof in proofs if (warm := times_faster(study, proof)[1])}
    milliseconds = {proof.variant: proof.warm_ms for proof in proofs}
    largest = min(_LONGEST, max(1.05, *shares.values()))
    rows: list[list[Child]] = []
    for variant, value in shares.items():
        candidate = study.candidate(variant)
        kind = "original" if variant == ORIGINAL else _kind(study, candidate) if candidate else "right"
        text = numbers.milliseconds(milliseconds[variant]) if variant == ORIGINAL else numbers.speed(1 / value)
        rows.append([code(variant, 24), charts.bar(value, largest, kind), text])
    columns = [Column("Variant", head=True), Column("Share of the original's time"), Column("Speed", number=True)]
    caption = el("figcaption", "Median of later runs: shorter is faster, and the line is the original.")
    return el("figure", heading, table(f"Times on {name}", columns, rows, style="bars"), caption, class_="figure")


def _backend(backend: str, f16: bool = False) -> str:
    return BACKENDS.get(backend, backend) + (" with float16" if f16 else "")


def variants(study: Study) -> Markup | None:
    """Every variant on every backend, in one table."""
    shown = [c for c in study.candidates if not c.refused or any(p.variant == c.name for p in study.proofs)]
    if not shown:
        return None
    found = [p.accuracy for p in study.proofs if p.accuracy] + [c.accuracy for c in shown if c.accuracy]
    columns = [Column("Where", head=True), Column("Largest error", number=True), Column("Signal to noise", number=True)]
    columns.append(Column("Cosine", number=True))
    top1 = any(a.top1 is not None for a in found)
    metric = any(a.metric is not None for a in found)
    columns += [Column("Same best class", number=True)] * top1 + [Column("Metric", number=True)] * metric
    columns += [Column(name, number=True) for name in ("First answer", "Later answers", "Peak memory")]
    columns.append(Column("Offered", wide=True))
    groups = []
    for candidate in shown:
        native = ["Native ONNX Runtime", *_measures(candidate.accuracy, top1, metric)]
        native += [*[numbers.NONE] * 3, _native_verdict(candidate)]
        rows: list[list[Child]] = [native] if candidate.accuracy else []
        for proof in (p for p in study.proofs if p.variant == candidate.name):
            rows.append([_ran_on(proof), *_measures(proof.accuracy, top1, metric)])
            rows[-1] += [*_speeds(study, proof), _offered(study, candidate, proof)]
        groups.append((_heading(study, candidate), rows))
    caption = "Every variant on every backend, against the original on native ONNX Runtime"
    note = "Errors are against the original on native ONNX Runtime, times against the original on the same backend."
    return part("Every variant on every backend", el("p", note, class_="fine"), table(caption, columns, groups=groups))


def _measures(accuracy: Accuracy | None, top1: bool, metric: bool) -> list[Child]:
    if accuracy is None or accuracy.fault:
        return [numbers.NONE] * (3 + top1 + metric)
    cells: list[Child] = [numbers.error(accuracy.max_abs), numbers.decibels(accuracy.snr_db)]
    cells += [numbers.cosine(accuracy.cosine)] + [numbers.share(accuracy.top1)] * top1
    return cells + [numbers.NONE if accuracy.metric is None else f"{accuracy.metric:.4g}"] * metric


def _speeds(study: Study, proof: Proof) -> list[Child]:
    """Cold, warm, memory: the original's in milliseconds, the others' as ratios to them."""
    memory = numbers.size(proof.peak_bytes) if proof.peak_bytes else numbers.NONE
    if proof.accuracy is None:
        return [numbers.NONE, numbers.NONE, memory]
    if proof.emulated:
        return [el("span", "emulated", title="the adapter is software: its times mean nothing", class_="fine")] * 2 + [
            memory
        ]
    if proof.variant == ORIGINAL:
        return [numbers.milliseconds(proof.cold_ms), numbers.milliseconds(proof.warm_ms), memory]
    return [*map(numbers.speed, times_faster(study, proof)), memory]


def _ran_on(proof: Proof) -> Child:
    """The backend, and below it what else it depends on: threads, adapter, provider, how the graph was cut."""
    where = [numbers.count(proof.threads, "thread")] if proof.backend == "wasm-threads" else []
    where += [f"{proof.adapter}, emulated" if proof.emulated else proof.adapter] if proof.adapter else []
    if proof.provider and proof.provider != _PROVIDERS.get(proof.backend):
        where.append(proof.provider)
    where.append(_placement(proof))
    below = "; ".join(filter(None, where))
    return [_backend(proof.backend, proof.f16), el("span", below, class_="under") if below else None]


def _placement(proof: Proof) -> str:
    """How the graph was cut: ``120 nodes WebGpu, 2 nodes Numpy``; "" where it stayed whole."""
    parts = proof.placement.get("parts")
    if proof.placement.get("whole", True) or not isinstance(parts, list):
        return ""
    counts: dict[str, int] = {}
    for one in parts:
        provider = str(one.get("provider", "")).removesuffix("ExecutionProvider")
        counts[provider] = counts.get(provider, 0) + len(one.get("nodes", ()))
    return ", ".join(f"{numbers.count(nodes, 'node')} {provider}" for provider, nodes in counts.items())


def _offered(study: Study, candidate: Candidate, proof: Proof) -> Child:
    if proof.fault:
        return [badge("not offered", "bad"), " ", proof.fault]
    if candidate.refused:
        return [badge("not offered", "bad"), " ", candidate.refused]
    if proof.accuracy is None:
        return badge("not run", "wait")
    if any(proof.backend in RUNS_ON.get(device, (device,)) for device in loaded_by(study, candidate.name)):
        return badge("loaded by visitors", "good")
    return badge("right, not chosen", "plain")


def _native_verdict(candidate: Candidate) -> Child:
    return (
        [badge("refused", "bad"), " ", candidate.refused] if candidate.refused else badge("within the budget", "plain")
    )


def _heading(study: Study, candidate: Candidate) -> Child:
    facts = [candidate.format, numbers.size(candidate.bytes) if candidate.bytes else ""]
    if candidate.name != ORIGINAL and (ratio := times_smaller(study, candidate)):
        facts.append(numbers.smaller(ratio))
    if candidate.float_nodes:
        facts.append(f"{numbers.count(len(candidate.float_nodes), 'node')} kept in float")
    devices = " and ".join(DEVICES.get(device, device) for device in loaded_by(study, candidate.name))
    mark = badge(f"loaded on {devices}", "good") if devices else None
    return [
        el("span", candidate.name, class_="variant"),
        " ",
        mark,
        " ",
        el("span", " · ".join(filter(None, facts)), class_="fine"),
    ]


def nodes(study: Study) -> Markup | None:
    """Each node's error along the graph, of the variants that visitors load first; those that are not open by hand."""
    having = [c for c in study.candidates if c.node_errors]
    having.sort(key=lambda c: not loaded_by(study, c.name))
    if not having:
        return None
    shown = [_node_figure(c) for c in having if loaded_by(study, c.name)] or [_node_figure(having[0])]
    more = [el("details", el("summary", c.name), _node_figure(c)) for c in having[len(shown) :]]
    note = (
        "Noise that each node's output carries, in the order of the graph; the taller, the farther from the original."
    )
    return part("Where the error comes from", el("p", note, class_="fine"), shown, more)


def _node_figure(candidate: Candidate) -> Markup:
    errors = candidate.node_errors
    worst = sorted(errors, key=lambda e: e.snr_db if e.snr_db == e.snr_db else -math.inf)[:_WORST]
    names: list[list[Child]] = [
        [
            [code(e.node or "(no name)", _NAME), el("span", _kept(e), class_="under")],
            numbers.decibels(e.snr_db),
        ]
        for e in worst
    ]
    columns = [Column("Worst nodes", head=True), Column("Signal to noise", number=True)]
    key = [_key("stem", "quantized or after it")]
    if any(e.float_kept for e in errors):
        key.append(_key("kept", "kept in float, marked below as well"))
    chart = el("div", charts.node_errors(errors, candidate.name), el("figcaption", key))
    heading = el("h4", candidate.name, class_="variant")
    listed = table(f"Worst nodes of {candidate.name}", columns, names, style="bare")
    return el("figure", heading, el("div", chart, listed, class_="figures"), class_="figure")


def _kept(one: NodeError) -> str:
    return f"{one.op_type}, kept in float" if one.float_kept else one.op_type


def refused(study: Study) -> Markup | None:
    """What did not come to be, and why."""
    rows: list[list[Child]] = []
    for candidate in (c for c in study.candidates if c.refused):
        snr = numbers.decibels(candidate.accuracy.snr_db) if candidate.accuracy else numbers.NONE
        rows.append([code(candidate.name, _NAME), _size(study, candidate), snr, candidate.refused])
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
    kept = [[" " if i else "", code(name, _NAME)] for i, name in enumerate(names[:_LISTED])]
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
