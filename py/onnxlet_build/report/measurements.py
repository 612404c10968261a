"""The report's parts about one model that are mostly numbers: charts, every variant on every backend, node by node."""

import math
from collections import Counter
from collections.abc import Iterator

from ..accuracy import Accuracy
from ..variants import ORIGINAL, Candidate, NodeError, Proof, Study
from . import charts, numbers
from .data import BACKENDS, DEVICES, RUNS_ON, loaded_by, refusal, times_faster, times_smaller
from .markup import Child, Markup, code, el
from .tables import Column, badge, part, table

__all__ = ["nodes", "overview", "variants"]

_WORST = 8  # nodes that are named beside a chart
_LONGEST = 3.0  # times of the original that a bar may show: longer ones are cut, or the others would be too short
# What runs a backend as a rule; the others are worth a word.
_PROVIDERS = {
    "wasm": "CPUExecutionProvider",
    "wasm-threads": "CPUExecutionProvider",
    "webgpu": "WebGpuExecutionProvider",
    "python": "NumpyExecutionProvider",
}


def overview(study: Study) -> Markup | None:
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
        native = [_native(candidate), *_measures(candidate.accuracy, top1, metric)]
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
        unknown = el("span", "emulated", title="the adapter is software: its times mean nothing", class_="fine")
        return [unknown, unknown, memory]
    if proof.variant == ORIGINAL:
        return [numbers.milliseconds(proof.cold_ms), numbers.milliseconds(proof.warm_ms), memory]
    return [*map(numbers.speed, times_faster(study, proof)), memory]


def _ran_on(proof: Proof) -> Child:
    """The backend, and below it what else it depends on: threads, adapter, provider, how the graph was cut."""
    where = [numbers.count(proof.accuracy.samples, "sample")] if proof.accuracy else []
    where += [numbers.count(proof.threads, "thread")] if proof.backend == "wasm-threads" else []
    where += [f"{proof.adapter}, emulated" if proof.emulated else proof.adapter] if proof.adapter else []
    if proof.provider and proof.provider != _PROVIDERS.get(proof.backend):
        where.append(proof.provider)
    where += _placement(proof)
    return [_backend(proof.backend, proof.f16), el("span", "; ".join(where), class_="under") if where else None]


def _placement(proof: Proof) -> list[str]:
    """How the graph was cut, and what ONNX Runtime kept from the GPU; nothing where all of it ran in one place."""
    said = []
    parts, left = proof.placement.get("parts"), proof.placement.get("on_cpu")
    if isinstance(parts, list) and not proof.placement.get("whole"):
        counts: Counter[str] = Counter()
        for one in parts:
            counts[str(one.get("provider", "")).removesuffix("ExecutionProvider")] += len(one.get("nodes", ()))
        said.append("cut: " + ", ".join(f"{numbers.count(count, 'node')} {name}" for name, count in counts.items()))
    if isinstance(left, list) and left:
        said.append(f"on the processor: {', '.join(map(str, left))}")
    return said


def _offered(study: Study, candidate: Candidate, proof: Proof) -> Child:
    if reason := refusal(study, proof):
        return [badge("not offered", "bad"), " ", reason]
    if any(proof.backend in RUNS_ON.get(device, (device,)) for device in loaded_by(study, candidate.name)):
        return badge("loaded by visitors", "good")
    return badge("right, not chosen", "plain")


def _native_verdict(candidate: Candidate) -> Child:
    if candidate.name == ORIGINAL:
        return badge("the reference", "plain")
    if candidate.refused:
        return [badge("refused", "bad"), " ", candidate.refused]
    return badge("within the budget", "plain")


def _native(candidate: Candidate) -> Child:
    samples = numbers.count(candidate.accuracy.samples, "sample") if candidate.accuracy else None
    return ["Native ONNX Runtime", el("span", samples, class_="under") if samples else None]


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
            [code(e.node or "(no name)"), el("span", _kept(e), class_="under")],
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
