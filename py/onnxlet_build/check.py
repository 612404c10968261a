"""``build.py check MODEL``: will a page take this model, what runs where, what does it cost, and what to do then."""

import json
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import onnx
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onnxlet.errors import BuildError

from .apps import Subject, Wanted, open_subject, recognize_task
from .convert import MAX_IR, MAX_OPSET, Prepared, prepare
from .findings import Finding, find
from .findings import Subject as Examined
from .footprint import Footprint, footprint
from .formats import weight_format
from .models import estimate_flop, infer_types, nodes, place, quantized
from .places import Place, places
from .progress import Reporter

__all__ = ["Checked", "Finding", "check", "print_checked", "to_json"]

_LEVELS = {"error": "red", "warning": "yellow", "note": "cyan"}
_BACKENDS = {"webgpu": "WebGPU", "wasm": "WebAssembly", "python": "Python"}


@dataclass(slots=True)
class Checked:
    """What is known of a model file."""

    path: str
    bytes: int
    ir_version: int = 0
    opsets: dict[str, int] = field(default_factory=dict)
    producer: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    operators: dict[str, int] = field(default_factory=dict)
    format: str = ""
    quantized: str = ""
    flop: int = 0
    footprint: Footprint | None = None
    places: list[Place] = field(default_factory=list)
    prefer: list[str] = field(default_factory=list)
    reason: str = ""
    task: str = ""
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether the page can run it."""
        return all(finding.level != "error" for finding in self.findings)


def check(path: Path) -> Checked:
    """Look at a model in every way that needs no browser.

    Args:
        path: an .onnx file, or what else `sources.open_file` takes, which is exported first.
    Raises: BuildError: there is no such file, or it cannot be exported. What else is wrong with it is a finding.
    """
    if path.is_file() and path.suffix == ".onnx":
        return _checked(path, Checked(str(path), path.stat().st_size))
    subject = open_subject(path, Wanted(), Reporter(quiet=True))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / subject.model
        file.write_bytes(subject.made.data)
        checked = _checked(file, Checked(str(path), len(subject.made.data)))
    checked.task = _task(subject)
    checked.findings += [Finding("note", note, "") for note in subject.made.notes]
    return checked


def _checked(path: Path, checked: Checked) -> Checked:
    try:
        prepared = prepare(path)
        checked.task = _task(open_subject(path, Wanted(), Reporter(quiet=True)))
    except BuildError as error:
        text, _, remedy = str(error).partition("; ")
        checked.findings.append(Finding("error", text, remedy))
        return checked
    subject = _describe(checked, prepared)
    checked.findings += find(subject)
    checked.findings += [Finding("note", change, "") for change in prepared.changes]
    return checked


def _task(subject: Subject) -> str:
    """What `build.py MODEL` would make an app for, and how that is known."""
    found = recognize_task(subject)
    return f"{found.task} ({found.reason})"


def _describe(checked: Checked, prepared: Prepared) -> Examined:
    model, signature = prepared.model, prepared.signature
    types = infer_types(onnx.load_model_from_string(prepared.data))
    placement = place(model, types)
    checked.ir_version = model.ir_version
    checked.opsets = {domain or "ai.onnx": version for domain, version in model.opset_imports.items()}
    checked.producer = f"{model.producer_name} {model.producer_version}".strip()
    checked.inputs = [f"{arg.name}: {arg.type} {arg.shape}" for arg in signature.inputs]
    checked.outputs = [f"{arg.name}: {arg.type} {arg.shape}" for arg in signature.outputs]
    counts = Counter(f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in nodes(model))
    checked.operators = dict(counts.most_common())
    checked.format = weight_format(model)
    checked.quantized = quantized(model)
    checked.flop = estimate_flop(model, types)
    checked.prefer = list(placement.prefer)
    checked.reason = placement.reason
    checked.footprint = footprint(model, prepared.data, types)
    checked.places = places(model, types)
    proto = onnx.load_model_from_string(prepared.data)
    return Examined(model, proto, signature, types, tuple(checked.places), checked.footprint)


def print_checked(checked: Checked, console: Console) -> None:
    """The same for a person."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in _rows(checked):
        table.add_row(f"[bold]{name}[/bold]", escape(value))
    console.print(table)
    if checked.places:
        console.print(_places(checked.places))
    for finding in checked.findings:
        style = _LEVELS[finding.level]
        console.print(f"[{style}]{finding.level}[/{style}]: ", end="")
        console.print(finding.text + (f"; {finding.remedy}" if finding.remedy else ""), markup=False, soft_wrap=True)
    if checked.ok:
        console.print("[green]ok[/green]: the page can run it")


def _rows(checked: Checked) -> list[tuple[str, str]]:
    rows = [("file", f"{checked.path}  ({checked.bytes:,} bytes)")]
    if not checked.footprint:
        return rows
    operators = [f"{name} {count}" for name, count in list(checked.operators.items())[:8]]
    more = len(checked.operators) - len(operators)
    limits = {domain or "ai.onnx": version for domain, version in MAX_OPSET.items()}
    opsets = [f"{d} {v} (web takes {limits[d]})" if d in limits else f"{d} {v}" for d, v in checked.opsets.items()]
    size = checked.footprint
    unknown = f", {size.unknown} values of unknown size not counted" if size.unknown else ""
    return [
        *rows,
        ("written by", checked.producer or "unknown"),
        ("version", f"IR {checked.ir_version} (web takes {MAX_IR}), {', '.join(opsets)}"),
        ("app for", checked.task),
        ("inputs", "\n".join(checked.inputs)),
        ("outputs", "\n".join(checked.outputs)),
        ("operators", ", ".join(operators) + (f", and {more} more" if more > 0 else "")),
        ("weights", f"{size.weights:,} bytes, {checked.format}" + (", quantized" if checked.quantized else "")),
        ("memory", f"{size.weights + size.activations:,} bytes in a run (open dimensions as 1{unknown})"),
        ("download", _download(size)),
        ("cost", f"about {checked.flop / 1e6:,.3g} MFLOP a run" if checked.flop >= 1000 else "under 0.001 MFLOP a run"),
        ("backend", checked.reason),
    ]


def _download(size: Footprint) -> str:
    ways = [f"{count / 1e6:.1f} MB with {_BACKENDS[name]}" for name, count in size.download.items()]
    return f"{size.file_gzip:,} bytes gzipped; the first visit {' or '.join(ways)}, runtimes and Python included"


def _places(found: list[Place]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("runs on", "nodes", "elsewhere"):
        table.add_column(title, justify="right" if title == "nodes" else "left")
    for one in found:
        kinds = {"on the CPU": one.cpu, "in Python": one.python, "nowhere": one.nowhere}
        elsewhere = [
            f"{', '.join(f'{n} {c}' for n, c in counts.items())} {where}" for where, counts in kinds.items() if counts
        ]
        elsewhere += [f"{one.shapes} that compute shapes on the CPU"] * bool(one.shapes)
        nodes_here = "-" if one.refused else f"{one.nodes} of {one.total}"
        said = f"does not load: {one.refused}" if one.refused else "; ".join(elsewhere)
        table.add_row(_BACKENDS[one.backend], nodes_here, escape(said))
    return table


def to_json(checked: list[Checked]) -> str:
    """The same for a program: a list."""
    return json.dumps([asdict(one) | {"ok": one.ok} for one in checked], indent=1, ensure_ascii=False)
